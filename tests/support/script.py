"""A peer whose words a test writes, from the stores of a member of the household."""

import contextlib

import anyio
from tests.support.event_loop import until
from tests.support.household import Cable, Member, quiet
from tests.support.messages import hello
from tests.support.stores import part_beyond

from lottisync.causality.chain import ChainPart
from lottisync.entities.version import Version
from lottisync.protocol import message as m
from lottisync.protocol.framing import frame
from lottisync.store import chain, lookups
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
    """Round 1 of the journal without its end: what the sender knows, the chains (and other `parts`) that the
    receiver lacks, and these versions. `count` is the number of versions that it announces, if that is another one."""
    sent = sum(map(len, batches)) if count is None else count
    with sender.stores["journal"].reading() as ours, receiver.stores["journal"].reading() as theirs:
        here = {host: end.end for host, end in chain.log_ends(theirs).items()}
        lacked = [
            each
            for host in chain.log_ends(ours)
            if (each := part_beyond(ours, host, here.get(host, 0), m.MAX_VALUES)) is not None
        ]
        forgotten = dict(lookups.forgotten(ours))
    chains = [m.Chain(1, number, *each) for number, each in enumerate([*lacked, *parts])]
    begin = m.Begin(1, "journal", sender.knowledge(), forgotten, behind=False, count=sent)
    return [begin, *chains, *(m.Batch(1, number, batch) for number, batch in enumerate(batches, len(chains)))]


def kinds(messages: list[m.AnyMessage]) -> list[str]:
    """The names of messages."""
    return [type(message).__name__ for message in messages]


def rounds(messages: list[m.AnyMessage]) -> list[str]:
    """The stores of the rounds that begin."""
    return [message.store for message in messages if isinstance(message, m.Begin)]


async def speaking(
    member: Member,
    peer: Member,
    messages: list[m.AnyMessage],
    *,
    raw: bytes = b"",
    patient: bool = True,
    agreed: bool = True,
) -> Cable:
    """`peer` greets, says what it has (if the two are to agree), says this, and hangs up when the answer is there.
    The second end of the cable is `member`'s. All of it is sent in one piece."""
    before: list[m.AnyMessage] = [hello(peer.device, peer.boot), *([wanting(peer)] if agreed else [])]
    cable = Cable()
    end = cable.ends[0]
    connection = member.connection(cable.ends[1], peer, dialled=False)
    done = False

    async def run() -> None:
        nonlocal done
        await connection.run()
        done = True

    async def read() -> None:
        with contextlib.suppress(anyio.EndOfStream, anyio.ClosedResourceError):
            while True:
                await end.receive()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        tasks.start_soon(read)
        await until(lambda: cable.crossed[1], "the greeting")
        await end.send(b"".join(frame(m.encode(message)) for message in [*before, *messages]) + raw)
        if patient:
            await quiet([cable])
        await end.aclose()
        await until(lambda: done, "the connection's end")
    member.connections.remove(connection)
    return cable


def written(member: Member, entity: str) -> Version:
    """An entity of the journal, as a version to send."""
    with member.stores["journal"].reading() as reader:
        version = reader.version(entity)
    assert version is not None
    return version


def last_word(cable: Cable) -> m.Close:
    """The last message of the second end."""
    close = cable.said(1)[-1]
    assert isinstance(close, m.Close)
    return close
