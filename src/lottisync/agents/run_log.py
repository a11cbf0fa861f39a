"""The log of wakes: which run is going on, and how each run ended (docs/specs/09-agents.md, section 3).

The log is local: it has the runs of this device only. A run is a row whose key is its cause (`run_key`), and
`TRANSITIONS` has the transitions of its status. A completed run is never started again under its key. One that failed
or was skipped may be started again, and goes on where it stopped.

A run that is `queued` or `started` and whose process is gone was killed. Times do not decide whether the process is
gone: a wake holds a lock on a file, and the kernel releases it with the process, also after `kill -9`. So the process
that holds the lock knows that every open row of that agent is dead (S3-92).
"""

import contextlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lottisync import wording
from lottisync.agents.run_key import Trigger, WakeReason
from lottisync.problem import Problem, Sentence
from lottisync.store.instant import iso
from lottisync.store.lock import Lock, is_held
from lottisync.store.merge import Merge
from lottisync.store.reader import Reader
from lottisync.store.store import Store

TABLE = """
create table if not exists wake_run_log (run_key text not null primary key, agent_id text not null,
    reason text not null, reason_id text, thread_id text not null, status text not null, logical_change_key text,
    created_at text not null, started_at text, completed_at text, error_message text) strict;
create index if not exists idx_wake_run_log_agent on wake_run_log(agent_id, created_at desc);
create index if not exists idx_wake_run_log_status on wake_run_log(status);
"""
"""Runs of wakes on this device; local, never replicated (S3-17). `error_message` are words as `lottisync.wording` keeps
them in a column."""

QUEUED, STARTED, COMPLETED, SKIPPED, FAILED = "queued", "started", "completed", "skipped", "failed"

TRANSITIONS: Mapping[tuple[str, str], str] = {
    (QUEUED, "begin"): STARTED,
    (QUEUED, "refuse"): SKIPPED,
    (QUEUED, "supersede"): FAILED,
    (QUEUED, "abandon"): SKIPPED,
    (STARTED, "begin"): STARTED,
    (STARTED, "refuse"): SKIPPED,
    (STARTED, "complete"): COMPLETED,
    (STARTED, "fail"): FAILED,
    (STARTED, "supersede"): FAILED,
    (STARTED, "abandon"): SKIPPED,
    (FAILED, "begin"): STARTED,
    (FAILED, "refuse"): SKIPPED,
    (SKIPPED, "begin"): STARTED,
    (SKIPPED, "refuse"): SKIPPED,
}
"""(status, event) -> status; a pair that is missing cannot happen (docs/specs/09-agents.md, section 3)."""

LOCK_TRIES = 5
"""Who asks whether an agent is awake holds its lock, too, for an instant; only a lock that stays taken is a wake's."""
_COLUMNS = """run_key, agent_id, reason, reason_id, thread_id, status, logical_change_key,
    created_at, started_at, completed_at, error_message"""


class Run(NamedTuple):
    """One row; times are ISO 8601 in UTC."""

    run_key: str
    agent_id: str
    reason: WakeReason
    reason_id: str
    thread_id: str
    status: str
    logical_change_key: str | None
    created_at: str
    started_at: str | None
    completed_at: str | None
    error_message: Sentence | None

    @property
    def is_open(self) -> bool:
        """Whether it has no end yet: it is under way, or its process was killed."""
        return self.status in (QUEUED, STARTED)

    @property
    def trigger(self) -> Trigger:
        return Trigger(self.run_key, self.reason, self.reason_id, self.logical_change_key)


@contextlib.contextmanager
def single_flight(agent_store: Store, agent_id: str, name: str) -> Iterator[None]:
    """Hold the lock of the agent, so that no other wake of it runs on this device until the block ends (AGENT-8).
    `name` is what a message calls the agent.

    `Problem("awake")` if another process, or another task of this one, is it already."""
    file = _lock_file(agent_store, agent_id)
    file.parent.mkdir(mode=0o700, exist_ok=True)
    with Lock(file) as lock:
        for _ in range(LOCK_TRIES):
            if lock.take():
                break
            time.sleep(0.002)
        else:
            raise Problem("awake", "{name} is awake already on this device. Wait until it is done", name=name)
        yield


