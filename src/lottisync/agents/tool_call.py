"""What becomes of a tool call (docs/specs/09-agents.md, section 7).

| class     | tools                           | what is done                                                |
|-----------|---------------------------------|-------------------------------------------------------------|
| local     | report, observations, attention | kept for the end of the wake                                |
| immediate | language                        | one write to the task, with the agent's precedence          |
| immediate | retraction                      | kept by the `Builder` for the end of the wake               |
| deferred  | all others                      | queued in the `Builder`; a person decides                   |
| immediate | read_entries, search_task       | answered from the stores; nothing is changed                |
| none      | unknown name, bad arguments     | nothing; the answer says what was wrong                     |

Every call is answered, in a sentence that a model can act on; no call is an error of the program.

The immediate write is the only one that an agent makes to the journal without a verdict. It yields to the person
here and on every other device.
"""

from collections.abc import Iterable
from typing import NamedTuple

from lottisync.agents import context, report, thread
from lottisync.agents.lookup import Lookups
from lottisync.agents.model import ToolCall
from lottisync.agents.report import ReportText
from lottisync.agents.run_log import Run
from lottisync.agents.seen import Seen
from lottisync.agents.toolbox import (
    TOOLBOX,
    Observation,
    ReadEntries,
    RecordObservations,
    RequestAttention,
    RetractSuggestions,
    SearchTask,
    UpdateReport,
)
from lottisync.journal import never_sent
from lottisync.journal.arguments import Call, ImmediateCall
from lottisync.journal.task_action import ActionBatch, TaskAction
from lottisync.journal.toolbox import ACTIONS, BadCall
from lottisync.review.builder import Builder
from lottisync.review.policy import policy_of
from lottisync.review.precedence import AGENT
from lottisync.review.retraction import Staged
from lottisync.store.store import Store

MAX_OBSERVATIONS = 20
"""Notes of one wake; an agent that notes more is keeping a transcript."""


REFUSED = ("Rejected", "Skipped")
"""How an answer begins if nothing of the call was done."""


class ToolAnswer(NamedTuple):
    """The answer for the model, the id of the journal entity that was changed at once, if any, and whether the call
    did anything: False if it was refused or skipped."""

    text: str
    changed: str | None = None
    succeeded: bool = True


class CallLimits(NamedTuple):
    """The limits of one wake: how many changes are considered, and how many bytes it may look up."""

    changes: int
    lookups: int


class Calls:
    """The calls of one wake, and what they leave for its end. At most `limits.changes` are considered: not all of
    those are queued, but a model that has tried as many is not proposing any more. `waiting` are the agent's own
    proposals that the model was told of."""

    def __init__(
        self,
        journal: Store,
        agent_store: Store,
        run: Run,
        task_id: str,
        seen: Seen,
        limits: CallLimits,
        waiting: Iterable[str] = (),
    ) -> None:
        self._journal, self._agent_store, self._agent_id, self._task_id = journal, agent_store, run.agent_id, task_id
        self._most, self._considered = limits.changes, 0
        self._lookups = Lookups(run.agent_id, task_id, limits.lookups)
        self.words: ReportText | None = None
        self.observations: list[Observation] = []
        self.attention: RequestAttention | None = None
        self.builder = Builder(
            journal,
            agent_store,
            agent_id=run.agent_id,
            task_id=task_id,
            run_key=run.run_key,
            thread_id=run.thread_id,
            actions=ACTIONS,
            context_knowledge=seen.knowledge,
            context_beyond=seen.beyond,
            context_waiting=waiting,
        )

    def answer(self, call: ToolCall, now: int) -> ToolAnswer:
        """Do what the call asks for, as far as that is allowed."""
        parsed = _parsed(call)
        if isinstance(parsed, BadCall):
            return ToolAnswer(parsed.text, succeeded=False)
        if isinstance(parsed, ImmediateCall):
            return self._at_once(parsed, now)
        if isinstance(parsed, ReadEntries | SearchTask):
            with self._agent_store.reading() as agents, self._journal.reading() as journal:
                return _answer(self._lookups.answer(journal, agents, parsed))
        return _answer(parsed.answered(self._take(parsed, now)))

    def recall(self, call: ToolCall, result: str, now: int) -> None:
        """Bring back what a call left for the end, one that was answered before the process was killed. What it
        wrote to the journal is there already."""
        parsed = _parsed(call)
        if isinstance(parsed, ReadEntries | SearchTask):
            self._lookups.spend(result)
        elif not isinstance(parsed, BadCall | ImmediateCall):
            self._take(parsed, now)

    def _take(self, call: Call, now: int) -> str:
        """Keep the arguments for the end of the wake; returns the answer."""
        match call:
            case TaskAction() | ActionBatch():
                return self._propose(call, now)
            case RetractSuggestions():
                return self.builder.retract([Staged(one.id, one.reason) for one in call.proposals], now)
            case UpdateReport():
                self.words = report.words_from(call.arguments())
                return "Report updated."
            case RecordObservations():
                return self._note(call)
            case RequestAttention():
                self.attention = call
                return "The user is asked for attention when this wake ends."
        raise AssertionError(f"nobody handles {call.tool}")

    def _propose(self, call: TaskAction | ActionBatch, now: int) -> str:
        parts = len(call.parts())
        if self._considered + parts > self._most:
            return (
                f"Rejected: a wake proposes at most {self._most} changes, and {self._considered} were considered. "
                "Keep the rest for a later wake."
            )
        self._considered += parts
        if hidden := self._hidden(call):
            return f"Rejected: {hidden}: not found"
        return self.builder.propose(call, now)

    def _hidden(self, call: TaskAction | ActionBatch) -> str | None:
        """The id in the arguments that no model is told of, if there is one. The call is answered as if it were not
        here."""
        arguments = (text for part in call.parts() for text in context.texts(part.arguments()))
        with self._journal.reading() as journal:
            return next((ident for ident in arguments if never_sent.is_withheld(journal, ident)), None)

    def _note(self, call: RecordObservations) -> str:
        noted = call.observations
        room = MAX_OBSERVATIONS - len(self.observations)
        self.observations += noted[:room]
        if len(noted) > room:
            return f"Noted {room} of {len(noted)}: a wake keeps {MAX_OBSERVATIONS} observations."
        return f"Noted {len(noted)} observation(s)."

    def _at_once(self, call: ImmediateCall, now: int) -> ToolAnswer:
        with self._agent_store.reading() as reader:
            policy = policy_of(reader, self._agent_id)
        with self._journal.transaction(now, AGENT) as tx:
            before = tx.entity(self._task_id)
            text = call.at_once(tx, self._task_id, policy)
            after = tx.entity(self._task_id)
        return _answer(text, self._task_id if before != after else None)


def _answer(text: str, changed: str | None = None) -> ToolAnswer:
    return ToolAnswer(text, changed, not text.startswith(REFUSED))


def _parsed(call: ToolCall) -> Call | BadCall:
    if len(call.arguments) > thread.MAX_TEXT:
        return BadCall(f"{call.name}: the arguments have more than {thread.MAX_TEXT} characters. Ask for less at once.")
    return TOOLBOX.parse(call.name, call.arguments)
