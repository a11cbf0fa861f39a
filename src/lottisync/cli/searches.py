"""`search`: full-text search over the titles of tasks, their checklist items and their notes."""

from contextlib import closing
from pathlib import Path

import click

from lottisync.answers.tasks import HitAnswer as Answer
from lottisync.answers.tasks import Hits
from lottisync.cli.terminal import Terminal, common, short
from lottisync.daemon.home import TaskHome
from lottisync.entities.version import Damaged
from lottisync.language import say
from lottisync.store.feed_index import UNWRITABLE
from lottisync.store.reader import Document, Reader
from lottisync.store.text_index import FILE, Hit, TextIndex

WORDS = {"task": "title", "checklistItem": "title", "entry": "text"}
"""The field by which an entity of a type is found."""


@click.command()
@click.argument("words", metavar="WORDS...", nargs=-1, required=True)
@click.option(
    "--limit", type=click.IntRange(1, 1_000), default=50, show_default=True, help="The greatest number of results."
)
@common
def search(terminal: Terminal, words: tuple[str, ...], limit: int) -> None:
    """Find tasks, checklist items and notes that have all WORDS. The last one may be the beginning of a word.

    \b
    lottisync search oat mil
    lottisync task search oat mil
    """
    found = found_in(terminal.home, " ".join(words), limit)

    def shown() -> None:
        if not found:
            terminal.line(say("Nothing has all of these words."))
        for one in found:
            terminal.line(f"{short(one.task_id)}  {one.task_title}")
            if one.type != "task":
                terminal.line(f"  {one.piece}", "dim")

    terminal.emit(Hits(found), shown)


def found_in(home: TaskHome, words: str, limit: int) -> list[Answer]:
    """What has all words, the best match first; at most `limit`."""
    try:
        hits = _hits(home.path / FILE, home, words, limit)
    except UNWRITABLE:  # the disk takes no index: it is built in memory, and forgotten
        hits = _hits(Path(":memory:"), home, words, limit)
    with home.journal.reading() as reader:
        return [one for hit in hits if (one := _described(reader, hit)) is not None]


def _hits(file: Path, home: TaskHome, words: str, limit: int) -> list[Hit]:
    with closing(TextIndex(file, {"journal": home.journal}, _words)) as index:
        return index.search(words, limit)


def _words(document: Document) -> str:
    try:
        text = document.document().get(WORDS.get(document.type, ""))
    except Damaged:  # `check` names it; everything else is found
        return ""
    return text if isinstance(text, str) else ""


def _described(reader: Reader, hit: Hit) -> Answer | None:
    """A hit with its task; None if the task is deleted, or if one of the two cannot be read."""
    try:
        document = reader.document(hit.id)
        fields = document.document() if document is not None else {}
        task = reader.document(hit.id if hit.type == "task" else str(fields.get("taskId")))
        if task is None or task.deleted:
            return None
        return Answer(hit.id, hit.type, task.id, task.document().get("title") or "", hit.piece)
    except Damaged:
        return None