def is_awake(agent_store: Store, agent_id: str) -> bool:
    """Whether a wake of that agent is under way on this device, in any process."""
    return is_held(_lock_file(agent_store, agent_id))


def _lock_file(agent_store: Store, agent_id: str) -> Path:
    return agent_store.file.with_name("wakes") / f"{agent_id}.lock"


def find(reader: Reader, run_key: str) -> Run | None:
    rows = reader.local(f"select {_COLUMNS} from wake_run_log where run_key = ?", (run_key,))
    return _run(*rows[0]) if rows else None


def runs(reader: Reader, agent_id: str, limit: int = -1) -> list[Run]:
    """The agent's runs on this device, the latest first; all, or as many as `limit`."""
    rows = reader.local(
        f"select {_COLUMNS} from wake_run_log where agent_id = ? order by created_at desc, rowid desc limit ?",
        (agent_id, limit),
    )
    return [_run(*row) for row in rows]


def _run(*row: Any) -> Run:
    run = Run(*row)
    return run if run.error_message is None else run._replace(error_message=wording.of_column(run.error_message))


def agents_with_open_runs(reader: Reader) -> set[str]:
    rows = reader.local("select distinct agent_id from wake_run_log where status in (?, ?)", (QUEUED, STARTED))
    return {agent_id for (agent_id,) in rows}


def interrupted(reader: Reader, agent_id: str) -> Trigger | None:
    """The trigger of the agent's last run if that one did not end: waking with it goes on where it stopped
    (or says that it is still awake)."""
    latest = runs(reader, agent_id)[:1]
    return latest[0].trigger if latest and latest[0].is_open else None


def enqueue(tx: Merge, trigger: Trigger, agent_id: str, thread_id: str) -> Run:
    """The run of that key: the one that is there, else a new row with status `queued`."""
    tx.execute(
        """insert or ignore into wake_run_log(run_key, agent_id, reason, reason_id, thread_id, status,
           logical_change_key, created_at) values (?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            trigger.run_key,
            agent_id,
            trigger.reason,
            trigger.reason_id,
            thread_id,
            QUEUED,
            trigger.logical_change_key,
            iso(tx.now),
        ),
    )
    run = find(tx, trigger.run_key)
    assert run is not None
    return run


def move(tx: Merge, run_key: str, event: str, why: str | Problem | None = None) -> None:
    """Change the run's status by `event`; `why` is for the person. `KeyError` for an event that the status does not
    allow, which is a bug."""
    run = find(tx, run_key)
    assert run is not None
    status = TRANSITIONS[run.status, event]
    begun, ended = (iso(tx.now), None) if status == STARTED else (None, iso(tx.now))
    tx.execute(
        """update wake_run_log set status = ?, started_at = coalesce(started_at, ?), completed_at = ?, error_message = ?
           where run_key = ?""",
        (status, begun, ended, None if why is None else wording.column(why), run_key),
    )


def begin(tx: Merge, run: Run) -> None:
    """Mark the run started, and every other open run of this agent failed: the caller holds the lock, so the
    processes that began those have ended, and no process will go on with them."""
    for other in _open_runs(tx, run.agent_id):
        if other != run.run_key:
            move(tx, other, "supersede", Sentence("it was killed, and another wake came after it"))
    move(tx, run.run_key, "begin")


def abandon(agent_store: Store, agent_id: str, why: Sentence, now: int) -> None:
    """End every open run of that agent, unless one of them lives."""
    with (
        contextlib.suppress(Problem),
        single_flight(agent_store, agent_id, "the agent"),
        agent_store.transaction(now, None) as tx,
    ):
        for each in _open_runs(tx, agent_id):
            move(tx, each, "abandon", why)


def _open_runs(reader: Reader, agent_id: str) -> list[str]:
    rows = reader.local(
        "select run_key from wake_run_log where agent_id = ? and status in (?, ?)", (agent_id, QUEUED, STARTED)
    )
    return [run_key for (run_key,) in rows]


def rethread(tx: Merge, run: Run, thread_id: str) -> Run:
    """Go on with the run in a new thread, because its old one failed."""
    tx.execute("update wake_run_log set thread_id = ? where run_key = ?", (thread_id, run.run_key))
    return run._replace(thread_id=thread_id)
