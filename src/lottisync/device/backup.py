"""A copy of a device that can be put back (docs/specs/17-backup.md).

Copying the files of a home loses what lies in the write-ahead logs, and takes stores of different moments. A backup is
taken through SQLite's backup interface, store by store in the reverse of the order of delivery, while other programs go
on writing; then it is checked row by row. It holds the device's key.
"""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC
from itertools import count
from pathlib import Path
from typing import NamedTuple

import msgspec

from lottisync.causality.vector_clock import Host
from lottisync.device.home import KEY_FILE, Home
from lottisync.problem import Fault, Problem
from lottisync.store.check import broken_invariants
from lottisync.store.instant import millis, there
from lottisync.store.store import Store

FORMAT = "lottisync-backup/1"
FILE = "backup.json"
BackupProgress = Callable[[str, int, int], None]
"""Called with the step, the work done, and the whole work."""


class BackupFile(msgspec.Struct, frozen=True):
    """`backup.json`: whose backup this is, when it was taken (ISO 8601), and the digest of each store (hex)."""

    format: str
    device: str
    name: str
    at: str
    stores: dict[str, str]


class Backup(NamedTuple):
    """A folder with what its `backup.json` says."""

    folder: Path
    described: BackupFile


def _quiet(what: str, done: int, of: int) -> None:
    pass


def back_up(home: Home, into: Path, now: int, progress: BackupProgress = _quiet) -> Backup:
    """Make a backup of the home in a new folder of `into`, named after the time.

    Raises `Problem` (`damaged`) if a copy does not pass the check; no folder is left behind then."""
    at = there(now, UTC)
    folder = into / at.strftime("%Y%m%d-%H%M%S")
    building: Path | None = None
    try:
        into.mkdir(parents=True, exist_ok=True)
        folder, building = _begun(folder)
        digests = {}
        for number, (store_name, store) in enumerate(reversed(list(home.stores.items()))):
            progress("copy", number, len(home.stores))
            digests[store_name] = store.copy_to(building / f"{store_name}.sqlite").hex()
        described = BackupFile(
            FORMAT, home.id, home.name, at.isoformat(timespec="seconds"), {each: digests[each] for each in home.stores}
        )
        shutil.copy(home.path / KEY_FILE, building / KEY_FILE)
        (building / KEY_FILE).chmod(0o600)
        (building / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(described)) + b"\n")
        _check(Backup(building, described), progress)
        _sync(building)
        building.rename(folder)
        return Backup(folder, described)
    except OSError as error:
        raise Problem(
            "cannot-write",
            "the backup {folder} cannot be made: {strerror}",
            folder=folder,
            strerror=error.strerror or error,
        ) from None
    finally:
        if building is not None:
            shutil.rmtree(building, ignore_errors=True)


def _begun(wanted: Path) -> tuple[Path, Path]:
    """The first free name for a backup of this second (`...`, `...-2`, `...-3`), and the new folder in which it is
    built. The new folder keeps the name for this program: another one that runs beside it takes the next."""
    for number in count(1):
        folder = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
        building = folder.with_name(f".{folder.name}.new")
        if folder.exists():
            continue
        with suppress(FileExistsError):
            building.mkdir(mode=0o700)
            return folder, building
    raise AssertionError("numbers do not end")


def backups(folder: Path) -> list[Backup]:
    """The backups in a folder, oldest first: the folder itself if it is one, else what lies in it."""
    candidates = [folder] if (folder / FILE).exists() else sorted(folder.glob("*/")) if folder.is_dir() else []
    found = []
    for candidate in candidates:
        try:
            described = msgspec.json.decode((candidate / FILE).read_bytes(), type=BackupFile)
            millis(described.at)
        except (OSError, msgspec.MsgspecError, ValueError):
            continue
        if described.format == FORMAT:
            found.append(Backup(candidate, described))
    return sorted(found, key=_age)


def _age(backup: Backup) -> tuple[str, int, str]:
    """The key that sorts backups by age. If two are of one second, the one with the higher number is newer: `...-10`
    comes after `...-9`."""
    return backup.described.at, len(backup.folder.name), backup.folder.name


def rotate(folder: Path, device: str, keep: int) -> list[Backup]:
    """Remove all but the `keep` newest backups of a device in a folder; returns what was removed."""
    own = [backup for backup in backups(folder) if backup.described.device == device]
    gone = own[:-keep] if keep > 0 else own
    for backup in gone:
        shutil.rmtree(backup.folder)
    return gone


def restore(folder: Path, home: Path, progress: BackupProgress = _quiet) -> Backup:
    """Make a home of a backup, or of the newest one in a folder.

    Raises `Problem`: `exists`, `no-backup`, `damaged`; nothing is left behind then."""
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise Problem(
            "exists", "{home} exists and is not empty; a backup is restored into a folder that is not there", home=home
        )
    found = backups(folder)
    if not found:
        raise Problem("no-backup", "{folder} is not a backup, and holds none", hint="backup", folder=folder)
    backup = found[-1]
    building = home.with_name(f"{home.name}.new")
    try:
        shutil.rmtree(building, ignore_errors=True)
        building.parent.mkdir(parents=True, exist_ok=True)
        building.mkdir(mode=0o700)
        for name in (KEY_FILE, *(f"{store}.sqlite" for store in backup.described.stores)):
            shutil.copy(backup.folder / name, building / name)
        (building / KEY_FILE).chmod(0o600)
        _check(Backup(building, backup.described), progress)
        _sync(building)
        if home.exists():
            home.rmdir()
        building.rename(home)
        return backup
    except FileNotFoundError as error:
        raise Problem(
            "damaged", "the backup {folder} lacks {name}", folder=backup.folder, name=Path(str(error.filename)).name
        ) from None
    except OSError as error:
        raise Problem(
            "cannot-write", "{home} cannot be made: {strerror}", home=home, strerror=error.strerror or error
        ) from None
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _check(copy: Backup, progress: BackupProgress) -> None:
    """Look at every row of a copy, and compare the digests with those that were read from the stores."""
    for name, digest in copy.described.stores.items():
        store = Store.open(copy.folder / f"{name}.sqlite", None, _no_host, detect="late")
        try:
            with store.reading() as reader:
                broken = broken_invariants(reader, lambda done, of: progress("check", done, of))
                if not broken and reader.digest().hex() != digest:
                    broken = [Fault("wrong-digest", "its digest is not the one that was recorded")]
        finally:
            store.close()
        if broken:
            raise Problem(
                "damaged",
                "{name} in the backup is damaged ({broken}); nothing was made of it",
                name=name,
                broken=broken[0],
            )


def _no_host() -> Host:
    raise AssertionError("a copy is only read here")


def _sync(folder: Path) -> None:
    """Make what lies in a folder durable, and the folder itself."""
    for path in (*folder.iterdir(), folder):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
