"""What a task is linked with, as it reads from the task (docs/specs/08-journal.md, section 3)."""

from collections.abc import Iterator
from typing import NamedTuple

from lottisync.entities.version import Damaged
from lottisync.entities.view import view
from lottisync.journal import words
from lottisync.journal.types import ENTRY_LINK, INVERSES, EntryLink
from lottisync.problem import Sentence
from lottisync.store.reader import Reader

FAR_END = {stored: word for word, stored in INVERSES.items()}


class LinkedTask(NamedTuple):
    """The other end of a link: the word for it as it reads from here, the task and its title."""

    word: str
    task: str
    title: str

    @property
    def relation(self) -> Sentence:
        """`is blocked by`."""
        return Sentence(words.RELATIONS.get(self.word, self.word))


def linked_tasks(reader: Reader, task_id: str) -> Iterator[LinkedTask]:
    """The live tasks that this one is linked with, once for each relation. One that is damaged is left out: what lists
    it names the damage."""
    for link in (*reader.links_from(task_id, ENTRY_LINK), *reader.links_to(task_id, ENTRY_LINK)):
        held = view(link, EntryLink)
        there = held.from_id == task_id
        other = held.to_id if there else held.from_id
        try:
            document = reader.document(other)
            title = str(document.document().get("title", "")) if document is not None else ""
        except Damaged:
            continue
        if document is not None and not document.deleted:
            for word in sorted(word for word, on in held.relations.items() if on):
                yield LinkedTask(word if there else FAR_END.get(word, word), other, title)
