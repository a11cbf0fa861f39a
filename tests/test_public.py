"""`import lottisync`: a dozen or so names, documented, and nothing loaded before it is used."""

import inspect
import subprocess
import sys
from pathlib import Path
from typing import get_args

import lottisync as ls


def test_every_public_name_is_there_and_explained() -> None:
    assert dir(ls) == sorted(ls.__all__)
    for name in ls.__all__:
        found = getattr(ls, name)
        assert name in ("HIGH", "LOW", "LOOPBACK", "__version__") or inspect.getdoc(found), name
    assert ls.__doc__ is not None
    assert all(name in ls.__doc__ for name in ls.__all__ if name != "__version__")
    assert ls.__version__.count(".") == 2


def test_every_kind_of_event_of_a_conversation_has_a_public_name_and_is_on_its_page() -> None:
    page = (Path(__file__).parent.parent / "docs" / "conversation.md").read_text()
    for kind in get_args(ls.event.Event):
        assert getattr(ls.event, kind.__name__) is kind
        assert f"{kind.__name__}({', '.join(kind._fields)})" in page


def test_the_small_application_of_the_page_takes_thirty_lines() -> None:
    page = (Path(__file__).parent.parent / "docs" / "library.md").read_text()
    application, *_ = page.split("```python\n")[1].split("```")
    assert len(application.splitlines()) <= 30


def test_a_name_that_there_is_not() -> None:
    assert not hasattr(ls, "sync_everything")


def test_the_import_alone_loads_nothing() -> None:
    code = "import sys; import lottisync; print(*sorted(n for n in sys.modules if n.startswith('lottisync')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["lottisync"]


def test_the_members_that_programs_use_are_explained() -> None:
    """Shapes, units, errors: in the docstring of each."""
    for kind in (ls.Home, ls.Reading, ls.Writing):
        for name, member in inspect.getmembers(kind):
            if not name.startswith("_") and callable(member):
                assert inspect.getdoc(member), f"{kind.__name__}.{name}"
