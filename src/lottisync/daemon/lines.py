"""Lines of one kind are counted, not repeated (docs/specs/11-command-line.md, CLI-58).

A stranger that knocks 50 times a second must not fill the disk with lines about it.
"""

from collections import Counter
from collections.abc import Callable

MOST = 20
"""Lines of one code between two calls of `turn`."""


class Lines:
    """Passes codes and sentences on to `say`, of each code the first `MOST`, and counts the others until `turn`."""

    def __init__(self, say: Callable[[str, str], None]) -> None:
        self._say = say
        self._seen: Counter[str] = Counter()

    def __call__(self, code: str, text: str) -> None:
        self._seen[code] += 1
        if self._seen[code] <= MOST:
            self._say(code, text)

    def turn(self) -> None:
        """Say how many lines were left out, and begin to count again."""
        for code, count in self._seen.items():
            if count > MOST:
                self._say(code, f"{count - MOST:,} more lines of this kind were left out")
        self._seen.clear()
