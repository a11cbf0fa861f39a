"""Which rule of the specifications is shown by which tests: `python -m tools.spec_coverage [ROOT]`.

A rule is *defined* by a table row of docs/specs/*.md whose first cell is its id, as in `| SYNC-4 | A
device MUST ... |`. What it means that a test *cites* it is said in tools/citations.py. Source files may
cite rules in any place.

Prints a table. Exits with 1 for a rule that no test cites, for an id that is cited in tests or src and
defined nowhere, and for an id that is defined twice. Ids of the requirements (S0-12, C-3) are in a list
of their own (tools/requirements.py) and are passed over.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools.citations import Citing, citing

ID = re.compile(r"\b([A-Z]{2,}-[0-9]+)\b(?!-)")
DEFINED = re.compile(r"^\| *([A-Z]{2,}-[0-9]+) *\|", re.MULTILINE)
IN_NAME = re.compile(r"(?:^|_)([a-z]{2,})_([0-9]+)(?=_|$)")
NAMES_OF_OTHER_THINGS = frozenset({"ADR", "AES", "CVE", "HMAC", "ISO", "KEM", "PEP", "RFC", "SHA", "UTC", "UTF"})
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
    tests = (cited for test in citing(root) for cited in in_test(test, prefixes))
    sources = (cited for file in sorted((root / "src").rglob("*.py")) for cited in in_source(file, root))
    return Coverage(defined, _by_id(tests), _by_id(sources))


def _by_id(many: Iterator[Cited]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for rule, place in many:
        found.setdefault(rule, []).append(place)
    return found


def _ids(text: str) -> set[str]:
    return {rule for rule in ID.findall(text) if rule.partition("-")[0] not in NAMES_OF_OTHER_THINGS}


def in_test(test: Citing, prefixes: set[str]) -> Iterator[Cited]:
    """The rules that a test cites; in a name, only words that begin the id of some rule do."""
    named = {f"{prefix.upper()}-{number}" for prefix, number in IN_NAME.findall(test.name)}
    ids = _ids(test.text) | {rule for rule in named if rule.partition("-")[0] in prefixes}
    return (Cited(rule, test.place) for rule in sorted(ids))


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
