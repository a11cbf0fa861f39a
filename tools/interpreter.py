"""Which Python of this machine is the quickest. `python -m tools.interpreter` prints its path; it needs no environment.

Two builds of one version may differ by half: one with profile and link time optimisation is up to 1.8 times as quick.
They are measured, since how a build says that it was made cannot be relied on: Debian's has both, and names neither
among its arguments. Only builds of the version that runs this are looked at: which version is used is the person's
choice.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

CLEARLY = 1.1
"""How many times as quick another interpreter has to be to be preferred."""
TURNS = 10
"""How often each is measured, in turns: what disturbs one turn disturbs all, and the least counts."""
WORK = """
import asyncio, ctypes, ssl, venv  # a minimal installation lacks some of them
import os, sys, time, timeit
class One:
    def __init__(self, value): self.value = value
    def more(self): return self.value + 1
def work(): return sum(len(str(One(number).more())) for number in range(2000))
took = min(timeit.repeat(work, timer=time.process_time, number=5, repeat=5))
print(*sys.version_info[:2], took, os.path.realpath(sys.executable))
"""


def quickest() -> str:
    """This Python, or another build of its version that is clearly quicker."""
    return chosen(_measured(), os.path.realpath(sys.executable))


def chosen(took: dict[str, float], own: str) -> str:
    """The interpreter that took least for the same work; `own`, unless another is clearly quicker."""
    best = min(took, key=took.__getitem__)
    return best if took[own] > CLEARLY * took[best] else own


def described() -> str:
    """The Python that runs, beside the others of this machine."""
    took, own = _measured(), os.path.realpath(sys.executable)
    slowest, best = (edge(took.values()) / took[own] for edge in (max, min))
    said = f"Python {platform.python_version()}"
    if slowest > CLEARLY:
        said += f"; another of this machine takes {slowest:.1f} times as long for the same work"
    if best * CLEARLY < 1:
        said += f"; another of this machine is {1 / best:.1f} times as quick (make clean bench)"
    return said


def _measured() -> dict[str, float]:
    """The builds of this version, by path, with the seconds that each takes for a bit of plain work."""
    version = f"python3.{sys.version_info[1]}"
    found = {os.path.realpath(place / version) for place in map(Path, os.get_exec_path())}
    found.add(os.path.realpath(sys.executable))
    builds = {path for candidate in found if (path := _run(candidate)[1]) is not None}
    took = dict.fromkeys(builds, float("inf"))
    for _ in range(TURNS):
        for path in sorted(builds):
            took[path] = min(took[path], _run(path)[0])
    return took


def _run(candidate: str) -> tuple[float, str | None]:
    """The seconds that it takes, and where it lies: a name on the search path may be a script that starts another.
    Without end and nowhere, if it does not run or is of another version."""
    if os.access(candidate, os.X_OK):
        said = subprocess.run([candidate, "-I", "-c", WORK], capture_output=True, text=True, check=False)
        if said.returncode == 0:
            major, minor, seconds, path = said.stdout.rstrip("\n").split(" ", 3)
            if (int(major), int(minor)) == sys.version_info[:2]:
                return float(seconds), path
    return float("inf"), None


if __name__ == "__main__":
    print(quickest())
