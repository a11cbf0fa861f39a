"""A home with a task and what an agent proposes for it, its pages in this process, and a browser without a screen."""

import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient
from tests.support.proposals import propose

from lottisync.daemon.home import TaskHome
from lottisync.daemon.pages import Configured, device_lines
from lottisync.device import clock
from lottisync.device.pairing import LOOPBACK
from lottisync.journal import tasks
from lottisync.journal.types import Task
from lottisync.review.precedence import PERSON
from lottisync.web.access import Access
from lottisync.web.admission import Browsers
from lottisync.web.application import application
from lottisync.web.pairing import Pairing
from lottisync.web.site import Site

AGENT, TASK, ITEM = "laura", "t1", "i1"
PORT = 22080
TITLE = "Book the yearly boiler service before the frost"
PROPOSED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("set_task_title", {"title": "Book the boiler service, and find the log book"}),
    ("set_task_status", {"status": "GROOMED", "reason": "Fitter, window and steps are all in your notes now."}),
    ("update_task_estimate", {"minutes": 90}),
    ("update_task_due_date", {"dueDate": "2026-11-27"}),
    ("add_multiple_checklist_items", {"items": [{"title": "Find the service log book"}, {"title": "Call the fitter"}]}),
    ("suggest_checklist_completion", {"items": [{"id": ITEM, "reason": "A note says that it turned up."}]}),
)


def furnish(home: TaskHome) -> None:
    """A task, an item, a note, an agent."""
    with home.journal.transaction(clock.now(), PERSON) as tx:
        tasks.add_task(tx, TASK, TITLE, {"due": "2026-11-30", "estimate": 30})
        tasks.add_item(tx, ITEM, TASK, "Find the manual")
    with home.journal.transaction(clock.now(), PERSON) as tx:
        tasks.add_note(tx, "n1", TASK, "Found the manual! Kitchen drawer, under the menus.")
    with home.agent.transaction(clock.now(), PERSON) as tx:
        tx.put(AGENT, "agent", {"agentId": AGENT, "displayName": "Laura"})


def furnished(path: Path, *calls: str) -> None:
    """A home with a task, and with these of the proposals, else all of them."""
    home = TaskHome.open(path)
    furnish(home)
    propose(home, *(call for call in PROPOSED if not calls or call[0] in calls))
    home.close()


class Visitor:
    """The pages of a home, and a client that was let in. `furnish` says what is in the home."""

    def __init__(self, path: Path, furnish: Callable[[TaskHome], object] = furnish) -> None:
        self.home = TaskHome.create(path, "laptop")
        furnish(self.home)
        secrets = itertools.count(1)
        self.now = clock.now
        self.access = Access(path, PORT, lambda: self.now(), lambda: f"secret-number-{next(secrets):08}")
        self.browsers = Browsers(path, lambda: self.now(), lambda: f"{next(secrets):016x}" + "5" * 48)
        self.site = site = Site(
            self.home,
            lambda: self.now(),
            clock.new_id,
            lambda: device_lines(self.home, None),
            self.browsers,
            lambda: self.access.door,
            Pairing(self.home, LOOPBACK, discover=False),
            Configured(path),
        )
        self.app = application(site, self.access)
        self.client = self.stranger()
        self.enter()

    def stranger(self) -> TestClient:
        """A browser that was not let in."""
        return TestClient(self.app, base_url=self.access.door.origin, follow_redirects=False)

    def enter(self) -> None:
        answer = self.client.post("/enter", data={"token": self.access.door.token}, headers=self.own)
        assert answer.status_code == 303, answer.text

    @property
    def own(self) -> dict[str, str]:
        """What a browser sends with a form of the page."""
        return {"origin": self.access.door.origin, "sec-fetch-site": "same-origin"}

    def get(self, path: str, status: int = 200) -> str:
        answer = self.client.get(path)
        assert answer.status_code == status, (answer.status_code, answer.text)
        return answer.text

    @property
    def form_token(self) -> str:
        [token, *_] = re.findall(r'name="form-token" value="([^"]+)"', self.get("/tasks"))
        return str(token)

    def post(self, path: str, status: int = 303, /, **fields: Any) -> str:
        """Send a form of the page; the page that it leads to, or the answer."""
        data = {"form-token": self.form_token, **{name.replace("_", "-"): value for name, value in fields.items()}}
        answer = self.client.post(path, data=data, headers=self.own)
        assert answer.status_code == status, (answer.status_code, answer.text)
        return self.get(answer.headers["location"].partition("#")[0]) if status == 303 else answer.text

    def rows(self, page: str) -> list[tuple[str, str]]:
        """The items on a page with their digests, in order."""
        found = re.findall(r'name="item" value="([^"]+)"><input type="hidden" name="shown" value="([^"]+)"', page)
        return list(dict.fromkeys(found))

    def decide(self, item: str, shown: str, verdict: str, status: int = 303, **more: Any) -> str:
        return self.post("/decide", status, item=item, shown=shown, verdict=verdict, **more)

    @property
    def task(self) -> Task:
        with self.home.journal.reading() as reader:
            return tasks.page(reader, TASK).task

    def close(self) -> None:
        self.home.close()


@contextmanager
def answering(visitor: Visitor) -> Iterator[None]:
    """With an event loop in which codes are answered, as in the daemon."""
    with visitor.client:
        assert visitor.client.portal is not None
        running, _ = visitor.client.portal.start_task(visitor.site.pairing.run)
        try:
            yield
        finally:
            running.cancel()
