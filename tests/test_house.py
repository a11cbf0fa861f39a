"""The house's rules that no linter knows: what stands where, and that each package earns its place (C-10, C-11)."""

import ast
import importlib
import inspect
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import tomllib
from collections import Counter
from contextlib import closing
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import click
import pytest

from lottisync.agents.toolbox import TOOLBOX
from lottisync.cli.main import COMMANDS
from lottisync.entities.schema import schema
from lottisync.store import tables

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "lottisync"
TOP = {
    *("pyproject.toml", "src", "tests", "tools", "docs", "conformance"),
    *("README.md", "CHANGELOG.md", "LICENSE", "Makefile", ".ci", ".gitignore"),
    *("requirements.lock", "requirements-bench.lock"),
}


def tracked(root: Path = ROOT) -> list[str]:
    """The files of the repository. Where it was unpacked from an archive: all that lie here, but what git would ignore,
    for other programs make such files while this looks."""
    if (root / ".git").exists():
        done = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.rstrip("\0").split("\0")
    ignored = [pattern.strip("/") for pattern in (root / ".gitignore").read_text().splitlines()]
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not any(fnmatch(name, pattern) for pattern in ignored)]
        kept = (name for name in files if not any(fnmatch(name, pattern) for pattern in ignored))
        found += [str((Path(folder) / name).relative_to(root)) for name in kept]
    return found


@cache
def parsed(file: Path) -> ast.Module:
    """Most tests here look at all files: each is read once."""
    return ast.parse(file.read_text())


@cache
def nodes(file: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(parsed(file)))


@cache
def imports(file: Path) -> set[str]:
    found = set()
    for node in nodes(file):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def users(package: str) -> set[str]:
    """The packages of ours that import `package`, also inside functions."""
    return {
        file.relative_to(SOURCE).parts[0]
        for file in SOURCE.rglob("*.py")
        if any(name == package or name.startswith(f"{package}.") for name in imports(file))
    }


def test_the_top_level_is_what_the_person_asked_for() -> None:
    """C-10, C-11"""
    assert {name.split("/")[0] for name in tracked()} <= TOP


