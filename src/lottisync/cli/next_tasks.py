"""The sentence about the next task, when one that repeats was finished."""

from collections.abc import Iterable

from lottisync.cli.terminal import Terminal, short
from lottisync.journal import repetition, tasks
from lottisync.journal.types import Task
from lottisync.language import say
from lottisync.shown import quoted


def show_next(terminal: Terminal, following: Task) -> None:
    terminal.line(
        say(
            "{title}  {id}  is next, due {due}",
            title=quoted(following.title),
            id=short(following.id),
            due=following.due,
        )
    )


def show_next_of(terminal: Terminal, task_ids: Iterable[str]) -> None:
    """Print a sentence for each of these tasks that repeats and is done."""
    with terminal.home.journal.reading() as reader:
        done = [ident for ident in task_ids if tasks.read(reader, ident, "task", Task).status == "DONE"]
        made = [repetition.next_task(reader, ident) for ident in done]
    for following in made:
        if following is not None:
            show_next(terminal, following)
