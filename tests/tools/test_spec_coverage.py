"""The tool that ties rules to tests catches what it is there for."""

from pathlib import Path

import pytest
from tools.spec_coverage import faults, main, read

ROOT = Path(__file__).parents[2]
# Put together here, so that these samples are not taken for citations of this file.
ONE, TWO, THREE = (f"ABC-{number}" for number in (1, 2, 3))
SPEC = f"""
# Sample

| id | rule |
|---|---|
| {ONE} | A device MUST. |
| {TWO} | A device MUST NOT ({ONE}). |
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("docs/specs", "tests", "src"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "docs/specs/01-sample.md").write_text(SPEC)
    write(tmp_path, "src/sample.py", f'"""See {ONE}; hashed with SHA-256, over UTF-8 (S0-12, C-3)."""\n')
    write(
        tmp_path,
        "tests/test_sample.py",
        f'def test_one() -> None:\n    """{ONE}, S3-14"""\n\n\n'
        + "def test_abc_2_in_its_name() -> None:\n    assert True\n",
    )
    return tmp_path


def write(root: Path, path: str, text: str) -> None:
    (root / path).write_text(text)


def test_a_specification_with_all_its_tests_passes(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(root)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{ONE:<12}   1  tests/test_sample.py::test_one",
        f"{TWO:<12}   1  tests/test_sample.py::test_abc_2_in_its_name",
    ]


def test_a_rule_that_no_test_cites_is_a_fault(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "docs/specs/02-more.md").write_text(f"| {THREE} | A device MUST. |\n")
    assert main([str(root)]) == 1
    assert f"{THREE} (02-more.md) is cited by no test" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/more.py", '"""See {}."""\n'),
        ("tests/test_more.py", 'def test_x() -> None:\n    """{}"""\n'),
    ],
)
def test_an_id_that_is_defined_nowhere_is_a_fault(
    root: Path, capsys: pytest.CaptureFixture[str], path: str, text: str
) -> None:
    write(root, path, text.format(THREE))
    assert main([str(root)]) == 1
    error = capsys.readouterr().err
    assert f"{THREE} is defined in no specification" in error
    assert path in error


def test_mentioning_a_rule_in_a_specification_does_not_define_it(root: Path) -> None:
    (root / "docs/specs/02-more.md").write_text(f"Compare {THREE}.\n\n| rule | {THREE} |\n")
    assert THREE not in read(root).defined


def test_a_rule_that_is_defined_twice_is_a_fault(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "docs/specs/02-more.md").write_text(f"| {TWO} | Something else. |\n")
    assert main([str(root)]) == 1
    assert f"{TWO} is defined twice: 01-sample.md, 02-more.md" in capsys.readouterr().err


def test_the_projects_own_rules_are_all_shown_by_tests() -> None:
    coverage = read(ROOT)
    assert {"CAUS", "ENT", "MERGE", "STORE", "JOUR"} < {rule.partition("-")[0] for rule in coverage.defined}
    assert list(faults(coverage)) == []
