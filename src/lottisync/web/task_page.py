"""Tasks: the list, and one task with everything that a person does to it."""

import os
import re
from collections.abc import Callable, Collection, Mapping
from datetime import date, datetime, tzinfo
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from lottisync.agents.endpoint import model_named
from lottisync.agents.report import latest_report
from lottisync.agents.task_agent import agent_for_task, create_task_agent
from lottisync.device import acts
from lottisync.entities.entity import Entity
from lottisync.entities.view import view
from lottisync.journal import checklist, finding, names, never_sent, repetition, task_values, tasks, time_entry
from lottisync.journal import task_list as task_list_index
from lottisync.journal import words as task_words
from lottisync.journal.task_list import Wanted
from lottisync.journal.time_entry import Span
from lottisync.journal.toolbox import ACTIONS
from lottisync.journal.types import ENTRY_LINK, INVERSES, PRIORITIES, RELATIONS, STATUSES, EntryLink, Task
from lottisync.language import marked, say
from lottisync.problem import Problem, Sentence
from lottisync.review.precedence import PERSON
from lottisync.review.proposal_record import proposal_records
from lottisync.store import lookups, overwritten
from lottisync.store.instant import iso, later, millis, there
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction
from lottisync.web import rows, words
from lottisync.web.frame import back_to, form_of, page, place_of, problem_text, since_of, site_of, zone_of
from lottisync.web.gate import Form
from lottisync.web.site import Site

CLOSED = ("DONE", "REJECTED")
PER_PAGE = 50
FILTERS = (
    ("", marked("Open")),
    ("due", marked("Due this week")),
    ("waiting", marked("Waiting for you")),
    ("reminders", marked("Reminders")),
    ("done", marked("Done")),
    ("deleted", marked("Deleted")),
)
WEEK = 7
MOST_WRITES = 50
"""Lines of the history of a task's fields on its page."""


def task_list(request: Request) -> Response:
    """`GET /tasks`."""
    return _listed(request)


def add(request: Request) -> Response:
    """`POST /tasks`: a new task."""
    site, form = site_of(request), form_of(request)
    now = site.now()
    task_id = site.new_id(now)
    try:
        with acts.acting(site.journal, now, place_of(request), marked("added")) as tx:
            tasks.add_task(tx, task_id, form.one("title"))
    except Problem as problem:
        return _listed(request, said=problem_text(problem), status=400)
    return back_to("/tasks", f"task-{task_id}", added=task_id)


def _listed(request: Request, *, said: str = "", status: int = 200) -> Response:
    site, query = site_of(request), request.query_params
    chosen, wanted = query.get("show", ""), " ".join(query.get("q", "").split())[:200]
    waiting = site.waiting_by_task()
    asked = _wanted(site, chosen, wanted, _today(request), waiting)._replace(
        limit=PER_PAGE, after=query.get("after") or None
    )
    part, count = task_list_index.counted_page_of(site.home.path / task_list_index.FILE, site.journal, asked)
    return page(
        request,
        "tasks.html",
        title=say("Tasks"),
        at="tasks",
        said=said or (say("Added.") if query.get("added") else ""),
        status=status,
        tasks=part.lines,
        count=count,
        damaged=len(part.damaged),
        more=part.lines[-1].id if part.more else "",
        waiting_in=waiting,
        filters=FILTERS,
        chosen=chosen,
        forgotten={one: task_list_index.forgotten_from(at) for one, at in part.changed.items() if chosen == "deleted"},
        wanted=wanted,
        today=_today(request),
    )


def _today(request: Request) -> str:
    """The day where the browser is, as a due date is written."""
    return there(site_of(request).now(), zone_of(request)).date().isoformat()


