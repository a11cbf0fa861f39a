"""Conflicts: what two devices wrote at once, side by side. A choice carries the writes that were shown."""

from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from lottisync.causality.vector_clock import Host
from lottisync.device import acts
from lottisync.entities.entity import DELETED_AT
from lottisync.journal import words as task_words
from lottisync.language import say
from lottisync.problem import Problem, Sentence
from lottisync.review.precedence import PERSON, is_persons
from lottisync.shown import one_line
from lottisync.store import conflict as conflicts_of
from lottisync.store.conflict import Candidate, Conflict
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction
from lottisync.web import by_hand, words
from lottisync.web.difference import TextPart, differing
from lottisync.web.frame import NOTHING_DONE, back_to, form_of, origin_of, page, problem_text, site_of
from lottisync.web.site import Site

BOTH = "both"
"""The choice of none of the values, but of what was written by hand."""


class Side(NamedTuple):
    number: int
    parts: list[TextPart]
    device: str
    by: str
    at: str
    dot: str
    keeps: str
    value: str


class Pair(NamedTuple):
    """A field with the values that stand against each other; the one that is shown now is the first. `field` is what
    another value is typed into (`lottisync.web.by_hand`), '' if there is none; `held` and `reason` are what it begins
    with."""

    store: str
    entity: str
    path: str
    title: str
    label: str
    sides: list[Side]
    field: str
    held: str
    reason: str

    @property
    def ident(self) -> str:
        return f"conflict-{self.entity}-{self.path}".replace("/", "-").replace(":", "-")

    @property
    def seen(self) -> str:
        return " ".join(side.dot for side in self.sides)


def conflicts(request: Request) -> Response:
    """`GET /conflicts`."""
    return _shown(request)


def settle(request: Request) -> Response:
    """`POST /conflicts`: keep one of the values, or write another."""
    form, site = form_of(request), site_of(request)
    store = site.home.stores.get(form.one("store"))
    try:
        if store is None:
            raise Problem("unknown-id", "there is no store {store!r}", store=form.one("store")[:40])
        ident, path, number = form.one("entity"), form.one("path"), form.one("keep")
        with _acting(
            request, store, Sentence("settled {field}", field=Sentence(task_words.FIELDS.get(path, path)))
        ) as tx:
            there = [one for one in _of_entity(tx, ident) if one.path == path]
            if not there or _seen(there[0]) != form.one("seen"):
                return _shown(request, said=say(NOTHING_DONE), status=409)
            if number == BOTH and not site.home.knows(store):
                raise Problem("bad-value", "{path} cannot be written here: keep one of its values", path=path)
            if number == BOTH:
                by_hand.write(tx, there[0], form)
            else:
                conflicts_of.keep(tx, ident, path, int(number) if number.isdigit() and len(number) < 4 else 0)
    except Problem as problem:
        return _shown(request, said=problem_text(problem), status=400)
    return back_to("/conflicts", settled="1")


def _acting(request: Request, store: Store, said: str) -> AbstractContextManager[Transaction]:
    """A transaction of the person's; one in the journal can be taken back."""
    site = site_of(request)
    if store is not site.journal:
        return store.transaction(site.now(), PERSON)
    return acts.acting(store, site.now(), origin_of(request), said)


def _of_entity(reader: Reader, ident: str) -> list[Conflict]:
    entity = reader.entity(ident)
    return conflicts_of.of_entity(entity) if entity is not None else []


def _seen(one: Conflict) -> str:
    return " ".join(_dot(candidate) for candidate in one.candidates)


def _dot(candidate: Candidate) -> str:
    return f"{candidate.dot.host}:{candidate.dot.counter}"


def _shown(request: Request, *, said: str = "", status: int = 200) -> Response:
    site = site_of(request)
    if not said and request.query_params.get("settled"):
        said = say("Settled, on every device.")
    return page(
        request, "conflicts.html", title=say("Conflicts"), at="conflicts", said=said, status=status, pairs=_pairs(site)
    )


def _pairs(site: Site) -> list[Pair]:
    found = []
    for name, store in site.home.stores.items():
        known = site.home.knows(store)
        with store.reading() as reader:
            names = site.names_of_hosts(reader)
            for one in conflicts_of.decisions_of_store(reader):
                texts = [_text(reader, one, candidate.value, known=known) for candidate in one.candidates]
                sides = [
                    _side(one, number, parts, candidate, names, known=known, of_tasks=store is site.journal)
                    for number, (parts, candidate) in enumerate(zip(differing(texts), one.candidates, strict=True), 1)
                ]
                title = _title(reader, one.entity)
                label = task_words.field(one.path) if known or one.path == DELETED_AT else one.path
                typed = _typed(reader, one) if known else ("", "", "")
                found.append(Pair(name, one.entity, one.path, title, label, sides, *typed))
    return found


def _typed(reader: Reader, one: Conflict) -> tuple[str, str, str]:
    """The field that another value is typed into, and what it and the reason begin with."""
    held = words.named(reader, one.path, one.candidates[0].value)
    return by_hand.field_of(one), "" if held is None else str(held), _reason(reader, one)


def _reason(reader: Reader, one: Conflict) -> str:
    """The reason that goes with a status, as it is shown now."""
    task = reader.entity(one.entity)
    return str(task.value("statusReason") or "") if task is not None else ""


def _side(
    one: Conflict,
    number: int,
    parts: list[TextPart],
    candidate: Candidate,
    names: dict[Host, str],
    *,
    known: bool,
    of_tasks: bool,
) -> Side:
    yours = is_persons(one.path, candidate.precedence) if of_tasks else candidate.precedence >= PERSON
    by = say("you") if yours else say("an agent")
    device = names.get(candidate.host, say("another device"))
    keeps = _outcome(one, candidate, known=known) or say("Keep the one of {device}", device=one_line(device))
    value = "".join(part.text for part in parts)
    return Side(number, parts, device, by, iso(candidate.millis), _dot(candidate), keeps, value)


def _outcome(one: Conflict, candidate: Candidate, *, known: bool) -> str:
    """What a choice does, where it is not a value that is kept; a task is one of this program's stores only."""
    if one.path != DELETED_AT:
        return ""
    if candidate.value is not None:
        return say("Delete it after all")
    return say("Keep the task") if known and one.type == "task" else say("Keep it")


def _text(reader: Reader, one: Conflict, held: Any, *, known: bool) -> str:
    """A value, as people say it; of a store that is not known, as it is stored."""
    if one.path == DELETED_AT:
        return say("Deleted") if held is not None else say("Edited, and not deleted")
    return words.value(one.path, words.named(reader, one.path, held)) if known else task_words.stored(held)


def _title(reader: Reader, ident: str) -> str:
    document = reader.document(ident)
    held = document.document() if document is not None else {}
    return str(held.get("title") or held.get("displayName") or held.get("name") or held.get("text") or ident)[:200]
