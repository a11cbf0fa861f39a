"""Answers about looking after a device."""

from typing import Literal

import msgspec

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


class Setting(msgspec.Struct, frozen=True, rename="camel"):
    """A setting of this device's daemon. `value` is null if the daemon chooses; `isSet`: it is in the file."""

    name: str
    value: str | bool | None
    is_set: bool


class SettingList(msgspec.Struct, frozen=True):
    """All settings, and the file that holds those that are set."""

    file: str
    settings: list[Setting]


class Stopped(msgspec.Struct, frozen=True):
    """The process that was the daemon, and has ended."""

    pid: int
