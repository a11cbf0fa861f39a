"""How every test is run: in random order, with examples that are the same every time, not for ever, and alone.

`make deep` searches instead: `--hypothesis-profile=search` draws other examples each time, and more of them. A
failure is repeated with the seed that is printed at the end: `pytest --randomly-seed=SEED ...`.
"""

import os
import selectors
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from coverage import Coverage
from tests.support.event_loop import WatchedSelector

DEEP_SECONDS = 3600
"""How long one of the long tests may take; the others have `timeout` of pyproject.toml."""

FOLDER = Path(__file__).parent
MEASURED = ("causality", "entities", "journal", "protocol", "review")
"""The folders whose tests show which branches are taken (`--cov`): of the packages that are measured. Measuring slows
Python down by a third, and a branch that is taken somewhere behind a command is not shown by anything."""

# Before lottisync is imported (NET-13): other lottisync programs may run on this machine and its network. At random,
# because in namespaces of their own two suites can have processes of the same number.
os.environ["LOTTISYNC_SERVICE"] = f"lt-{os.urandom(4).hex()}"

# Whatever the language of this machine is: tests expect English, unless they ask for another.
os.environ["LOTTISYNC_LANGUAGE"] = "en"

# A shell starts what runs in the background with Ctrl-C ignored, and programs inherit that. Some tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests wait for what an event loop has done, and not for time.
selectors.DefaultSelector = WatchedSelector  # type: ignore[misc]

# On a busy machine any example may be slow to draw: that is not a fault of a test.
BUSY = [hypothesis.HealthCheck.too_slow]
# The parent is named: without it a profile takes over the numbers of the one in force, and this file is read again
# within a run of `make deep`, by `tools.mutation`.
OURS = hypothesis.settings(
    hypothesis.settings.get_profile("default"),
    max_examples=100,
    deadline=None,
    print_blob=True,
    suppress_health_check=BUSY,
)
hypothesis.settings.register_profile("repeat", OURS, derandomize=True)
hypothesis.settings.register_profile("search", OURS, derandomize=False, max_examples=500)
# For `tools.mutation`: the same examples, and one that fails is not made smaller.
hypothesis.settings.register_profile(
    "notice", hypothesis.settings.get_profile("repeat"), phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate]
)
hypothesis.settings.load_profile("repeat")


@pytest.fixture
def anyio_backend() -> str:
    """What runs the tests that wait. Those of minutes and hours have one of their own: trio, with a virtual clock."""
    return "asyncio"


@pytest.fixture(autouse=True)
def _english() -> None:
    """A command that a test ran in this process may have left another language behind."""
    from lottisync.language import speak  # late: the names above must stand in the environment first

    speak("en")


@pytest.fixture
def three_hours_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The zone of this device: three hours ahead of UTC, all year."""
    monkeypatch.setenv("TZ", "UTC-3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("deep") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(DEEP_SECONDS))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Measure those tests alone. The marker `no_cover` of pytest-cov does not do that: a worker of pytest-xdist has two
    measurements, one above the other, and if one pauses, the other goes on. It must not be used: it would start one
    that was stopped here."""
    measurements = []
    while (measurement := Coverage.current()) is not None:
        measurement.stop()
        measurements.append(measurement)
    measured = item.path.relative_to(FOLDER).parts[0] in MEASURED and not item.get_closest_marker("unmeasured")
    if measured:
        _start(measurements)
    try:
        return (yield)
    finally:
        if not measured:
            _start(measurements)


def _start(measurements: list[Coverage]) -> None:
    for measurement in reversed(measurements):
        measurement.start()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """The seed of the order, also with -q, which hides the line that pytest-randomly prints."""
    if config.pluginmanager.hasplugin("randomly"):
        terminalreporter.write_line(f"order: --randomly-seed={config.getoption('randomly_seed')}")
