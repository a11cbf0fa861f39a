"""What a daemon keeps from page to page changes none of them: each is the page that is built with nothing kept."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import pytest
from starlette.testclient import TestClient
from tests.support.proposals import propose
from tests.support.rounds import send
from tests.web.visitor import AGENT, PROPOSED, TASK, Visitor

from lottisync.daemon.home import TaskHome
from lottisync.daemon.pages import Configured, device_lines
from lottisync.device import clock
from lottisync.device.pairing import LOOPBACK
from lottisync.device.purging import purge
from lottisync.journal import tasks
from lottisync.journal.toolbox import ACTIONS
from lottisync.review.inbox import Inbox
from lottisync.review.precedence import PERSON
from lottisync.review.verdict import Verdicts
from lottisync.store.forgetting import MIN_AGE
from lottisync.web.application import application
from lottisync.web.pairing import Pairing
from lottisync.web.site import Site

DAY = 24 * 3_600_000
OTHER = "t2"


class Home(NamedTuple):
    """A home whose pages were looked at before, and another device with the same data."""

    visitor: Visitor
    began: int
    elsewhere: TaskHome

    def later(self, by: int) -> None:
        at = self.visitor.now() + by
        self.visitor.now = lambda: at

    def decide(self, verdict: str, reason: str = "") -> None:
        """The first row that waits for a word, or bears one that can be taken back."""
        page = self.visitor.get(f"/inbox?since={self.began}")
        button = f'name="verdict" value="{verdict}"'
        for item, shown in self.visitor.rows(page):
            row = page.partition(f'value="{item}"')[2].partition("</li>")[0]
            if button in row:
                self.visitor.decide(item, shown, verdict, since=self.began, reason=reason)
                return
        raise AssertionError(f"no row can be decided with {verdict}")

    def meet(self) -> None:
        for name in ("journal", "agent"):
            here, there = self.visitor.home.store(name), self.elsewhere.store(name)
            send(here, there)
            send(there, here)

    def confirm_elsewhere(self) -> None:
        """What another device decides arrives by sync, with its effect."""
        self.meet()
        home = self.elsewhere
        waiting = [
            item for one in Inbox(home.journal, home.agent, ACTIONS).open_sets(clock.now()) for item in one.items
        ]
        verdicts = Verdicts(home.journal, home.agent, ACTIONS, device_id=home.key.device_id, new_id=clock.new_id)
        verdicts.reject_selected([waiting[-1].id], clock.now(), "Not from there.")
        self.meet()

    def edit(self, task: str, **fields: object) -> None:
        with self.visitor.home.journal.transaction(self.visitor.now(), PERSON) as tx:
            tasks.edit_task(tx, task, fields)

    def rename_agent(self) -> None:
        with self.visitor.home.agent.transaction(self.visitor.now(), PERSON) as tx:
            tx.put(AGENT, "agent", {"displayName": "Mina"})

    def delete_and_forget(self) -> None:
        with self.visitor.home.journal.transaction(self.visitor.now(), PERSON) as tx:
            tasks.delete_task(tx, OTHER)
        self.later(MIN_AGE + DAY)
        assert purge(self.visitor.home, self.visitor.now())["journal"] >= 1


CHANGES: dict[str, Callable[[Home], object]] = {
    "confirm": lambda home: home.decide("confirm"),
    "reject": lambda home: home.decide("reject", reason="Not now."),
    "defer": lambda home: home.decide("defer"),
    "undo": lambda home: (home.decide("reject"), home.decide("undo")),
    "an edit": lambda home: home.edit(TASK, estimate=45, title="Another title"),
    "an edit of another task": lambda home: home.edit(OTHER, title="Another one"),
    "a proposal": lambda home: propose(home.visitor.home, ("update_task_priority", {"priority": "P1"}), run="r9"),
    "another name of the agent": Home.rename_agent,
    "a sync": Home.confirm_elsewhere,
    "two days": lambda home: home.later(2 * DAY),
    "half a year": lambda home: home.later(180 * DAY),
    "the clock is set back": lambda home: home.later(-DAY),
    "forgetting": Home.delete_and_forget,
}


@pytest.fixture
def home(visitor: Visitor) -> Home:
    with visitor.home.journal.transaction(clock.now(), PERSON) as tx:
        tasks.add_task(tx, OTHER, "Water the plants")
    propose(visitor.home, *PROPOSED)
    propose(visitor.home, ("update_task_estimate", {"minutes": 15}), run="r2", task=OTHER)
    elsewhere = TaskHome.create(visitor.home.path.with_name("phone"), "phone")
    at = clock.now()
    visitor.now = lambda: at
    return Home(visitor, at, elsewhere)


def pages(client: TestClient, began: int) -> list[str]:
    paths = ("/inbox", f"/inbox?since={began}", "/tasks", "/tasks?show=waiting", f"/tasks/{TASK}", f"/tasks/{OTHER}")
    return [client.get(path).text for path in paths]


def with_nothing_kept(visitor: Visitor) -> TestClient:
    """The same browser, at the pages of a daemon that has just started."""
    site = Site(
        visitor.home,
        lambda: visitor.now(),
        clock.new_id,
        lambda: device_lines(visitor.home, None),
        visitor.browsers,
        lambda: visitor.access.door,
        Pairing(visitor.home, LOOPBACK, discover=False),
        Configured(visitor.home.path),
    )
    client = TestClient(application(site, visitor.access), base_url=visitor.access.door.origin, follow_redirects=False)
    client.cookies = visitor.client.cookies
    return client


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    "before",
    [
        pytest.param((), id="alone"),
        pytest.param(("reject", "defer", "an edit"), id="later", marks=pytest.mark.deep),
    ],
)
def test_web_730_a_page_is_the_one_that_is_built_with_nothing_kept(
    home: Home, before: tuple[str, ...], change: str
) -> None:
    """WEB-730, WEB-611: after each kind of change, and after others."""
    shown = partial(pages, began=home.began)
    earlier = shown(home.visitor.client)
    for each in (*before, change):
        CHANGES[each](home)
        found = shown(home.visitor.client)
        assert found == shown(with_nothing_kept(home.visitor)), each
        assert found != earlier, f"{each} shows on no page"
        earlier = found
    home.elsewhere.close()
