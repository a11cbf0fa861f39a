"""Text as people see it: what came from another device or from a model is shown so that it cannot pass for our words.

A title is stored as it was written. Where it is shown, in a terminal, in the log, on a page, it gets one line and
nothing else: a line break is a sign, a mark that moves the cursor, turns the direction of the text or cannot be seen is
a sign. Otherwise a title could begin a line of its own that says "applied", or a name could look like another one.

Emoji and several scripts need characters that cannot be seen between those that can (joiners, variation selectors).
They stay behind such a character, and are signs everywhere else.
"""

import re

INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""What cannot be seen, or turns the direction of text, as ranges of a regular expression; not as categories, which
change between Unicode versions. ID-20 and ID-21 name these ranges, too: a change here changes what a name may be."""
BREAKS = "\n\r\u2028\u2029"
CONTROLS = "\x00-\x1f\x7f-\x9f\ud800-\udfff"

_JOINED = r"(?<=[\u0600-\u109f\u1780-\u18af\u203c-\u3299\ufe0f\U0001f000-\U0001faff])[\u200c\u200d\ufe00-\ufe0f]"
"""Joiners and variation selectors where emoji, or the scripts from Arabic to Mongolian, have them."""
_HIDDEN = re.compile(rf"{_JOINED}|[{CONTROLS}\u2028\u2029{INVISIBLE}]")
_KEPT = re.compile(_JOINED)
_BREAK = re.compile(r"\r\n|[\n\r\u2028\u2029]")
_UNKNOWN = "\ufffd"
_UNSEEN = re.compile(rf"(?!\s)[{CONTROLS}{INVISIBLE}\u2800]")


def one_line(text: str) -> str:
    """The text as one line without anything hidden, character by character (the length is the same)."""
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN.sub(lambda found: _sign(found[0], kept=_KEPT.match(text, found.start()) is not None), text)


def lines(text: str) -> list[str]:
    """The text by its own line breaks, each line as `one_line`. The caller marks each line that it prints."""
    return [one_line(line) for line in _BREAK.split(text)]


def escaped(json: str) -> str:
    """JSON with an escape in place of each hidden character: the same value, and nothing hidden. JSON has them in texts
    only."""
    if json.isascii() and json.isprintable():
        return json
    return _HIDDEN.sub(lambda found: _escape(found[0]), json)


def quoted(text: str) -> str:
    """The text in quotation marks, for a sentence of ours."""
    return f"'{one_line(text)}'"


def visible(text: str) -> str:
    """What a person sees of the text: without anything hidden, trimmed, one space for any white space (REV-1000)."""
    return " ".join(_UNSEEN.sub("", text).split())


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in zip(units[::2], units[1::2], strict=True))


def _sign(character: str, *, kept: bool) -> str:
    if kept:
        return character
    if character in BREAKS:
        return "\u2424"  # the sign for a new line
    if character == "\t":
        return " "
    if character < " ":
        return chr(0x2400 + ord(character))  # the picture of this control character
    return "\u2421" if character == "\x7f" else _UNKNOWN
