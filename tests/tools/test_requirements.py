"""The requirements tool finds what is cited, and complains of what does not exist."""

from pathlib import Path

from tools.requirements import cited, listed, requirements

LIST = "| S0-01 | a | one | |\n| S0-02 | a | two |  |\n| C-01 | b | three | not applicable here |\n"
TABLE = "| id | section | requirement | decision |\n|---|---|---|---|\n" + LIST.replace("| |", "|  |")


def project(folder: Path, test: str) -> Path:
    (folder / "docs/specs").mkdir(parents=True)
    (folder / "docs/specs/requirements.md").write_text(TABLE)
    (folder / "tests").mkdir()
    (folder / "tests/test_x.py").write_text(test)
    return folder


def test_the_projects_own_list_is_read_whole() -> None:
    known = listed(Path("docs/specs/requirements.md").read_text())
    assert len(known) == 286
    assert known["S0-50"][0].startswith("minReasonLength")


def test_ids_are_found_in_names_ranges_and_prose() -> None:
    assert cited("def test_s0_17_x: 'S1-02, S3-10..12 and S2-01..S2-03'") == {
        "S0-17", "S1-02", "S3-10", "S3-11", "S3-12", "S2-01", "S2-02", "S2-03",
    }  # fmt: skip


def test_what_nobody_shows_is_seen(tmp_path: Path) -> None:
    found, complaints = requirements(project(tmp_path, "# S0-01"))
    assert [(r.id, bool(r.shown_by), r.not_applicable) for r in found] == [
        ("S0-01", True, False),
        ("S0-02", False, False),
        ("C-01", False, True),
    ]
    assert complaints == []


def test_an_id_that_does_not_exist_is_a_complaint(tmp_path: Path) -> None:
    _, complaints = requirements(project(tmp_path, "# " + "S0-" + "99"))
    assert len(complaints) == 1
