"""A home: a device in a folder (docs/specs/05-store.md, section 8).

device.json      the device's secret key and nothing else, readable by its owner only
space.sqlite     and a file for each further store
bells/           named pipes of running listeners
daemon.json      where a running daemon can be reached, and what it said last
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, Self

import msgspec

from lottisync.device.clock import MACHINE, Environment
from lottisync.device.device import Device
from lottisync.device.folder import StoreFolder
from lottisync.device.space import HOST_BINDING, SPACE
from lottisync.entities.schema import StoreSchema
from lottisync.problem import Problem, Usage
from lottisync.store.store import Store

if TYPE_CHECKING:
    from lottisync.identity.device_key import DeviceKey

KEY_FILE = "device.json"


LOST_AND_FOUND = "lost+found"
"""What a new file system may hold, at its mount point."""


class KeyFile(msgspec.Struct):
    """`device.json`: seed and device id in hexadecimal."""

    seed: str
    device: str


class Home(Device):
    """A device in a folder; the end of a `with` block closes it. `SCHEMAS` are the stores that every home of the class
    has, in the order of delivery; a program gives its own stores when it makes the home or opens it."""

    SCHEMAS: ClassVar[Sequence[StoreSchema]] = (SPACE,)

    def __init__(self, path: Path, schemas: Iterable[StoreSchema] = (), environment: Environment = MACHINE) -> None:
        self.path = path
        own = list(schemas)
        if taken := {schema.name for schema in self.SCHEMAS} & {schema.name for schema in own}:
            raise ValueError(f"every device has a store {min(taken)!r} already. Give your own store another name")
        self.folder = StoreFolder(path, [*self.SCHEMAS, *own], environment.new_host)
        super().__init__(self.folder, lambda: _read_key(path / KEY_FILE), environment)

    @classmethod
    def open(cls, path: Path, schemas: Iterable[StoreSchema] = (), *, environment: Environment = MACHINE) -> Self:
        """An initialised home. A store of the program's own that is listed and new to it is made; one that every home
        of the class has was lost, and is not made in silence. Raises `Problem` if there is no home."""
        if not (path / KEY_FILE).exists():
            raise Problem("not-initialised", "{path} is not a lottisync home", hint="init", path=path)
        home = cls(path, schemas, environment)
        if home.folder.missing():
            home.add_new_stores()
        return home

    @classmethod
    def create(
        cls, path: Path, name: str, schemas: Iterable[StoreSchema] = (), *, environment: Environment = MACHINE
    ) -> Self:
        """Make a home for a new device called `name`. All or nothing: it is built beside `path` and moved there. (A
        mount point cannot be replaced: there it is built in a folder within, and the key is moved last.)
        Raises `Problem` if something is there already, `IdentityError` for a name that a device cannot have."""
        import shutil  # here: every command would load it, and the compressors with it

        if (path / KEY_FILE).exists():
            lost = cls(path, schemas, environment).lost()
            if lost:
                raise Problem(
                    "exists",
                    "{path} is a lottisync home already; it was not changed. Missing is {lost}",
                    hint="init-missing",
                    path=path,
                    lost=" and ".join(lost),
                )
            raise Problem("exists", "{path} is a lottisync home already; it was not changed", path=path)
        if path.exists() and (not path.is_dir() or any(each.name != LOST_AND_FOUND for each in path.iterdir())):
            raise Usage("exists", "{path} exists and is not empty", hint="other-folder", path=path)
        schemas = list(schemas)
        building = path / ".new" if path.is_mount() else path.with_name(path.name + ".new")
        home = cls(building, schemas, environment)
        try:
            shutil.rmtree(building, ignore_errors=True)
            building.mkdir(mode=0o700, parents=True)
            home.begin(name)
            home.close()
            _settle(building, path)
        except BaseException as error:
            home.close()
            shutil.rmtree(building, ignore_errors=True)
            if isinstance(error, OSError):
                raise Problem(
                    "cannot-create", "{path} cannot be made: {strerror}", path=path, strerror=error.strerror or error
                ) from None
            raise
        return cls(path, schemas, environment)

    def begin(self, name: str) -> None:
        """Fill an empty folder: a key, the stores, and a roster with this device in it."""
        from lottisync.identity.device_key import DeviceKey

        now = self.environment.now()
        _write_key(self.path / KEY_FILE, DeviceKey.from_seed(self.environment.new_seed()))
        self.folder.create(self.folder.missing())
        self.members.add(name, self.key.certificate, now)
        self.bind_hosts(now)

    def knows(self, store: Store) -> bool:
        """Whether the fields of a store are this program's. Of another program's store only paths and values are known:
        a field may have the name of one of ours, and another meaning."""
        return store.schema.name in {schema.name for schema in self.SCHEMAS}

    def add_new_stores(self) -> None:
        """Make the listed stores that this device has never had. One that it has had, and that is gone, is not made
        again: opening it says that the file is missing."""
        if (missing := self.folder.missing()) and not self._file_of_space_is_lost():
            own = self.id  # first, for a damaged key is to be said before anything else
            with self.space.reading() as reader:
                new = [each for each in missing if not reader.documents(HOST_BINDING, owner=own, subtype=each.name)]
            if new:
                self.folder.create(new)
                self.bind_hosts(self.environment.now())

    def lost(self) -> list[str]:
        """The names of the stores that each home of the class has, that this one has had, and whose file is gone."""
        own = {schema.name for schema in self.SCHEMAS}
        missing = [schema.name for schema in self.folder.missing() if schema.name in own]
        if not missing or self._file_of_space_is_lost():
            return missing
        with self.space.reading() as reader:
            return [name for name in missing if reader.documents(HOST_BINDING, owner=self.id, subtype=name)]

    def _file_of_space_is_lost(self) -> bool:
        """Whether the file of `space` is lost. Then nothing says which stores this device has had."""
        return SPACE.name in {schema.name for schema in self.folder.missing()}

    def replace_lost(self, name: str) -> list[str]:
        """Make the stores that were lost, empty and with hosts of their own; the other devices fill them again. Gives
        their names. Where `space` was lost, this device is called `name` and knows no other: it has to be paired again.
        The remaining files of a store (its write-ahead log) are kept under another name."""
        _ = self.key
        lost, now = self.lost(), self.environment.now()
        for store in lost:
            for rest in ("-wal", "-shm"):
                with suppress(FileNotFoundError):
                    (self.path / f"{store}.sqlite{rest}").rename(self.path / f"{store}.sqlite{rest}.{now}.kept")
        self.folder.create([schema for schema in self.folder.missing() if schema.name in lost])
        if SPACE.name in lost:
            self.members.add(name, self.key.certificate, now)
        self.bind_hosts(now)
        return lost

    def renew(self, name: str) -> None:
        """Make a new device, called `name`, out of a home that was copied: a new key, new hosts, and all that the copy
        holds (COPY-11). It trusts the copied device, and those that the copied device trusts. They do not know the new
        device until it is paired with one of them. If this is killed before its end, the home is still the copy, and
        can be renewed again. No other program may use this home meanwhile."""
        from lottisync.identity.device_key import DeviceKey

        now = self.environment.now()
        self.bind_hosts(now)  # what the copy wrote is the copied device's, and its key says so for the last time
        key = DeviceKey.from_seed(self.environment.new_seed())
        self.members.renew(key, name, now)
        fresh = self.path / f"{KEY_FILE}.new"
        fresh.unlink(missing_ok=True)
        _write_key(fresh, key)
        fresh.replace(self.path / KEY_FILE)
        del self.key
        for store in self.stores.values():
            with store.transaction(now, None) as tx:
                tx.new_host()
        self.bind_hosts(now)

    def look_for_stores(self) -> Mapping[str, Problem]:
        self.folder.look()
        return self.folder.unusable

    def close(self) -> None:
        """Let go of the files. The device can be opened again."""
        self.folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_or_create(
    path: Path | str, *, name: str, schemas: Iterable[StoreSchema] = (), environment: Environment = MACHINE
) -> Home:
    """The device in a folder, made if it is not there yet. `name` is what people call it then, `schemas` are the stores
    of the program, in the order in which they travel.

    Raises `Problem` for a folder that holds something else, `ValueError` for a schema that cannot be one."""
    folder, wanted = Path(path).expanduser(), list(schemas)
    if (folder / KEY_FILE).exists():
        return Home.open(folder, wanted, environment=environment)
    return Home.create(folder, name, wanted, environment=environment)


def _read_key(file: Path) -> "DeviceKey":
    from lottisync.identity.device_key import DeviceKey, IdentityError

    try:
        held = msgspec.json.decode(file.read_bytes(), type=KeyFile)
        key = DeviceKey.from_seed(bytes.fromhex(held.seed))
        # Of 32 random bytes any 32 bytes are a good key: only the id shows that these are not ours.
        damaged = held.device != key.device_id
    except (msgspec.MsgspecError, ValueError, RecursionError, IdentityError):
        damaged = True
    except OSError as error:
        raise Problem(
            "cannot-open", "{file} cannot be read: {strerror}", file=file, strerror=error.strerror or error
        ) from None
    if damaged:
        raise Problem("damaged", "{file} is damaged. Restore it from a backup, or pair this device again", file=file)
    return key


def _settle(building: Path, path: Path) -> None:
    """Move a home that was built to its place."""
    if building.parent != path:
        building.rename(path)
        return
    for file in sorted(building.iterdir(), key=lambda file: file.name == KEY_FILE):
        file.rename(path / file.name)
    building.rmdir()


def _write_key(path: Path, key: "DeviceKey") -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(KeyFile(key.seed.hex(), key.device_id)))
        file.flush()
        os.fsync(file.fileno())
