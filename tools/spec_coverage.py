"""Which rule of the specifications is shown by which tests: `python -m tools.spec_coverage [ROOT]`.

A rule is *defined* by a table row of docs/specs/*.md whose first cell is its id, as in `| SYNC-4 | A
device MUST ... |`. It is *cited* by a test that has the id in its name (`test_sync_4_...`) or anywhere
in its body, docstring and decorators included, or by a test class with the id in its docstring; what
stands at the head of a module is an announcement and counts for nothing. Source files may cite rules
in any place.

Prints a table. Exits with 1 for a rule that no test cites, for an id that is cited in tests or src and
defined nowhere, and for an id that is defined twice. Ids of the requirements (S0-12, C-3) live outside
of this repository and are passed over.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ID = re.compile(r"\b([A-Z]{2,}-[0-9]+)\b(?!-)")
DEFINED = re.compile(r"^\| *([A-Z]{2,}-[0-9]+) *\|", re.MULTILINE)
IN_NAME = re.compile(r"(?:^|_)([a-z]{2,})_([0-9]+)(?=_|$)")
NAMES_OF_OTHER_THINGS = frozenset({"ADR", "AES", "CVE", "HMAC", "ISO", "PEP", "RFC", "SHA", "UTC", "UTF"})
"""Words that are followed by a number elsewhere in the world."""


class Cited(NamedTuple):
    id: str
    place: str
    """`tests/store/test_store.py::test_x` or `src/lottisync/store/store.py:12`."""


class Coverage(NamedTuple):
    defined: dict[str, list[str]]
    """Id -> the files that define it."""
    tests: dict[str, list[str]]
    sources: dict[str, list[str]]

    def untested(self) -> list[str]:
        return sorted(self.defined.keys() - self.tests.keys(), key=by_number)

    def undefined(self) -> list[str]:
        return sorted((self.tests.keys() | self.sources.keys()) - self.defined.keys(), key=by_number)

    def defined_twice(self) -> list[str]:
        return sorted((rule for rule, files in self.defined.items() if len(files) > 1), key=by_number)


def by_number(rule: str) -> tuple[str, int]:
    prefix, _, number = rule.rpartition("-")
    return prefix, int(number)


def read(root: Path) -> Coverage:
    defined: dict[str, list[str]] = {}
    for spec in sorted((root / "docs" / "specs").glob("*.md")):
        for rule in DEFINED.findall(spec.read_text()):
            defined.setdefault(rule, []).append(spec.name)
    prefixes = {rule.partition("-")[0] for rule in defined}
    tests = (cited for file in _python(root / "tests") for cited in in_tests(file, root, prefixes))
    sources = (cited for file in _python(root / "src") for cited in in_source(file, root))
    return Coverage(defined, _by_id(tests), _by_id(sources))


def _python(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def _by_id(many: Iterator[Cited]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for rule, place in many:
        found.setdefault(rule, []).append(place)
    return found


def _ids(text: str) -> set[str]:
    return {rule for rule in ID.findall(text) if rule.partition("-")[0] not in NAMES_OF_OTHER_THINGS}


def in_tests(file: Path, root: Path, prefixes: set[str]) -> Iterator[Cited]:
    text = file.read_text()
    lines = text.splitlines()
    place = file.relative_to(root).as_posix()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test"):
                first = min((decorator.lineno for decorator in node.decorator_list), default=node.lineno)
                ids = _ids("\n".join(lines[first - 1 : node.end_lineno]))
                named = {f"{prefix.upper()}-{number}" for prefix, number in IN_NAME.findall(name)}
                ids |= {rule for rule in named if rule.partition("-")[0] in prefixes}
            case ast.ClassDef(name=name):
                ids = _ids(ast.get_docstring(node) or "")
            case _:
                continue
        for rule in sorted(ids):
            yield Cited(rule, f"{place}::{name}")


def in_source(file: Path, root: Path) -> Iterator[Cited]:
    place = file.relative_to(root).as_posix()
    for number, line in enumerate(file.read_text().splitlines(), start=1):
        for rule in sorted(_ids(line)):
            yield Cited(rule, f"{place}:{number}")


def table(coverage: Coverage) -> Iterator[str]:
    """A line per rule: the id, how many tests cite it, and one of them."""
    for rule in sorted(coverage.defined, key=by_number):
        tests = coverage.tests.get(rule, [])
        yield f"{rule:<12} {len(tests):>3}  {tests[0] if tests else '-'}"


def faults(coverage: Coverage) -> Iterator[str]:
    for rule in coverage.untested():
        yield f"{rule} ({coverage.defined[rule][0]}) is cited by no test"
    for rule in coverage.undefined():
        places = coverage.tests.get(rule, []) + coverage.sources.get(rule, [])
        yield f"{rule} is defined in no specification; cited by {places[0]}"
    for rule in coverage.defined_twice():
        yield f"{rule} is defined twice: {', '.join(coverage.defined[rule])}"


def main(arguments: list[str]) -> int:
    coverage = read(Path(arguments[0] if arguments else "."))
    for line in table(coverage):
        print(line)
    found = list(faults(coverage))
    for line in found:
        print(line, file=sys.stderr)
    print(f"{len(coverage.defined)} rules, {len(found)} faults", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
