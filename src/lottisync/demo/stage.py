"""What the audience sees: numbered steps, what happens on which device side by side."""

import re
from collections.abc import Sequence
from pathlib import Path

from rich.columns import Columns
from rich.console import Console, Group
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

_FETCHED = re.compile(r"<!--.*?-->|@font-face \{.*?\}", re.DOTALL)
"""What rich adds for fonts from a server, and its advertisement."""

_CLIP = re.compile(r'(clip-terminal">\s*<rect x="0" y="0" width="[\d.]+" height=")([\d.]+)"')
"""Where rich cuts the terminal."""
DESCENDER = 6
"""How much further down it is cut here; there are ten units of padding."""

StageText = str | tuple[str, str]
"""Text taken literally, or text with a style."""


SCENES = {"demo-propose": (4, 5), "demo-decide": (6, 7), "demo-conflict": (9, 10)}
"""The pictures of the demo: name, first and last step."""


class Stage:
    """Shows the steps, and draws the `SCENES` into the folder `pictures`, if there is one."""

    def __init__(self, console: Console, pictures: Path | None = None) -> None:
        self.console, self._pictures = console, pictures
        self._number = 0

    def step(self, title: str, left: Sequence[StageText] = (), right: Sequence[StageText] = ()) -> None:
        """One step: `left` happened on laptop, `right` on phone."""
        self._cut()
        self._number += 1
        self.console.print(Rule(Text(f" {self._number}  {title} ", "bold"), align="left", style="dim"))
        if left or right:
            sides = Table.grid(expand=True, padding=(0, 1))
            sides.add_column(ratio=1)
            sides.add_column(ratio=1)
            sides.add_row(_panel("laptop", left, "cyan"), _panel("phone", right, "magenta"))
            self.console.print(sides)

    def table(self, heading: str, columns: Sequence[str], rows: Sequence[Sequence[StageText]]) -> None:
        table = Table(*columns, title=Text(heading, "dim"), title_justify="left", box=None, padding=(0, 2, 0, 1))
        for row in rows:
            table.add_row(*(_text(cell) for cell in row))
        self.console.print(table)

    def say(self, *lines: StageText) -> None:
        self.console.print(Columns([Group(*(_text(line) for line in lines))]))

    def end(self) -> None:
        """The last step is over."""
        self._cut()

    def _cut(self) -> None:
        """Between two steps: draw the scene that is over, and forget what belongs to none."""
        if self._pictures is None:
            return
        for name, (first, last) in SCENES.items():
            if self._number == last:
                (self._pictures / f"{name}.svg").write_text(picture(self.console, "make demo"))
            if self._number == first - 1:
                self.console.export_text()


def picture(console: Console, title: str) -> str:
    """All that a recording console has shown since the last picture, as an SVG that fetches nothing to be seen."""
    return _CLIP.sub(_with_descenders, _FETCHED.sub("", console.export_svg(title=title)))


def _with_descenders(clip: re.Match[str]) -> str:
    """Rich cuts the terminal three units below the base of its last line: a "j" needs more."""
    return f'{clip[1]}{float(clip[2]) + DESCENDER}"'


def _panel(name: str, lines: Sequence[StageText], colour: str) -> Panel | Text:
    if not lines:
        return Text("")
    return Panel(Group(*(_text(line) for line in lines)), title=name, title_align="left", border_style=colour)


def _text(line: StageText) -> Text:
    return Text(line) if isinstance(line, str) else Text(line[0], line[1])
