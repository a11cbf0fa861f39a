"""What a peer says it holds beyond its knowledge is sent to it again."""

import msgspec
from tests.conformance.mutants.planting import run

from lottisync.protocol import message as m
from lottisync.sync.agreement import RemoteState

original = RemoteState.of


def of(have: m.Have) -> RemoteState:
    return original(msgspec.structs.replace(have, held=[]))


RemoteState.of = of  # type: ignore[method-assign]
run()
