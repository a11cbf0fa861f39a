"""A rule of the specifications says one thing, so that a test which cites it shows all of it."""

import re
from pathlib import Path

from tools.spec_coverage import by_number

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| *([A-Z]{2,}-[0-9]+) *\|(.*)$", re.MULTILINE)
MUST = re.compile(r"\bMUST\b")


def with_several_musts(text: str) -> set[str]:
    return {rule for rule, sentence in ROW.findall(text) if len(MUST.findall(sentence)) > 1}


MAX_CLAUSES = 3
"""The requirement, what follows from it, and what it is for. What says more holds several requirements."""
_ASIDE = re.compile(r"`[^`]*`|\([^)]*\)")


def long_winded(text: str) -> set[str]:
    """Rules of more sentences, or parts between semicolons, than one requirement takes."""
    found = set()
    for rule, row in ROW.findall(text):
        sentence = _ASIDE.sub("x", row.split(" | ")[0]).strip(" |")
        if len([clause for clause in re.split(r"[.;]\s", sentence) if clause.strip()]) > MAX_CLAUSES:
            found.add(rule)
    return found


def specs() -> str:
    return "\n".join(page.read_text() for page in sorted((ROOT / "docs" / "specs").glob("*.md")))


def test_a_rule_holds_one_must() -> None:
    assert sorted(with_several_musts(specs()), key=by_number) == []


def test_a_rule_takes_three_sentences_at_most() -> None:
    assert sorted(long_winded(specs()), key=by_number) == []


def test_rules_of_many_sentences_are_found() -> None:
    sample = (
        "| ABC-1 | It MUST be (a. b. c. d.). So; it is `a; b`. |\n| ABC-2 | It MUST be. Also this; that. And more. |\n"
    )
    assert long_winded(sample) == {"ABC-2"}


def test_two_musts_in_one_row_are_found() -> None:
    sample = "| ABC-1 | It MUST be. |\n| ABC-2 | It MUST be, and MUST NOT do. |\nIt MUST and MUST.\n"
    assert with_several_musts(sample) == {"ABC-2"}


CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)


def misplaced_rows(text: str) -> list[str]:
    """Rows that have not as many cells as the first row of their table: they stand in a table of something else."""
    tables = [found[0].splitlines() for found in TABLE.finditer(CODE.sub("", text) + "\n")]
    return [row for table in tables for row in table if _cells(row) != _cells(table[0])]


def _cells(row: str) -> int:
    return row.replace("\\|", "").count("|")


def test_each_row_stands_in_its_own_table() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    assert {page.name: found for page in pages if (found := misplaced_rows(page.read_text()))} == {}


def test_a_row_of_another_table_is_found() -> None:
    sample = "| id | rule |\n|---|---|\n| A | a \\| b |\n| B |\n\n| x |\n```\n| a | b | c |\n```\n"
    assert misplaced_rows(sample) == ["| B |"]
