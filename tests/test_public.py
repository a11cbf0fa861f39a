"""`import lottisync`: a dozen or so names, documented, and nothing loaded before it is used."""

import inspect
import subprocess
import sys

import lottisync as ls


def test_every_public_name_is_there_and_explained() -> None:
    assert set(dir(ls)) >= set(ls.__all__)
    for name in ls.__all__:
        found = getattr(ls, name)
        assert name in ("HIGH", "LOW", "LOOPBACK", "__version__") or inspect.getdoc(found), name
    assert ls.__doc__ is not None
    assert all(name in ls.__doc__ for name in ls.__all__ if name != "__version__")
    assert ls.__version__.count(".") == 2


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
