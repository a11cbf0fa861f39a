"""Noting what was done here: CLI-144."""

from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.stores import NOON, new_store

from lottisync.device import acts
from lottisync.journal import tasks
from lottisync.problem import Problem


class Stopped(Exception):
    """Something went wrong in the middle of an act."""


HERE = "terminal 1"


def test_cli_144_an_act_is_one_transaction_and_old_ones_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CLI-144: nothing written is not an act; what fails leaves none; only so many are kept."""
    store = new_store(tmp_path)
    monkeypatch.setattr(acts, "KEPT_ACTS", 3)
    with acts.acting(store, NOON, HERE, "looked"):
        pass
    with suppress(Stopped), acts.acting(store, NOON, HERE, "broken") as tx:
        tasks.add_task(tx, "t1", "Milk")
        raise Stopped
    with store.reading() as reader:
        assert acts.newest(reader, 10) == []
    for number in range(5):
        with acts.acting(store, NOON, HERE, "added") as tx:
            tasks.add_task(tx, f"t-{number}", str(number))
    with store.reading() as reader:
        assert [act.said for act in acts.newest(reader, 10)] == ["added: 4", "added: 3", "added: 2"]
        assert reader.local("select count(*) from act_writes") == [(3,)]
        with pytest.raises(Problem, match="there is no act 1"):
            acts.numbered(reader, 1)
    store.close()
