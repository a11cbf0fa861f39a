"""The sentences of the actions in the reader's language, in a catalogue of their own: `journal/locale`."""

from pathlib import Path

from lottisync.review.language import Catalogue, marked

ACTIONS = Catalogue(Path(__file__).parent / "locale", "actions")

__all__ = ["ACTIONS", "marked"]
