"""Answers about what is stored, whatever it is: damage, history, conflicts, forgetting, files."""

from typing import Any, Literal

import msgspec

from lottisync.answers.form import DeviceId, Instant

Writer = Literal["user", "agent"]


class FaultFound(msgspec.Struct, frozen=True):
    """Something in a store that is not as it should be: `code` for programs, `message` the sentence for people."""

    store: str
    code: str
    message: str


class Checked(msgspec.Struct, frozen=True):
    """What is wrong, store by store, and the names of the stores in which nothing is."""

    faults: list[FaultFound]
    sound: list[str]


class Accepted(msgspec.Struct, frozen=True):
    """The row that holds now what it shows."""

    id: str


class HeldBack(msgspec.Struct, frozen=True, rename="camel"):
    """A device that has not seen `holdsBack` deleted things yet, so that they cannot be forgotten."""

    id: DeviceId
    name: str
    holds_back: int


class Purged(msgspec.Struct, frozen=True, rename="camel"):
    """How many deleted entities were forgotten, by store, and who holds others back."""

    forgotten: dict[str, int]
    held_back: list[HeldBack]


class WriteAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """A value that was written to the field `path`. `current`: it counts now; `replaced`: what was there before, null
    if nothing was, or if it is not known here. `deviceName` is null for a device that is not known here."""

    at: Instant
    by: Writer
    host: str
    device_name: str | None
    path: str
    value: Any
    current: bool
    replaced: Any


class History(msgspec.Struct, frozen=True):
    """All that is known of the writes of one entity, oldest first."""

    id: str
    writes: list[WriteAnswer]


class Written(msgspec.Struct, frozen=True, rename="camel"):
    """One of the values of a conflict, and who wrote it when."""

    value: Any
    by: Writer
    host: str
    device_name: str | None
    at: Instant


class ConflictAnswer(msgspec.Struct, frozen=True):
    """The field `path` of an entity, which devices wrote without knowing of each other; the first of the values is the
    one that is shown. `title` is the entity's title, name or text, shortened, or its type."""

    id: str
    type: str
    title: str
    path: str
    deleted: bool
    values: list[Written]


class Conflicts(msgspec.Struct, frozen=True):
    """What waits for the person to settle it."""

    conflicts: list[ConflictAnswer]


class Settled(msgspec.Struct, frozen=True):
    """The field of an entity whose conflict is settled."""

    id: str
    path: str


class ActDone(msgspec.Struct, frozen=True, rename="camel"):
    """Something that was done on this device. `origin` is `here` (this terminal), `terminal` or `browser`; `undoes` is
    the number of the act that it took back, `undoneBy` of the one that took it back. `left` counts the entities of
    which it is still to be taken back, where that was begun and interrupted."""

    number: int
    at: Instant
    origin: Literal["here", "terminal", "browser"]
    text: str
    undoes: int | None
    undone_by: int | None
    left: int = 0


class Acts(msgspec.Struct, frozen=True):
    """The newest acts, the last one first."""

    acts: list[ActDone]


class TakenBack(msgspec.Struct, frozen=True, rename="camel"):
    """The act that took another one back, which is `takenBack`."""

    number: int
    taken_back: ActDone


class Exported(msgspec.Struct, frozen=True):
    """The file, and how many entities are in it."""

    file: str
    entities: int
