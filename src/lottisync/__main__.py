"""The `lottisync` command, and `python -m lottisync`.

The data layer installs without what tasks, agents and the command line need. So that command can be
there while its packages are not: it then names the extra that brings them.
"""

import gc
import sys

COLLECTED_TOGETHER = 100_000
"""Objects after which the garbage collector looks for cycles. Loading a command makes nearly as many, and no cycle.
With Python's 700, looking through them again and again took a twentieth of a daemon's start."""
APP = frozenset(
    {
        "click",
        "dateparser",
        "fractional_indexing",
        "jinja2",
        "openai",
        "platformdirs",
        "pydantic",
        "rich",
        "segno",
        "starlette",
        "uvicorn",
    }
)
"""The packages of the extra `app` in pyproject.toml, by the names they are imported under."""


def main() -> None:
    """Run the command line. Commands import their packages late, so the whole run is watched."""
    gc.set_threshold(COLLECTED_TOGETHER)
    try:
        from lottisync.cli.main import main as command

        command()
    except ModuleNotFoundError as missing:
        if missing.name not in APP:
            raise
        sys.exit(
            f"lottisync: the command needs the Python package {missing.name!r}, which is not installed. "
            "Run: pip install 'lottisync[app]'"
        )


if __name__ == "__main__":
    main()
