"""What is installed with `lottisync`, and what the extra `app` brings."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from lottisync.__main__ import APP

ROOT = Path(__file__).parent.parent
UV = ROOT / ".bootstrap" / "bin" / "uv"
UNREACHABLE = re.compile(r"failed to fetch|error sending request|dns error|connection refused", re.IGNORECASE)
PAGE = ROOT / "docs" / "library.md"
DATA_LAYER = ("causality", "entities", "identity", "protocol", "store", "net", "device", "sync", "relay")
WITH_NATS = {f"lottisync.relay.{name}" for name in ("connection", "jetstream", "stream", "trial")}
"""The files of `relay` that the extra of its name is for; `relay.visits` says so where it is missing."""


def test_the_command_knows_the_packages_of_the_app() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[<>=]", line)[0] for line in project["optional-dependencies"]["app"]}
    assert {name.replace("-", "_") for name in names} == APP


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel and what it depends on, without any extra; its folder of programs."""
    folder = tmp_path_factory.mktemp("packaging")
    if not UV.exists():
        pytest.skip("there is no .bootstrap/bin/uv to install with; `make setup` brings it")
    succeeds(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), at=ROOT)
    [wheel] = folder.glob("*.whl")
    succeeds(UV, "venv", "-q", "--no-project", "--python", sys.executable, str(folder / "venv"))
    programs = folder / "venv" / "bin"
    call: list[str | Path] = [
        UV,
        "pip",
        "install",
        "-q",
        "--python",
        programs / "python",
        "-c",
        ROOT / "requirements.lock",
        wheel,
    ]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode and UNREACHABLE.search(done.stderr):
        pytest.skip("the Python package registry cannot be reached")
    assert done.returncode == 0, done.stderr
    return programs


def succeeds(*call: str | Path, at: Path | None = None) -> None:
    done = subprocess.run(call, capture_output=True, text=True, check=False, cwd=at)
    assert done.returncode == 0, done.stderr


def test_the_page_on_an_index_has_no_link_to_a_file(tmp_path: Path) -> None:
    """What a wheel says of itself is shown without the files of the project. The sdist can make it, too."""
    succeeds(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path), at=ROOT)
    [sdist] = tmp_path.glob("*.tar.gz")
    succeeds("tar", "-xf", sdist, at=tmp_path)
    succeeds(
        *(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)),
        at=tmp_path / sdist.name.removesuffix(".tar.gz"),
    )
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        [name] = [each for each in packed.namelist() if each.endswith(".dist-info/METADATA")]
        page = packed.read(name).decode().partition("\n\n")[2]
    assert page.startswith("# lottisync\n")
    assert re.findall(r"\]\((?!https?:|#)[^)]*\)", page) == []
    assert "The first ten minutes (`docs/guide/first-ten-minutes.md`)" in page
    assert "| docs/specs/00-architecture.md, then the files it names |" in page


def test_the_data_layer_imports_without_the_app(plain: Path) -> None:
    """Every module of it, so that none needs a package of the app in a corner."""
    program = (
        "import importlib, pkgutil, lottisync\n"
        f"for name in {DATA_LAYER!r}:\n"
        "    package = importlib.import_module(f'lottisync.{name}')\n"
        "    for module in pkgutil.iter_modules(package.__path__, f'lottisync.{name}.'):\n"
        f"        if module.name not in {WITH_NATS!r}:\n"
        "            importlib.import_module(module.name)\n"
        f"brought = [name for name in {[*sorted(APP), 'nats']!r} if importlib.util.find_spec(name)]\n"
        "assert not brought, brought\n"
    )
    succeeds(plain / "python", "-c", program)


def test_the_application_of_the_library_page_needs_no_extra(plain: Path, tmp_path: Path) -> None:
    """Two devices pair and sync: the whole data layer at work, with what `pip install lottisync` brings."""
    application, *_ = PAGE.read_text().split("```python\n")[1].split("```")
    done = subprocess.run(
        [plain / "python", "-c", application], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "title='Soup'" in done.stdout


@pytest.mark.parametrize("call", [["lottisync"], ["python", "-m", "lottisync"]], ids=" ".join)
def test_the_command_names_the_extra_it_needs(plain: Path, call: list[str]) -> None:
    done = subprocess.run([plain / call[0], *call[1:], "task", "list"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "lottisync: the command needs the Python package 'click', which is not installed. "
        "Run: pip install 'lottisync[app]'\n"
    )
