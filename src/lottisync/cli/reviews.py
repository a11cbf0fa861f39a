"""`review`: what agents propose, and the person's word on it.

Every verb takes items by the names that lists show beside them, like `k7f2.3`, and ranges like `k7f2.2-5`. What is said
here is said in the reader's language (`--language`, else the environment's); `--json` is for programs and is the same
in all of them.
"""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from lottisync.answers import review as answers
from lottisync.answers.review import Decision, Decisions, ProposalLedger, Proposals, Reindexed
from lottisync.cli import completion
from lottisync.cli.attention import show_attention
from lottisync.cli.help_pages import Group
from lottisync.cli.hints import with_hint
from lottisync.cli.review_items import (
    find,
    find_all,
    inbox_of,
    listed,
    remember_shown,
    seen_of,
    task_meant,
    verdicts_of,
    waiting,
    waiting_in_set,
)
from lottisync.cli.review_page import CHANGED, minute, name_now, show_item, show_outcomes, show_sets
from lottisync.cli.review_words import word
from lottisync.cli.terminal import Terminal, common
from lottisync.cli.watch import watchable
from lottisync.daemon.attention import attention_wanted
from lottisync.device import clock
from lottisync.journal import finding
from lottisync.journal.toolbox import ACTIONS
from lottisync.language import say, spoken
from lottisync.problem import Problem, Usage
from lottisync.review import index
from lottisync.review import shown_items as printed
from lottisync.review.action import Unreadable
from lottisync.review.change import ChangeDecision
from lottisync.review.inbox import SetView
from lottisync.review.item_names import name_of
from lottisync.review.item_view import ItemView
from lottisync.review.outcome import Outcome
from lottisync.review.proposal_record import ProposalRecord, decisions, proposal_records
from lottisync.store.instant import millis

F = TypeVar("F", bound=Callable[..., Any])