def _wanted(site: Site, chosen: str, piece: str, today: str, waiting: Collection[str]) -> Wanted:
    """What a filter means. What is due this week is due in the next seven days, or before."""
    wanted = Wanted(piece=piece or None)
    match chosen:
        case "done":
            return wanted._replace(statuses=CLOSED)
        case "deleted":
            return wanted._replace(deleted=True)
        case "due":
            return wanted._replace(until=later(date.fromisoformat(today), WEEK).isoformat())
        case "reminders":
            file = site.home.path / task_list_index.FILE
            reminded = task_list_index.reminded(file, site.journal, iso(site.now()))
            return wanted._replace(ids=[one.id for one in reminded])
        case "waiting":
            return wanted._replace(ids=sorted(waiting), everything=True)
        case _:
            return wanted


# -- one task


def one_task(request: Request) -> Response:
    """`GET /tasks/{task}`."""
    return shown(request, request.path_params["task"], since_of(request))


def shown(request: Request, task_id: str, since: int, *, said: str = "", status: int = 200) -> Response:
    site = site_of(request)
    now = site.now()
    try:
        with site.journal.reading() as reader:
            held = tasks.page(reader, task_id)
            linked = [
                end
                for link in (*reader.links_from(task_id, ENTRY_LINK), *reader.links_to(task_id, ENTRY_LINK))
                for end in _ends(reader, link, task_id)
            ]
            category = words.named(reader, "categoryId", held.task.category_id)
            written = _written(site, reader, task_id, zone_of(request))
    except Problem as problem:
        return _gone(request, task_id, problem)
    with site.agents.reading() as reader:
        agent = agent_for_task(reader, task_id)
        report = latest_report(reader, agent.id) if agent is not None else None
    history = proposal_records(site.journal, site.agents, ACTIONS, now, task_id)
    return page(
        request,
        "task.html",
        title=held.task.title,
        at="tasks",
        status=status,
        said=said,
        held=held,
        task=held.task,
        linked=linked,
        relations=[(word, say(task_words.RELATIONS[word])) for word in (*RELATIONS, *INVERSES)],
        written=written,
        agent=agent,
        report=report.content if report is not None else {},
        cards=rows.cards(site.inbox().visited_sets(now, since, task_id)),
        history=list(reversed(history)),
        statuses=STATUSES,
        priorities=PRIORITIES,
        category=str(category or ""),
        reminded=words.value("remindAt", held.task.remind_at, zone_of(request)),
        reminder=_typed(held.task.remind_at, zone_of(request)),
        rule=repetition.rule_of(held.task.repeat),
        repeats=_repeats(held.task),
        units=[(unit, say(name)) for unit, name in UNITS.items()],
        edit=request.query_params.get("edit", ""),
        since=since,
        back=task_id,
    )


def _gone(request: Request, task_id: str, why: Problem) -> Response:
    """The page of a task that is not here; of one that was deleted, with a button that brings it back."""
    with site_of(request).journal.reading() as reader:
        document = reader.document(task_id)
        deleted = document is not None and document.type == "task" and document.deleted
        changed = lookups.updated_at(reader, task_id) if deleted else ""
    title = str(document.document().get("title", "")) if document is not None and deleted else ""
    return page(
        request,
        "gone.html",
        title=say("Not here"),
        at="tasks",
        status=404,
        why=problem_text(why),
        deleted=task_id if deleted else "",
        name=title,
        forgotten=task_list_index.forgotten_from(changed) if deleted else "",
    )


UNITS = {"day": marked("days"), "week": marked("weeks"), "month": marked("months"), "year": marked("years")}


def _typed(instant: str | None, zone: tzinfo | None) -> str:
    """A reminder as the field of a browser takes it, by its clock."""
    try:
        return there(millis(instant or ""), zone).strftime("%Y-%m-%dT%H:%M")
    except (ValueError, OverflowError):
        return ""


def _repeats(task: Task) -> str:
    return words.value("repeat", task.repeat) if task.repeat else say("never")


class End(NamedTuple):
    """The other end of a link: the word for it as seen from here, and what people read, the task, its title."""

    word: str
    relation: str
    task: str
    title: str


