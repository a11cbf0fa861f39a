"""The status of each item and set, computed from proposals and decisions (docs/specs/10-review.md, section 6).

Change sets never change, and decisions are only added. A status is *computed* from them and the time, so
it is the same on every device, in any order of arrival. A status stored inside a replicated set would lose
verdicts: one device confirms the first item while another rejects the fourth, two versions of the set are
joined, and one of the verdicts is lost.

Decisions are keyed by the operation, so twins (one trigger, two devices) share their verdicts. Each
decision lists those that its author had seen; the *heads* are the ones that no other lists. One head is a
verdict. Several heads that agree are one verdict as well. If they differ in outcome or arguments, the
operation is *contested*: an effect that was applied stays, and every device shows the contest until a
person settles it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from lottisync.review.change import ChangeDecision, ChangeItem, ChangeSet
from lottisync.review.proposal import digest
from lottisync.store.instant import millis_or_none

DAY = 24 * 60 * 60 * 1000
EXPIRY = 7 * DAY
"""How long a proposal stays pending (S1-53)."""
FOREVER = 2**53 - 1
"""A time in ms that never comes."""


class ItemStatus(StrEnum):
    PENDING = "pending"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    DEFERRED = "deferred"
    RETRACTED = "retracted"


class SetStatus(StrEnum):
    PENDING = "pending"
    PARTIALLY_RESOLVED = "partiallyResolved"
    RESOLVED = "resolved"
    EXPIRED = "expired"


class ItemState(NamedTuple):
    """`expired` is true of pending items only. `heads` are the decisions that count, oldest first. `turns` are the
    times (ms) at which the state changes without a decision."""

    status: ItemStatus
    heads: tuple[ChangeDecision, ...] = ()
    contested: bool = False
    expired: bool = False
    until: str | None = None
    turns: tuple[int, ...] = ()

    @property
    def open(self) -> bool:
        """True if it waits for the person now."""
        return self.status is ItemStatus.PENDING and not self.expired

    @property
    def undone(self) -> bool:
        """True if the user confirmed it and undid that."""
        return self.status is ItemStatus.RETRACTED and any(head.actor == "user" for head in self.heads)

    @property
    def superseded_by(self) -> str | None:
        """The item of the same agent that took its place."""
        if self.status is not ItemStatus.RETRACTED:
            return None
        return next((head.superseded_by for head in reversed(self.heads) if head.superseded_by), None)

    @property
    def shown_status(self) -> str:
        """What became of it, in the one word that a person reads: its status, or contested, undone, superseded or
        expired, which a status does not tell."""
        if self.contested:
            return "contested"
        if self.undone:
            return "undone"
        if self.superseded_by:
            return "superseded"
        return "expired" if self.expired else str(self.status)

    @property
    def decided(self) -> bool:
        return self.status in (ItemStatus.CONFIRMED, ItemStatus.REJECTED, ItemStatus.RETRACTED)


class SetState(NamedTuple):
    """`items` maps item ids to their states, `resolved_at` is the time of the last decision of a resolved set.
    Without a new decision the state holds from `since` (ms) until before `until` (ms)."""

    status: SetStatus
    items: dict[str, ItemState]
    resolved_at: str | None
    since: int
    until: int

    @property
    def open(self) -> bool:
        """True if an item waits for the person now, or is contested."""
        return any(item.open or item.contested for item in self.items.values())

    @property
    def settled(self) -> bool:
        """True if there is nothing to decide in it, now or later."""
        return all(item.decided and not item.contested for item in self.items.values())


def project(sets: Iterable[ChangeSet], decisions: Iterable[ChangeDecision], now: int) -> dict[str, SetState]:
    """The state of every set at `now` (ms)."""
    of_operation: defaultdict[str, dict[str, ChangeDecision]] = defaultdict(dict)
    for decision in decisions:
        of_operation[decision.operation_id][decision.id] = decision
    heads = {operation: heads_of(known) for operation, known in of_operation.items()}
    return {change_set.id: _set_state(change_set, heads, now) for change_set in sets}


def heads_of(known: dict[str, ChangeDecision]) -> tuple[ChangeDecision, ...]:
    """The decisions that no other one lists as seen, oldest first. If decisions list each other in a ring (no correct
    device writes one) and no decision beside the ring has seen it, all of the ring are heads: malformed data hides no
    verdict (REV-31)."""
    listed = {ident: one.seen for ident, one in known.items()}
    lists: defaultdict[str, list[str]] = defaultdict(list)
    for ident, others in listed.items():
        for other in others:
            lists[other].append(ident)
    heads = {ident for ident in known if ident not in lists}
    passed = _reached(heads, listed)
    for ident in reversed(_roots(known, listed, passed)):
        if ident not in passed:  # the last root that is left is in a ring that nothing else has seen
            heads |= _reached([ident], lists)
            passed |= _reached([ident], listed)
    return tuple(sorted((known[ident] for ident in heads), key=_age))


def _roots(known: Iterable[str], listed: Mapping[str, list[str]], passed: Collection[str]) -> list[str]:
    """Ids from which all ids that are not `passed` yet can be reached. None of them is reached from an earlier one."""
    roots, reached = list[str](), set(passed)
    for ident in known:
        if ident not in reached:
            roots.append(ident)
            reached |= _reached([ident], listed)
    return roots


def _reached(starts: Iterable[str], edges: Mapping[str, list[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(starts)
    while waiting:
        ident = waiting.pop()
        if ident not in found:
            found.add(ident)
            waiting += edges.get(ident, ())
    return found


def _age(decision: ChangeDecision) -> tuple[str, str]:
    return decision.created_at, decision.id


def item_state(item: ChangeItem, created_at: str, heads: tuple[ChangeDecision, ...], now: int) -> ItemState:
    verdicts = {head.verdict for head in heads}
    confirmed = [head for head in heads if head.verdict == ItemStatus.CONFIRMED]
    by_user = {head.verdict for head in heads if head.actor == "user"}
    if confirmed:
        wordings = {digest(item.tool_name, head.args) for head in confirmed}
        opposed = ItemStatus.REJECTED in verdicts or (ItemStatus.RETRACTED in by_user)
        return ItemState(ItemStatus.CONFIRMED, heads, contested=opposed or len(wordings) > 1)
    if ItemStatus.REJECTED in verdicts:
        return ItemState(ItemStatus.REJECTED, heads)
    if ItemStatus.RETRACTED in (by_user or verdicts):
        return ItemState(ItemStatus.RETRACTED, heads)
    until = max((head.until for head in heads if head.until), key=lambda text: millis_or_none(text) or 0, default=None)
    wakes = millis_or_none(until) or 0
    expires = max(millis_or_none(created_at) or 0, wakes) + EXPIRY
    turns = (wakes, expires)
    if wakes > now:
        return ItemState(ItemStatus.DEFERRED, heads, until=until, turns=turns)
    return ItemState(ItemStatus.PENDING, heads, expired=now >= expires, until=until, turns=turns)


def _set_state(change_set: ChangeSet, heads: dict[str, tuple[ChangeDecision, ...]], now: int) -> SetState:
    items = {
        item.id: item_state(item, change_set.created_at, heads.get(item.operation_id, ()), now)
        for item in change_set.items
    }
    states = items.values()
    decided = [state for state in states if state.decided]
    waiting = [state for state in states if state.open or state.status is ItemStatus.DEFERRED]
    if waiting:
        status = SetStatus.PARTIALLY_RESOLVED if decided else SetStatus.PENDING
    else:
        status = SetStatus.RESOLVED if decided else SetStatus.EXPIRED
    ends = [head.created_at for state in decided for head in state.heads]
    turns = [turn for state in states for turn in state.turns]
    return SetState(
        status,
        items,
        max(ends, default=None) if status is SetStatus.RESOLVED else None,
        since=max((turn for turn in turns if turn <= now), default=0),
        until=min((turn for turn in turns if turn > now), default=FOREVER),
    )
