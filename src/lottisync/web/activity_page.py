"""Activity: one time line of what people, agents and devices did, by the day."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from lottisync.causality.vector_clock import Host
from lottisync.device.acts import title_of
from lottisync.entities.entity import Entity
from lottisync.journal import words as task_words
from lottisync.journal.toolbox import ACTIONS
from lottisync.journal.types import ENTRY_LINK, TIME
from lottisync.language import headed, listed, marked, say, spoken
from lottisync.review.change import ChangeDecision
from lottisync.review.precedence import is_persons
from lottisync.review.proposal_record import ProposalRecord, proposal_records
from lottisync.store import lookups
from lottisync.store.beside import beside
from lottisync.store.instant import iso, millis, there
from lottisync.store.reader import Reader
from lottisync.web import rows, words
from lottisync.web.frame import page, site_of
from lottisync.web.site import Site

MAX_LINES = 200
"""For the time line, and for the changes that it is made from."""
AGENT = "agent:"
"""Before the name of an agent in an address: a device may be called the same."""
NEW = {
    "task": marked("New task"),
    "checklist": marked("New checklist"),
    "checklistItem": marked("New item"),
    "entry": marked("New note"),
    "label": marked("New label"),
    "category": marked("New category"),
    ENTRY_LINK: marked("Linked tasks"),
}
"""What the line of an entity begins with that was made and not changed since."""
CHIPS = (("", marked("Everything")), ("you", marked("You")), ("agents", marked("Agents")))


class Activity(NamedTuple):
    """One line: at a time (ms), who (`you` or `agents`), what they are called, on which device ('' if that is not
    known), what they did, and the task that it is about."""

    at: int
    who: str
    name: str
    device: str
    said: str
    task: str

    @property
    def agent(self) -> str:
        """What this agent is asked for by; '' for a person, and where its name is not known."""
        return f"{AGENT}{self.name}" if self.who == "agents" and self.name != say("an agent") else ""


def activity(request: Request) -> Response:
    """`GET /activity`: the newest first, of all; with `?by=` of the person, agents, one agent or one device."""
    site, by = site_of(request), request.query_params.get("by", "")
    activities = sorted([*_written(site), *_of_proposals(site)], key=lambda activity: activity.at, reverse=True)
    devices = sorted({activity.device for activity in activities if activity.device})
    agents = sorted({activity.name for activity in activities if activity.agent})
    fitting = [activity for activity in activities if by in ("", activity.who, activity.agent, activity.device)]
    shown = fitting[:MAX_LINES]
    return page(
        request,
        "activity.html",
        title=say("Activity"),
        at="activity",
        days=_by_day(shown),
        titles=site.inbox().titles({activity.task for activity in shown}),
        chips=[
            *((key, say(name)) for key, name in CHIPS),
            *((f"{AGENT}{name}", name) for name in agents),
            *((name, name) for name in devices),
        ],
        by=by,
    )


def _by_day(activities: list[Activity]) -> dict[str, list[tuple[str, str, Activity]]]:
    """The lines of each day where the browser is, each with its time of the day and its exact time."""
    found: dict[str, list[tuple[str, str, Activity]]] = {}
    for activity in activities:
        at = there(activity.at)
        found.setdefault(words.day(at.date().isoformat()), []).append((f"{at:%H:%M}", iso(activity.at), activity))
    return found


def _of_proposals(site: Site) -> Iterable[Activity]:
    """What was proposed, and each verdict."""
    for one in proposal_records(site.journal, site.agents, ACTIONS, site.now(), language=spoken()):
        said = say("proposed: {what}", what=one.summary)
        yield Activity(millis(one.proposed_at), "agents", one.agent_name, "", said, one.task_id)
        for decision in one.decisions:
            yield _verdict(site, one, decision)


def _verdict(site: Site, one: ProposalRecord, decision: ChangeDecision) -> Activity:
    yours = decision.actor == "user"
    name = say("you") if yours else one.agent_name
    said = headed(_done(one, decision), one.summary)
    who = "you" if yours else "agents"
    return Activity(millis(decision.created_at), who, name, site.name_of(decision.device), said, one.task_id)


def _done(one: ProposalRecord, decision: ChangeDecision) -> str:
    """A verdict in a word. For one that takes another one back, it names that one."""
    before = next((each.verdict for each in one.decisions if each.id == decision.undoes), None)
    if before is None:
        return say("took a verdict back") if decision.undoes else rows.said_of(decision.verdict)
    return say("took back ({what})", what=rows.said_of(before))


def _written(site: Site) -> Iterable[Activity]:
    """What was written to the tasks last, on whichever device: one line for each entity, with its latest write. One
    that needs a damaged row has no line; the list of tasks and `status` name the damage."""
    with site.journal.reading() as reader:
        names = site.names_of_hosts(reader)

        def line(ident: str) -> Activity | None:
            entity = reader.entity(ident)
            return _latest(entity, _title(reader, entity), names) if entity is not None and entity.registers else None

        yield from filter(None, beside(lookups.last_changed(reader, MAX_LINES), line, []))


def _title(reader: Reader, entity: Entity) -> str:
    """The title by which a person knows an entity. A link is called by both its ends, and an entity without words by
    its task."""
    if entity.type == ENTRY_LINK:
        ends = [title_of(reader.document(str(entity.value(end)))) for end in ("fromId", "toId")]
        return " → ".join(ends)
    title = title_of(reader.document(entity.id))
    task = entity.value("taskId")
    return title_of(reader.document(str(task))) if title == entity.type and task else title


def _latest(entity: Entity, title: str, names: Mapping[Host, str]) -> Activity:
    stamps = {path: max(write.stamp for write in writes) for path, writes in entity.registers.items()}
    last = max(stamps.values(), key=lambda stamp: stamp.hlc)
    written = [path for path, stamp in stamps.items() if stamp.hlc == last.hlc]
    yours = any(is_persons(path, last.precedence) for path in written)
    about = {"task": entity.id, ENTRY_LINK: entity.value("fromId")}.get(entity.type, entity.value("taskId"))
    who, name = ("you", say("you")) if yours else ("agents", say("an agent"))
    return Activity(last.millis, who, name, names.get(last.host, ""), _said(entity, title, written), str(about or ""))


def _said(entity: Entity, title: str, written: Iterable[str]) -> str:
    """`New note: The fitter calls back.`, or `The fitter calls back. · Text` if it was changed since: what it is called
    may be a sentence, which no colon may follow."""
    if "createdAt" in written and entity.type in NEW:
        new = say("Time") if entity.value("kind") == TIME else say(NEW[entity.type])
        return headed(new, title)
    fields = [task_words.field(path) for path in written if path in task_words.FIELDS]
    if entity.type == ENTRY_LINK and not fields:
        fields = [say("Linked tasks")]
    return f"{title} · {listed(fields)}" if fields else title
