"""What a peer says that a test speaks for, from the stores of a member of the household."""

from tests.support.household import Member
from tests.support.stores import part_beyond

from lottisync.causality.chain import ChainPart
from lottisync.entities.version import Version
from lottisync.protocol import message as m
from lottisync.store import chain, forgetting
from lottisync.sync.local_state import LocalState


def wanting(member: Member) -> m.Want:
    """All that a member has to say of its stores."""
    found = {}
    for name, store in member.stores.items():
        with store.reading() as reader:
            found[name] = LocalState(reader).have
    return m.Want(found)


def round_of(
    sender: Member,
    receiver: Member,
    *batches: list[Version],
    count: int | None = None,
    parts: tuple[ChainPart, ...] = (),
) -> list[m.AnyMessage]:
    """Round 1 of the journal as far as it goes before its end: what the sender knows, the chains (and other `parts`)
    that the receiver lacks, and these versions. `count` is how many it promises, if not as many."""
    sent = sum(map(len, batches)) if count is None else count
    with sender.stores["journal"].reading() as ours, receiver.stores["journal"].reading() as theirs:
        here = {host: end.end for host, end in chain.log_ends(theirs).items()}
        lacked = [
            each
            for host in chain.log_ends(ours)
            if (each := part_beyond(ours, host, here.get(host, 0), m.MAX_VALUES)) is not None
        ]
        forgotten = dict(forgetting.forgotten(ours))
    chains = [m.Chain(1, number, *each) for number, each in enumerate([*lacked, *parts])]
    begin = m.Begin(1, "journal", sender.knowledge(), forgotten, behind=False, count=sent)
    return [begin, *chains, *(m.Batch(1, number, batch) for number, batch in enumerate(batches, len(chains)))]
