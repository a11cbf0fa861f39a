"""The daemon's log: CLI-58."""

from lottisync.daemon.lines import MOST, Lines


def test_cli_58_rel_d4_lines_of_one_kind_are_counted_and_hide_no_other() -> None:
    """CLI-58, REL-D4: 1,993 lines in 70 s said that a stranger was refused."""
    said: list[tuple[str, str]] = []
    lines = Lines(lambda code, text: said.append((code, text)))
    for number in range(1_993):
        lines("refused", f"a connection from 192.0.2.{number % 250} was refused")
    lines("connected", "connected to phone")
    assert len(said) == MOST + 1
    assert said[-1] == ("connected", "connected to phone")
    lines.turn()
    assert said[-1] == ("refused", "1,973 more lines of this kind were left out")
    lines("refused", "again")
    assert said[-1] == ("refused", "again")
    lines.turn()
    assert len(said) == MOST + 3
