"""The names by which a person calls items: `k7f2.3` (docs/specs/10-review.md, REV-84, REV-85).

A name is the beginning of the set's id, four characters or more, and the number of the item in its set. The beginning
is that of no other id in the store, so a name that was printed means the same item for ever, or is refused as
ambiguous when another id with this beginning has come. A position in a list is not a name: lists change while somebody
reads them.
"""

import re

from lottisync.problem import Problem
from lottisync.review.ledger import SET, one_set
from lottisync.review.proposal import item_id, set_of
from lottisync.store import lookups
from lottisync.store.reader import Reader

SHORTEST = 4
"""Characters of a set's id in a name, at least."""
MAX_CANDIDATES = 4
"""Sets that are named where a name fits several."""
_NAME = re.compile(r"\A([A-Za-z0-9_:-]{4,128})\.([0-9]{1,4})(?:-([0-9]{1,4}))?\Z", re.ASCII)


def short(reader: Reader, set_id: str) -> str:
    """The shortest beginning of a set's id that no other id in the agent store has."""
    needed = max((_common(set_id, other) + 1 for other in lookups.ids_beside(reader, set_id)), default=SHORTEST)
    return set_id[: max(needed, SHORTEST)]


def name_of(reader: Reader, ident: str) -> str:
    """The name of an item, by its id."""
    return short(reader, set_of(ident)) + ident[len(set_of(ident)) :]


def _common(a: str, b: str) -> int:
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def meant(reader: Reader, name: str) -> list[str]:
    """The ids of the items that a name means: one, or those of a range like `k7f2.2-5`. Raises `Problem` for a name
    that means nothing here, or several sets."""
    found = _NAME.match(name)
    if found is None:
        raise Problem(
            "unknown-id", "no proposal has the name {name!r}. Names look like k7f2.3", hint="review", name=name[:80]
        )
    sets = lookups.ids_with_prefix(reader, SET, found[1], MAX_CANDIDATES)
    if len(sets) > 1 and sets[0] != found[1]:
        candidates = ", ".join(f"{short(reader, ident)}.{found[2]}" for ident in sets)
        raise Problem(
            "ambiguous-id",
            "several proposals have the name {name!r}; it may be {candidates}",
            name=name[:80],
            candidates=candidates,
        )
    if not sets:
        raise Problem(
            "unknown-id", "no proposal has the name {name!r}. A name looks like k7f2.3", hint="review", name=name[:80]
        )
    first, last = int(found[2]), int(found[3] or found[2])
    if last < first:
        raise Problem("bad-value", "{name!r} begins after its end. A range looks like k7f2.2-5", name=name[:80])
    wanted = [item_id(sets[0], number) for number in range(first, last + 1)]
    there = {item.id for item in one_set(reader, wanted[0]).items}
    missing = [f"{found[1]}{ident[len(sets[0]) :]}" for ident in wanted if ident not in there]
    if missing:
        raise Problem(
            "unknown-id",
            "the set {set} has no item {missing}. Nothing was done",
            hint="review",
            set=found[1],
            missing=_first(missing),
        )
    return wanted


def _first(names: list[str]) -> str:
    """The first few names, and that there are more."""
    return ", ".join(names[:MAX_CANDIDATES]) + (", …" if len(names) > MAX_CANDIDATES else "")
