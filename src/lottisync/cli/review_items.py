"""Which items a person means, and what the person was shown of them. Each verb of `review` begins with this."""

import sys
from functools import partial
from typing import TYPE_CHECKING

from lottisync.cli.review_page import show_item
from lottisync.cli.terminal import Terminal
from lottisync.device import clock
from lottisync.journal import finding
from lottisync.journal.toolbox import ACTIONS
from lottisync.language import say, spoken
from lottisync.problem import Problem, Usage, counted
from lottisync.review import shown_items as printed
from lottisync.review import unfinished
from lottisync.review.inbox import Inbox, SetView
from lottisync.review.item_names import meant
from lottisync.review.item_view import ItemView
from lottisync.review.proposal import set_of
from lottisync.store.database import left_out_if_not_written

if TYPE_CHECKING:
    from lottisync.review.verdict import Verdicts


def inbox_of(terminal: Terminal) -> Inbox:
    """What waits on this device, in the reader's language. What was left half done is finished first, if the disk takes
    it."""
    home = terminal.home
    with left_out_if_not_written():
        if unfinished.is_needed(home.journal, home.agent):
            verdicts_of(terminal)
    return Inbox(home.journal, home.agent, ACTIONS, language=spoken())


def verdicts_of(terminal: Terminal) -> "Verdicts":
    """The verdicts of this device. What an earlier command or another process left half done is finished first."""
    from lottisync.cli.acts import this_terminal
    from lottisync.review.acts import note_verdict
    from lottisync.review.verdict import Verdicts

    home = terminal.home
    verdicts = Verdicts(
        home.journal,
        home.agent,
        ACTIONS,
        device_id=home.key.device_id,
        new_id=clock.new_id,
        note=partial(note_verdict, home.journal, this_terminal()),
    )
    verdicts.recover(clock.now())
    return verdicts


def task_meant(terminal: Terminal, task_id: str | None) -> str | None:
    """The id of the task that a person means by its id, or the beginning of it."""

    if task_id is None:
        return None
    with terminal.home.journal.reading() as reader:
        return finding.resolve(reader, task_id, "task")


def listed(terminal: Terminal, task_id: str | None = None, everything: bool = False) -> list[SetView]:
    """What waits, of one task or of all; with `everything` also what was put off or has expired."""
    inbox, task = inbox_of(terminal), task_meant(terminal, task_id)
    return inbox.unsettled_sets(clock.now(), task) if everything else inbox.open_sets(clock.now(), task)


def waiting(terminal: Terminal, task_id: str | None = None) -> list[ItemView]:
    """The items that can be decided on now, in the order of the list."""
    items = [item for one in listed(terminal, task_id) for item in one.items]
    return [item for item in items if item.status == "pending" and not item.expired]


def waiting_in_set(terminal: Terminal, name: str) -> list[ItemView]:
    """The items of one set. A person names it by the beginning of its items' names, or by one item."""
    with terminal.home.agent.reading() as reader:
        wanted = set_of(meant(reader, name if "." in name else f"{name}.0")[0])
    return [item for item in waiting(terminal) if set_of(item.id) == wanted]


def find(terminal: Terminal, which: str) -> ItemView:
    """The one item that a person means by its name."""
    found = find_all(terminal, (which,))
    if len(found) != 1:
        raise Problem(
            "ambiguous-id",
            "{which!r} means {proposals}; name one of them",
            which=which[:80],
            proposals=counted("{count:,} proposal", "{count:,} proposals", len(found)),
        )
    return found[0]


def find_all(terminal: Terminal, names: tuple[str, ...]) -> list[ItemView]:
    """The items that a person means by their names, and by ranges of names."""
    with terminal.home.agent.reading() as reader:
        wanted = [ident for name in names for ident in meant(reader, name)]
    inbox, now = inbox_of(terminal), clock.now()
    return [inbox.item(ident, now) for ident in dict.fromkeys(wanted)]


def remember_shown(terminal: Terminal, items: list[ItemView]) -> None:
    """Store the digests of the items on a page, for a later verdict (REV-86); one line if the disk does not take
    them."""
    if not printed.remember(terminal.home.agent, items, clock.now()):
        terminal.warn(say("the disk took no note of what was shown. Make room, and look again before you decide"))


def seen_of(terminal: Terminal, items: list[ItemView], digest: str | None, question: str) -> dict[str, str]:
    """Item -> the digest of what the person was shown. An item that was never shown on this device is shown now, and
    the person is asked. Raises `Usage` if no person can be asked, and `Problem` if the answer is no; then nothing is
    done."""
    if digest is not None:
        if len(items) != 1:
            raise Usage("bad-usage", "--shown is the digest of one ITEM; {count} were named", count=len(items))
        return {items[0].id: digest}
    with terminal.home.agent.reading() as reader:
        seen = printed.remembered(reader, [item.id for item in items])
    for item in items:
        if item.id not in seen:
            seen[item.id] = _shown_now(terminal, item, question)
    return {item.id: seen[item.id] for item in items}


def _shown_now(terminal: Terminal, item: ItemView, question: str) -> str:
    if terminal.as_json or not sys.stdin.isatty():
        raise Usage(
            "not-shown",
            "{name} was never shown on this device, so there is nothing to decide on yet. "
            "Look at it first: lottisync review show {name}",
            name=item.name,
        )
    show_item(terminal, item)
    terminal.confirm(question, yes=False)
    remember_shown(terminal, [item])
    return item.shown