def test_what_tools_leave_here_is_not_the_repositorys(tmp_path: Path) -> None:
    """Also while the suite runs: each of its processes has a file of its own for what it measured."""
    (tmp_path / ".gitignore").write_text((ROOT / ".gitignore").read_text())
    left = (".model/a.txt", ".coverage.host.7", "src/__pycache__/a.pyc", ".hypothesis/x")
    for name in (*left, "src/a b.py", "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    expected = [".gitignore", "README.md", "src/a b.py"]
    assert sorted(tracked(tmp_path)) == expected
    if shutil.which("git"):
        for call in ("init -q", "add ."):
            subprocess.run(["git", *call.split()], cwd=tmp_path, check=True)
        assert sorted(tracked(tmp_path)) == expected


@pytest.mark.parametrize(
    ("package", "where"),
    [
        ("msgspec", {"entities", "protocol"}),  # C-02, C-12
        ("apsw", {"store"}),  # C-03, C-13
        ("cryptography", {"identity"}),  # C-04
        ("zeroconf", {"net"}),  # C-05
        ("anyio", {"sync", "net", "daemon"}),  # C-06, C-14
        ("pydantic", {"journal"}),  # C-07
        ("openai", {"agents"}),  # C-08
    ],
)
def test_each_package_the_person_named_is_used_where_it_belongs(package: str, where: set[str]) -> None:
    """C-02, C-03, C-04, C-05, C-06, C-07, C-08, C-12, C-13, C-14"""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = project["dependencies"] + project["optional-dependencies"]["app"]
    assert any(re.match(rf"{package}\b", dependency) for dependency in declared)
    assert where <= users(package)


def test_sqlite_stays_in_the_store_and_mdns_at_the_edge() -> None:
    """C-13, C-05"""
    assert users("apsw") == {"store"}
    assert users("zeroconf") == {"net"}
    assert users("openai") == {"agents"}


def test_the_tests_are_pytest_and_hypothesis() -> None:
    """C-09"""
    used: set[str] = set()
    for file in (ROOT / "tests").rglob("*.py"):
        used |= {name.split(".")[0] for name in imports(file)}
    assert {"pytest", "hypothesis"} <= used
    assert "unittest" not in used


DATA_LAYER = ("causality", "entities", "protocol", "identity", "store", "net", "sync", "device", "relay")
WORDS = {"journal", "agent", "proposal", "verdict", "review", "checklist", "user"}
OF_OTHERS = re.compile(
    "user_version|journal_mode|user_data_dir|expanduser|user_credentials|NATS USER JWT|USER NKEY SEED|users?: "
)
"""SQLite's words, the operating system's, and those of NATS."""


def words_of(text: str) -> set[str]:
    """The words of a file: names, strings, docstrings and comments; singular and in small letters."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", OF_OTHERS.sub("", text)).lower()
    return {word.removesuffix("s") for word in re.findall("[a-z]+", apart)}


def test_the_words_of_a_file_are_those_of_its_prose_too() -> None:
    text = '"""Of Agents."""\nuser_version = "journal"  # a verdict\n\n\nclass ReviewedBy: ...\n'
    assert words_of(text) & WORDS == {"agent", "journal", "verdict"}
    assert "reviewed" in words_of(text)


def test_the_data_layer_has_no_word_of_tasks_proposals_or_agents() -> None:
    """Neither as a name nor in a string, nor in a docstring or a comment. (A *task* is also what an event loop runs, so
    that word cannot be looked for; that nothing is imported, a contract says.)"""
    found = {
        (str(file.relative_to(SOURCE)), word)
        for package in DATA_LAYER
        for file in (SOURCE / package).rglob("*.py")
        for word in WORDS & words_of(file.read_text())
    }
    assert found == set()


def test_the_contract_of_the_data_layer_names_every_package_of_it_and_every_package_above() -> None:
    """A package that is added later stands on one of the two sides; `layers` has a place for each (`exhaustive`)."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [layers] = [each for each in contracts if each["type"] == "layers"]
    [cut] = [each for each in contracts if each["name"].startswith("The data layer")]
    rows = [row.split(" | ") for row in layers["layers"]]
    first = next(number for number, row in enumerate(rows) if "relay" in row)
    above = {f"lottisync.{name}" for row in rows[:first] for name in row}
    below = {f"lottisync.{name}" for row in rows[first:] for name in row}
    assert layers["exhaustive"]
    assert set(cut["source_modules"]) == {f"lottisync.{name}" for name in DATA_LAYER}
    # The product's languages: sentences are translated above the data layer.
    assert set(cut["forbidden_modules"]) == above - {"lottisync.__main__"} | {"lottisync.language"}
    assert below - set(cut["source_modules"]) == {
        f"lottisync.{name}" for name in ("language", "problem", "shown", "wording")
    }


NAMED = re.compile(r"\b(?:from|join|into|update|table|on) +([a-z_]+)")
"""The tables that SQL names. Where it has a value in their place, nothing is found."""
VERB = re.compile(r"[\s?]*(select|insert|replace|update|delete|create|drop|alter|with)\s")
OF_THE_STORE = {
    ("daemon/stores.py", "agent_entities"),  # an index, and
    ("device/space.py", "space_entities"),  # a trigger, and
    ("journal/types.py", "journal_entities"),  # views for other tools,
    ("agents/types.py", "agent_entities"),
    ("review/change.py", "agent_entities"),  # each declared with the store that it is on
    ("adapter/replica.py", "rows"),  # damages a row on purpose, for the conformance suite
}
"""The exceptions. Nothing may be added."""


def sql_of(file: Path) -> list[str]:
    """The strings of a file that hold SQL. What an f-string fills in is left out."""
    prose = {id(node.value) for node in nodes(file) if isinstance(node, ast.Expr)}
    within = {id(part) for node in nodes(file) if isinstance(node, ast.JoinedStr) for part in node.values}
    texts = []
    for node in nodes(file):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in prose | within:
                texts.append(text)
            case ast.JoinedStr(values=parts):
                texts.append("".join(str(part.value) if isinstance(part, ast.Constant) else "?" for part in parts))
    statements = [statement for text in texts for statement in text.split(";")]
    return [statement for statement in statements if VERB.match(statement)]


def tables_of_the_store() -> set[str]:
    store = schema("sample", [])
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(tables.definitions(store))
        return {
            name for (name,) in connection.execute("select name from sqlite_schema where type in ('table', 'view')")
        }


def test_only_the_store_names_its_tables_in_sql() -> None:
    """What others ask of them has a function there (`Reader`, `lottisync.store.lookups`), so that the tables can
    change. The SQL of a local table stands with its owner."""
    own = tables_of_the_store()
    assert {"sample_entities", "sample_links", "rows", "history", "cursors"} <= own
    found = {
        (str(file.relative_to(SOURCE)), name)
        for file in SOURCE.rglob("*.py")
        if file.parent.name != "store"
        for statement in sql_of(file)
        for name in NAMED.findall(statement)
        if name in own or name.endswith(("_entities", "_links"))
    }
    assert found == OF_THE_STORE


def test_the_scanner_sees_the_tables_that_sql_names(tmp_path: Path) -> None:
    file = tmp_path / "sample.py"
    file.write_text('"""select id from prose"""\na = f"select {x} from rows join hosts"\nb = "update the list"\n')
    assert {name for statement in sql_of(file) for name in NAMED.findall(statement)} == {"rows", "hosts", "the"}


def test_names_say_what_a_thing_is() -> None:
    roles = re.compile(r"(manager|helper|util|service|misc|common|(?<!data)base)s?(_|\.|$)", re.IGNORECASE)
    assert [name for name in tracked() if name.startswith("src/") and roles.search(Path(name).name)] == []


def test_every_module_opens_with_what_it_is_about() -> None:
    silent = [
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        if file.stat().st_size and not ast.get_docstring(parsed(file))
    ]
    assert silent == []


SAME_NAME = {
    *("DuplicateKey", "Mended"),  # a message on the wire, and the public event that tells a program of it
    "Answer",  # of the two APIs of model servers: each dialect has one, and the client takes either by that name
}
"""Classes of two modules that have one name, which is fixed. The list may get shorter, and not longer."""


def test_a_class_has_a_name_of_its_own() -> None:
    """C-10: a reader who looks for a name finds one class."""
    modules: dict[str, set[Path]] = {}
    for file in SOURCE.rglob("*.py"):
        for node in nodes(file):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules.setdefault(node.name, set()).add(file)
    assert {name for name, where in modules.items() if len(where) > 1} == SAME_NAME


def test_the_code_map_names_every_file_and_no_other() -> None:
    """docs/specs/00-architecture.md: a map that leaves something out, or shows what is gone, leads astray."""
    text = (ROOT / "docs/specs/00-architecture.md").read_text()
    files = re.split(r"^\*\*`(\w+)`\*\*$", text.partition("## The files")[2].partition("## ")[0], flags=re.MULTILINE)
    lists = dict(zip(files[1::2], files[2::2], strict=True))
    named = {(package, name) for package, listed in lists.items() for name in re.findall(r"`([a-z_]+)`", listed)}
    there = {
        (file.parent.name, file.stem)
        for file in SOURCE.glob("*/*.py")
        if file.stem not in ("__init__", "__main__") and file.parent != SOURCE
    }
    assert named == there


def test_the_tests_of_each_package_are_in_a_folder_of_its_name() -> None:
    packages = {file.parent.name for file in SOURCE.glob("*/__init__.py")}
    assert packages
    assert [package for package in packages if not list((ROOT / "tests" / package).glob("test_*.py"))] == []


def test_rounds_between_devices_are_carried_by_the_production_conversation() -> None:
    """C-10: only the tests of the store, which lies below sync, join versions and adopt knowledge step by step."""
    steps = re.compile(
        r"\.lacking\(|tx\.apply\(|\bextend\(tx|from tests\.support\.stores import [^\n]*\b(send|meet|greet)\b"
    )
    apart = {"tests/store", "tests/support/stores.py", "tests/test_house.py"}
    found = {
        str(file.relative_to(ROOT))
        for file in (ROOT / "tests").rglob("*.py")
        if steps.search(file.read_text()) and not any(str(file.relative_to(ROOT)).startswith(one) for one in apart)
    }
    assert found == set()


ON_REAL_TIME = {
    "tests/support/event_loop.py": "`until` under trio, which tests run with a virtual clock alone",
    "tests/support/command_line.py": "`eventually` asks what another process has written",
    "tests/test_waiting.py": "that `until` asks nothing while nothing happens shows only when time passes",
    "tests/web/test_limits.py": "a client that sends for ever, one byte at a time",
    "tests/sync/test_reception.py": "a stranger that opens its connections again and again",
    "tests/deep/test_held_slots.py": "strangers that come again and again, and devices that come when they are there",
}
"""The files that sleep and make no virtual clock, and why. In the last three the pause is what a peer does."""
BOUND_SECONDS = 60
"""A wait that ends sooner by itself is a pause. One of so many seconds fails a test that would hang."""


def sleeps(tree: ast.AST) -> bool:
    """Whether some code takes `sleep`, `sleep_until` or `Timer` from a module, to call it or to hand it on; or waits
    for a few seconds at most, and then goes on."""
    names = {"sleep", "sleep_until", "Timer"}
    return any(
        (isinstance(node, ast.Attribute) and node.attr in names)
        or (isinstance(node, ast.ImportFrom) and any(one.name in names for one in node.names))
        or (isinstance(node, ast.Call) and _goes_on_by_itself(node))
        for node in ast.walk(tree)
    )


def _goes_on_by_itself(call: ast.Call) -> bool:
    return ast.unparse(call.func).rpartition(".")[2] in ("wait", "move_on_after") and any(
        isinstance(given, ast.Constant) and isinstance(given.value, int | float) and given.value < BOUND_SECONDS
        for given in (*call.args, *(named.value for named in call.keywords if named.arg in ("timeout", "delay")))
    )


def test_no_test_waits_by_the_clock() -> None:
    """docs/specs/decisions/0012-waiting-in-tests.md. Under a virtual clock no time passes while a test sleeps."""
    found = {
        str(file.relative_to(ROOT))
        for file in (ROOT / "tests").rglob("*.py")
        if sleeps(parsed(file))
        and not any(isinstance(node, ast.Name) and node.id == "MockClock" for node in nodes(file))
    }
    assert found == ON_REAL_TIME.keys()


@pytest.mark.parametrize(
    ("planted", "seen"),
    [
        ("await anyio.sleep(0.5)", True),
        ("for _ in range(9):\n    time.sleep(0.1)", True),
        ("tasks.start_soon(anyio.sleep, 0.5)", True),
        ("from asyncio import sleep", True),
        ("threading.Timer(0.05, gate.let_go_on).start()", True),
        ("from threading import Timer", True),
        ("opened.wait(0.1)", True),
        ("opened.wait(timeout=0.1)", True),
        ("with anyio.move_on_after(0.1):\n    await until(look)", True),
        ("assert program.wait(60) == 0", False),
        ("await opened.wait()", False),
        ("await anyio.sleep_forever()", False),
        ("Backoff(sleep=slept.append)", False),
    ],
)
def test_a_test_that_waits_by_the_clock_is_seen(planted: str, seen: bool) -> None:
    assert sleeps(ast.parse(planted)) == seen


PRIVATE = {
    "adapter": 4,
    "agents": 5,
    "conformance": 8,
    "daemon": 5,
    "device": 1,
    "identity": 6,
    "net": 7,
    "relay": 48,
    "review": 2,
    "simulation": 14,
    "store": 6,
    "support": 7,
    "sync": 39,
    "web": 3,
}
"""How often the tests of a folder reach for what a module keeps to itself: where a test plays a fault or a moment that
nothing outside can bring about. A number goes down with the code, and never up (the architecture page says why)."""
NAMED_TUPLES = ("_replace", "_fields", "_asdict")


def _is_private(node: ast.AST) -> bool:
    """Whether it is a name of something else's own."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and node.attr not in (*NAMED_TUPLES, "_")
        and ast.unparse(node.value) not in ("self", "cls")
    )


def test_tests_reach_for_private_names_no_more_often_than_before() -> None:
    """C-10: what a test needs is better given to it by name; each such place breaks where only the inside changes."""
    found = Counter(
        file.relative_to(ROOT / "tests").parts[0]
        for file in (ROOT / "tests").rglob("*.py")
        for node in nodes(file)
        if _is_private(node)
    )
    assert found == PRIVATE


def test_no_path_of_a_workplace_and_no_registry_is_named() -> None:
    forbidden = re.compile(
        "|".join((r"/" + "work" + r"/(main|shared)", r"/tmp/" + "bash_jobs", "py" + r"pi\.org", "python" + r"hosted"))
    )
    found = []
    for name in tracked():
        file = ROOT / name
        if (
            file.is_file()
            and file.suffix in (".py", ".md", ".toml", ".lock", ".json", ".svg", "")
            and forbidden.search(file.read_text(errors="replace"))
        ):
            found.append(name)
    assert found == []


@pytest.mark.parametrize("file", ["requirements.lock", "requirements-bench.lock"])
def test_the_locks_pin_everything_by_hash(file: str) -> None:
    lock = (ROOT / file).read_text()
    pinned = re.findall(r"^([A-Za-z0-9._-]+)==", lock, re.MULTILINE)
    assert len(pinned) > 30
    assert lock.count("--hash=sha256:") >= len(pinned)


def test_s1_66_the_readme_names_commands_that_are_there_and_links_that_lead_somewhere() -> None:
    """S1-66"""
    text = (ROOT / "README.md").read_text()
    named = re.findall(r"^lottisync (\w+)(?: (\w+))?", text, re.MULTILINE)
    assert len(named) > 8
    for name, verb in named:
        assert name in COMMANDS
        module, _, attribute = COMMANDS[name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        if isinstance(command, click.Group) and verb.islower():
            assert verb in command.commands, f"lottisync {name} {verb}"
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (ROOT / target).exists(), target


def test_s1_66_the_changelog_is_kept() -> None:
    """S1-66: it speaks of each part that a person meets."""
    text = (ROOT / "CHANGELOG.md").read_text()
    assert text.startswith("# Changelog\n\n## Unreleased\n")
    assert not [word for word in ("stores", "daemon", "Pairing", "agent", "Review", "check") if word not in text]


def test_s1_72_the_suite_prints_its_branches_and_holds_the_pure_packages_at_all_of_them() -> None:
    """S1-72: the gate stands in `make test`; here, that it is there and watches every package that is pure."""
    makefile = (ROOT / "Makefile").read_text()
    [recipe] = re.findall(r"^test:.*?(?=^\w)", makefile, re.MULTILINE | re.DOTALL)
    assert "--cov " in recipe
    assert "--fail-under=100" in recipe
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    measured = pyproject["tool"]["coverage"]["run"]
    assert measured["branch"]
    [pure] = [c for c in pyproject["tool"]["importlinter"]["contracts"] if "pure" in c["name"]]
    [watched] = re.findall(r"^PURE := \"(.*)\"$", makefile, re.MULTILINE)
    for package in pure["source_modules"]:
        assert package in measured["source_pkgs"]
        assert f"*/{package.partition('.')[2]}/*" in watched.split(",")


def test_a_tool_is_named_in_its_own_file_and_nowhere_else() -> None:
    """A line that asks "is this that tool?" belongs to the tool's action. The demo is exempt: it scripts what a model
    says."""
    homes = {name: Path(str(inspect.getsourcefile(tool))) for name, tool in TOOLBOX.tools.items()}
    homes |= {alias: homes[name] for alias, name in TOOLBOX.aliases.items()}
    strays = [
        f"{file.relative_to(SOURCE)}:{node.lineno}: {node.value}"
        for file in SOURCE.rglob("*.py")
        if file.relative_to(SOURCE).parts[0] not in ("demo", "scripted_model")
        for node in nodes(file)
        if isinstance(node, ast.Constant) and node.value in homes and homes[node.value] != file
    ]
    assert strays == []


def test_the_engine_knows_no_type_of_the_product() -> None:
    """`review` confirms whatever has an action: neither a type of the journal nor a register of a task is in it."""
    words = {"task", "checklistItem", "entry", "label", "category", "isChecked", "statusReason", "entryLink"}
    words |= {"title", "text", "minutes", "estimate", "dueDate", "labels", "entryId", "timerId", "targetTaskId"}
    strays = [
        f"{file.name}:{node.lineno}: {node.value}"
        for file in (SOURCE / "review").rglob("*.py")
        for node in nodes(file)
        if isinstance(node, ast.Constant) and node.value in words
    ]
    assert strays == []


PRODUCT = {"category", "categorie", "tick", "ticked", "unticked", "checklist", "label", "estimate", "timer", "todo"}


def test_the_engine_has_no_word_of_a_rule_of_the_product_and_names_no_tool() -> None:
    """Not even as an example: what an agent may do with tasks, the actions on tasks know (`journal/permission.py`)."""
    strays = {
        (file.name, word)
        for file in (SOURCE / "review").rglob("*.py")
        for text in [file.read_text()]
        for word in PRODUCT & words_of(text) | {tool for tool in TOOLBOX.tools if tool in text}
    }
    assert strays == set()


def test_the_local_tables_of_a_package_are_defined_in_it() -> None:
    """C-10: who looks for the SQL of a table finds it where the table is read and written."""
    texts = [
        (file.relative_to(SOURCE).parts[0], node.value)
        for file in SOURCE.rglob("*.py")
        for node in nodes(file)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    defined = {
        name: package
        for package, text in texts
        for name in re.findall(r"create table if not exists (\w+)", text)
        if package != "store"
    }
    users = {
        name: {package for package, text in texts if re.search(rf"\b(?:from|into|update|join) {name}\b", text)}
        for name in defined
    }
    assert len(defined) > 20
    assert {name: package for name, package in defined.items() if package not in users[name]} == {}


def test_code_that_catches_everything_says_why() -> None:
    """C-10: an `except Exception` that does not raise again hides bugs, so the reason stands beside it."""
    files = [file for folder in ("src", "tests", "tools", "conformance") for file in (ROOT / folder).rglob("*.py")]
    found = [(file, line) for file in files for line in file.read_text().splitlines() if "noqa: BLE" + "001" in line]
    assert len(found) > 10
    assert [(file, line) for file, line in found if not re.search(r"BLE001 - \w.{15,}", line)] == []


AS_TIME_PASSES = {
    *("agents/runtime.py", "agents/wake.py", "cli/relay_diagnosis.py", "device/clock.py", "net/pairing.py"),
    *(f"sync/{name}.py" for name in ("commits", "connection", "engine", "meeting", "peer_record", "peer_states")),
    *("device/invitation_server.py", "device/pairing.py", "sync/trust.py", "sync/verification.py"),
    *(f"web/{name}.py" for name in ("access", "admission", "pairing", "site")),
}
"""What goes on while time passes, and so is given a clock."""


def _keeps_a_clock(file: Path) -> bool:
    """Whether something there is given a clock, or takes a device's to read it later."""
    called = {id(node.func) for node in nodes(file) if isinstance(node, ast.Call)}
    return any(
        ast.unparse(node.annotation) == "Callable[[], int]"
        and bool(re.fullmatch(r"(self\.)?(now|clock)", ast.unparse(node).partition(":")[0]))
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None
        else isinstance(node, ast.Attribute)
        and ast.unparse(node).endswith("environment.now")
        and id(node) not in called
        for node in nodes(file)
    )


def test_time_is_a_number_for_all_that_does_one_thing() -> None:
    """C-10: a function gets `now`; a clock that it could read again gets only what waits, or answers requests."""
    given = {str(file.relative_to(SOURCE)) for file in SOURCE.rglob("*.py") if _keeps_a_clock(file)}
    assert given == AS_TIME_PASSES
    waiting = {name for name in given if not name.startswith("web/")} - {"device/clock.py"}
    assert all(any(isinstance(node, ast.AsyncFunctionDef) for node in nodes(SOURCE / name)) for name in waiting)


def test_random_numbers_are_drawn_in_one_place() -> None:
    """C-10: all else is given them, so a test can give its own."""
    drawing = re.compile(r"\burandom\b|\bSystemRandom\b|\bsecrets\.(?:token|choice|rand)|\bimport secrets\b|\buuid4\b")
    found = {str(file.relative_to(SOURCE)) for file in SOURCE.rglob("*.py") if drawing.search(file.read_text())}
    assert found == {"device/clock.py"}


def test_each_large_class_is_on_the_architecture_page_with_its_one_idea() -> None:
    """C-10: 25 methods are where one looks for a second idea."""
    page = (ROOT / "docs" / "specs" / "00-architecture.md").read_text()
    large = {
        f"{file.parent.name}.{file.stem}.{node.name}"
        for file in SOURCE.rglob("*.py")
        for node in nodes(file)
        if isinstance(node, ast.ClassDef)
        and sum(isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) for each in node.body) > 25
    }
    assert {name for name in large if f"`{name}`" not in page} == set()
    answer = page[page.index("**Why do some classes") : page.index("**Which command helps with")]
    assert set(re.findall(r"`(\w+\.\w+\.[A-Z]\w+)`", answer)) == large


