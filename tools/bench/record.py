"""What all figures are measured with: a record of fifteen fields and about 400 bytes of JSON.

Ids are in order of time with a random tail. Titles and notes are words that nobody has heard before, in letters as
frequent as those of English: real ones compress better, but a record that only differs in its number would
compress to nothing, and say nothing.
"""

import hashlib
from random import Random
from typing import Any

LETTERS = "e" * 12 + "t" * 9 + "a" * 8 + "o" * 8 + "i" * 7 + "n" * 7 + "s" * 6 + "h" * 6 + "r" * 6 + "dldlcumwfgypbvk"


def ident(number: int) -> str:
    """Ids grow with the number, as those of entities do that were made one after the other."""
    tail = hashlib.sha256(number.to_bytes(8, "big")).hexdigest()[:16]
    return f"019a{number:012x}{tail}"


def task(number: int) -> dict[str, Any]:
    text = "".join(Random(number).choices(LETTERS, k=100))
    second = number % 86_400
    made = f"2026-11-20T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}.{number * 61 % 1000:03d}Z"
    return {
        "title": _words(text[:35]),
        "status": "OPEN",
        "priority": f"P{number % 4}",
        "due": f"2026-12-{number % 28 + 1:02d}",
        "estimate": number % 480 + 1,
        "languageCode": "en",
        "categoryId": ident(number % 7),
        "createdAt": made,
        "statusReason": None,
        "labels": {"home": True, "garden": number % 2 == 0},
        "suppressedLabels": {"work": True},
        "languageSource": "user",
        "note": _words(text[35:]),
        "source": "bench",
    }


def _words(letters: str) -> str:
    return " ".join(letters[at : at + 6] for at in range(0, len(letters), 6))
