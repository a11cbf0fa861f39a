"""A device at its relay, for as long as a program runs (docs/specs/19-relay.md, section 10).

It comes when the program starts, when something was committed here, when something was published there, and once a
minute. Each visit is the same: look, read, publish, clean up. Whatever fails ends the visit, and it comes again, after
a second at first; connections to other devices go on beside it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import anyio

from lottisync.device.device import Device
from lottisync.problem import Problem, Sentence
from lottisync.relay import setting as settings
from lottisync.relay.event import words
from lottisync.relay.header import LANE_BYTES
from lottisync.relay.keyring import Chance
from lottisync.relay.lane import Moved, taken
from lottisync.relay.participant import Participant
from lottisync.relay.reached import Reached
from lottisync.relay.setting import RelaySetting
from lottisync.relay.standing import Standing
from lottisync.store.doorbell import Bell
from lottisync.store.instant import iso
from lottisync.sync.off_loop import Caller, in_thread

VISIT_SECONDS = 60.0
"""Between two visits, if nothing happens."""
GATHER_SECONDS = 0.2
"""How long what happens is gathered before a visit: changes come in bursts."""
AGAIN_SECONDS = 1.0
"""After a visit that failed: most often a server was started again, or a network has just come up. Each further
failure doubles it, up to `VISIT_SECONDS`. A random part of up to half is left out: devices come one by one."""
MAX_DOUBLED = 10
MAX_MOVED = 8
"""How often in a visit it is looked again because somebody has published in a channel of this device."""
SETTING_SECONDS = 15.0
"""After which a program without a relay looks whether one was set."""
LEAVING_SECONDS = 5.0
"""What a program that ends may still take for its last visit."""
TAG_LABEL = b"lottisync/relay-tag/1\x00"


if TYPE_CHECKING:
    from lottisync.relay.jetstream import JetStream


@contextmanager
def needs_nats() -> Iterator[None]:
    """A context for imports that need nats-py, which not every installation has."""
    try:
        yield
    except ModuleNotFoundError as missing:
        raise Problem(
            "missing-package",
            "a relay needs the Python package {name!r}, which is not installed. Run: pip install 'lottisync[relay]'",
            name=missing.name,
        ) from None


def tag(device: Device, setting: RelaySetting) -> bytes:
    """The part with which a device's subjects begin: always the same, so that a credential can be bound to them."""
    return device.key.derived(TAG_LABEL + setting.space)[:LANE_BYTES]


def pause_after(failures: int, chance: Chance) -> float:
    """Seconds after so many failed visits in a row until the next one (RELAY-1182)."""
    whole = min(AGAIN_SECONDS * 2.0 ** min(failures - 1, MAX_DOUBLED), VISIT_SECONDS)
    return whole * (1 - int.from_bytes(chance(2), "big") / 2**17)


class RelayStatus(NamedTuple):
    """What the other devices have and lack, and the bytes at the relay: `used` of `allowed`, None if it sets no
    bound."""

    standing: list[Standing]
    used: int
    allowed: int | None


