"""What a peer says it holds beyond its knowledge is sent to it again."""

import msgspec
from tests.conformance.mutants.planting import run

from lottisync.protocol import message as m
from lottisync.sync.agreement import Believed

original = Believed.of


def of(have: m.Have) -> Believed:
    return original(msgspec.structs.replace(have, held=[]))


Believed.of = of  # type: ignore[method-assign]
run()
