"""All that says where a device is, in one list (docs/specs/16-meeting.md, section 1).

The program that dials makes it, and so do commands where no program runs. So both show each address once.
"""

from collections.abc import Iterable, Mapping, Sequence

from lottisync.device.addresses import Reach
from lottisync.net.address import Address
from lottisync.store.instant import iso
from lottisync.sync.dial_plan import Known, Source, in_turn
from lottisync.sync.peer import AddressState

Said = list[tuple[Address, Source]]


def said_of(
    reach: Reach, worked: Iterable[Address], announced: Iterable[Address] = (), scopes: Sequence[str] = ()
) -> Said:
    """The addresses of a device and who says them, the likeliest of each source first. A link-local address is meant on
    each of `scopes`, the interfaces that have such addresses, unless it names one."""
    sources = {
        Source.ANNOUNCED: announced,
        Source.WORKED: worked,
        Source.GIVEN: reach.given,
        Source.RECORDED: reach.addresses,
    }
    return [
        (each, source)
        for source, addresses in sources.items()
        for address in addresses
        for each in dialled_as(address, scopes)
    ]


def dialled_as(address: Address, scopes: Iterable[str]) -> list[Address]:
    if address.link_local and "%" not in address.host:
        return [address.within(scope) for scope in scopes]
    return [address]


def states(said: Said, worked: Mapping[Address, str]) -> list[AddressState]:
    """The addresses as they are shown where nothing is dialled. `worked` says when each address did (ISO 8601, or
    empty)."""
    return states_of(in_turn(Known(address, source) for address, source in said), said, worked, 0.0, 0)


def states_of(
    known: Iterable[Known], said: Said, worked: Mapping[Address, str], now: float, wall: int
) -> list[AddressState]:
    """The addresses as they are shown where `known` is dialled. The time is `now` by the clock of `known`, and `wall`
    (ms) by the wall clock."""

    def instant(at: float | None) -> str | None:
        return None if at is None else iso(wall - int(1000 * (now - at)))

    def sources(address: Address) -> list[str]:
        words = [source for at, source in said if at == address]
        handed_over = not worked.get(address)
        return ["handed-over" if source is Source.WORKED and handed_over else source.name.lower() for source in words]

    return [
        AddressState(
            str(each.address),
            list(dict.fromkeys(sources(each.address))),
            worked.get(each.address) or None,
            instant(each.tried),
            instant(each.since),
            each.failure.code if each.failure else None,
            each.failure.text if each.failure else None,
            each.failure is not None and each.failure.stranger,
        )
        for each in known
    ]
