"""Random histories of devices at a relay that lies, and what has to hold of them (docs/specs/19-relay.md, section
9)."""

import random
import shutil
from collections import Counter
from pathlib import Path

from tests.support import rounds
from tests.support.household import Member
from tests.support.relay import Relay, View, Visitor, introduce
from tests.support.relay_falsehood import Said, falsehood, forged, sealed

from lottisync.causality.vector_clock import Host
from lottisync.entities import canonical
from lottisync.entities.entity import HIGH
from lottisync.relay.header import Kind, Name, parts_of
from lottisync.store import forgetting, lookups
from lottisync.sync.local_state import LocalState

STORES = ("space", "journal", "agent")
LIES = (
    "drop", "shuffle", "alter", "misplace", "repeat", "another epoch", "another lane", "set back", "half", "no frames",
    "stale too", "forge",
)  # fmt: skip
MINUTE = 60_000
SEASON = 50 * 24 * 60 * MINUTE
"""Longer than a snapshot is relied on, and more than half of the time after which a relay forgets."""


class World:
    """Devices and a relay. `chance` decides what is left open, so a history is repeated from its seed."""

    def __init__(self, folder: Path, template: Path, count: int, seed: int) -> None:
        self.folder, self.chance = folder, random.Random(seed)
        shutil.copytree(template, folder)
        self.relay = Relay()
        self.visitors = [Visitor(Member(folder / f"device-{n}", n), self.relay, seed) for n in range(1, count + 1)]
        self.written: dict[tuple[str, Host, int], str] = {}
        self.words: list[bytes] = []
        self.unseen: dict[tuple[str, str, str], int] = {}
        """What was written (store, entity, word), by whom: unless one who had seen it has overwritten or deleted it."""
        self.away: set[str] = set()
        """Devices that nobody waits for with forgetting."""
        self.padding = 0
        """Bytes behind every word that is written: what makes several messages of a segment."""
        self.copied = False
        self._seasons: dict[Name, int] = {}
        """For how many seasons each message has lain there."""
        self.count: Counter[str] = Counter()
        """What has happened, for who looks whether histories still do what they are for."""
        self._count = 0

    # -- what happens

    def write(self, at: int, store: str = "journal", entity: int | None = None) -> None:
        member = self.visitors[at].member
        self._count += 1
        word = f"Secretword{self._count}"
        self.words.append(word.encode())
        kind = {"journal": "task", "agent": "agentMessage"}[store]
        ident = f"e{entity if entity is not None else self._count}"
        self._has_seen(member, store, ident)
        with member.stores[store].transaction(member.now, HIGH) as tx:
            tx.put(ident, kind, {"title": f"{word}.{self.chance.randbytes(self.padding).hex()}"})
            self.written[store, tx.host, tx.counter] = ident
        self.unseen[store, ident, word] = at

    def delete(self, at: int, entity: int) -> None:
        member = self.visitors[at].member
        self._has_seen(member, "journal", f"e{entity}")
        with member.stores["journal"].transaction(member.now, HIGH) as tx:
            if tx.entity(f"e{entity}") is not None:
                tx.delete(f"e{entity}")
                self.written["journal", tx.host, tx.counter] = f"e{entity}"

    def _has_seen(self, member: Member, store: str, ident: str) -> None:
        """What is here of an entity is overwritten, or deleted, by one who has seen it."""
        for word in _words(member, store, ident):
            self.unseen.pop((store, ident, word), None)

    def leave(self, at: int) -> None:
        """It is away, and retired: nobody waits for it any more; or it is back again."""
        self.away ^= {self.visitors[at].member.id}

    def forget(self, at: int, entity: int) -> None:
        """Delete one thing more, and forget the deletions that all have seen who are waited for, however young."""
        there = [number for number in range(1, 5) if _words(self.visitors[at].member, "journal", f"e{number}")]
        if there:
            self.delete(at, there[entity % len(there)])
        member = self.visitors[at].member
        waited_for = self.trusted(member) - self.away - {member.id}
        with member.stores["journal"].transaction(member.now, None) as tx:
            self.count["purged"] += forgetting.purge(tx, waited_for, min_age=0)

    def read(self, at: int, lie: str | None) -> None:
        self.count["lies"] += lie is not None
        self.visitors[at].read(None if lie is None else self.view(lie))
        self.check(at)

    def publish(self, at: int, how: str) -> None:
        """`how`: all of it; or only one message, with its acknowledgement or without."""
        self.relay.remember()
        visitor = self.visitors[at]
        if how == "all":
            visitor.publish()
            visitor.clean()
        else:
            visitor.publish(acknowledged=how == "acknowledged", most=1)
            visitor.start()

    def meet(self, one: int, other: int) -> None:
        a, b = self.visitors[one].member, self.visitors[other].member
        if one != other and {a.id, b.id} <= self.trusted(a) & self.trusted(b):
            rounds.pull(a, b, a.now)
            rounds.pull(b, a, b.now)

    def restart(self, at: int) -> None:
        self.visitors[at].start()

    def back_up(self, at: int) -> None:
        """A person copies a device's files."""
        visitor = self.visitors[at]
        backup = self.folder / f"backup-{at}"
        visitor.participant.close()
        visitor.member.close()
        shutil.rmtree(backup, ignore_errors=True)
        shutil.copytree(visitor.member.folder, backup)
        self._open_again(visitor)

    def restore(self, at: int) -> None:
        """The device has its files of then again. What it alone had written since is lost, and nobody is to blame."""
        visitor, backup = self.visitors[at], self.folder / f"backup-{at}"
        if not backup.exists():
            return
        self.count["restored"] += 1
        self.copied = True
        folder = visitor.member.folder
        visitor.participant.close()
        visitor.member.close()
        minted = (folder / "hosts").read_text()
        shutil.rmtree(folder)
        shutil.copytree(backup, folder)
        (folder / "hosts").write_text(minted)
        self._open_again(visitor)
        for (store, ident, word), author in [*self.unseen.items()]:
            if author == at and word not in _words(visitor.member, store, ident):
                del self.unseen[store, ident, word]

    def _open_again(self, visitor: Visitor) -> None:
        old = visitor.member
        visitor.member = Member(old.folder, old.number)
        visitor.member.now, visitor.member._named = old.now, old._named
        visitor.start()

    def pass_time(self) -> None:
        for visitor in self.visitors:
            visitor.member.now += MINUTE

    def season(self) -> None:
        """Fifty days pass. The relay forgets what has lain there for two seasons: it is older than ninety days."""
        for visitor in self.visitors:
            visitor.member.now += SEASON
        self._seasons = {name: self._seasons.get(name, 0) + 1 for name in self.relay.messages}
        for name in [name for name, seasons in self._seasons.items() if seasons > 1]:
            self.count["expired"] += 1
            del self.relay.messages[name]

    def lose(self) -> None:
        if self.relay.messages:
            del self.relay.messages[self.chance.choice(sorted(self.relay.messages))]

    def wipe(self) -> None:
        self.relay.messages.clear()

    def go_back(self) -> None:
        if self.relay.earlier:
            self.relay.messages = dict(self.chance.choice(self.relay.earlier))

    def expire(self) -> None:
        """The oldest third is too old."""
        for name in list(self.relay.messages)[: len(self.relay.messages) // 3]:
            del self.relay.messages[name]

    def revoke(self, by: int, whom: int) -> None:
        a, b = self.visitors[by].member, self.visitors[whom].member
        if by != whom and len(self.staying()) == len(self.visitors):
            self.count["revoked"] += 1
            a.members.revoke(b.id, a.roster().resting_on(b.id), a.now)

    def bring_back(self, by: int) -> None:
        """A person pairs the devices that were revoked with one that is still in, as the product does it."""
        sponsor = self.visitors[by]
        for returned in self.visitors:
            if sponsor in self.staying() and returned.member.id in sponsor.member.roster().revoked():
                self.count["brought back"] += 1
                _pair(sponsor.member, returned.member)

    def babble(self, at: int, kind: Kind) -> None:
        """A member that lies: it seals what is nothing, in its own lane."""
        self.relay.put(*sealed(self.visitors[at], kind, lambda name: Said(self.chance.randbytes(40))))

    def deceive(self, at: int, how: str) -> None:
        """A member that lies: what it seals in its own lane is well formed, and not true."""
        self.count["deceived"] += 1
        self.relay.put(*falsehood(how, self.visitors[at], self.chance))

    def usurp(self, at: int, whose: int) -> None:
        """A member that lies: it seals what is nothing, in the lane of another that has spoken there."""
        visitor, other = self.visitors[at], self.visitors[whose]
        taken = {name.lane for name in self.relay.messages if name.lane == other.participant.publishing.lane.id}
        if at == whose or not taken:
            return
        self.count["usurped"] += 1
        last = max((n.number for n in self.relay.messages if n.lane in taken and n.channel == "log"), default=0)
        name = Name(taken.pop(), "log", last + 1_000)
        epoch = visitor.participant.keyring.sealing(visitor.member.now)
        lane = visitor.participant.publishing.lane
        self.relay.put(*lane.sealed_as(Kind.ENVELOPE, name, bytes(32), epoch, self.chance.randbytes(40)))

    def trusted(self, member: Member) -> set[str]:
        return {member.id, *(each.device for each in member.roster().trusted_peers())}

    # -- lies

    def view(self, lie: str) -> View:
        """What the relay shows to one who looks now."""
        chance, view = self.chance, dict(self.relay.messages)
        names = sorted(view)
        match lie:
            case "drop":
                return {name: data for name, data in view.items() if chance.random() < 0.7}
            case "shuffle":
                chance.shuffle(names)
                return {name: view[name] for name in names}
            case "alter":
                for name in names:
                    if chance.random() < 0.4:
                        at = chance.randrange(len(view[name]))
                        view[name] = view[name][:at] + bytes([view[name][at] ^ 1]) + view[name][at + 1 :]
            case "misplace":
                targets = names[:]
                chance.shuffle(targets)
                return {target: view[name] for target, name in zip(targets, names, strict=True)}
            case "repeat":
                twice = dict(view)
                for name in names:
                    if chance.random() < 0.4:
                        twice.setdefault(name._replace(number=name.number + 1), view[name])
                return twice
            case "another lane":
                lanes = sorted({name.lane for name in names})
                return {name._replace(lane=chance.choice(lanes)): view[name] for name in names}
            case "another epoch":
                epochs = sorted({parts_of(data).header.epoch for data in view.values()})
                return {name: _under(chance.choice(epochs), data) for name, data in view.items()}
            case "set back" if self.relay.earlier:
                return dict(chance.choice(self.relay.earlier))
            case "forge":
                for name in names:
                    if name.channel in ("log", "state", "keys") and chance.random() < 0.4:
                        view.setdefault(name._replace(number=name.number + 1), forged(view[name]))
            case "half":
                lanes = sorted({name.lane for name in names})
                shown = {lane for lane in lanes if chance.random() < 0.5}
                return {name: data for name, data in view.items() if name.lane in shown}
            case "no frames":
                return {n: d for n, d in view.items() if not n.channel.startswith("snap.") or chance.random() < 0.5}
            case "stale too" if self.relay.earlier:
                return {**chance.choice(self.relay.earlier), **view}
        return view

    # -- what has to hold

    def check(self, at: int) -> None:
        """RELAY-13: no device knows a write that it does not hold."""
        if self.copied:
            return
        member = self.visitors[at].member
        for (store, host, counter), ident in self.written.items():
            with member.stores[store].reading() as reader:
                if reader.knowledge().get(host, 0) >= counter:
                    entity = reader.entity(ident)
                    if entity is None and lookups.forgotten(reader).get(host, 0) >= counter:
                        continue
                    assert entity is not None, f"write {counter} of {host} is known and {ident} is not here"
                    assert entity.clock.get(host, 0) >= counter

    def heal(self, visits: int = 5) -> list[Visitor]:
        """From now on the relay tells the truth, and every device visits it several times. Returns the devices that
        stay."""
        for _ in range(visits):
            self.pass_time()
            for visitor in self.staying():
                visitor.visit()
        return self.staying()

    def staying(self) -> list[Visitor]:
        out = {device for v in self.visitors for device in v.roster().revoked()}
        return [visitor for visitor in self.visitors if visitor.member.id not in out]

    def assert_equal(self, staying: list[Visitor]) -> None:
        for store in STORES:
            summaries = {visitor.member.number: _summary(visitor.member, store) for visitor in staying}
            assert len({*summaries.values()}) == 1, f"{store} differs: {summaries}"
        for visitor in staying:
            here = self.visitors.index(visitor)
            self.check(here)
            visitor.read()
            assert all(each.in_step for each in visitor.participant.standing(visitor.member.now)), (
                visitor.participant.standing(visitor.member.now)
            )

    def assert_nothing_lost(self) -> None:
        """What a device that stays has written is there, if nobody has overwritten or deleted it who had seen it."""
        staying = self.staying()
        for (store, ident, word), author in self.unseen.items():
            if self.visitors[author] in staying:
                for visitor in staying:
                    assert word in _words(visitor.member, store, ident), f"{word} of {ident} is lost"

    def assert_unreadable(self) -> None:
        """Nothing of what was written stands in what was put there; nor do the devices' ids, names or hosts."""
        secrets = [*self.words]
        for visitor in self.visitors:
            member = visitor.member
            secrets += [member.id.encode(), bytes.fromhex(member.id), f"device {member.number}".encode()]
            for store in STORES:
                with member.stores[store].reading() as reader:
                    secrets += [reader.host.encode(), bytes.fromhex(reader.host)]
        for data in self.relay.everything:
            assert not [secret for secret in secrets if secret in data]

    def assert_complete(self) -> None:
        """A device that begins with nothing gets all that lies there (RELAY-20)."""
        number = len(self.visitors) + 1
        newcomer = Member(self.folder / f"device-{number}", number)
        sponsor = self.staying()[0].member
        newcomer.now = sponsor.now
        _pair(sponsor, newcomer)
        visitor = Visitor(newcomer, self.relay)
        self.visitors.append(visitor)
        self.assert_equal(self.heal(4))

    def close(self) -> None:
        for visitor in self.visitors:
            visitor.participant.close()
            visitor.member.close()


def _under(epoch: bytes, data: bytes) -> bytes:
    """A message that says that it is sealed under this epoch."""
    parts = parts_of(data)
    packed = parts.header._replace(epoch=epoch).packed()
    return packed + data[len(packed) :]


def _pair(one: Member, other: Member) -> None:
    """Each signs that it takes the other in, now: a word of an earlier date would not count if one was revoked once."""
    for a, b in ((one, other), (other, one)):
        a.members.add_paired(f"device {b.number}", b.key.certificate, a.now)
    introduce(one, other)


def _words(member: Member, store: str, ident: str) -> set[str]:
    """The titles that an entity holds, those that are not shown among them."""
    with member.stores[store].reading() as reader:
        entity = reader.entity(ident)
    titles = entity.registers.get("title", ()) if entity is not None else ()
    return {str(canonical.decode(write.value)).partition(".")[0] for write in titles}


def _summary(member: Member, store: str) -> tuple[bytes, bytes]:
    with member.stores[store].reading() as reader:
        found = LocalState(reader).summary
        return found.known, found.digest
