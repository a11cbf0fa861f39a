"""The adapter under test: a child process that is asked one line at a time.

It may die, hang or answer nonsense; each of these fails the case that saw it, and the next case gets
a fresh process. Everything that was asked and answered in a case is kept for the report.
"""

import contextlib
import json
import os
import select
import subprocess
import tempfile
import time
from typing import Any

Json = dict[str, Any]
STDERR_TAIL = 2000
"""Characters of the adapter's standard error that a failure shows."""
CHUNK = 65_536
"""Bytes that are read at once."""


class Failure(Exception):
    """A case has failed. `expected` and `got` are shown side by side."""

    def __init__(self, what: str, expected: Any = None, got: Any = None) -> None:
        super().__init__(what)
        self.what, self.expected, self.got = what, expected, got


class NotOffered(Exception):
    """The adapter does not have an operation that the case needs."""


class Refused(Exception):
    """An operation answered with an error."""

    def __init__(self, request: Json, error: Json) -> None:
        super().__init__(f"{request.get('op')} answered {error.get('code')}: {error.get('message')}")
        self.code = error.get("code")


class Testee:
    """`label` tells two of them apart in a report."""

    def __init__(self, command: list[str], timeout: float, label: str = "") -> None:
        self._command, self._timeout, self._label = command, timeout, label
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = bytearray()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the adapter does
        self._number = 0
        self.trace: list[Json] = []

    def ask(self, op: str, **fields: Any) -> Any:
        """What the operation answered. An error answer raises `Refused`, an unknown operation `NotOffered`."""
        request = {"op": op, **fields}
        answer = self.exchange(request)
        if "error" in answer:
            error = answer["error"]
            if error.get("code") == "unknown-op":
                raise NotOffered(op)
            raise Refused(request, error)
        return answer["ok"]

    def exchange(self, request: Json) -> Json:
        """The whole answer to a request, which gets the next number."""
        self._number += 1
        numbered = {"id": self._number, **request}
        return self.line(json.dumps(numbered, ensure_ascii=False).encode(), self._number)

    def line(self, line: bytes, number: int | None) -> Json:
        """The answer to a line as it stands; `number` is the id that the answer must carry."""
        process = self._running()
        asked = line.decode(errors="replace")
        entry = {"asked": asked, **({"of": self._label} if self._label else {})}
        self.trace.append(entry)
        assert process.stdin is not None
        try:
            process.stdin.write(line + b"\n")
            process.stdin.flush()
        except OSError:
            raise self._died(asked) from None
        raw = self._next_line(process)
        if raw is None:
            self.kill()
            raise Failure(f"no answer within {self._timeout:g} s to {asked[:300]}")
        if not raw:
            raise self._died(asked)
        entry["answered"] = raw.decode(errors="replace").rstrip("\n")
        try:
            answer = json.loads(raw)
        except ValueError:
            raise Failure("an answer is one JSON object a line", got=entry["answered"]) from None
        if not isinstance(answer, dict) or answer.get("id") != number or ("ok" in answer) == ("error" in answer):
            raise Failure("an answer has the request's id and one of ok and error", {"id": number}, answer)
        if "error" in answer and not (
            isinstance(answer["error"], dict) and isinstance(answer["error"].get("code"), str)
        ):
            raise Failure("an error has a code and a message", got=answer)
        return answer

    def _next_line(self, process: "subprocess.Popen[bytes]") -> bytes | None:
        """What the adapter says next: a line, nothing if it has ended, None if it takes too long.

        Waits with `select` and not with a thread: a signal that ends the runner may come at any place here.
        """
        assert process.stdout is not None
        end = time.monotonic() + self._timeout
        while (length := self._unread.find(b"\n") + 1) == 0:
            readable, _, _ = select.select([process.stdout], [], [], max(0.0, end - time.monotonic()))
            if not readable:
                return None
            more = os.read(process.stdout.fileno(), CHUNK)
            if not more:
                length = len(self._unread)
                break
            self._unread += more
        line = bytes(self._unread[:length])
        del self._unread[:length]
        return line

    def _died(self, asked: str) -> Failure:
        process = self._process
        code = process.wait() if process else None
        self.kill()
        self._stderr.seek(0)
        said = self._stderr.read().decode(errors="replace")[-STDERR_TAIL:]
        return Failure(f"the adapter ended (exit code {code}) at {asked[:300]}", "an answer", said or "nothing")

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._stderr.seek(0)
            self._stderr.truncate()
            self._unread.clear()
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr
            )
        return self._process

    def kill(self) -> None:
        """End the process as a crash would. The next request starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdout.close()
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            self._process = None

    def close(self) -> None:
        self.kill()
        self._stderr.close()
