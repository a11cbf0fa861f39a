"""`python -m tools.requirements`: which test shows which of the person's requirements.

The list is `docs/specs/requirements.md`. A test shows a requirement by citing its id (`S0-17`; `s0_17` in its
name), as tools/citations.py says. `--missing` prints only what no test shows; `--json` prints all of it for programs.

Exits with 1 for an id that is cited and not in the list (somebody mistyped it), for a requirement that no test shows
and whose decision does not begin with "not yet" or "not applicable", and for a "not yet" that a test shows by now.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tools.citations import citing

LIST = Path("docs/specs/requirements.md")
_ROW = re.compile(r"^\| ((?:S\d|C)-\d\d) \| (.*?) \| (.*?) \| (.*?) \|$", re.MULTILINE)
_CITED = re.compile(r"(?<![A-Za-z0-9])(S[0-4]|C)[-_](\d\d)(?:\.\.(?:S[0-4]-|C-)?(\d\d))?(?!\d)", re.IGNORECASE)


class Requirement(NamedTuple):
    id: str
    text: str
    decision: str
    shown_by: tuple[str, ...]

    @property
    def not_applicable(self) -> bool:
        return self.decision.startswith("not applicable")

    @property
    def not_yet(self) -> bool:
        return self.decision.startswith("not yet")


def listed(text: str) -> dict[str, tuple[str, str]]:
    """Requirement id -> its text, and our decision."""
    return {ident: (line, decision) for ident, _, line, decision in _ROW.findall(text)}


def cited(text: str) -> set[str]:
    """The ids in a text; `S0-36..41` and `S3-10..S3-20` are ranges."""
    found = set()
    for document, first, last in _CITED.findall(text):
        for number in range(int(first), int(last or first) + 1):
            found.add(f"{document.upper()}-{number:02d}")
    return found


def requirements(root: Path) -> tuple[list[Requirement], list[str]]:
    """Every requirement with the tests that show it, and what is wrong with the list or the citations."""
    known = listed((root / LIST).read_text())
    shown: dict[str, list[str]] = {ident: [] for ident in known}
    complaints = []
    for test in citing(root):
        for ident in sorted(cited(f"{test.name} {test.text}")):
            if ident in shown:
                shown[ident].append(test.place)
            else:
                complaints.append(f"{test.place} cites {ident}, which is not in {LIST}")
    found = [Requirement(i, text, decision, tuple(shown[i])) for i, (text, decision) in known.items()]
    return found, complaints + [complaint for r in found for complaint in _complaints(r)]


def _complaints(requirement: Requirement) -> Iterator[str]:
    if not requirement.shown_by and not requirement.not_applicable and not requirement.not_yet:
        yield f"{requirement.id} is shown by no test; cite it in one, or say in {LIST}: not yet, and why"
    if requirement.shown_by and requirement.not_yet:
        yield f"{requirement.id} is shown by {requirement.shown_by[0]}; take its 'not yet' out of {LIST}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.requirements", description=__doc__)
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found, complaints = requirements(Path())
    open_ = [r for r in found if not r.shown_by and not r.not_applicable]
    if given.json:
        print(json.dumps({"requirements": [r._asdict() for r in found], "complaints": complaints}))
    else:
        table = Table("id", "requirement", "shown by", box=box.SIMPLE_HEAD)
        for r in open_ if given.missing else found:
            shown = "\n".join(r.shown_by) or r.decision
            table.add_row(r.id, Text(r.text), Text(shown, "" if r.shown_by or r.not_applicable else "yellow"))
        console = Console()
        console.print(table)
        console.print(f"{len(found) - len(open_)} of {len(found)} are shown, {len(open_)} are not yet.")
        for complaint in complaints:
            console.print(Text(complaint, "red"))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
