"""A copy of a device that can be put back."""

import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from tests.support.stores import NOON, dump, minting

from lottisync.daemon.stores import AGENT_STORE
from lottisync.device import backup
from lottisync.device.backup import Backup
from lottisync.device.clock import MACHINE
from lottisync.device.home import Home
from lottisync.entities.entity import HIGH
from lottisync.journal.types import JOURNAL
from lottisync.problem import Problem
from lottisync.store.instant import LAST, millis
from lottisync.store.store import Store

SECOND = 1_000


class House:
    """A home, and a clock that is wound by hand."""

    def __init__(self, folder: Path, seed: bytes = b"\x01" * 32) -> None:
        self.now = NOON
        environment = MACHINE._replace(now=lambda: self.now, new_seed=lambda: seed)
        self.home = Home.create(folder, "laptop", [JOURNAL, AGENT_STORE], environment=environment)
        self.folder, self.journal, self.agent = folder, self.home.store("journal"), self.home.store("agent")

    def write(self, ident: str) -> None:
        with self.journal.transaction(self.now, HIGH) as tx:
            tx.put(ident, "task", {"title": ident})

    def back_up(self, into: Path, progress: backup.BackupProgress = lambda what, done, of: None) -> Backup:
        self.now += SECOND
        return backup.back_up(self.home, into, self.now, progress)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path / "home")
    yield made
    made.home.close()


def titles(folder: Path) -> list[str]:
    store = Store.open(folder / "journal.sqlite", JOURNAL, minting(9), detect="late")
    try:
        with store.reading() as reader:
            return sorted(str(entity.value("title")) for entity in reader.by_type("task"))
    finally:
        store.close()


def test_backup_1_what_was_committed_is_in_it_while_the_program_goes_on(house: House, tmp_path: Path) -> None:
    """BACKUP-1: also what lies in the write-ahead log only, which a copy of the files would lose."""
    house.write("a")
    with house.journal.transaction(NOON, HIGH) as tx:  # a program is writing
        tx.put("b", "task", {"title": "b"})
        made = house.back_up(tmp_path / "backups")
    house.write("c")
    assert titles(made.folder) == ["a"]
    assert sorted(path.name for path in made.folder.iterdir()) == [
        *("agent.sqlite", "backup.json", "device.json", "journal.sqlite", "space.sqlite"),
    ]


def test_backup_20_stores_are_taken_in_the_reverse_order_of_delivery(house: House, tmp_path: Path) -> None:
    """BACKUP-20: what is decided while it is taken has its effect in it, too."""

    def progress(what: str, done: int, of: int) -> None:
        if what == "copy" and done == 1:  # the agent's store is taken, the journal not yet
            house.write("effect")
            with house.agent.transaction(NOON, HIGH) as tx:
                tx.put("decision", "changeDecision", {"verdict": "confirmed"})

    made = house.back_up(tmp_path / "backups", progress)
    assert titles(made.folder) == ["effect"]
    agent = Store.open(made.folder / "agent.sqlite", AGENT_STORE, minting(9), detect="late")
    assert agent.read("decision") is None
    agent.close()


def test_backup_2_a_copy_that_does_not_pass_the_check_is_not_a_backup(house: House, tmp_path: Path) -> None:
    """BACKUP-2, BACKUP-21"""
    house.write("a")
    with house.journal.transaction(NOON, None) as tx:
        tx.execute('update journal_entities set serialized = \'{"title":"rotten"}\'')
    with pytest.raises(Problem, match="journal in the backup is damaged"):
        house.back_up(tmp_path / "backups")
    assert list((tmp_path / "backups").iterdir()) == []