FAR_END = {stored: word for word, stored in INVERSES.items()}


def _ends(reader: Reader, link: Entity, task_id: str) -> list[End]:
    held = view(link, EntryLink)
    there = held.from_id == task_id
    other = held.to_id if there else held.from_id
    document = reader.document(other)
    if document is None or document.deleted:
        return []
    words_here = [word if there else FAR_END.get(word, word) for word, on in sorted(held.relations.items()) if on]
    title = str(document.document().get("title", ""))
    return [End(word, say(task_words.RELATIONS.get(word, word)), other, title) for word in words_here]


class Written(NamedTuple):
    """A write to a field: what it is called, what was there, what was written; when, by whom, where."""

    label: str
    before: str
    after: str
    at: str
    by: str
    device: str
    current: bool


def _written(site: Site, reader: Reader, task_id: str, zone: tzinfo | None) -> list[Written]:
    """Who wrote which field of a task, the newest first."""
    names = site.names_of_hosts(reader)
    lines = [line for line in overwritten.history(reader, task_id) if line.path in words.FIELDS]
    return [
        Written(
            words.field(line.path),
            words.value(line.path, words.named(reader, line.path, line.replaced), zone),
            words.value(line.path, words.named(reader, line.path, line.value), zone),
            *(iso(line.stamp.millis), say("you") if line.stamp.precedence >= PERSON else say("an agent")),
            *(names.get(line.stamp.host, say("another device")), line.current),
        )
        for line in lines[: -MOST_WRITES - 1 : -1]
    ]


def change(request: Request) -> Response:
    """`POST /tasks/{task}`: one verb of `lottisync.journal.tasks`."""
    site, form, task_id = site_of(request), form_of(request), request.path_params["task"]
    verb = VERBS.get(form.one("verb"))
    try:
        if form.one("verb") == "create-agent":
            _let_an_agent_mind(site, task_id, form)
            return back_to(f"/tasks/{task_id}", form.one("anchor"), since=since_of(request))
        if verb is None:
            raise Problem("bad-verb", "there is nothing called {verb!r} to do", verb=form.one("verb")[:40])
        now = site.now()
        with acts.acting(site.journal, now, place_of(request), _said(form)) as tx:
            verb(tx, task_id, form, Here(site.new_id(now), zone_of(request)))
    except Problem as problem:
        return shown(request, task_id, since_of(request), said=problem_text(problem), status=400)
    if form.one("verb") == "delete":
        return back_to("/tasks")
    return back_to(f"/tasks/{task_id}", form.one("anchor"), since=since_of(request))


def _let_an_agent_mind(site: Site, task_id: str, form: Form) -> None:
    """As `agent create` does: it wakes on this device."""
    create_task_agent(
        site.journal,
        site.agents,
        task_id,
        name=form.one("name"),
        home_device=site.home.key.device_id,
        model=model_named(form.one("model"), os.environ),
        now=site.now(),
    )


SAID = {
    "title": marked("renamed"),
    "priority": marked("priority {value}"),
    "due": marked("due {value}"),
    "estimate": marked("estimated"),
    "remind": marked("reminds you on {fields}"),
    "repeat": marked("repeats {rule}"),
    "add-item": marked("added"),
    "tick": marked("ticked"),
    "untick": marked("not ticked"),
    "rename-item": marked("renamed"),
    "remove-item": marked("removed"),
    "archive-item": marked("archived"),
    "put-back": marked("back on the checklist"),
    "move": marked("moved"),
    "language": marked("language: {code}"),
    "start-timer": marked("timer started"),
    "stop-timer": marked("stopped"),
    "remove-time": marked("removed"),
    "category": marked("in {category}"),
    "label": marked("label: {value}"),
    "unlabel": marked("without the label {value}"),
    "link": marked("linked"),
    "unlink": marked("no longer linked"),
    "note": marked("noted"),
    "never-send": marked("never sent to a model"),
    "send-again": marked("may be sent to a model"),
    "delete": marked("deleted"),
    "undelete": marked("back"),
}
"""What an act is called, by the name of its verb."""


