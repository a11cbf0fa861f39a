"""Which entity and which field of it a person means in `history` and `conflicts`."""

from lottisync.cli import field_words
from lottisync.cli.terminal import short
from lottisync.daemon.home import TaskHome
from lottisync.entities.entity import Entity
from lottisync.journal import finding
from lottisync.problem import Problem
from lottisync.shown import quoted
from lottisync.store import conflict as conflicts_of
from lottisync.store import lookups
from lottisync.store.store import Store

SHORTEST_ID = 4
"""Characters of an id by which a conflict may be meant."""


def where(home: TaskHome, abbreviated: str) -> tuple[Store, str]:
    """The store that has an id (whole, or its first or last characters), or that has a task with this piece in its
    title."""
    found: list[tuple[Store, str]] = []
    for store in home.stores.values():
        with store.reading() as reader:
            if reader.version(abbreviated) is not None:
                return store, abbreviated
            found += [(store, ident) for ident in lookups.ids_like(reader, abbreviated, 2)]
    if len(found) == 1:
        return found[0]
    if found:
        raise Problem("unknown-id", "several ids begin or end with {quoted}", quoted=quoted(abbreviated))
    return home.journal, _titled(home, abbreviated)


def in_conflict(home: TaskHome, named: str) -> tuple[Store, str]:
    """Where the entity in conflict is that a person means: by its id, or by a piece of what `conflicts` calls it, which
    is the title of an item, a label or a note as well."""
    holding = [(store, entity) for store in home.stores.values() for entity in _conflicted(store)]
    whole = [one for one in holding if one[1].id == named]
    piece = " ".join(named.removesuffix("…").split()).casefold()
    fitting = [one for one in holding if piece and piece in field_words.whole_title(one[1]).casefold()]
    exact = [one for one in fitting if field_words.whole_title(one[1]).casefold() == piece]
    by_id = [(store, entity) for store, entity in holding if piece and _fits(entity.id, piece)]
    found = whole or by_id or exact or fitting
    if not found:
        return where(home, named)  # which says that there is none, or what else it is
    if len(found) > 1:
        raise Problem(
            "ambiguous-id",
            "{quoted} fits more than one conflict: {candidates}. Give more of the id or the title",
            quoted=quoted(named),
            candidates=", ".join(f"{short(entity.id)} {quoted(field_words.title(entity))}" for _, entity in found[:5]),
        )
    return found[0][0], found[0][1].id


def path_meant(home: TaskHome, store: Store, ident: str, named: str) -> str:
    """The register in conflict that a person means: by its own name, or as a page calls it."""
    entity = store.read(ident)
    paths = [one.path for one in conflicts_of.of_entity(entity)] if entity is not None else []
    if named in paths:
        return named
    said, wanted = field_words.of_store(home, store), named.casefold()
    fitting = [path for path in paths if wanted in (said.name(path).casefold(), said.heading(path).casefold())]
    return fitting[0] if len(fitting) == 1 else named


def _conflicted(store: Store) -> list[Entity]:
    with store.reading() as reader:
        return list(reader.conflicted())


def _fits(ident: str, piece: str) -> bool:
    plain, typed = ident.replace("-", "").lower(), piece.replace("-", "")
    return len(typed) >= SHORTEST_ID and (plain.startswith(typed) or plain.endswith(typed))


def _titled(home: TaskHome, piece: str) -> str:
    """The task with that piece in its title; `Problem` if several have it, or none."""
    try:
        with home.journal.reading() as reader:
            return finding.resolve(reader, piece, "task")
    except Problem as problem:
        if problem.code != "unknown-id":
            raise
    raise Problem(
        "unknown-id",
        "nothing has an id that begins or ends with {quoted}, and no task has it in its title",
        quoted=quoted(piece),
    )
