"""How long a change of another device takes from its sync to a page: two daemons in processes of their own, and a
visitor of the second one's pages who hears its events by HTTP, as a browser does, and asks for the page again.

"Its sync" is the commit in the second device's store, whose bell rings. Beside it stands how long the change took to
get there, from the commit on the first device: what a page adds to what has to be waited for anyhow.
"""

import http.client
import re
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlencode

from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.journal import tasks
from lottisync.review.precedence import PERSON
from lottisync.web.access import COOKIE, Door, read_door
from tools.bench.devices import HERE, Pair, Watch
from tools.bench.figure import Figure, value_at_most
from tools.bench.process import BOUND_SECONDS
from tools.bench.setting import Setting

WITHIN_MILLIS = 200
TASK = "live"
EDITS = 100


class Visitor:
    """A browser without a screen, let in by the door of a running daemon."""

    def __init__(self, door: Door) -> None:
        self._door = door
        body = urlencode({"token": door.token})
        with self._asked("POST", "/enter", body) as answer:
            assert answer.status == 303, answer.read()
            self._cookie = (answer.getheader("set-cookie") or "").partition(";")[0]
        assert self._cookie.startswith(COOKIE)

    def get(self, path: str) -> str:
        with self._asked("GET", path) as answer:
            assert answer.status == 200, answer.read()
            return answer.read().decode()

    @contextmanager
    def events(self, path: str) -> Iterator[Iterator[str]]:
        """What the stream says of a page that was drawn just now: a line for each change."""
        [seen] = re.findall(r'data-picture="([^"]+)"', self.get(path))
        with self._asked("GET", f"/live?seen={seen}") as answer:
            yield (line.decode().strip() for line in iter(answer.readline, b"") if line.startswith(b"data:"))

    @contextmanager
    def _asked(self, method: str, path: str, body: str | None = None) -> Iterator[http.client.HTTPResponse]:
        connection = http.client.HTTPConnection(HERE, self._door.port, timeout=BOUND_SECONDS)
        headers = {"host": self._door.origin.partition("//")[2], "origin": self._door.origin}
        if body is not None:
            headers["content-type"] = "application/x-www-form-urlencoded"
        else:
            headers["cookie"] = self._cookie
        try:
            connection.request(method, path, body, headers)
            yield connection.getresponse()
        finally:
            connection.close()


def live(setting: Setting) -> list[Figure]:
    """Single changes of a task on one device, and its page on the other."""
    pair = Pair.made(setting.folder / "live", setting.sizes.few)
    with pair.a.journal.transaction(clock.now(), PERSON) as tx:
        tasks.add_task(tx, TASK, "Title 0")
    edits = 10 if setting.sizes.quick else EDITS
    setting.doing("changes that show on a page", edits)
    crossed, shown = list[float](), list[float]()
    with pair.daemons() as (_, second):
        second.event("connected")
        pair.until_in_step()
        door = read_door(pair.b.path)
        assert door is not None
        visitor = Visitor(door)
        with visitor.events(f"/tasks/{TASK}") as events, Watch(pair.b) as watch:
            for number in range(1, edits + 1):
                took = _one(pair, visitor, events, watch, f"Title {number}")
                crossed.append(took[0])
                shown.append(took[1])
                setting.done(number)
    pair.close()
    return [
        Figure(f"{name} from its sync to the page", at(shown) * 1e3, "ms", at(crossed) * 1e3, WHAT, GOAL)
        for name, at in (("change of another device, median,", statistics.median), ("the same, 99 of 100,", _p99))
    ]


WHAT = "from its commit to its sync"
GOAL = value_at_most(WITHIN_MILLIS)


def _one(pair: Pair, visitor: Visitor, events: Iterator[str], watch: Watch, title: str) -> tuple[float, float]:
    """Seconds of one change: from its commit to its sync, and from there until the page that was asked for has it."""
    began = time.monotonic()
    with pair.a.journal.transaction(clock.now(), PERSON) as tx:
        tasks.edit_task(tx, TASK, {"title": title})
    synced = watch.rung(lambda: title_of(pair.b) == title)
    for _ in events:
        if title in visitor.get(f"/tasks/{TASK}"):
            return synced - began, time.monotonic() - synced
    raise AssertionError("the stream ended")


def title_of(home: TaskHome) -> str:
    with home.journal.reading() as reader:
        return tasks.page(reader, TASK).task.title


def _p99(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.99) - 1]
