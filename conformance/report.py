"""What a run has found: a table for people, JSON for programs, JUnit's XML for build servers."""

import json
import shlex
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from conformance.cases import Case

WIDTH = 400
"""Characters of an expected or a real value that a person is shown; the JSON report has all of them."""


class Verdict(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    XFAILED = "xfailed"
    """Failed, and is on the list of expected failures."""
    XPASSED = "xpassed"
    """Is on that list and passed: the list is out of date, which fails the run."""
    NOT_OFFERED = "not offered"


class Outcome(NamedTuple):
    case: Case
    verdict: Verdict
    seconds: float
    what: str = ""
    expected: Any = None
    got: Any = None
    trace: tuple[dict[str, Any], ...] = ()


class Report(NamedTuple):
    outcomes: list[Outcome]
    unknown_xfails: list[str]
    allow_missing: bool
    command: list[str]
    seed: int
    peer: str = ""
    """The command of the other program, if it is another."""

    @property
    def green(self) -> bool:
        bad = {Verdict.FAILED, Verdict.XPASSED} | (set() if self.allow_missing else {Verdict.NOT_OFFERED})
        return bool(self.outcomes) and not self.unknown_xfails and not any(o.verdict in bad for o in self.outcomes)

    def counts(self, outcomes: list[Outcome]) -> dict[str, int]:
        return {verdict.value: sum(o.verdict is verdict for o in outcomes) for verdict in Verdict}

    def replay(self, case: Case) -> str:
        adapter = shlex.join(self.command)
        seed = f"--seed {case.seed} " if case.seed else ""
        peer = f"--peer {shlex.quote(self.peer)} " if self.peer else ""
        return f"python conformance/run.py {seed}{peer}--only {shlex.quote(case.name)} -- {adapter}"

    # -- for people

    def table(self) -> str:
        rows: dict[str, list[Outcome]] = {}
        for outcome in self.outcomes:
            rows.setdefault(f"{outcome.case.level}  {outcome.case.area}", []).append(outcome)
        head = f"{'level, area':<24}" + "".join(f"{verdict.value:>13}" for verdict in Verdict)
        lines = [head, "-" * len(head)]
        for label, outcomes in rows.items():
            lines.append(self._row(label, outcomes))
        lines += ["-" * len(head), self._row("all", self.outcomes)]
        return "\n".join(lines)

    def _row(self, label: str, outcomes: list[Outcome]) -> str:
        return f"{label:<24}" + "".join(f"{count or '.':>13}" for count in self.counts(outcomes).values())

    def failures(self) -> str:
        lines = []
        for outcome in self.outcomes:
            case = outcome.case
            if outcome.verdict is Verdict.FAILED:
                lines += ["", f"FAILED {case.name}", f"  {case.comment}", f"  {outcome.what}"]
                lines += [f"    expected  {_short(outcome.expected)}", f"    got       {_short(outcome.got)}"]
                lines += [f"  replay: {self.replay(case)}"]
            elif outcome.verdict is Verdict.XPASSED:
                lines += [
                    "",
                    f"PASSED {case.name}",
                    "  although it is listed as an expected failure: take it off the list",
                ]
        missing = sorted({str(o.what) for o in self.outcomes if o.verdict is Verdict.NOT_OFFERED})
        if missing:
            lines += ["", f"not offered: {', '.join(missing)}"]
        lines += [f"\nthe list of expected failures names {name}, and no case does" for name in self.unknown_xfails]
        return "\n".join(lines)

    # -- for programs

    def write_json(self, file: Path) -> None:
        cases = [
            {
                "name": o.case.name,
                "level": o.case.level,
                "area": o.case.area,
                "comment": o.case.comment,
                "verdict": o.verdict.value,
                "seconds": round(o.seconds, 4),
                **({"what": o.what, "expected": o.expected, "got": o.got} if o.what else {}),
                **({"replay": self.replay(o.case), "trace": o.trace} if o.verdict is Verdict.FAILED else {}),
            }
            for o in self.outcomes
        ]
        whole = {
            "green": self.green,
            "seed": self.seed,
            "command": self.command,
            "peer": self.peer,
            "counts": self.counts(self.outcomes),
        }
        file.write_text(
            json.dumps({**whole, "cases": cases}, indent=1, ensure_ascii=False, default=bytes.hex) + "\n",
            encoding="utf-8",
        )

    def write_junit(self, file: Path) -> None:
        counts = self.counts(self.outcomes)
        failed = counts[Verdict.FAILED] + counts[Verdict.XPASSED]
        skipped = counts[Verdict.XFAILED] + counts[Verdict.NOT_OFFERED]
        lines = ['<?xml version="1.0" encoding="utf-8"?>']
        lines += [
            f'<testsuite name="conformance" tests="{len(self.outcomes)}" failures="{failed}" skipped="{skipped}">'
        ]
        for o in self.outcomes:
            group, _, name = o.case.name.partition("/")
            open_tag = f'<testcase classname={quoteattr(group)} name={quoteattr(name)} time="{o.seconds:.4f}"'
            if o.verdict is Verdict.PASSED:
                lines.append(f"{open_tag}/>")
                continue
            kind = "failure" if o.verdict in (Verdict.FAILED, Verdict.XPASSED) else "skipped"
            detail = "" if kind == "skipped" else f"expected {_short(o.expected)}\ngot {_short(o.got)}"
            message = quoteattr(_printable(o.what or o.verdict.value))
            lines.append(f"{open_tag}><{kind} message={message}>{escape(_printable(detail))}</{kind}></testcase>")
        lines += ["</testsuite>", ""]
        file.write_text("\n".join(lines), encoding="utf-8")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=bytes.hex)
    return text if len(text) <= WIDTH else f"{text[:WIDTH]} ... ({len(text)} characters)"


def _printable(text: str) -> str:
    """XML has no control characters, not even escaped."""
    return "".join(character if character >= " " or character in "\n\t" else "\ufffd" for character in text)
