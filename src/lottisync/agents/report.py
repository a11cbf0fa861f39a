"""The report: an agent's summary of a task for the person (docs/specs/09-agents.md, section 6).

It has twelve fields, and two authors. What the task *is* (title, status, priority, estimate, due date, progress)
is filled in by the program from the same reading of the journal that the model saw: a model that mistypes a date
must not be able to put it on the person's screen as a fact. What the task *means* (tldr, goal, achieved, remaining,
learnings) are the model's words.

Reports are immutable; each wake writes a new one, and a head per scope points at the latest. Both are written in
one transaction, so that the head never points at nothing (S3-61).
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from lottisync.agents.budget import squeezed
from lottisync.agents.lifecycle import report_head_id
from lottisync.agents.types import AgentReport, AgentReportHead
from lottisync.entities.view import view
from lottisync.journal.tasks import TaskPage
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

CURRENT = "current"
FIELDS = (
    "title",
    "tldr",
    "goal",
    "status",
    "priority",
    "estimate",
    "dueDate",
    "achieved",
    "remaining",
    "learnings",
    "checklistProgress",
    "lastUpdated",
)
WORDS = ("tldr", "goal", "achieved", "remaining", "learnings")
"""The fields that the model writes; all others are facts."""
PROGRESS = "checklistProgress"
MAX_WORDS = 2_000
"""Characters of one of the model's texts, and of each entry of its lists: a report is read at a glance."""
MAX_ENTRIES = 40
MAX_BYTES = 100_000
"""For all words together, so that a report fits into its document in every script."""


class ReportText(msgspec.Struct, frozen=True):
    """The model's part."""

    tldr: str = ""
    goal: str = ""
    achieved: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()
    learnings: tuple[str, ...] = ()

    def as_content(self) -> dict[str, Any]:
        return {
            "tldr": self.tldr,
            "goal": self.goal,
            "achieved": list(self.achieved),
            "remaining": list(self.remaining),
            "learnings": list(self.learnings),
        }


def words_from(fields: Mapping[str, Any]) -> ReportText:
    """The words among `fields` (a validated call, or the content of an earlier report), each cut to its limit."""

    def text(name: str) -> str:
        value = fields.get(name)
        return value.strip()[:MAX_WORDS] if isinstance(value, str) else ""

    def entries(name: str) -> tuple[str, ...]:
        value = fields.get(name)
        listed = value if isinstance(value, list | tuple) else ()
        return tuple(e.strip()[:MAX_WORDS] for e in listed if isinstance(e, str) and e.strip())[:MAX_ENTRIES]

    words = ReportText(text("tldr"), text("goal"), entries("achieved"), entries("remaining"), entries("learnings"))
    small = squeezed(words.as_content(), MAX_BYTES)
    return ReportText(small["tldr"], small["goal"], *(tuple(small[name]) for name in WORDS[2:]))


def content(words: ReportText, page: TaskPage, now: int) -> dict[str, Any]:
    """The twelve fields of a report, in their order; an estimate or due date that is not set is None (S3-70)."""
    task = page.task
    filled = words.as_content() | {
        "title": task.title,
        "status": task.status.lower().replace(" ", "_"),
        "priority": task.priority,
        "estimate": None if task.estimate is None else duration(task.estimate),
        "dueDate": task.due,
        PROGRESS: {
            "total": len(page.items),
            "completed": sum(item.is_checked for item in page.items),
        },
        "lastUpdated": iso(now),
    }
    return {field: filled[field] for field in FIELDS}


def duration(minutes: int) -> str:
    """90 -> `1h 30m`."""
    hours, rest = divmod(minutes, 60)
    return " ".join(part for part, amount in ((f"{hours}h", hours), (f"{rest}m", rest)) if amount) or "0m"


def put(
    tx: Transaction, agent_id: str, report_id: str, filled: Mapping[str, Any], provenance: Mapping[str, Any]
) -> None:
    """Write a report and point the head at it, in the caller's transaction."""
    tx.put(
        report_id,
        "agentReport",
        {
            "agentId": agent_id,
            "scope": CURRENT,
            "content": dict(filled),
            "provenance": dict(provenance),
            "createdAt": iso(tx.now),
        },
    )
    head = report_head_id(agent_id, CURRENT)
    known = tx.entity(head) is not None
    tx.put(head, "agentReportHead", {"agentId": agent_id, "scope": CURRENT, "reportId": report_id})
    if not known:
        tx.link("agent_report_head", agent_id, head)


def latest_report(reader: Reader, agent_id: str, scope: str = CURRENT) -> AgentReport | None:
    """What the agent said last, read without any model (S3-03). `content` has all twelve fields, in the
    order of `content()`. None before the first completed wake, or while the head has arrived and its report has not."""
    head = reader.entity(report_head_id(agent_id, scope))
    if head is None:
        return None
    entity = reader.entity(view(head, AgentReportHead).report_id)
    if entity is None or entity.type != "agentReport":
        return None
    report = view(entity, AgentReport)
    return msgspec.structs.replace(report, content=_fitting(report.content))


def _fitting(held: Mapping[str, Any]) -> dict[str, Any]:
    """The twelve fields of a report that may come from another program: what does not fit its field is not there
    (ENT-13)."""
    words, progress = words_from(held).as_content(), held.get(PROGRESS)
    facts = {name: value if isinstance(value := held.get(name), str) else None for name in FIELDS}
    return facts | words | {PROGRESS: progress if isinstance(progress, dict) else None}
