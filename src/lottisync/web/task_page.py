"""Tasks: the list, and one task with everything that a person does to it."""

from collections.abc import Callable, Mapping

from starlette.requests import Request
from starlette.responses import Response

from lottisync.agents.report import latest_report
from lottisync.agents.task_agent import agent_for_task
from lottisync.entities.entity import Entity
from lottisync.entities.view import view
from lottisync.journal import tasks, time_entry
from lottisync.journal.time_entry import Span
from lottisync.journal.toolbox import ACTIONS
from lottisync.journal.types import ENTRY_LINK, PRIORITIES, STATUSES, EntryLink
from lottisync.problem import Problem
from lottisync.review import index
from lottisync.review.precedence import PERSON
from lottisync.review.proposal_record import proposal_records
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction
from lottisync.web import rows, words
from lottisync.web.frame import back_to, form_of, page, since_of, site_of, told
from lottisync.web.gate import Form
from lottisync.web.site import Site
from lottisync.web.words import say

CLOSED = ("DONE", "REJECTED")
PER_PAGE = 50
FILTERS = (("", "Open"), ("due", "Due this week"), ("waiting", "Waiting for you"), ("done", "Done"))
WEEK = 7 * 24 * 60 * 60 * 1000


def task_list(request: Request) -> Response:
    """`GET /tasks`."""
    return _listed(request)


def add(request: Request) -> Response:
    """`POST /tasks`: a new task."""
    site, form = site_of(request), form_of(request)
    now = site.now()
    task_id = site.new_id(now)
    try:
        with site.journal.transaction(now, PERSON) as tx:
            tasks.add_task(tx, task_id, form.one("title"))
    except Problem as problem:
        return _listed(request, said=told(problem), status=400)
    return back_to("/tasks", f"task-{task_id}", added=task_id)


def _listed(request: Request, *, said: str = "", status: int = 200) -> Response:
    site, query = site_of(request), request.query_params
    chosen, wanted = query.get("show", ""), " ".join(query.get("q", "").split())[:200]
    waiting = _waiting(site)
    with site.journal.reading() as reader:
        found, damaged = tasks.all_tasks(reader)
    fits = _fits(chosen, wanted, site.now(), waiting)
    listed = sorted((one for one in found if fits(one)), key=_key)
    after = query.get("after", "")
    start = next((n + 1 for n, one in enumerate(listed) if one.id == after), 0)
    part = listed[start : start + PER_PAGE]
    return page(
        request,
        "tasks.html",
        title=say("Tasks"),
        at="tasks",
        said=said or (say("Added.") if query.get("added") else ""),
        status=status,
        tasks=part,
        count=len(listed),
        damaged=len(damaged),
        more=part[-1].id if start + PER_PAGE < len(listed) else "",
        waiting_in=waiting,
        filters=FILTERS,
        chosen=chosen,
        wanted=wanted,
        today=iso(site.now())[:10],
    )


def _key(one: tasks.TaskLine) -> tuple[str, ...]:
    return one.priority, one.due or "9999", one.created_at, one.id


def _waiting(site: Site) -> dict[str, int]:
    """Task -> how many of its proposals wait."""
    index.refresh(site.agents, site.now())
    with site.agents.reading() as reader:
        open_tasks = {entry.task_id for entry in index.entries(reader, only_open=True)}
    return {task: index.waiting(site.agents, site.now(), task) for task in open_tasks}


def _fits(chosen: str, wanted: str, now: int, waiting: Mapping[str, int]) -> Callable[[tasks.TaskLine], bool]:
    piece, until = wanted.casefold(), iso(now + WEEK)[:10]

    def fits(one: tasks.TaskLine) -> bool:
        if piece and piece not in one.title.casefold():
            return False
        closed = one.status in CLOSED
        match chosen:
            case "done":
                return closed
            case "due":
                return not closed and one.due is not None and one.due <= until
            case "waiting":
                return one.id in waiting
            case _:
                return not closed

    return fits


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
                (words.say(relation.replace("_", " ")), other, str(title))
                for link in (*reader.links_from(task_id, ENTRY_LINK), *reader.links_to(task_id, ENTRY_LINK))
                for other, relation, title in _ends(reader, link, task_id)
            ]
    except Problem as problem:
        return page(request, "gone.html", title=say("Not here"), at="tasks", status=404, said="", why=told(problem))
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
        agent=agent,
        report=report.content if report is not None else {},
        cards=rows.cards(site.inbox().visited_sets(now, since, task_id)),
        history=list(reversed(history)),
        statuses=STATUSES,
        priorities=PRIORITIES,
        edit=request.query_params.get("edit", ""),
        since=since,
        back=task_id,
    )