def _said(form: Form) -> Sentence:
    verb, value = form.one("verb"), " ".join(form.one("value").split())[:40]
    if verb == "status":
        return task_words.status(value)
    if verb == "category":
        return Sentence(SAID[verb], category=value) if value else Sentence(marked("without a category"))
    if verb == "language":
        return Sentence(SAID[verb], code=value.lower()) if value else Sentence(marked("without a language"))
    if verb == "remind":
        return Sentence(SAID[verb], fields=value.replace("T", " ")) if value else Sentence(marked("without a reminder"))
    if verb == "repeat":
        rule = repetition.said(_typed_rule(form), date.min) if value else None
        return Sentence(SAID[verb], rule=repetition.how_often(rule)) if rule else Sentence(marked("does not repeat"))
    return Sentence(SAID[verb], value=value or Sentence(marked("none")))


class Here(NamedTuple):
    """Where and when a verb is said: an id for what it makes, and the zone of the browser."""

    new: str
    zone: tzinfo | None


Verb = Callable[[Transaction, str, Form, Here], object]


def _put_into(tx: Transaction, task_id: str, category: str) -> None:
    """Into a category, which is made if there is none of this name; with no name, into none."""
    ident = names.find_or_make(tx, "category", category) if category.strip() else None
    tasks.edit_task(tx, task_id, {"categoryId": ident})


def _due(text: str) -> str | None:
    return task_values.checked_day(text) if text.strip() else None


def _reminder(text: str, zone: tzinfo | None) -> str | None:
    """An instant, of a day and a time as a browser's field says them, by its clock."""
    if not text.strip():
        return None
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?", text.strip(), re.ASCII):
        raise Problem("bad-value", "a reminder is a day and a time; got {text!r}", text=text[:40])
    try:
        typed = datetime.fromisoformat(text.strip())
        at = typed.replace(tzinfo=zone) if zone is not None else typed.astimezone()
        return time_entry.checked_instant(iso(millis(at.isoformat())))
    except (ValueError, OverflowError):
        raise Problem("bad-value", "a reminder is a day and a time; got {text!r}", text=text[:40]) from None


def _typed_rule(form: Form) -> str:
    return f"every {form.one('every').strip() or 1} {form.one('value').strip()}"


def _repeat(tx: Transaction, task: str, form: Form, here: Here) -> object:
    """Let a task repeat, from the day on which it is due, or from today; or not any more."""
    if not form.one("value").strip():
        return tasks.edit_task(tx, task, {"repeat": None})
    due = tasks.read(tx, task, "task", Task).due
    start = task_values.checked_day(due) if due else there(tx.now, here.zone).date().isoformat()
    rule = repetition.said(_typed_rule(form), date.fromisoformat(start))
    return tasks.edit_task(tx, task, {"repeat": rule.stored()})


def _minutes(text: str) -> int | None:
    if not text.strip():
        return None
    if not (text.strip().isascii() and text.strip().isdigit()):
        raise Problem("bad-value", "minutes are a whole number; got {text!r}", text=text[:40])
    return task_values.checked_minutes(int(text))


def _steps(text: str) -> int:
    """By how many places an item is moved: down, or up with a minus."""
    if not re.fullmatch("-?[0-9]{1,4}", text, re.ASCII):
        raise Problem("bad-value", "an item is moved by a number of places; got {text!r}", text=text[:40])
    return int(text)


def _link(tx: Transaction, task: str, form: Form, *, on: bool) -> object:
    """Link a task, which may be named by its title, with the one of the page; or take that back."""
    other = finding.resolve(tx, form.one("other"), "task")
    return tasks.set_link(tx, task, form.one("relation"), other, on=on)


