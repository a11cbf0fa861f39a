"""What counts as a citation, for rules and requirements alike. Ids here are samples in strings, which do not count."""

from pathlib import Path

import pytest
from tools.citations import citing

ID = "ABC-3"


def cites(folder: Path, text: str) -> bool:
    (folder / "tests").mkdir()
    (folder / "tests" / "test_x.py").write_text(text)
    return any(ID in test.text or "abc_3" in test.name for test in citing(folder))


@pytest.mark.parametrize(
    "text",
    [
        f'def test_x() -> None:\n    """{ID}: why"""\n',
        f"def test_x() -> None:\n    assert True  # {ID}\n",
        f"@pytest.mark.parametrize('x', ['{ID}'])\ndef test_x(x: str) -> None:\n    assert x\n",
        f'class Machine:\n    """{ID}"""\n',
        f'async def test_x() -> None:\n    """{ID}"""\n',
        f'class TestX:\n    def test_y(self) -> None:\n        """{ID}"""\n',
        "def test_abc_3_x() -> None: ...\n",
    ],
)
def test_what_a_test_carries_is_a_citation(tmp_path: Path, text: str) -> None:
    assert cites(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        f'"""{ID}"""\n\n\ndef test_x() -> None:\n    """Why."""\n',
        f"# {ID}\n",
        f'def helper() -> None:\n    """{ID}"""\n',
        f"def test_x() -> None:\n    sample = '{ID}'\n    assert sample\n",
        f"SAMPLE = '{ID}'\n",
        f'def test_x() -> None:\n    """Why."""\n\n\n# {ID}\n',
    ],
)
def test_what_no_test_carries_and_what_is_a_sample_is_not_a_citation(tmp_path: Path, text: str) -> None:
    assert not cites(tmp_path, text)


def test_a_test_is_named_as_pytest_does(tmp_path: Path) -> None:
    assert not cites(tmp_path, "def test_x() -> None: ...\n")
    assert [test.place for test in citing(tmp_path)] == ["tests/test_x.py::test_x"]
