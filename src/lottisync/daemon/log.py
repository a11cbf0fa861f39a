"""What the daemon said, in files of the home: one JSON object a line, a few files in turn.

A log is for looking after a device. It has what the daemon prints: codes and sentences, with the names of devices and
agents and the titles of tasks, as people see them (CLI-670). It has no key, and no code of a pairing. A disk that is
full stops no daemon: the line is lost, and the next one is tried again.
"""

import logging
import os
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from io import TextIOWrapper
from itertools import chain
from logging.handlers import RotatingFileHandler
from pathlib import Path

import msgspec

from lottisync.shown import one_line

LOG_FILE = "daemon.log"
MOST_BYTES = 1024 * 1024
OLD_FILES = 4
"""`daemon.log.1` is the newest of those that are full."""


class LogEntry(msgspec.Struct, frozen=True):
    """What was said: `at` in ISO 8601 (UTC), `event` a code for programs, `text` for people."""

    at: str
    event: str
    text: str


class LogFile(RotatingFileHandler):
    """The log of a home, to be written to by its daemon alone."""

    def __init__(self, home: Path, most_bytes: int = MOST_BYTES) -> None:
        super().__init__(home / LOG_FILE, maxBytes=most_bytes, backupCount=OLD_FILES, encoding="utf-8", delay=True)

    def _open(self) -> TextIOWrapper:
        """Made with the first line: a daemon that cannot start leaves no file. Nobody else may read it."""
        return open(self.baseFilename, "a", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600))

    def write(self, entry: LogEntry) -> None:
        text = str(one_line(entry.text))  # of a `Sentence`, too, which JSON does not know
        shown = msgspec.structs.replace(entry, text=text)
        line = msgspec.json.encode(shown).decode()
        self.handle(logging.LogRecord("lottisync", logging.INFO, "", 0, line, None, None))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (the name is the library's)
        """Drop what could not be written; the next line opens the file again."""
        stream, self.stream = self.stream, None
        if stream is not None:
            with suppress(OSError):
                stream.close()


def entries(home: Path) -> Iterator[LogEntry]:
    """Everything that the log still has, the oldest first. A line that cannot be read is left out."""
    files = [home / f"{LOG_FILE}.{number}" for number in range(OLD_FILES, 0, -1)]
    return chain.from_iterable(_read(file) for file in [*files, home / LOG_FILE])


def newest(home: Path, count: int) -> list[LogEntry]:
    return list(deque(entries(home), maxlen=count))


def _read(file: Path) -> Iterator[LogEntry]:
    try:
        with file.open("rb") as opened:
            yield from filter(None, map(parsed, opened))
    except FileNotFoundError:
        return


def parsed(line: bytes) -> LogEntry | None:
    try:
        return msgspec.json.decode(line, type=LogEntry)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


class Follower:
    """What is added to the log from now on, also when it is continued in a new file."""

    def __init__(self, home: Path) -> None:
        self._file = home / LOG_FILE
        self._opened = self._file.open("rb") if self._file.exists() else None
        if self._opened is not None:
            self._opened.seek(0, 2)

    def read(self) -> list[LogEntry]:
        """What was added since the last call."""
        found = self._rest()
        if self._is_another():
            self.close()
            self._opened = self._file.open("rb")
            found += self._rest()
        return found

    def _rest(self) -> list[LogEntry]:
        if self._opened is None:
            return []
        found = []
        while (line := self._opened.readline()).endswith(b"\n"):
            if (entry := parsed(line)) is not None:
                found.append(entry)
        if line:  # half a line: it is read again when it is whole
            self._opened.seek(-len(line), 1)
        return found

    def _is_another(self) -> bool:
        try:
            now = self._file.stat().st_ino
        except FileNotFoundError:
            return False
        return self._opened is None or now != os.fstat(self._opened.fileno()).st_ino

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
