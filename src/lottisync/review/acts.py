"""Acts of the person of both kinds: changes to the journal, and verdicts (docs/specs/11-command-line.md, section 6).

What an act in the journal wrote, `lottisync.device.reversal` takes back. A verdict is in the agent store, with a saga
of its own; it is noted by the ids of its items, and `Verdicts.undo` takes it back.

Like `verdict`, this is for a person's side only.
"""

from collections.abc import Sequence

from lottisync.device import acts, reversal
from lottisync.device.acts import Act
from lottisync.device.reversal import UndoProgress, Writer
from lottisync.language import marked
from lottisync.problem import Problem, Sentence, counted
from lottisync.review.verdict import Verdicts
from lottisync.store.store import Store

SAID = {"confirmed": marked("confirmed"), "rejected": marked("rejected"), "put off": marked("put off")}


def note_verdict(journal: Store, origin: str, verb: str, items: Sequence[str], now: int) -> None:
    """Note a verdict on proposals; `verb` is a word of `lottisync.review.verdict`. Verdicts that were taken back
    close the acts that they were, or leave them the rest."""
    if verb != "undone":
        acts.note_elsewhere(journal, now, origin, _said(Sentence(SAID.get(verb, verb)), len(items)), items)
        return
    with journal.reading() as reader:
        given = acts.about(reader, items)
    for act, rest in given:
        if rest:
            acts.note_rest(journal, now, act, _said(acts.done_in(act), len(rest)), rest)
        else:
            acts.note_elsewhere(journal, now, origin, acts.said_of_undo(act), act.about, act.n)


def _said(what: Sentence, count: int) -> Sentence:
    return acts.said_of(what, counted("{count:,} proposal", "{count:,} proposals", count))


def take_back(
    journal: Store,
    verdicts: Verdicts,
    act: Act,
    now: int,
    origin: str,
    writer: Writer,
    progress: UndoProgress = lambda done, of: None,
) -> int:
    """Take an act back, and give the number of the act that this is. `verdicts` note nothing by themselves. Raises
    `Problem` if something was written since."""
    if not act.about:
        return reversal.take_back(journal, now, origin, act, writer, progress).n
    if act.undoes is not None:
        raise Problem("not-again", "a verdict that was taken back is given again by a new verdict", hint="review")
    # The last one first: it may build on one before it.
    for item in reversed(act.about):
        outcome = verdicts.undo(item, now)
        if outcome.result not in ("undone", "already"):
            reason = outcome.message or Sentence("it was changed since")
            raise Problem("changed-since", "a verdict was not taken back: {reason}", hint="review", reason=reason)
    return acts.note_elsewhere(journal, now, origin, acts.said_of_undo(act), act.about, act.n)
