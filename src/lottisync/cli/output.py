"""Standard output and standard error: a terminal, a pipe or a file.

A shell may close them, or point them at a full disk or at a program that stops reading. They may take only ASCII. A
command then ends with a sentence. A daemon goes on: its work does not depend on its log."""

import codecs
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import msgspec

from lottisync.answers.form import encoded
from lottisync.problem import Problem
from lottisync.shown import escaped

PLAIN = {"✓": "x", "→": ">", "·": "-"}
"""Our own marks, where the encoding of the output does not have them: a ticked item looks like no open one."""
ENCODING_ERRORS = "lottisync"


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """What replaces the characters that the encoding does not have."""
    assert isinstance(error, UnicodeEncodeError)
    return "".join(PLAIN.get(each, "?") for each in error.object[error.start : error.end]), error.end


def prepare() -> None:
    """Make standard output and error usable: a closed one is replaced by one that drops everything, and a character
    that the terminal's encoding does not have becomes a plain one, or a question mark."""
    codecs.register_error(ENCODING_ERRORS, _plain)
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", closefd=False))
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=ENCODING_ERRORS)


@contextmanager
def writing() -> Iterator[None]:
    """A context in which a failed write to standard output becomes a `Problem`; `BrokenPipeError` passes."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        drop()
        raise Problem(
            "cannot-write",
            "the answer could not be written to standard output: {strerror}. What the command was to "
            "change, it has changed",
            strerror=error.strerror or error,
        ) from None


def drop() -> None:
    """The reader of our output has ended, or the output cannot be written. Drop the rest of the buffer; else the
    interpreter would report it at its end."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def finish() -> None:
    """Write the rest of the buffer, or drop it if that fails."""
    try:
        sys.stdout.flush()
    except OSError:
        drop()


def answer_line(answer: msgspec.Struct) -> None:
    """An answer on one line (docs/json.md). JSON is always UTF-8."""
    if hasattr(sys.stdout, "reconfigure") and sys.stdout.encoding.lower() != "utf-8":
        sys.stdout.reconfigure(encoding="utf-8")
    text = encoded(answer).decode()
    sys.stdout.write(f"{escaped(text) if sys.stdout.isatty() else text}\n")
    sys.stdout.flush()


def file_line(line: bytes, on_screen: Callable[[str], str]) -> None:
    """A line of a file on standard output: exactly these bytes, or on a terminal what a person sees of them."""
    with writing():
        if sys.stdout.isatty():
            sys.stdout.write(f"{on_screen(line.decode())}\n")
        else:
            sys.stdout.buffer.write(line + b"\n")
