"""The pictures that a terminal's lines are drawn as."""

import io
import re

from rich.console import Console

from lottisync.demo.stage import picture


def test_a_picture_cuts_no_letter_of_its_last_line() -> None:
    """A "j" goes down by a quarter of the size of its letters, and is within all that cuts the picture."""
    console = Console(record=True, width=40, file=io.StringIO())
    console.print("one\ntwo\njoined")
    drawn = picture(console, "a terminal")
    size = float(re.findall(r"font-size: ([\d.]+)px", drawn)[0])
    [base] = re.findall(r'y="([\d.]+)" textLength="[\d.]+" clip-path="url\(#[^)]+line-2\)">joined', drawn)
    [terminal] = re.findall(r'clip-terminal">\s*<rect x="0" y="0" width="[\d.]+" height="([\d.]+)"', drawn)
    assert float(terminal) >= float(base) + size / 4
    [whole] = re.findall(r'viewBox="0 0 [\d.]+ ([\d.]+)"', drawn)
    [down] = re.findall(r'<g transform="translate\([\d.]+, ([\d.]+)\)" clip-path="url\(#[^)]+clip-terminal\)">', drawn)
    assert float(down) + float(terminal) <= float(whole)
