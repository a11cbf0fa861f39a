"""What a person does to checklists and their items: `task item ...` and `task checklist ...`."""

import click

from lottisync.cli.help_pages import Group
from lottisync.cli.options import everywhere
from lottisync.cli.task_change import change_items, change_tasks, one_task
from lottisync.cli.terminal import Terminal, common, judging_the_call
from lottisync.device import clock
from lottisync.journal import checklist as checklists
from lottisync.journal import finding, task_values, tasks
from lottisync.journal.types import ChecklistItem
from lottisync.problem import Sentence, Usage, counted
from lottisync.store.transaction import Transaction

many_items = click.argument("named", metavar="ITEM...", nargs=-1, required=True)
to_checklist = click.option("--to", metavar="CHECKLIST", help="A checklist of the task, by its title or id.")


@click.group(cls=Group)
@everywhere
def item(home: str | None, as_json: bool) -> None:
    """Add, edit, tick, move, archive and remove checklist items."""


@item.command("add")
@one_task
@click.argument("titles", metavar="TITLE...", nargs=-1, required=True)
@to_checklist
@common
def add_item(terminal: Terminal, named: str, titles: tuple[str, ...], to: str | None) -> None:
    """Add items to a task's checklist: the first one, or the one that --to names.

    \b
    lottisync task item add milk "take the bottles" "buy oat, too"
    """
    with judging_the_call():
        checked = [task_values.checked_title(title) for title in titles]

    def verb(tx: Transaction, task_id: str) -> bool:
        checklist = checklists.find(tx, task_id, to) if to is not None else None
        for title in checked:
            tasks.add_item(tx, clock.new_id(tx.now), task_id, title, checklist_id=checklist)
        return True

    change_tasks(terminal, (named,), verb, counted("{count:,} item added", "{count:,} items added", len(checked)))


@item.command("edit")
@click.argument("named", metavar="ITEM")
@click.argument("title")
@common
def edit_item(terminal: Terminal, named: str, title: str) -> None:
    """Give a checklist item another title.

    \b
    lottisync task item edit bottles "take the empty bottles"
    """
    with judging_the_call():
        checked = task_values.checked_title(title)

    def verb(tx: Transaction, item_id: str) -> bool:
        if tasks.read(tx, item_id, "checklistItem", ChecklistItem).title == checked:
            return False
        tasks.rename_item(tx, item_id, checked)
        return True

    change_items(terminal, (named,), verb, Sentence("changed"))


@item.command("check")
@click.argument("named", metavar="ITEM...", nargs=-1, required=True)
@click.option("--off", is_flag=True, help="Untick instead.")
@common
def check_items(terminal: Terminal, named: tuple[str, ...], off: bool) -> None:
    """Tick checklist items, or untick them with --off.

    \b
    lottisync task item check bottles
    """
    said = Sentence("not ticked") if off else Sentence("ticked")
    change_items(terminal, named, lambda tx, item_id: tasks.check_item(tx, item_id, not off) is not None, said)


@item.command("remove")
@click.argument("named", metavar="ITEM...", nargs=-1, required=True)
@common
def remove_items(terminal: Terminal, named: tuple[str, ...]) -> None:
    """Remove checklist items.

    \b
    lottisync task item remove bottles
    """

    def verb(tx: Transaction, item_id: str) -> bool:
        tasks.remove_item(tx, item_id)
        return True

    change_items(terminal, named, verb, Sentence("removed"))


@item.command("move")
@many_items
@to_checklist
@click.option("--task", "other", metavar="TASK", help="Move to this task, and not within the item's own.")
@common
def move_items(terminal: Terminal, named: tuple[str, ...], to: str | None, other: str | None) -> None:
    """Move items to the end of another checklist: of their task with --to, or of another task with --task.

    \b
    lottisync task item move bottles --to Cellar
    lottisync task item move bottles --task bread
    """
    if to is None and other is None:
        raise Usage("bad-call", "say where the item goes: --to CHECKLIST, --task TASK, or both")

    def verb(tx: Transaction, item_id: str) -> bool:
        own = tasks.read(tx, item_id, "checklistItem", ChecklistItem).task_id
        task_id = own if other is None else finding.resolve(tx, other, "task")
        checklist = tasks.default_checklist(tx, task_id) if to is None else checklists.find(tx, task_id, to)
        return checklists.move_item(tx, item_id, task_id, checklist) is not None

    change_items(terminal, named, verb, Sentence("moved"))


@item.command("archive")
@many_items
@click.option("--off", is_flag=True, help="Take them out of the archive again.")
@common
def archive_items(terminal: Terminal, named: tuple[str, ...], off: bool) -> None:
    """Put checklist items away, or take them out again with --off.

    \b
    lottisync task item archive bottles
    lottisync task item archive bottles --off
    """
    said = Sentence("back on the checklist") if off else Sentence("archived")
    change_items(terminal, named, lambda tx, item_id: checklists.archive_item(tx, item_id, not off) is not None, said)


# -- checklist


@click.group(cls=Group)
@everywhere
def checklist(home: str | None, as_json: bool) -> None:
    """Add and rename checklists."""


@checklist.command("add")
@one_task
@click.argument("title")
@common
def add_checklist(terminal: Terminal, named: str, title: str) -> None:
    """Add a checklist to a task.

    \b
    lottisync task checklist add milk Cellar
    """
    with judging_the_call():
        checked = task_values.checked_title(title)

    def verb(tx: Transaction, task_id: str) -> bool:
        tasks.add_checklist(tx, clock.new_id(tx.now), task_id, checked)
        return True

    change_tasks(terminal, (named,), verb, Sentence("checklist added"))


@checklist.command("rename")
@one_task
@click.argument("named_list", metavar="CHECKLIST")
@click.argument("title")
@common
def rename_checklist(terminal: Terminal, named: str, named_list: str, title: str) -> None:
    """Give a checklist of a task another title.

    \b
    lottisync task checklist rename milk Cellar Attic
    """
    with judging_the_call():
        checked = task_values.checked_title(title)

    def verb(tx: Transaction, task_id: str) -> bool:
        return checklists.rename(tx, checklists.find(tx, task_id, named_list), checked) is not None

    change_tasks(terminal, (named,), verb, Sentence("checklist renamed"))
