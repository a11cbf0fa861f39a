"""`search`: full-text search over the titles of tasks, their checklist items and their notes."""

import click

from lottisync.answers.tasks import Hit as Answer
from lottisync.answers.tasks import Hits
from lottisync.cli.terminal import Terminal, common, short
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
    """
    home = terminal.home
    index = TextIndex(home.path / FILE, {"journal": home.journal}, _words)
    try:
        hits = index.search(" ".join(words), limit)
    finally:
        index.close()
    with home.journal.reading() as reader:
        found = [one for hit in hits if (one := _described(reader, hit)) is not None]

    def shown() -> None:
        if not found:
            terminal.line("Nothing has all of these words.")
        for one in found:
            terminal.line(f"{short(one.task_id)}  {one.task_title}")
            if one.type != "task":
                terminal.line(f"  {one.piece}", "dim")

    terminal.emit(Hits(found), shown)


def _words(document: Document) -> str:
    text = document.document().get(WORDS.get(document.type, ""))
    return text if isinstance(text, str) else ""


def _described(reader: Reader, hit: Hit) -> Answer | None:
    """A hit with its task; None if the task is deleted."""
    document = reader.document(hit.id)
    fields = document.document() if document is not None else {}
    task = reader.document(hit.id if hit.type == "task" else str(fields.get("taskId")))
    if task is None or task.deleted:
        return None
    title = task.document().get("title") or ""
    return Answer(hit.id, hit.type, task.id, title, hit.piece)
