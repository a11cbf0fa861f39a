"""Every page on a terminal of 40 columns: CLI-1090."""

import itertools
from pathlib import Path
from typing import Any

import click
import pytest
from rich.cells import cell_len
from tests.support.command_line import run_here
from tests.support.tour import ASKS, Tour, model_replying

from lottisync.cli.columns import Cell, fold
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.identity.device_key import DeviceKey
from lottisync.scripted_model.script import Say

COLUMNS = 40
MILK = "Buy milk, oats and everything else that the neighbours have asked for since last Tuesday"
BREAD = "Rye bread für die Großmutter, gebacken nach dem Rezept aus dem alten blauen Kochbuch"
RICE = "お米を買う、来週の火曜日までに近所の皆さんから頼まれたものも全部まとめて買ってくる"
ITEM = "Look into the fridge, and into the cellar behind the shelves with the jars"
PLACE = "The laptop on the desk in the study, second floor"
PROPOSALS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("update_task_estimate", {"minutes": 120, "rationale": "It takes longer than an hour on every Friday afternoon."}),
    ("set_task_title", {"title": f"{MILK} and Friday"}),
    *(("add_checklist_item", {"title": f"{title}: {ITEM}"}) for title in ("Bottles", "Money", "Bags")),
    ("set_task_status", {"status": "BLOCKED", "reason": "The shop is closed until the end of the holidays."}),
    (
        "create_follow_up_task",
        {"title": "Return", "dueDate": "2026-12-20", "priority": "P1", "description": "Bottles"},
    ),
)
PAGES = (
    "status", "devices", "devices browsers", "doctor", "check", "config list", "relay status", "pair --invitations",
    "task list", "task list --all", "task list --deleted", "task show {milk}", "task show {bread}", "task show {rice}",
    "task time list {milk}", "search shop", "search neighbours", "history {milk}", "undo --list",
    "review", "review --all", "review list --task {milk}", "review show {name}", "review show {follow_up}",
    "review ledger {milk}", "review log {milk}", "agent list", "agent show {milk}", "agent report {milk}",
    "agent log {milk}", "agent sent {milk}", "conflicts", "conflicts show {milk}",
)  # fmt: skip
"""What lists something, or shows it whole."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A home with long titles, several devices, conflicts and proposals of every state; and what a call names."""
    tour = Tour(tmp_path_factory.mktemp("narrow"))
    tour.make()
    tour.call("devices rename", f"laptop '{PLACE}'")
    home = TaskHome.open(tour.laptop)
    for name in ("The tablet of the whole family, in the kitchen", "old-phone-with-a-very-long-name"):
        home.members.add(name, DeviceKey.from_seed(name[:32].encode().ljust(32)).certificate, clock.now())
    home.close()
    milk, bread, rice = (
        tour.call("task add", f"'{title}' --due 2026-11-30 --item '{ITEM}'")["id"] for title in (MILK, BREAD, RICE)
    )
    for command, rest in (
        ("task note", f"{milk} 'The shop has none.\n{MILK}'"),
        ("task status", f"{bread} blocked --reason 'There is no flour in the house, and none in the village'"),
        ("task category", f"{milk} 'Household and everything that belongs to it'"),
        ("task label add", f"{milk} 'things that are only there on Friday mornings'"),
        ("task link", f"{milk} blocks {bread}"),
        ("task time add", f"{milk} 25 'Walked to the shop and back, by way of the river'"),
        ("task remind", f"{milk} '2 min ago'"),
        ("task delete", rice),
    ):
        tour.call(command, rest)
    rice = tour.call("task add", f"'{RICE}'")["id"]
    with model_replying(itertools.cycle([Say(tool_calls=(*PROPOSALS, ASKS)), Say(text=f"Done. {MILK}")])):
        tour.call("agent create", milk)
        tour.call("agent wake", milk)
    [names] = [[item["name"] for item in one["items"]] for one in tour.call("review")["sets"]]
    tour.call("review confirm", names[2])
    tour.call("review reject", f"{names[3]} --reason 'I decide that myself, and not before next week.'")
    tour.call("review defer", names[4])
    tour.meet()
    for home_of, title in ((tour.laptop, f"{MILK} today"), (tour.phone, f"{MILK} tomorrow")):
        tour.call("task edit", f"{milk} --title '{title}' --due 2026-12-02", home=home_of)
    tour.call("task due", f"{milk} 2026-12-03")
    tour.meet()
    return tour.laptop, {"milk": milk, "bread": bread, "rice": rice, "name": names[0], "follow_up": names[5]}


@pytest.mark.parametrize(("language", "coloured"), [("en", False), ("de", False), ("de", True)])
def test_cli_1090_every_page_fits_40_columns(
    pages: tuple[Path, dict[str, str]], language: str, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CLI-1090: `review`, `task show`, `status`, `devices` and the end of `conflicts` were wider. Only the path of
    the home is wider here than any line may be."""
    home, named = pages
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    if coloured:
        monkeypatch.setenv("FORCE_COLOR", "1")
    wide = []
    for page in PAGES:
        shown = run_here(*page.format(**named).split(), "--language", language, home=home)
        assert shown.out, (page, shown)
        lines = click.unstyle(shown.out).splitlines()
        wide += [(page, line) for line in lines if cell_len(line) > COLUMNS and line.strip() != str(home)]
    assert wide == []


def test_cli_1090_names_and_ids_stay_whole(pages: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    home, named = pages
    whole = set(run_here("task", "show", named["milk"], home=home).out.split())
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    narrow = set(run_here("task", "show", named["milk"], home=home).out.split())
    assert named["milk"] in narrow
    assert narrow - whole <= {"│"}


def test_cli_1091_what_is_wider_than_the_terminal_breaks_where_it_may() -> None:
    """CLI-1091: a link stays whole, a device's id breaks between its groups, Japanese between any two signs."""
    device = "-".join(f"{number:04x}" for number in range(16))
    for text in (device, RICE):
        lines = ["".join(parts) for parts in fold(["  ", text], COLUMNS)]
        assert max(map(cell_len, lines)) <= COLUMNS
        assert "".join(line.strip() for line in lines) == text
    link = "https://example.org/" + "a-b" * 20
    assert ["".join(parts) for parts in fold([f"See {link} now"], COLUMNS)] == ["See", f"  {link}", "  now"]


def test_cli_1090_each_piece_keeps_its_style() -> None:
    lines = list(fold(["k7f2.0  ", Cell("Set the title", "bold"), ", ", Cell("since changed", "red")], 16))
    assert lines == [["k7f2.0", "  ", "Set", " ", "the"], ["  ", "title", ",", " ", "since"], ["  ", "changed"]]
    styles = {str(part): part.style for line in lines for part in line if isinstance(part, Cell)}
    assert styles == {"Set": "bold", " ": "bold", "the": "bold", "title": "bold", "since": "red", "changed": "red"}


def test_cli_1090_a_text_of_several_lines_keeps_its_mark(
    pages: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """CLI-81: also where one of its lines is folded."""
    home, named = pages
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    shown = run_here("task", "show", named["milk"], home=home).out
    _, _, note = shown.partition("The shop has none.\n")
    assert note.startswith("  │ Buy milk, oats and everything else\n  │ that the neighbours")