PER_PAGE = 50
"""Sets of proposals."""
_SPAN = re.compile(r"\A(\d{1,4})([hdw])\Z")
_SPAN_MILLIS = {"h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}


def paged(function: F) -> F:
    """Give a list `--page` and `--limit`."""
    count = click.IntRange(1)
    function = click.option("--limit", type=count, metavar="N", help=f"Sets on a page ({PER_PAGE}).")(function)
    return click.option("--page", "number", type=count, default=1, metavar="N", help="Which page (1).")(function)


@click.group(cls=Group, invoke_without_command=True)
@click.option("--task", "task_id", metavar="TASK", help="Only what concerns this task.")
@click.option("--all", "everything", is_flag=True, help="Also deferred and expired items.")
@click.option("-i", "--interactive", is_flag=True, help="Go through them one by one.")
@paged
@common
@click.pass_context
def review(
    context: click.Context,
    terminal: Terminal,
    task_id: str | None,
    everything: bool,
    interactive: bool,
    number: int,
    limit: int | None,
) -> None:
    """Without a verb: list what waits for you. ITEM is the name that stands beside it, like k7f2.3, or a range:
    k7f2.2-5.

    \b
    lottisync review
    lottisync review -i
    """
    if context.invoked_subcommand is not None:
        return
    if interactive:
        from lottisync.cli.review_keys import go_through

        go_through(terminal, task_id)
        return
    _list(terminal, task_id, everything=everything, number=number, limit=limit)


@review.command("list")
@click.option("--task", "task_id", metavar="TASK", help="Only what concerns this task.")
@click.option("--all", "everything", is_flag=True, help="Also deferred and expired items.")
@paged
@common
@watchable
def list_(terminal: Terminal, task_id: str | None, everything: bool, number: int, limit: int | None) -> None:
    """List what waits for you.

    \b
    lottisync review list --task milk
    """
    _list(terminal, task_id, everything=everything, number=number, limit=limit)


def show_waiting(terminal: Terminal, task_id: str) -> None:
    """What waits for one task, for people."""
    sets = listed(terminal, task_id)
    _show(terminal, sets)
    remember_shown(terminal, [item for one in sets for item in one.items])


def _list(terminal: Terminal, task_id: str | None, *, everything: bool, number: int, limit: int | None) -> None:
    """A page; all at once for a program that asks for no limit."""
    if limit is None and terminal.as_json and number == 1:
        sets, more = listed(terminal, task_id, everything), False
    else:
        per_page = limit or PER_PAGE
        task, skip = task_meant(terminal, task_id), (number - 1) * per_page
        inbox = inbox_of(terminal)
        sets, more = inbox.page(clock.now(), task, everything=everything, skip=skip, limit=per_page)

    def shown() -> None:
        damaged: list[Problem] = []
        show_attention(terminal, attention_wanted(terminal.home, damaged))
        for problem in damaged:
            terminal.warn(with_hint(problem))
        _show(terminal, sets)
        if more:
            terminal.line(say("... lottisync review --page {number}", number=number + 1), "dim")

    terminal.emit(Proposals(sets), shown)
    remember_shown(terminal, [item for one in sets for item in one.items])


def _show(terminal: Terminal, sets: list[SetView]) -> None:
    if not sets:
        terminal.line(say("Nothing waits for you."), "green")
        return
    show_sets(terminal, sets)
    verbs = "lottisync review -i · confirm NAME... · edit NAME FIELD=VALUE · reject NAME --reason ... · confirm --all"
    terminal.line(verbs, "dim")


@review.command("show")
@click.argument("item", metavar="ITEM", shell_complete=completion.proposals)
@common
def show(terminal: Terminal, item: str) -> None:
    """Show one proposal whole.

    \b
    lottisync review show k7f2.3
    """
    found = find(terminal, item)
    terminal.emit(found, lambda: show_item(terminal, found))
    remember_shown(terminal, [found])


# -- verdicts


def as_shown(function: F) -> F:
    """Give a verdict `--shown`, for a program that has kept the digest itself."""
    return click.option(
        "--shown",
        "digest",
        metavar="DIGEST",
        help="Only if ITEM is as it was shown with this digest (`shown` in --json); else as it was last shown here.",
    )(function)


@review.command("confirm")
@click.argument("items", metavar="ITEM...", nargs=-1, shell_complete=completion.proposals)
@click.option("--all", "everything", is_flag=True, help="Confirm every item that waits, in order.")
@click.option("--task", "task_id", metavar="TASK", help="Confirm every item that waits for this task.")
@click.option("--set", "of_set", metavar="NAME", help="Confirm every item that waits in this set, like k7f2.")
@click.option("--anyway", is_flag=True, help="Confirm although the field was changed since, having seen its value now.")
@as_shown
@common
def confirm(
    terminal: Terminal,
    items: tuple[str, ...],
    everything: bool,
    task_id: str | None,
    of_set: str | None,
    anyway: bool,
    digest: str | None,
) -> None:
    """Confirm ITEM: what it proposes is done. Several are done in the order of the list.

    \b
    lottisync review confirm k7f2.3
    lottisync review confirm k7f2.2-5
    lottisync review confirm --task milk
    """
    if sum(map(bool, (items, everything, task_id, of_set))) != 1:
        raise Usage("bad-usage", "give an ITEM, or one of --all, --task and --set")
    if items:
        found = find_all(terminal, items)
    elif of_set:
        found = waiting_in_set(terminal, of_set)
    else:
        found = waiting(terminal, task_id)
    seen = seen_of(terminal, found, digest, say("Confirm this?"))
    against: Any = "current" if anyway else "base"
    verdicts = verdicts_of(terminal)
    _report(terminal, found, verdicts.confirm_selected(seen, clock.now(), against=against, shown=seen))


@review.command("edit")
@click.argument("item", metavar="ITEM", shell_complete=completion.proposals)
@click.argument("changes", metavar="FIELD=VALUE...", nargs=-1, required=True)
@as_shown
@common
def edit(terminal: Terminal, item: str, changes: tuple[str, ...], digest: str | None) -> None:
    """Change what ITEM proposes, and confirm it so. VALUE is JSON, or text as it stands.

    \b
    lottisync review edit k7f2.3 minutes=90
    """
    from lottisync.cli.review_keys import typed_over

    found = find(terminal, item)
    args = dict(found.args)
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals or name not in args:
            raise Usage(
                "bad-usage",
                "this item has the fields {args}, as FIELD=VALUE; got {change!r}",
                args=", ".join(args),
                change=change,
            )
        args[name] = typed_over(args[name], value)
    seen = seen_of(terminal, [found], digest, say("Confirm this?"))
    verdicts = verdicts_of(terminal)
    _report(terminal, [found], [verdicts.confirm(found.id, clock.now(), edited_args=args, shown=seen[found.id])])


@review.command("reject")
@click.argument("items", metavar="ITEM...", nargs=-1, required=True, shell_complete=completion.proposals)
@click.option("--reason", help="Why; the agent learns from it.")
@as_shown
@common
def reject(terminal: Terminal, items: tuple[str, ...], reason: str | None, digest: str | None) -> None:
    """Reject ITEM.

    \b
    lottisync review reject k7f2.3 --reason "the shop is closed"
    """
    found = find_all(terminal, items)
    seen = seen_of(terminal, found, digest, say("Reject this?"))
    _report(terminal, found, verdicts_of(terminal).reject_selected(seen, clock.now(), reason, shown=seen))


@review.command("defer")
@click.argument("items", metavar="ITEM...", nargs=-1, required=True, shell_complete=completion.proposals)
@click.option("--for", "span", default="1d", show_default=True, metavar="SPAN", help="Like 4h, 2d or 1w.")
@click.option("--until", "when", metavar="WHEN", help="Instead of --for: like fri, tomorrow 14:00 or 2026-12-01.")
@as_shown
@common
def defer(terminal: Terminal, items: tuple[str, ...], span: str, when: str | None, digest: str | None) -> None:
    """Put ITEM off: it leaves the list and comes back later.

    \b
    lottisync review defer k7f2.3 --for 2d
    """
    match = _SPAN.match(span)
    if match is None:
        raise Usage("bad-usage", "--for is a number with h, d or w, like 2d; got {span!r}", span=span)
    until = clock.now() + int(match[1]) * _SPAN_MILLIS[match[2]] if when is None else _moment(when)
    found = find_all(terminal, items)
    seen = seen_of(terminal, found, digest, say("Put this off?"))
    _report(terminal, found, verdicts_of(terminal).defer_selected(seen, until, clock.now(), shown=seen))


def _moment(when: str) -> int:
    """The time (ms) that a person means, which is ahead."""
    from lottisync.cli.dates import MORNING, moment

    found = millis(moment(when, clock.now(), at=MORNING))
    if found <= clock.now():
        raise Usage("bad-value", "{when!r} is over; an item is put off until a time that is ahead", when=when[:80])
    return found


@review.command("undo")
@click.argument("items", metavar="ITEM...", nargs=-1, required=True, shell_complete=completion.proposals)
@common
def undo(terminal: Terminal, items: tuple[str, ...]) -> None:
    """Take your verdict on ITEM back. Fields that were written since stay as they are.

    \b
    lottisync review undo k7f2.3
    lottisync review undo k7f2.0-2 k7f2.5
    """
    found = find_all(terminal, items)
    _report(terminal, found, verdicts_of(terminal).undo_selected([item.id for item in found], clock.now()))


@review.command("keep")
@click.argument("item", metavar="ITEM", shell_complete=completion.proposals)
@common
def keep(terminal: Terminal, item: str) -> None:
    """Settle ITEM, on which devices decided differently: its effect stays.

    \b
    lottisync review keep k7f2.3
    """
    found = find(terminal, item)
    _report(terminal, [found], [verdicts_of(terminal).keep(found.id, clock.now())])


@review.command("dismiss")
@click.argument("item", metavar="ITEM", shell_complete=completion.proposals)
@click.option("--reason", help="Why; the agent learns from it.")
@common
def dismiss(terminal: Terminal, item: str, reason: str | None) -> None:
    """Reject all that waits in the set of ITEM.

    \b
    lottisync review dismiss k7f2.1 --reason "not now"
    """
    waiting = waiting_in_set(terminal, find(terminal, item).name)
    seen = seen_of(terminal, waiting, None, say("Reject this?"))
    _report(terminal, waiting, verdicts_of(terminal).reject_selected(seen, clock.now(), reason, shown=seen))


@review.command("ledger")
@click.argument("task_id", metavar="TASK", required=False, shell_complete=completion.tasks)
@click.option("--item", "about", metavar="CHECKLIST_ITEM", help="Only what concerns this checklist item.")
@common
def ledger(terminal: Terminal, task_id: str | None, about: str | None) -> None:
    """Show every proposal (for TASK) with its result, oldest first.

    \b
    lottisync review ledger milk
    """

    home = terminal.home
    if about is not None:
        with home.journal.reading() as reader:
            about = finding.resolve(reader, about, "checklistItem")
    found = proposal_records(
        home.journal, home.agent, ACTIONS, clock.now(), task_meant(terminal, task_id), about=about, language=spoken()
    )
    terminal.emit(ProposalLedger.of(found), lambda: _show_ledger(terminal, found))


def _show_ledger(terminal: Terminal, found: list[ProposalRecord]) -> None:
    if not found:
        terminal.line(say("Nothing was proposed."))
        return
    rows = []
    for one in found:
        why = one.reason or one.agent_reason or ""
        rows.append((one.name, minute(one.proposed_at), one.agent_name, one.summary, word(one.outcome), why))
    terminal.table([""] * 6, rows)


@review.command("log")
@click.argument("task_id", metavar="TASK", shell_complete=completion.tasks)
@common
def log(terminal: Terminal, task_id: str) -> None:
    """Show every decision on the proposals for TASK, oldest first.

    \b
    lottisync review log milk
    """
    task_id = task_meant(terminal, task_id) or task_id
    found = decisions(terminal.home.agent, task_id)
    with terminal.home.agent.reading() as reader:
        names = {d.item_id: name_of(reader, d.item_id) for d in found}
    listed = [Decision.of(each, names[each.item_id]) for each in found]

    def shown() -> None:
        if not found:
            terminal.line(say("Nothing was decided."))
            return
        home = terminal.home
        records = proposal_records(home.journal, home.agent, ACTIONS, clock.now(), task_id, language=spoken())
        proposed = {record.id: record.summary for record in records}
        edits = {each.id for each in found if each.edited}
        put_otherwise = edits | {each.id for each in found if each.undoes in edits}
        rows = [
            (
                names[d.item_id],
                minute(d.created_at),
                _verdict(d),
                _decided(terminal, d) if d.id in put_otherwise else proposed.get(d.item_id, d.human_summary),
                d.reason or "",
            )
            for d in found
        ]
        terminal.table([""] * 5, rows)

    terminal.emit(Decisions(listed), shown)


def _decided(terminal: Terminal, decision: ChangeDecision) -> str:
    """What was decided on, in the reader's language, as it was put in other words; what cannot be read, as stored."""
    action = ACTIONS.read(decision.tool_name, decision.args, complete=False)
    if isinstance(action, Unreadable):
        return decision.human_summary
    return action.summary(name_now(terminal, action, decision.task_id), spoken())


def _verdict(decision: ChangeDecision) -> str:
    """The word for a decision, also for one that takes another one back."""
    return word("undone" if decision.undoes else decision.verdict)


@review.command("reindex")
@common
def reindex(terminal: Terminal) -> None:
    """Compute the index of change sets again, after `lottisync check` has found it wrong.

    \b
    lottisync review reindex
    """
    index.rebuild(terminal.home.agent, clock.now())
    terminal.emit(Reindexed(reindexed=True), lambda: terminal.line(say("The index was computed again."), "green"))


def _report(terminal: Terminal, items: list[ItemView], outcomes: list[Outcome]) -> None:
    """Print what became of each of `items`, as they were; exit code 1 if one of them could not be done. An item that
    has changed since it was shown is shown as it is now, and the next verdict is about that."""
    answer = answers.VerdictsAnswer([answers.VerdictAnswer.of(each) for each in outcomes])
    names = [item.name for item in items if any(each.item == item.id and _is_stale(each) for each in outcomes)]

    def shown() -> None:
        show_outcomes(terminal, outcomes, inbox_of(terminal), items)
        if names:
            terminal.line(say("All the same: lottisync review confirm {names} --anyway", names=" ".join(names)), "dim")

    terminal.emit(answer, shown)
    remember_shown(terminal, [outcome.view for outcome in outcomes if outcome.view is not None])
    printed.follow(terminal.home.agent, outcomes, clock.now())
    if any(outcome.result not in CHANGED for outcome in outcomes):
        raise click.exceptions.Exit(1)


def _is_stale(outcome: Outcome) -> bool:
    """Whether a person who has seen the value now may confirm it all the same."""
    return outcome.result == "stale" and bool(outcome.stale) and outcome.view is None
