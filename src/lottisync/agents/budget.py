"""How much a model is told in one wake (docs/specs/09-agents.md, section 4).

A task may have 2,000 items and 10,000 notes. No model reads all of that, and the record of a wake is one document of
limited size. So a wake has a budget. It is counted in bytes of UTF-8, as they are in the message, because bytes can be
counted without a tokenizer. A budget in tokens becomes one in bytes by a rate: three bytes are a token, which holds for
English with some reserve and for Chinese about exactly. After each wake the rate is corrected by what the server has
counted for that model.

The budget has fixed shares, one for each part of the message. A part never takes from another, so a wake about one
thing does not change how much is told of the others, and what the server has read already stays in its cache. What is
left out is counted, and the model can ask for it (`lottisync.agents.lookup`).
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

CONTEXT_TOKENS = 60_000
"""For a whole wake, unless `config.contextTokens` says otherwise: what a model with a window of 128,000 reads well."""
LEAST_TOKENS, MOST_TOKENS = 20_000, 1_000_000
USUAL_RATE, LEAST_RATE, MAX_RATE, RATE_STEP = 30, 10, 40, 5
"""Tenths of a byte per token. In steps, so that a small difference in the text does not move every share."""
FIXED = 30_000
"""Bytes kept free for the system prompt and the tools."""
MAX_OPENING = 140_000
"""Bytes of system prompt and message. In the document that records them a byte takes two at most."""
MAX_LOOKED_UP = 40_000
SHARES = {
    "log": 20,
    "notes": 28,
    "summary": 4,
    "linked": 3,
    "items": 15,
    "task": 4,
    "report": 7,
    "decisions": 7,
    "waiting": 3,
    "delta": 9,
}
"""The shares of the message in hundredths, in the order of its parts."""
_TEXTS = (4_000, 2_000, 500, 160, 128)
"""Characters to which texts are cut, the first that fits. An id is never longer than the last."""
_ENTRIES = (100, 40, 20, 10, 5, 1)


def rate_of(kept: object, model: str | None) -> int:
    """The rate for that model, from what an earlier wake has kept of it."""
    rate = kept.get(str(model)) if isinstance(kept, Mapping) else None
    return rate if isinstance(rate, int) and LEAST_RATE <= rate <= MAX_RATE else USUAL_RATE


def corrected(asked: int, counted: int) -> int:
    """The rate of a question of `asked` bytes for which the server counted so many tokens, more than 0."""
    rate = asked * 10 // counted // RATE_STEP * RATE_STEP
    return min(max(rate, LEAST_RATE), MAX_RATE)


class Budget:
    """The budget of one wake: `tokens` for a model of that rate."""

    def __init__(self, tokens: int = CONTEXT_TOKENS, rate: int = USUAL_RATE) -> None:
        self._rate = rate
        total = max(tokens, LEAST_TOKENS) * rate // 10
        self.whole = total
        """Bytes of a request."""
        self.lookups = min(total // 5, MAX_LOOKED_UP)
        """Bytes that answers of the reading tools may have, all together."""
        self.message = max(min(MAX_OPENING, total - self.lookups) - FIXED, FIXED // 2)

    def tokens_of(self, count: int) -> int:
        """About how many tokens so many bytes are."""
        return count * 10 // self._rate

    def share(self, part: str) -> int:
        """Bytes of that part of the message."""
        return self.message * SHARES[part] // 100


def text(value: Any) -> str:
    """A value as it is in the message: JSON with an element in each line, in which no text can close a section."""
    if isinstance(value, list) and value:
        raw = "[\n" + ",\n".join(_json(each) for each in value) + "\n]"
    elif isinstance(value, dict) and value:
        raw = "{\n" + ",\n".join(f"{_json(key)}: {_json(each)}" for key, each in value.items()) + "\n}"
    else:
        raw = _json(value)
    return raw.replace("<", "\\u003c")


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def size(value: Any) -> int:
    """Bytes that a value takes in the message, with what separates it from the next one."""
    return len(text(value).encode()) + 2


# -- what of a part is shown


def squeezed(value: Any, room: int) -> Any:
    """The value in at most `room` bytes: first its texts are cut, then its lists, each with a word of what is missing.
    As small as it gets, if that is too little."""
    for length in _TEXTS:
        cut = _cut(value, length, None)
        if size(cut) <= room:
            return cut
    for entries in _ENTRIES:
        cut = _cut(value, _TEXTS[-1], entries)
        if size(cut) <= room:
            return cut
    return cut


def beginning(words: str, room: int) -> str:
    """As much of a text as fits into `room` bytes, with a word of what is missing. It ends at a whole character, as a
    person sees them; at least one is left."""
    if size(words) <= room:
        return words
    from rich.cells import split_graphemes

    ends = [end for _, end, _ in split_graphemes(words)[0]]
    fitting = bisect_right(ends, room, key=lambda end: size(_cut(words, end, None)))
    return str(_cut(words, ends[max(fitting - 1, 0)], None))


def _cut(value: Any, length: int, entries: int | None) -> Any:
    if isinstance(value, str) and len(value) > length:
        return f"{value[:length]}… ({len(value) - length} more characters)"
    if isinstance(value, list):
        kept = [_cut(each, length, entries) for each in value[:entries]]
        return kept if len(kept) == len(value) else [*kept, f"… {len(value) - len(kept)} more are left out"]
    if isinstance(value, dict):
        return {key: _cut(each, length, entries) for key, each in value.items()}
    return value


def chosen(elements: Sequence[Any], room: int, order: Iterable[int]) -> list[int]:
    """The indices of the elements that fit, in ascending order. They are taken in the order `order`."""
    kept = []
    for index in order:
        room -= size(elements[index])
        if room < 0:
            break
        kept.append(index)
    return sorted(kept)


def newest(elements: Sequence[Any], room: int, measure: Callable[[Any], int] = size) -> int:
    """How many of the oldest elements to leave out, so that the others fit.

    A quarter of the room is cleared at a time. So the first element that is shown stays the same while a few are added,
    and with it the beginning of the message."""
    sizes = [measure(each) for each in elements]
    over = sum(sizes) - room
    if over <= 0:
        return 0
    step = max(room // 4, 1)
    to_clear = -(-over // step) * step
    for index, each in enumerate(sizes):
        if to_clear <= 0:
            return index
        to_clear -= each
    return len(sizes)