class Visits:
    """`report` hears of what happens (code, sentence), and `noted` is called when `reached` says something else: how
    the relay of `run` was reached, None without a relay and until the first try."""

    def __init__(
        self,
        device: Device,
        chance: Chance,
        report: Callable[[str, str], None],
        call: Caller = in_thread,
        noted: Callable[[], None] = lambda: None,
    ) -> None:
        self._device, self._chance, self._report, self._call, self._noted = device, chance, report, call, noted
        self.reached: Reached | None = None
        self._failures = 0

    async def run(self) -> None:
        """Until cancelled. Without a relay in the settings, look for one now and then."""
        while True:
            setting = await self._call(partial(settings.read, self._device.space))
            if setting is None:
                self._note(None)
                await anyio.sleep(SETTING_SECONDS)
                continue
            try:
                await self._stay(setting)
            except Exception as error:  # noqa: BLE001 - a library of another's raises what it likes
                self._say_once(setting, error)
                self._failures += 1
                await anyio.sleep(pause_after(self._failures, self._chance))

    async def _stay(self, setting: RelaySetting) -> None:
        """Stay at one relay, until the setting changes, or this device has more stores: segments that were ignored
        because their store was not here are then read (RELAY-1200)."""
        relay = await self._connect(setting)
        participant = await self._call(partial(self._participant, setting))
        bell = Bell(self._device.bells, "relay")
        look_at = 0.0
        stores = [*self._device.stores]
        try:
            while await self._call(partial(settings.read, self._device.space)) == setting:
                if [*self._device.stores] != stores:
                    return
                bell.clear()
                if all_of_it := anyio.current_time() >= look_at:
                    look_at = anyio.current_time() + VISIT_SECONDS
                await self.visit(relay, participant, all_of_it=all_of_it)
                self._failures = 0
                self._reached(setting, None)
                await _either(relay, bell, look_at)
            with anyio.move_on_after(LEAVING_SECONDS):  # those who come here hear where to go (RELAY-896)
                await self.visit(relay, participant, leaving=True, all_of_it=False)
        except anyio.get_cancelled_exc_class():
            with (
                anyio.move_on_after(LEAVING_SECONDS, shield=True),
                suppress(Exception),
            ):  # what fails now is not tried again
                await self.visit(relay, participant, leaving=True, all_of_it=False)
            raise
        finally:
            with anyio.CancelScope(shield=True):
                bell.close()
                participant.close()
                await relay.close()

    async def once(self, setting: RelaySetting, *, publish: bool = True) -> "RelayStatus":
        """One visit; gives what the other devices have and lack, and what is stored there."""
        relay = await self._connect(setting)
        participant = await self._call(partial(self._participant, setting))
        try:
            if publish:
                await self.visit(relay, participant, leaving=True)
            else:
                with relay.asking():
                    await self._read(relay, participant)
            standing = await self._call(partial(participant.standing, self._now()))
            with relay.asking():
                return RelayStatus(standing, *await relay.room())
        finally:
            participant.close()
            await relay.close()

    async def visit(
        self, relay: "JetStream", participant: Participant, *, leaving: bool = False, all_of_it: bool = True
    ) -> None:
        """Look, read, publish, clean up. Without `all_of_it` it looks at what has come since the last look, if anything
        has (RELAY-836). Raises `Problem` for what the relay does not do."""
        try:
            with relay.asking():
                await self._visit(relay, participant, leaving=leaving, all_of_it=all_of_it)
        finally:  # it is not said a second time (RELAY-897)
            for event in participant.events():
                if (said := words(event)) is not None:
                    self._report(*said)

    async def _visit(self, relay: "JetStream", participant: Participant, *, leaving: bool, all_of_it: bool) -> None:
        changed = relay.changed.is_set()
        relay.changed.clear()
        if all_of_it:
            await self._read(relay, participant)
        elif changed:
            await self._read_news(relay, participant)
        await self._publish(relay, participant, leaving=leaving)
        for purge in await self._call(partial(participant.purges, self._now())):
            await relay.purge(purge)
            participant.purged(purge)

    async def _publish(self, relay: "JetStream", participant: Participant, *, leaving: bool) -> None:
        moved = 0
        while (publication := await self._call(partial(participant.publish, self._now(), leaving=leaving))) is not None:
            try:
                await relay.put(publication)
            except Moved:
                moved += 1
                if moved > MAX_MOVED:
                    raise taken() from None
                await self._read(relay, participant)
            else:
                await self._call(partial(participant.acknowledged, publication.name, self._now()))

    async def _read(self, relay: "JetStream", participant: Participant) -> None:
        names = await relay.names()
        await self._call(partial(participant.show, names, self._now(), replaced=relay.replaced))
        await self._fetch(relay, participant)

    async def _read_news(self, relay: "JetStream", participant: Participant) -> None:
        names = await relay.news()
        await self._call(partial(participant.arrived, names, replaced=relay.replaced))
        await self._fetch(relay, participant)

    async def _fetch(self, relay: "JetStream", participant: Participant) -> None:
        while (name := await self._call(participant.wanted)) is not None:
            data = await relay.fetch(name)
            await self._call(partial(participant.receive, name, data, self._now()))

    async def _connect(self, setting: RelaySetting) -> "JetStream":
        with needs_nats():
            from lottisync.relay.jetstream import JetStream
        return await JetStream.connect(setting, tag(self._device, setting))

    def _participant(self, setting: RelaySetting) -> Participant:
        return Participant(self._device, setting.space, self._chance, self._now())

    def _now(self) -> int:
        return self._device.environment.now()

    def _say_once(self, setting: RelaySetting, error: Exception) -> None:
        text = error.sentence if isinstance(error, Problem) else f"{type(error).__name__}: {error}".rstrip(": ")
        said = text if isinstance(text, Sentence) else Sentence(text)
        if self.reached is None or said != self.reached.failure:
            self._report("relay-away", f"the relay was not visited, and is tried again: {said}")
        self._reached(setting, said)

    def _reached(self, setting: RelaySetting, failure: Sentence | None) -> None:
        before, since = self.reached, iso(self._now())
        if before is not None and (before.url, before.failure is None) == (setting.shown, failure is None):
            since = before.since
        self._note(Reached(setting.shown, since, failure))

    def _note(self, reached: Reached | None) -> None:
        if reached != self.reached:
            self.reached = reached
            self._noted()


async def _either(relay: "JetStream", bell: Bell, look_at: float) -> None:
    """Wait until something was published there or committed here, or it is time to look at all of it."""
    with anyio.move_on_after(look_at - anyio.current_time()):
        async with anyio.create_task_group() as tasks:

            async def published() -> None:
                await relay.changed.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(published)
            await anyio.wait_readable(bell)
            tasks.cancel_scope.cancel()
    await anyio.sleep(GATHER_SECONDS)
