"""Every node that a peer names is taken on trust."""

from collections.abc import Iterable

from tests.conformance.mutants.planting import run

from lottisync.sync.exchange import Exchange


def refuse_none(self: Exchange, name: str, nodes: Iterable[bytes]) -> None:
    pass


Exchange._refuse_invented_forks = refuse_none  # type: ignore[method-assign]
run()
