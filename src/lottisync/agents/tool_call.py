"""What becomes of a tool call (docs/specs/09-agents.md, section 7; seeds 001, section 4, and 002, "Routing").

| class     | tools                              | what is done                                                |
|-----------|------------------------------------|-------------------------------------------------------------|
| local     | update_report, record_observations | kept for the end of the wake                                |
| immediate | set_task_language                  | one write to the task, with the agent's precedence          |
| deferred  | all others                         | queued in the `Builder`; a person decides                   |
| none      | unknown name, bad arguments        | nothing; the answer says what was wrong                     |

Every call is answered, in a sentence that a model can act on; no call is an error of the program.

The immediate write is the only one that an agent makes to the journal without a verdict. It yields to the person
here and on every other device (`lottisync.review.immediate`).
"""

from typing import Any, NamedTuple, assert_never

from lottisync.agents import report, thread
from lottisync.agents.model import ToolCall
from lottisync.agents.report import Words
from lottisync.agents.run_log import Run
from lottisync.agents.seen import Seen
from lottisync.review import immediate, tools
from lottisync.review.builder import Builder
from lottisync.review.precedence import AGENT
from lottisync.review.terms import terms_of
from lottisync.review.tools import BadCall, ParsedCall
from lottisync.store.store import Store

MAX_OBSERVATIONS = 20
"""Notes of one wake; an agent that notes more is keeping a transcript."""


RETRACT = "retract_suggestions"
"""Takes the agent's own proposals back: kept by the builder until the end of the wake, like what it proposes."""


class Answer(NamedTuple):
    """What the model is told, and the id of the journal entity that was changed at once, if one was."""

    text: str
    changed: str | None = None


class Calls:
    """The calls of one wake, and what they leave for its end. At most `most` changes are considered: not all of
    those are queued, but a model that has tried as many is not proposing any more."""

    def __init__(self, journal: Store, agents: Store, run: Run, task_id: str, seen: Seen, most: int) -> None:
        self._journal, self._agents, self._agent_id, self._task_id = journal, agents, run.agent_id, task_id
        self._most, self._considered = most, 0
        self.words: Words | None = None
        self.observations: list[str] = []
        self.builder = Builder(
            journal,
            agents,
            agent_id=run.agent_id,
            task_id=task_id,
            run_key=run.run_key,
            thread_id=run.thread_id,
            context_knowledge=seen.knowledge,
            context_beyond=seen.beyond,
        )

    def answer(self, call: ToolCall, now: int) -> Answer:
        """Do what the call asks for, as far as that is allowed."""
        parsed = _parsed(call)
        if isinstance(parsed, BadCall):
            return Answer(parsed.text)
        match tools.TOOLS[parsed.tool].kind:
            case "local":
                return Answer(self._keep(parsed))
            case "immediate" if parsed.tool == RETRACT:
                return Answer(self.builder.queue(parsed.tool, parsed.args, now))
            case "immediate":
                return self._set_language(parsed.args, now)
            case "deferred":
                return Answer(self._propose(parsed, now))
            case kind:
                assert_never(kind)

    def recall(self, call: ToolCall, now: int) -> None:
        """Bring back what a call left for the end, one that was answered before the process was killed. What it
        wrote to the journal is there already."""
        parsed = _parsed(call)
        if isinstance(parsed, ParsedCall) and parsed.tool in tools.LOCAL:
            self._keep(parsed)
        elif isinstance(parsed, ParsedCall) and parsed.tool in tools.DEFERRED:
            self._propose(parsed, now)
        elif isinstance(parsed, ParsedCall) and parsed.tool == RETRACT:
            self.builder.queue(parsed.tool, parsed.args, now)

    def _propose(self, call: ParsedCall, now: int) -> str:
        parts = sum(1 for _ in tools.exploded(call))
        if self._considered + parts > self._most:
            return (
                f"Rejected: a wake proposes at most {self._most} changes, and {self._considered} were considered. "
                "Keep the rest for a later wake."
            )
        self._considered += parts
        return self.builder.queue(call.tool, call.args, now)

    def _keep(self, call: ParsedCall) -> str:
        if call.tool == "update_report":
            self.words = report.words_from(call.args)
            return "Report updated."
        noted = call.args["observations"]
        room = MAX_OBSERVATIONS - len(self.observations)
        self.observations += noted[:room]
        if len(noted) > room:
            return f"Noted {room} of {len(noted)}: a wake keeps {MAX_OBSERVATIONS} observations."
        return f"Noted {len(noted)} observation(s)."

    def _set_language(self, args: dict[str, Any], now: int) -> Answer:
        with self._agents.reading() as reader:
            terms = terms_of(reader, self._agent_id)
        with self._journal.transaction(now, AGENT) as tx:
            before = tx.entity(self._task_id)
            text = immediate.set_language(tx, self._task_id, args, terms)
            after = tx.entity(self._task_id)
        return Answer(text, self._task_id if before != after else None)


def _parsed(call: ToolCall) -> ParsedCall | BadCall:
    if len(call.arguments) > thread.MAX_TEXT:
        return BadCall(f"{call.name}: the arguments have more than {thread.MAX_TEXT} characters. Ask for less at once.")
    return tools.parse_call(call.name, call.arguments)
