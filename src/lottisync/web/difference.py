"""What differs between texts, word by word: in a conflict a person looks for it."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import NamedTuple

MOST_WORDS = 400
"""For each text. With more words, looking for what two texts have in common takes too long for a page."""


class TextPart(NamedTuple):
    """A part of a text, and whether it differs from the other text."""

    text: str
    differs: bool


def differing(texts: Sequence[str]) -> list[list[TextPart]]:
    """Each text in parts. What differs from the first text is marked; in the first text, what differs from any other
    one. If two texts have no word in common, or are very long, nothing is marked: otherwise the whole text would be."""
    split = [re.findall(r"\s+|[^\s]+", text) for text in texts]
    marks = [[False] * len(one) for one in split]
    for number in range(1, len(split)):
        for here, there in _changed(split[0], split[number]):
            marks[0][here] = [True] * (here.stop - here.start)
            marks[number][there] = [True] * (there.stop - there.start)
    return [_parts(one, marked) for one, marked in zip(split, marks, strict=True)]


def _changed(one: list[str], other: list[str]) -> list[tuple[slice, slice]]:
    if max(len(one), len(other)) > MOST_WORDS:
        return []
    codes = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    if not any(code == "equal" and "".join(one[start:end]).strip() for code, start, end, *_ in codes):
        return []
    return [(slice(i, j), slice(k, m)) for code, i, j, k, m in codes if code != "equal"]


def _parts(split: list[str], marked: list[bool]) -> list[TextPart]:
    together = groupby(zip(split, marked, strict=True), key=lambda pair: pair[1])
    return [TextPart("".join(text for text, _ in group), differs) for differs, group in together]