def test_each_formula_of_a_specification_begins_a_line() -> None:
    """C-10: wrapped like prose, two definitions stand in one line, and nobody can tell where the first one ends."""
    strays = [
        f"{file.name}:{number}: {line.strip()}"
        for file in (ROOT / "docs" / "specs").glob("*.md")
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if line.startswith("    ") and len(re.findall(r"(?:^|\s)[A-Za-z]+ *= ", line)) > 1
    ]
    assert strays == []


def test_the_ten_questions_are_answered_by_paragraphs_of_the_architecture_page() -> None:
    """C-10: a question whose paragraph is gone, or is called otherwise, has no answer any more."""
    page = (ROOT / "docs" / "specs" / "00-architecture.md").read_text()
    questions = (ROOT / "docs" / "specs" / "architecture-questions.md").read_text()
    rows = re.findall(r"^\| (\d+) \| .* \| (.*) \|$", questions, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 11))
    assert len(re.findall(r"^\d+\. ", questions, re.MULTILINE)) == 10
    titles = {"the first picture", *re.findall(r"^## (.*)$", page, re.MULTILINE)}
    titles |= {" ".join(title.split()) for title in re.findall(r"^\*\*(.+?)\*\*", page, re.MULTILINE | re.DOTALL)}
    assert {part for _, named in rows for part in re.split("; ?", named)} <= titles


def test_the_lines_of_the_specifications_fit_on_a_screen() -> None:
    """C-10: 120 characters. Tables, indented and fenced blocks, and links that are longer than that are excepted: a row
    of a table has to be one line, so Markdown leaves no place to break it, and a rule stands in one."""
    long, fenced = [], False
    for file in sorted((ROOT / "docs" / "specs").rglob("*.md")):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            fenced ^= line.lstrip().startswith("```")
            text = re.sub(r"\]\([^)]*\)", "]()", line)
            if len(text) > 120 and not fenced and not line.startswith(("|", "    ")):
                long.append((file.name, number))
        assert not fenced, file
    assert long == []


def test_what_is_not_measured_is_not_traced(request: pytest.FixtureRequest) -> None:
    """`make test` finds the branches that are not taken by a trace, which takes a third of a test's time."""
    assert not request.config.getoption("cov_source", None) or (sys.gettrace(), threading.gettrace()) == (None, None)
