"""Whether verdicts wait to be finished (docs/specs/10-review.md, REV-50 to REV-53, REV-61, REV-503, REV-504).

It is asked before every page and at every start, and the answer is nearly always no. So it loads little: finishing them
is `lottisync.review.recovery`, which needs all that a verdict needs. Like `verdict`, this is for a person's side only.
"""

from lottisync.review import saga
from lottisync.review.saga import SagaRequest, Witness
from lottisync.store import chain
from lottisync.store.reader import Reader
from lottisync.store.store import Store


def is_needed(journal: Store, agent_store: Store) -> bool:
    """Whether recovery has anything to do."""
    with agent_store.reading() as reader:
        pending = bool(saga.pending(reader))
    return pending or bool(lost(journal, agent_store))


def lost(journal: Store, agent_store: Store) -> list[tuple[str, SagaRequest]]:
    """The verdicts whose effects the journal does not hold any more, each with its operation."""
    with agent_store.reading() as reader, journal.reading() as effects:
        return saga.lost(reader, lambda witness: _is_here(effects, witness))


def _is_here(journal: Reader, witness: Witness) -> bool:
    value = chain.value_at(journal, witness.host, witness.counter)
    return value is not None and value.hex() == witness.value