def _label(tx: Transaction, task: str, name: str, *, on: bool) -> object:
    known = names.find_or_make(tx, "label", name) if on else names.find_known(tx, "label", name)
    return names.label_task(tx, task, [known], on=on)


def _note(tx: Transaction, task: str, new: str, text: str, minutes: int | None) -> object:
    """A note; with minutes, time that was spent until now."""
    if minutes is None:
        return tasks.add_note(tx, new, task, text)
    return time_entry.add(tx, new, task, text, Span(iso(tx.now - minutes * 60_000), iso(tx.now)))


VERBS: Mapping[str, Verb] = {
    "title": lambda tx, task, form, here: tasks.edit_task(
        tx, task, {"title": task_values.checked_title(form.one("value"))}
    ),
    "status": lambda tx, task, form, here: repetition.edit_task(
        tx, task, task_values.checked_status(form.one("value"), form.one("reason"))
    ),
    "priority": lambda tx, task, form, here: tasks.edit_task(
        tx, task, {"priority": task_values.checked_priority(form.one("value"))}
    ),
    "due": lambda tx, task, form, here: tasks.edit_task(tx, task, {"due": _due(form.one("value"))}),
    "remind": lambda tx, task, form, here: tasks.edit_task(
        tx, task, {"remindAt": _reminder(form.one("value"), here.zone)}
    ),
    "repeat": _repeat,
    "estimate": lambda tx, task, form, here: tasks.edit_task(tx, task, {"estimate": _minutes(form.one("value"))}),
    "add-item": lambda tx, task, form, here: tasks.add_item(tx, here.new, task, form.one("value")),
    "tick": lambda tx, task, form, here: tasks.check_item(tx, form.one("item"), checked=True),
    "untick": lambda tx, task, form, here: tasks.check_item(tx, form.one("item"), checked=False),
    "rename-item": lambda tx, task, form, here: tasks.rename_item(tx, form.one("item"), form.one("value")),
    "remove-item": lambda tx, task, form, here: tasks.remove_item(tx, form.one("item")),
    "archive-item": lambda tx, task, form, here: checklist.archive_item(tx, form.one("item")),
    "put-back": lambda tx, task, form, here: checklist.archive_item(tx, form.one("item"), archived=False),
    "language": lambda tx, task, form, here: tasks.edit_task(tx, task, task_values.language_fields(form.one("value"))),
    "start-timer": lambda tx, task, form, here: time_entry.start(
        tx, here.new, task, form.one("value").strip() or time_entry.DEFAULT_TEXT, iso(tx.now)
    ),
    "stop-timer": lambda tx, task, form, here: time_entry.stop(tx, form.one("item"), iso(tx.now)),
    "remove-time": lambda tx, task, form, here: time_entry.remove(tx, form.one("item")),
    "move": lambda tx, task, form, here: tasks.move_item(tx, form.one("item"), _steps(form.one("steps"))),
    "category": lambda tx, task, form, here: _put_into(tx, task, form.one("value")),
    "label": lambda tx, task, form, here: _label(tx, task, form.one("value"), on=True),
    "unlabel": lambda tx, task, form, here: _label(tx, task, form.one("value"), on=False),
    "link": lambda tx, task, form, here: _link(tx, task, form, on=True),
    "unlink": lambda tx, task, form, here: _link(tx, task, form, on=False),
    "note": lambda tx, task, form, here: _note(tx, task, here.new, form.one("value"), _minutes(form.one("minutes"))),
    "never-send": lambda tx, task, form, here: never_sent.mark(tx, task, never=True),
    "send-again": lambda tx, task, form, here: never_sent.mark(tx, task, never=False),
    "delete": lambda tx, task, form, here: tasks.delete_task(tx, task),
    "undelete": lambda tx, task, form, here: tasks.undelete_task(tx, task),
}
"""What the page can do to a task, by the name that its forms give it."""
