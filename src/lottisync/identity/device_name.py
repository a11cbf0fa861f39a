"""What a device may be called.

A device's name is typed by a person on one machine and then shown on all the others: in a terminal, on a web
page, in the question "is this your device?". So a name is a small thing that cannot move a cursor, break a
line or turn the reading direction of the sentence around it. The rule is written as ranges of code points and
not as Unicode categories: categories change with the Unicode version, and two devices with different Python
versions would then fold the same membership log into two different rosters.

Spec: docs/specs/06-identity-and-pairing.md, ID-8, ID-20, ID-21.
"""

import re
import unicodedata

from lottisync.identity.device_key import IdentityError
from lottisync.shown import INVISIBLE, quoted

MAX_NAME_CHARACTERS = 64
"""As long as a line of a terminal has room for beside an id; a name is shown whole, never cut."""

_UNSHOWABLE = re.compile(
    "["
    "\u0000-\u001f\u007f-\u009f"  # C0, DEL, C1: cursor moves, escape sequences, line breaks
    "\u2028\u2029"  # line and paragraph separator
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # turn the direction of what follows
    "\ud800-\udfff"  # halves of a pair: not text, and not encodable
    "]"
)
_BLANK = re.compile(rf"[\u0020\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000{INVISIBLE}]*\Z")


def parse_device_name(text: str) -> str:
    """Return `text` if it is 1 to 64 showable characters of which one can be seen, else raise `IdentityError`."""
    if not 1 <= len(text) <= MAX_NAME_CHARACTERS:
        raise IdentityError(
            "a device name has 1 to {max_name_characters} characters; got {count}",
            max_name_characters=MAX_NAME_CHARACTERS,
            count=len(text),
        )
    if _UNSHOWABLE.search(text):
        raise IdentityError("a device name has no control characters; got {quoted}", quoted=quoted(text))
    if _BLANK.match(text):
        raise IdentityError("a device name has a character that can be seen; got {quoted}", quoted=quoted(text))
    return text


def likeness(name: str) -> str:
    """What two names share that a person cannot tell apart: capitals, forms of a letter and what cannot be seen do not
    count. For this device's own advice only, since Unicode changes."""
    return re.sub(rf"[{INVISIBLE}]", "", unicodedata.normalize("NFKC", name)).casefold().strip()