def test_backup_3_it_is_for_the_owner_only(house: House, tmp_path: Path) -> None:
    """BACKUP-3"""
    made = house.back_up(tmp_path / "backups")
    assert stat.S_IMODE(made.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((made.folder / "device.json").stat().st_mode) == 0o600


def test_backup_4_rotation_keeps_the_newest_of_this_device(house: House, tmp_path: Path) -> None:
    """BACKUP-4"""
    into = tmp_path / "backups"
    made = [house.back_up(into).folder for _ in range(4)]
    phone = House(tmp_path / "phone", b"\x02" * 32)
    phone.now += 60 * SECOND
    others = phone.back_up(into).folder
    phone.home.close()
    (into / "20990101-000000").mkdir()
    (into / "20990101-000000" / "backup.json").write_text("not one of ours")
    (into / "letters").mkdir()
    assert [gone.folder for gone in backup.rotate(into, house.home.id, 2)] == made[:2]
    assert set(into.iterdir()) == {*made[2:], others, into / "20990101-000000", into / "letters"}


def test_backup_5_the_newest_is_restored(house: House, tmp_path: Path) -> None:
    """BACKUP-5"""
    house.write("a")
    first = house.back_up(tmp_path / "backups").folder
    house.write("b")
    house.back_up(tmp_path / "backups")
    backup.restore(tmp_path / "backups", tmp_path / "new")
    assert titles(tmp_path / "new") == ["a", "b"]
    backup.restore(first, tmp_path / "older")
    assert titles(tmp_path / "older") == ["a"]
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_copy_940_a_restored_store_takes_a_new_host_even_in_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """COPY-940: a disk gives the number of a removed file to the next one, and the stores looked like the lost ones;
    what they wrote then parted from what the others had."""
    monkeypatch.setattr("lottisync.store.store.file_identity", lambda file: "the same file")
    lost = House(tmp_path / "lost", b"\x02" * 32)
    lost.write("a")
    lost.back_up(tmp_path / "backups")
    lost.write("b")
    hosts = _hosts(lost.home)
    lost.home.close()
    shutil.rmtree(lost.folder)
    backup.restore(tmp_path / "backups", lost.folder)
    with closing(Home.open(lost.folder, [JOURNAL, AGENT_STORE])) as again:
        assert [name for name, host in _hosts(again).items() if host == hosts[name]] == []


def _hosts(home: Home) -> Mapping[str, str]:
    """Per store the host that it writes under next."""
    hosts: dict[str, str] = {}
    for name, store in home.stores.items():
        with store.transaction(NOON, HIGH) as tx:
            hosts[name] = tx.host
    return hosts


def _without_journal(folder: Path) -> None:
    (folder / "journal.sqlite").unlink()


def _rotten(folder: Path) -> None:
    file = folder / "journal.sqlite"
    store = Store.open(file, JOURNAL, minting(9), detect="late")
    with store.transaction(NOON, None) as tx:
        tx.execute("update journal_entities set clock = '{}'")
    store.close()


def _of_another_moment(folder: Path) -> None:
    store = Store.open(folder / "journal.sqlite", JOURNAL, minting(9), detect="late")
    with store.transaction(NOON, HIGH) as tx:
        tx.put("later", "task", {"title": "later"})
    store.close()


def _of_no_time(folder: Path) -> None:
    said = msgspec.json.decode((folder / "backup.json").read_bytes())
    (folder / "backup.json").write_bytes(msgspec.json.encode({**said, "at": "soon"}))


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda folder: shutil.rmtree(folder), "is not a backup"),
        (lambda folder: (folder / "backup.json").unlink(), "is not a backup"),
        (_without_journal, "lacks journal.sqlite"),
        (_of_no_time, "is not a backup"),
        (_rotten, "journal in the backup is damaged"),
        (_of_another_moment, "its digest is not the one that was recorded"),
        (lambda folder: (folder / "journal.sqlite").write_bytes(b"x" * 5000), "journal.sqlite"),
    ],
)
def test_backup_5_what_is_not_a_whole_backup_is_refused(
    house: House, tmp_path: Path, spoil: Callable[[Path], object], sentence: str
) -> None:
    """BACKUP-5"""
    house.write("a")
    folder = house.back_up(tmp_path / "backups").folder
    spoil(folder)
    with pytest.raises(Problem, match=sentence):
        backup.restore(folder, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "new.new").exists()


@pytest.mark.parametrize("now", [0, LAST, 2**48 - 1])
def test_ent_570_a_backup_at_the_limits_of_a_clock(house: House, tmp_path: Path, now: int) -> None:
    """ENT-570, CAUS-300"""
    made = backup.back_up(house.home, tmp_path / "backups", now)
    assert 0 <= millis(made.described.at) <= LAST
    assert backup.restore(tmp_path / "backups", tmp_path / "new").folder == made.folder


def test_backup_5_a_home_that_exists_is_left_as_it_is(house: House, tmp_path: Path) -> None:
    """BACKUP-5"""
    house.write("a")
    house.back_up(tmp_path / "backups")
    before = dump(house.journal)
    with pytest.raises(Problem, match="exists and is not empty"):
        backup.restore(tmp_path / "backups", house.folder)
    assert dump(house.journal) == before


def test_backup_950_each_backup_of_one_second_gets_a_name(house: House, tmp_path: Path) -> None:
    """BACKUP-950, BACKUP-4: it was refused; the later one counts as newer, also the eleventh."""
    made = [backup.back_up(house.home, tmp_path / "backups", NOON) for _ in range(11)]
    first = made[0].folder.name
    assert [each.folder.name for each in made[:3]] == [first, f"{first}-2", f"{first}-3"]
    assert [each.folder for each in backup.backups(tmp_path / "backups")] == [each.folder for each in made]
    gone = backup.rotate(tmp_path / "backups", house.home.id, 2)
    assert [each.folder for each in gone] == [each.folder for each in made[:-2]]
    assert backup.restore(tmp_path / "backups", tmp_path / "new").folder == made[-1].folder


def test_backup_950_two_programs_in_one_second_do_not_share_a_folder(house: House, tmp_path: Path) -> None:
    """BACKUP-950: the folder in which another program builds its backup stays as it is."""
    at = backup.back_up(house.home, tmp_path / "elsewhere", NOON).folder.name
    building = tmp_path / "backups" / f".{at}.new"
    building.mkdir(parents=True)
    (building / "half").write_bytes(b"of another")
    assert backup.back_up(house.home, tmp_path / "backups", NOON).folder.name == f"{at}-2"
    assert (building / "half").read_bytes() == b"of another"
