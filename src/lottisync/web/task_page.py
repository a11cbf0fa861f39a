"""Tasks: the list, and one task with everything that a person does to it."""

import os
from collections.abc import Collection
from datetime import date
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from lottisync.agents import creation
from lottisync.agents.endpoint import model_named
from lottisync.agents.report import latest_report
from lottisync.agents.task_agent import agent_for_task
from lottisync.device import acts
from lottisync.entities.version import Damaged
from lottisync.journal import task_list as task_list_index
from lottisync.journal import tasks
from lottisync.journal import words as task_words
from lottisync.journal.task_links import linked_tasks
from lottisync.journal.task_list import Wanted
from lottisync.journal.toolbox import ACTIONS
from lottisync.journal.types import INVERSES, RELATIONS, ChecklistItem
from lottisync.language import marked, say, spoken
from lottisync.problem import Problem, Sentence
from lottisync.review.precedence import is_persons
from lottisync.review.proposal_record import proposal_records
from lottisync.store import lookups, overwritten
from lottisync.store.instant import iso, later, there
from lottisync.store.reader import Reader
from lottisync.web import clock_field, rows, task_verbs, words
from lottisync.web.frame import back_to, form_of, origin_of, page, problem_text, since_of, site_of
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
MAX_WRITES = 50
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
        with acts.acting(site.journal, now, origin_of(request), Sentence("added")) as tx:
            tasks.add_task(tx, task_id, form.one("title"))
    except Problem as problem:
        return _listed(request, said=problem_text(problem), status=400)
    return back_to("/tasks", f"task-{task_id}", added=task_id)


def _listed(request: Request, *, said: str = "", status: int = 200) -> Response:
    site, query = site_of(request), request.query_params
    chosen, wanted = query.get("show", ""), " ".join(query.get("q", "").split())[:200]
    waiting = site.waiting_by_task()
    asked = _wanted(site, chosen, wanted, _today(site), waiting)._replace(
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
        today=_today(site),
    )


def _today(site: Site) -> str:
    """The day where the browser is, as a due date is written."""
    return there(site.now()).date().isoformat()


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
            linked = list(linked_tasks(reader, task_id))
            category = words.named(reader, "categoryId", held.task.category_id)
            written = _written(site, reader, task_id)
    except Problem as problem:
        return _gone(request, task_id, problem)
    try:
        with site.agents.reading() as reader:
            agent = agent_for_task(reader, task_id)
            report = latest_report(reader, agent.id) if agent is not None else None
    except Damaged as problem:
        return _gone(request, task_id, problem)
    history = proposal_records(site.journal, site.agents, ACTIONS, now, task_id, language=spoken())
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
        lists=_lists(held),
        typed=clock_field.shown,
        cards=rows.cards(site.inbox().visited_sets(now, since, task_id)),
        history=list(reversed(history)),
        category=str(category or ""),
        edit=request.query_params.get("edit", ""),
        since=since,
        back=task_id,
    )


def _gone(request: Request, task_id: str, why: Problem) -> Response:
    """The page of a task that is not here; of one that was deleted, with a button that brings it back."""
    with site_of(request).journal.reading() as reader:
        try:
            document = reader.document(task_id)
        except Damaged:  # which is `why`
            document = None
        deleted = document is not None and document.type == "task" and document.deleted
        changed = lookups.updated_at(reader, task_id) if deleted else ""
    title = str(document.document().get("title", "")) if document is not None and deleted else ""
    return page(
        request,
        "gone.html",
        title=say("Not here"),
        at="tasks",
        status=404,
        why=say("This task was deleted.") if deleted else problem_text(why),
        deleted=task_id if deleted else "",
        name=title,
        forgotten=task_list_index.forgotten_from(changed) if deleted else "",
    )


class Listed(NamedTuple):
    """A checklist with its items. Items whose checklist is not here are in one without a name."""

    id: str
    title: str
    items: list[ChecklistItem]


def _lists(held: tasks.TaskPage) -> list[Listed]:
    known = {one.id: Listed(one.id, one.title, []) for one in held.checklists}
    lost = Listed("", "", [])
    for item in held.items:
        known.get(item.checklist_id, lost).items.append(item)
    return [*known.values(), *([lost] if lost.items else [])]


class FieldWrite(NamedTuple):
    """A write to a field: what it is called, what was there, what was written; when, by whom, where."""

    label: str
    before: str
    after: str
    at: str
    by: str
    device: str
    current: bool


def _written(site: Site, reader: Reader, task_id: str) -> list[FieldWrite]:
    """Who wrote which field of a task, the newest first."""
    names, task = site.names_of_hosts(reader), reader.entity(task_id)
    assert task is not None, "it was read for the page"
    shown = {(path, writes[0].stamp) for path, writes in task.registers.items()}
    lines = [line for line in overwritten.history(reader, task_id) if line.path in task_words.FIELDS]
    return [
        FieldWrite(
            task_words.field(line.path),
            words.value(line.path, words.named(reader, line.path, line.replaced)),
            words.value(line.path, words.named(reader, line.path, line.value)),
            *(iso(line.stamp.millis), say("you") if is_persons(line.path, line.stamp.precedence) else say("an agent")),
            *(names.get(line.stamp.host, say("another device")), (line.path, line.stamp) in shown),
        )
        for line in lines[: -MAX_WRITES - 1 : -1]
    ]


def change(request: Request) -> Response:
    """`POST /tasks/{task}`: one verb of `lottisync.web.task_verbs`."""
    site, form, task_id = site_of(request), form_of(request), request.path_params["task"]
    verb = task_verbs.VERBS.get(form.one("verb"))
    try:
        if form.one("verb") == "create-agent":
            _let_an_agent_mind(site, task_id, form, origin_of(request))
            return back_to(f"/tasks/{task_id}", form.one("anchor"), since=since_of(request))
        if verb is None:
            raise Problem("bad-verb", "there is nothing called {verb!r} to do", verb=form.one("verb")[:40])
        now = site.now()
        with acts.acting(site.journal, now, origin_of(request), task_verbs.said(form)) as tx:
            verb(tx, task_id, form, site.new_id(now))
    except Problem as problem:
        return shown(request, task_id, since_of(request), said=problem_text(problem), status=400)
    if form.one("verb") == "delete":
        return back_to("/tasks")
    return back_to(f"/tasks/{task_id}", form.one("anchor"), since=since_of(request))


def _let_an_agent_mind(site: Site, task_id: str, form: Form, origin: str) -> None:
    """Create an agent for the task, as `agent create` does: it wakes on this device."""
    creation.create(
        site.journal,
        site.agents,
        task_id,
        origin,
        name=form.one("name"),
        home_device=site.home.key.device_id,
        model=model_named(form.one("model"), os.environ),
        now=site.now(),
    )
