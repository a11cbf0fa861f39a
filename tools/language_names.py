"""Write what languages are called, in each language of the catalogue, as Unicode's CLDR has it (through Babel).

    python -m tools.language_names

Babel is 30 MB, and a page needs 184 words of it: so they are kept in a file, and the program does without it.
"""

import json

from babel import Locale

from lottisync.journal.types import LANGUAGES as CODES
from lottisync.language import LANGUAGES, NAMES


def names() -> dict[str, dict[str, str]]:
    """The name of each language that a task may be in, by the reader's language and by its code."""
    return {reader: {code: Locale(reader).languages[code] for code in sorted(CODES)} for reader in LANGUAGES}


def text() -> str:
    return json.dumps(names(), ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    NAMES.write_text(text(), encoding="utf-8")
