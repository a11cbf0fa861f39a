"""A page hears of what another device did: two daemons, and a visitor of one of them who listens to its stream."""

from pathlib import Path

from tests.daemon.conftest import homes, template
from tests.support.daemons import daemon, introduce
from tests.web.visitor import TASK, furnish
from tools.bench.live import Visitor

from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.journal import tasks
from lottisync.review.precedence import PERSON
from lottisync.web.access import read_door

__all__ = ["homes", "template"]


def test_web_610_a_page_hears_of_each_change_that_a_sync_brings(homes: tuple[Path, Path]) -> None:
    """WEB-610: whoever waits for the event, and asks for the page then, sees the change, one after the other. What that
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