def _ends(reader: Reader, link: Entity, task_id: str) -> list[tuple[str, str, str]]:
    held = view(link, EntryLink)
    other = held.to_id if held.from_id == task_id else held.from_id
    document = reader.document(other)
    title = document.document().get("title", "") if document is not None and not document.deleted else None
    return [(other, relation, title) for relation, on in sorted(held.relations.items()) if on and title is not None]


def change(request: Request) -> Response:
    """`POST /tasks/{task}`: one verb of `lottisync.journal.tasks`."""
    site, form, task_id = site_of(request), form_of(request), request.path_params["task"]
    verb = VERBS.get(form.one("verb"))
    try:
        if verb is None:
            raise Problem("bad-verb", "there is nothing called {verb!r} to do", verb=form.one("verb")[:40])
        now = site.now()
        with site.journal.transaction(now, PERSON) as tx:
            verb(tx, task_id, form, site.new_id(now))
    except Problem as problem:
        return shown(request, task_id, since_of(request), said=told(problem), status=400)
    if form.one("verb") == "delete":
        return back_to("/tasks")
    return back_to(f"/tasks/{task_id}", form.one("anchor"), since=since_of(request))


Verb = Callable[[Transaction, str, Form, str], object]


def _due(text: str) -> str | None:
    return tasks.checked_day(text) if text.strip() else None


def _minutes(text: str) -> int | None:
    if not text.strip():
        return None
    if not (text.strip().isascii() and text.strip().isdigit()):
        raise Problem("bad-value", "minutes are a whole number; got {text!r}", text=text[:40])
    return tasks.checked_minutes(int(text))


def _note(tx: Transaction, task: str, new: str, text: str, minutes: int | None) -> object:
    """A note; with minutes, time that was spent until now."""
    if minutes is None:
        return tasks.add_note(tx, new, task, text)
    return time_entry.add(tx, new, task, text, Span(iso(tx.now - minutes * 60_000), iso(tx.now)))


VERBS: Mapping[str, Verb] = {
    "title": lambda tx, task, form, new: tasks.edit_task(tx, task, {"title": tasks.checked_title(form.one("value"))}),
    "status": lambda tx, task, form, new: tasks.edit_task(
        tx, task, tasks.checked_status(form.one("value"), form.one("reason"))
    ),
    "priority": lambda tx, task, form, new: tasks.edit_task(
        tx, task, {"priority": tasks.checked_priority(form.one("value"))}
    ),
    "due": lambda tx, task, form, new: tasks.edit_task(tx, task, {"due": _due(form.one("value"))}),
    "estimate": lambda tx, task, form, new: tasks.edit_task(tx, task, {"estimate": _minutes(form.one("value"))}),
    "add-item": lambda tx, task, form, new: tasks.add_item(tx, new, task, form.one("value")),
    "tick": lambda tx, task, form, new: tasks.check_item(tx, form.one("item"), checked=True),
    "untick": lambda tx, task, form, new: tasks.check_item(tx, form.one("item"), checked=False),
    "rename-item": lambda tx, task, form, new: tasks.rename_item(tx, form.one("item"), form.one("value")),
    "remove-item": lambda tx, task, form, new: tasks.remove_item(tx, form.one("item")),
    "up": lambda tx, task, form, new: tasks.move_item(tx, form.one("item"), -1),
    "down": lambda tx, task, form, new: tasks.move_item(tx, form.one("item"), +1),
    "note": lambda tx, task, form, new: _note(tx, task, new, form.one("value"), _minutes(form.one("minutes"))),
    "delete": lambda tx, task, form, new: tasks.delete_task(tx, task),
}
"""What the page can do to a task, by the name that its forms give it."""
