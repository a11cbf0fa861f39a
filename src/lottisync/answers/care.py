"""Answers about looking after a device."""

from typing import Literal

import msgspec

from lottisync.answers.form import DeviceId, Instant

FindingState = Literal["good", "unknown", "warning", "fault"]


class Finding(msgspec.Struct, frozen=True):
    """What was found about one part of the device: `text` says what is there, `advice` what to do; null if nothing is
    to be done. `unknown`: it could not be looked at, or is not in use."""

    part: str
    state: FindingState
    text: str
    advice: str | None


class Diagnosis(msgspec.Struct, frozen=True):
    """All parts that were looked at, in a fixed order."""

    findings: list[Finding]


class RelayPeer(msgspec.Struct, frozen=True, rename="camel"):
    """How another device stands at the relay. `heardAt`: when it spoke there last, by its own clock; null if never.
    `lacking`: how many changes it has said that it has, and that the relay does not hold. `silent`: nothing was heard
    of it for three days. `differs`: it knows the same and holds something else."""

    id: DeviceId
    name: str
    heard_at: Instant | None
    in_step: bool
    lacking: int
    silent: bool
    differs: bool


class RelayStorage(msgspec.Struct, frozen=True):
    """Bytes at the relay: `used` of `allowed`; null if it sets no bound."""

    used: int
    allowed: int | None


class Relay(msgspec.Struct, frozen=True):
    """The relay that all devices use, without a password; null if none is used. `credentials`: the file that this
    device shows there. `storage`: null if the relay was not asked."""

    url: str | None
    devices: list[RelayPeer]
    credentials: str | None = None
    storage: RelayStorage | None = None


class RelayServer(msgspec.Struct, frozen=True):
    """The files that were written for a server. Those of `people` hold a URL with a password, one for each person."""

    files: list[str]
    people: list[str]


class SettingAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """A setting of this device's daemon. `value` is null if the daemon chooses; `isSet`: it is in the file."""

    name: str
    value: str | bool | None
    is_set: bool


class SettingList(msgspec.Struct, frozen=True):
    """All settings, and the file that holds those that are set."""

    file: str
    settings: list[SettingAnswer]


class LogLine(msgspec.Struct, frozen=True):
    """What the daemon said; `event` is for programs, `text` for people."""

    at: Instant
    event: str
    text: str


class LogLines(msgspec.Struct, frozen=True):
    """The newest lines of the daemon's log, the oldest of them first."""

    lines: list[LogLine]


class Unit(msgspec.Struct, frozen=True):
    """The unit of systemd that starts the daemon: its name, its file, and the text in it."""

    name: str
    file: str
    text: str


class Stopped(msgspec.Struct, frozen=True):
    """The process that was the daemon, and has ended."""

    pid: int


class CompletionScript(msgspec.Struct, frozen=True):
    """What a shell runs to complete calls."""

    shell: str
    script: str
