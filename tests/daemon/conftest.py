import json
import shutil
from pathlib import Path

import pytest
from tests.support.command_line import run, started
from tests.support.event_loop import BOUND_SECONDS


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two homes that were paired over the real command line. Each test has copies of them."""
    folder = tmp_path_factory.mktemp("paired")
    laptop, phone = folder / "laptop", folder / "phone"
    assert run("init", "--name", "laptop", home=laptop).code == 0
    assert run("init", "--name", "phone", home=phone).code == 0
    with started("pair", "--json", "--no-discovery", "--listen", "127.0.0.1:0", home=laptop) as showing:
        assert showing.stdout is not None
        shown = json.loads(showing.stdout.readline())
        typed = run("pair", shown["code"], "--at", f"127.0.0.1:{shown['port']}", "--json", home=phone)
        assert typed.code == 0, typed
        answer = json.loads(showing.stdout.readline())
        assert showing.wait(BOUND_SECONDS) == 0
    assert typed.json["name"] == "laptop"
    assert answer["name"] == "phone"
    assert typed.json["words"] == answer["words"]
    return laptop, phone


@pytest.fixture
def homes(template: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    for home in template:
        shutil.copytree(home, tmp_path / home.name, ignore=shutil.ignore_patterns("bells"))
    return tmp_path / "laptop", tmp_path / "phone"
