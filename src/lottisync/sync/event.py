"""What happens in a conversation, for the program that drives it (`lottisync.sync.conversation`).

Events are data: a driver looks at those that it has to act on, and shows people what `words` makes of the others.
"""

from typing import NamedTuple

from lottisync.causality.vector_clock import Host
from lottisync.problem import Problem, Sentence, counted
from lottisync.sync.peer import not_shared
from lottisync.sync.refusal import Kind


class Greeted(NamedTuple):
    """The peer has said hello. Nothing was agreed yet: a driver that does not want this peer closes now."""

    device: str
    boot: bytes


class PeerChanged(NamedTuple):
    """The peer has said something new of its stores (`Conversation.status`)."""


class StoresDiffer(NamedTuple):
    """The peer has said which stores it has, and they are not ours: names, sorted. Those in `failing_there` it has and
    leaves out, because it cannot use their files. The others sync."""

    only_here: tuple[str, ...]
    only_there: tuple[str, ...]
    failing_there: tuple[str, ...] = ()


class Granted(NamedTuple):
    """The peer has room for more large messages."""

    batches: int


class Answered(NamedTuple):
    """The peer has answered the ping of this number."""

    number: int


class DuplicateKey(NamedTuple):
    """The peer says that another program greets with this device's key (docs/specs/13-copies.md, section 6)."""


class ClockAhead(NamedTuple):
    """What this host wrote came with a time that is far ahead of ours (ms)."""

    host: Host
    millis: int


class ClockSaid(NamedTuple):
    """The peer has said what its wall clock says now (ms since 1970)."""

    millis: int


class Diverged(NamedTuple):
    """Both know the same of this store, and its digest differs (SYNC-7)."""

    store: str


class Quarantined(NamedTuple):
    """A version that cannot be taken was kept as it came."""

    store: str
    reason: Sentence


class Repaired(NamedTuple):
    """A version that came met a row that had been changed behind its store's back; the two were settled (SYNC-53)."""

    store: str
    entity: str


class Mended(NamedTuple):
    """A comparison has ended, and so many entities were mended here."""

    store: str
    entities: int


class OverAllowance(NamedTuple):
    """The peer has had this store compared too often: it is compared no more for a while."""

    store: str


class AskedTooOften(NamedTuple):
    """The peer has asked for what it lacks too often: it is not answered for a while."""


class ComparisonRefused(NamedTuple):
    """The peer does not compare this store now, and says why."""

    store: str
    reason: str


class Refused(NamedTuple):
    """The peer broke a rule that only a store can check: the conversation was closed, with the problem's code."""

    problem: Problem


class Failed(NamedTuple):
    """A store here cannot go on (a full disk): the conversation was closed."""

    problem: Problem


Event = (
    Greeted | PeerChanged | StoresDiffer | Granted | Answered | DuplicateKey | ClockAhead | ClockSaid | Diverged
    | Quarantined | Repaired | Mended | OverAllowance | AskedTooOften | ComparisonRefused | Refused | Failed
)  # fmt: skip


def kind_of_refusal(event: Event) -> Kind | None:
    """The kind of refusal after which the conversation goes on; None for any other event."""
    match event:
        case OverAllowance() | ComparisonRefused():
            return "comparison"
        case AskedTooOften():
            return "want"
        case _:
            return None


def words(event: Event, peer: str) -> tuple[str, str] | None:
    """A code and a sentence for people, who call the other device `peer`; None where there is nothing to say. Of what
    `status` keeps, a refusal, each reader has the words in their language."""
    match event:
        case Diverged(store):
            return "diverged", Sentence(
                "{store} differs from {peer} although both know the same", store=store, peer=peer
            )
        case Quarantined(_, reason):
            return "quarantined", Sentence(
                "{peer} sent what cannot be taken, kept as it came: {reason}", peer=peer, reason=reason
            )
        case Repaired(store, entity):
            return "mended", Sentence(
                "{store}: {entity} had been changed behind its store's back, and was mended", store=store, entity=entity
            )
        case Mended(store, count):
            return "mended", counted(
                "mended 1 entity of {store}: damaged here, or not as on {peer}",
                "mended {count:,} entities of {store}: damaged here, or not as on {peer}",
                count,
                store=store,
                peer=peer,
            )
        case StoresDiffer():
            return "stores-differ", " ".join(not_shared(peer, *event))
        case OverAllowance(store):
            return "refused", Sentence(
                "{peer} has had {store} compared too often: it is not compared again for up to an hour",
                peer=peer,
                store=store,
            )
        case AskedTooOften():
            return "refused", Sentence(
                "{peer} has asked too often for what it lacks: it is not answered for up to an hour", peer=peer
            )
        case ComparisonRefused(store, reason):
            return "refused", Sentence(
                "{peer} does not compare {store} now: {reason}", peer=peer, store=store, reason=reason
            )
        case Refused(problem):
            return "refused", Sentence("{peer}: {problem}", peer=peer, problem=problem)
        case Failed(problem):
            return "failed", Sentence("{peer}: {problem}", peer=peer, problem=problem)
        case _:
            return None
