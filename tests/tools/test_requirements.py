"""The requirements tool finds what is cited, and complains of what is not right."""

from pathlib import Path

from tools.requirements import cited, listed, requirements

TABLE = """
| id | section | requirement | decision |
|---|---|---|---|
| S0-01 | a | one |  |
| S0-02 | a | two | not yet: there is no web inbox |
| C-01 | b | three | not applicable here |
"""


def project(folder: Path, *cites: str) -> Path:
    (folder / "docs/specs").mkdir(parents=True)
    (folder / "docs/specs/requirements.md").write_text(TABLE)
    (folder / "tests").mkdir()
    (folder / "tests/test_x.py").write_text("".join(f'def test_x():\n    """{ident}"""\n' for ident in cites))
    return folder


def test_the_projects_own_list_is_read_whole() -> None:
    known = listed(Path("docs/specs/requirements.md").read_text())
    assert len(known) == 286
    assert known["S0-50"][0].startswith("minReasonLength")


def test_every_requirement_is_shown_or_says_why_not() -> None:
    assert requirements(Path())[1] == []


def test_ids_are_found_in_names_ranges_and_prose() -> None:
    assert cited("def test_s0_17_x: 'S1-02, S3-10..12 and S2-01..S2-03'") == {
        "S0-17", "S1-02", "S3-10", "S3-11", "S3-12", "S2-01", "S2-02", "S2-03",
    }  # fmt: skip


def test_what_is_shown_or_says_why_not_is_in_order(tmp_path: Path) -> None:
    found, complaints = requirements(project(tmp_path, "S0-01"))
    assert [(r.id, r.shown_by, r.not_yet, r.not_applicable) for r in found] == [
        ("S0-01", ("tests/test_x.py::test_x",), False, False),
        ("S0-02", (), True, False),
        ("C-01", (), False, True),
    ]
    assert complaints == []


def test_what_no_test_shows_is_a_complaint(tmp_path: Path) -> None:
    [complaint] = requirements(project(tmp_path))[1]
    assert complaint.startswith("S0-01 is shown by no test")


def test_a_not_yet_that_is_shown_by_now_is_a_complaint(tmp_path: Path) -> None:
    [complaint] = requirements(project(tmp_path, "S0-01, S0-02"))[1]
    assert complaint.startswith("S0-02 is shown by tests/test_x.py::test_x; take")


def test_an_id_that_does_not_exist_is_a_complaint(tmp_path: Path) -> None:
    [complaint] = requirements(project(tmp_path, "S0-01, S0-99"))[1]
    assert complaint == "tests/test_x.py::test_x cites S0-99, which is not in docs/specs/requirements.md"
