"""A page hears of what another device did: two daemons, and a visitor of one of them who listens to its stream."""

from pathlib import Path

import anyio
import pytest
from tests.daemon.conftest import homes, template
from tests.support.daemons import daemon, introduce
from tests.web.visitor import TASK, furnish
from tests.web.visitor import Visitor as InProcess
from tools.bench.live import Visitor

from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.journal import task_list, tasks
from lottisync.review.precedence import PERSON
from lottisync.store.doorbell import Bell
from lottisync.store.store import Store
from lottisync.web import live
from lottisync.web.access import read_door

__all__ = ["homes", "template"]


def test_web_610_a_page_hears_of_each_change_that_a_sync_brings(homes: tuple[Path, Path]) -> None:
    """WEB-610: a page that waits for the event, and is then asked for, shows the change, one after the other. What that
    costs is measured by the bench `live`."""
    laptop, phone = homes
    with daemon(laptop) as first:
        introduce(phone, laptop, int(first.event("started")["port"]))
        home = TaskHome.open(laptop)
        furnish(home)
        with daemon(phone, web=True) as second:
            second.event("connected")
            door = read_door(phone)
            assert door is not None
            visitor = Visitor(door)
            with visitor.events("/tasks") as events:
                for number in range(3):
                    with home.journal.transaction(clock.now(), PERSON) as tx:
                        tasks.edit_task(tx, TASK, {"title": f"Title {number}"})
                    while f"Title {number}" not in visitor.get("/tasks"):
                        assert next(events) == "data: changed"
        home.close()


def test_web_731_what_is_written_while_a_page_is_built_comes_by_its_stream(
    visitor: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """WEB-731: the page was read before, so its picture is that of before."""
    read = task_list.counted_page_of

    def read_and_written_to(file: Path, journal: Store, wanted: task_list.Wanted) -> tuple[task_list.Page, int]:
        found = read(file, journal, wanted)
        with journal.transaction(clock.now(), PERSON) as tx:
            tasks.edit_task(tx, TASK, {"title": "Written meanwhile"})
        return found

    with monkeypatch.context() as patched:
        patched.setattr(task_list, "counted_page_of", read_and_written_to)
        page = visitor.get("/tasks")
    assert "Written meanwhile" not in page
    assert f'data-picture="{visitor.site.picture()}"' not in page
    assert f'data-picture="{visitor.site.picture()}"' in visitor.get("/tasks")


def test_web_969_a_stream_notices_by_itself_that_its_browser_was_put_out(
    visitor: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """WEB-969: nothing is committed, and no silence ends."""
    monkeypatch.setattr(live, "SILENCE_SECONDS", float("inf"))
    monkeypatch.setattr(live, "FALLBACK_SECONDS", 0.01)
    sessions = iter([False, False, True])

    async def same() -> str:
        return "picture"

    async def waited() -> bool:
        bell = Bell(visitor.home.bells, "web-test")
        try:
            return await live._changed(bell, same, "picture", lambda: next(sessions))
        finally:
            bell.close()

    assert anyio.run(waited)
    assert list(sessions) == []
