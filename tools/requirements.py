"""`python -m tools.requirements`: which test shows which of the person's requirements.

The list is `docs/specs/requirements.md`. A test shows a requirement by citing its id (`S0-17`) in its name
(as `s0_17`), its docstring or a comment. `--missing` prints only what nobody shows yet; `--json` prints all of it
for programs. An id that is cited and not in the list is an error: somebody mistyped it.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

LIST = Path("docs/specs/requirements.md")
PLACES = (Path("tests"), Path("conformance"))
_ROW = re.compile(r"^\| ((?:S\d|C)-\d\d) \| (.*?) \| (.*?) \| (.*?) \|$", re.MULTILINE)
_CITED = re.compile(r"(?<![A-Za-z0-9])(S[0-4]|C)[-_](\d\d)(?:\.\.(?:S[0-4]-|C-)?(\d\d))?(?!\d)", re.IGNORECASE)


class Requirement(NamedTuple):
    id: str
    text: str
    not_applicable: bool
    shown_by: tuple[str, ...]


def listed(text: str) -> dict[str, tuple[str, bool]]:
    """Requirement id -> its text, and whether our decision says that it does not apply."""
    return {ident: (line, "not applicable" in decision) for ident, _, line, decision in _ROW.findall(text)}


def cited(text: str) -> set[str]:
    """The ids in a text; `S0-36..41` and `S3-10..S3-20` are ranges."""
    found = set()
    for document, first, last in _CITED.findall(text):
        for number in range(int(first), int(last or first) + 1):
            found.add(f"{document.upper()}-{number:02d}")
    return found


def requirements(root: Path) -> tuple[list[Requirement], list[str]]:
    """Every requirement with the files that show it, and complaints about ids that do not exist."""
    known = listed((root / LIST).read_text())
    shown: dict[str, list[str]] = {ident: [] for ident in known}
    complaints = []
    for place in PLACES:
        for file in sorted((root / place).rglob("*.py")):
            for ident in sorted(cited(file.read_text())):
                if ident in shown:
                    shown[ident].append(str(file.relative_to(root)))
                else:
                    complaints.append(f"{file.relative_to(root)} cites {ident}, which is not in {LIST}")
    return [Requirement(i, text, gone, tuple(shown[i])) for i, (text, gone) in known.items()], complaints


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
            shown = ", ".join(r.shown_by) or ("does not apply" if r.not_applicable else "nobody yet")
            table.add_row(r.id, Text(r.text), Text(shown, "" if r.shown_by or r.not_applicable else "yellow"))
        console = Console()
        console.print(table)
        console.print(f"{len(found) - len(open_)} of {len(found)} are shown, {len(open_)} are not yet.")
        for complaint in complaints:
            console.print(Text(complaint, "red"))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
