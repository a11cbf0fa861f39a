"""What `.ci/run` asks of the machine."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.network import namespaces_or_skip

RUN = Path(__file__).parents[2] / ".ci" / "run"


def test_ci_does_not_skip_namespaces_for_root_if_ip_cannot_be_installed(tmp_path: Path) -> None:
    """Before, CI went on, and all tests on networks of their own were skipped silently."""
    (tmp_path / ".ci").mkdir()
    script = tmp_path / ".ci" / "run"
    script.write_text(RUN.read_text().replace("/usr/sbin/", "/no-such-folder/"))
    commands = tmp_path / "bin"
    commands.mkdir()
    for name in ("bash", "dirname", "date"):
        (commands / name).symlink_to(str(shutil.which(name)))
    said = {"id": "echo 0", "make": 'echo "$1 with namespaces $LOTTISYNC_NAMESPACES"', "python3": "exit 0"}
    for name, line in {**said, "apt-get": "exit 0"}.items():
        (commands / name).write_text(f"#!{shutil.which('bash')}\n{line}\n")
        (commands / name).chmod(0o755)
    done = subprocess.run(
        [str(commands / "bash"), str(script)], env={"PATH": str(commands)}, capture_output=True, text=True, check=True
    )
    assert "missing, so its tests are skipped: iproute2" in done.stdout
    assert "test with namespaces required" in done.stdout


def test_namespaces_that_are_required_are_not_skipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(os.environ, "LOTTISYNC_NAMESPACES", "required")
    with pytest.raises(AssertionError, match="no `ip`"):
        namespaces_or_skip()
