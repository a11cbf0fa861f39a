"""A wake: the unit of an agent's work (docs/specs/09-agents.md, section 3).

    single flight -> enqueue -> dedupe by run key -> admission -> context -> conversation -> end, in one transaction

A wake reads, asks the model, and writes the result. No call of a model changes the task here. Calls of the deferred
tools go to a `Builder`, which makes a change set for the person. The one immediate tool writes the language of a task
if the person chose none. This package may not import `review.verdict`.

A wake can be killed at any time, because of the order of its writes:

- each turn is stored before anything is done about it, and each answer before the model gets it (`thread`);
- report, observations, change sets, state and the run's end are stored in one transaction of the agent store. So
  there are no proposals without a completed wake, and no completed wake without its proposals.

If a wake is started again under the same run key, and the task has not changed since its context was read, it goes on
from its record. Otherwise it begins again in a new thread. In both cases its proposals have the same ids.

Calls of the stores are short and block. Only the model is awaited.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import tzinfo
from typing import Any, NamedTuple

import msgspec

from lottisync.agents import (
    admission,
    attention,
    budget,
    context,
    lifecycle,
    memory,
    prompt,
    queue,
    report,
    run_key,
    run_log,
    sent,
    thread,
)
from lottisync.agents.admission import Here, Withheld
from lottisync.agents.context import Context
from lottisync.agents.endpoint import choice
from lottisync.agents.lifecycle import DESTROYED
from lottisync.agents.model import (
    AssistantMessage,
    Message,
    Model,
    ModelError,
    SystemMessage,
    TokenUsage,
    ToolCall,
    ToolMessage,
    ToolSchema,
    Turn,
    UserMessage,
)
from lottisync.agents.report import ReportText
from lottisync.agents.run_key import Trigger
from lottisync.agents.run_log import COMPLETED, Run
from lottisync.agents.schedule import MAX_FAILURES, backoff
from lottisync.agents.task_agent import MAX_TURNS
from lottisync.agents.thread import Opening, RecordedCall, RecordedTurn, Thread
from lottisync.agents.tool_call import CallLimits, Calls
from lottisync.agents.toolbox import TOOLBOX, RetractSuggestions
from lottisync.agents.types import Agent, AgentMessage, AgentState
from lottisync.problem import Problem, Sentence
from lottisync.review.builder import MAX_ITEMS
from lottisync.review.precedence import AGENT
from lottisync.shown import quoted
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction

COMPLETED_MILESTONE = "wakeCompleted"
GAVE_UP_MILESTONE = "agentGaveUp"
MAX_SETS_PER_WAKE = 3
"""Change sets of one wake, unless `config.setsPerWake` is set. A person reads at most thirty changes."""
MAX_CONFIGURED_SETS = 10
MAX_CONFIGURED_TURNS = 50
"""The greatest value of `config.maxTurns`: every turn costs money."""


class WakeResult(msgspec.Struct, frozen=True, rename="camel"):
    """The result of a wake. `change_set_ids` is empty if nothing was proposed. `usage` is None if the server does not
    count tokens. `turn_limit_reached`: the model had not finished. `repeated`: the run had been completed before, and
    nothing was done now."""

    run_key: str
    thread_id: str
    change_set_ids: list[str]
    report_id: str
    observation_count: int
    turns: int
    usage: TokenUsage | None = None
    turn_limit_reached: bool = False
    repeated: bool = False


class WakeProgress(NamedTuple):
    """The progress of a wake: the turn (from 1), the number of turns, and the tool whose call was just answered.
    Without a tool, the model is being asked. In turn 0 it condenses old notes."""

    turn: int
    of: int
    tool: str | None = None


def _unwatched(progress: WakeProgress) -> None:
    """For wakes without an observer."""


async def wake(
    journal: Store,
    agent_store: Store,
    model: Model,
    trigger: Trigger,
    *,
    agent_id: str,
    device: str,
    now: Callable[[], int],
    new_id: Callable[[int], str],
    chance: float = 0.0,
    watch: Callable[[WakeProgress], None] = _unwatched,
    zone: tzinfo | None = None,
    name_of: Callable[[str], str] = str,
) -> WakeResult:
    """Wake the agent once, for `trigger`, on the device of that id.

    `now` gives wall time in ms, `new_id` an id for a time; `chance`, from 0 to 1, is the jitter of the backoff should
    this wake fail; `zone` is where the person's clock is (None: this machine's zone); `name_of` gives what people call
    a device.

    Raises `Problem`, and the run log says the same: the agent may not wake (`admission.refusal`) or is awake already; a
    store cannot be read; the model gave no answer (code `model-...`). Nothing is proposed then. Anything else that is
    raised, a cancellation too, leaves the run `started`, to be gone on with under the same trigger."""
    with agent_store.reading() as reader, journal.reading() as tasks:
        who = admission.called(tasks, lifecycle.read(reader, agent_id), lifecycle.read_state(reader, agent_id))
    with run_log.single_flight(agent_store, agent_id, who):
        with agent_store.transaction(now(), AGENT) as tx:
            run = run_log.enqueue(tx, trigger, agent_id, new_id(tx.now))
            if run.status == COMPLETED:
                queue.forget(tx, [each for each in queue.waiting(tx, agent_id) if _is_for(run, each)])
                return _repeated(tx, run)
        with agent_store.transaction(now(), AGENT) as tx:
            refusal = _refusal(tx, journal, agent_id, Here(device, tx.now, zone, name_of))
            waiting = queue.waiting(tx, agent_id)
            if refusal is not None:
                run_log.move(tx, run.run_key, "refuse", refusal)
            else:
                run_log.begin(tx, run)
        if refusal is not None:
            raise refusal
        under_way: _Wake | None = None
        try:
            under_way = _Wake(
                journal, agent_store, run, waiting, now, new_id, watch, Here(device, now(), zone, name_of)
            )
            await under_way.converse(model)
            return under_way.end()
        except Problem as problem:
            failure = problem
        with agent_store.transaction(now(), AGENT) as tx:
            here = Here(device, tx.now, zone, name_of)
            if isinstance(failure, Withheld) or _refusal(tx, journal, agent_id, here) is not None:
                # Paused, withheld, destroyed, or its task gone while it was awake: that is not a failure.
                run_log.move(tx, run.run_key, "refuse", failure)
            else:
                _fail(tx, run, failure, chance, under_way)
        raise failure


def _refusal(tx: Transaction, journal: Store, agent_id: str, here: Here) -> Problem | None:
    with journal.reading() as reader:
        return admission.refusal(reader, tx, lifecycle.read(tx, agent_id), lifecycle.read_state(tx, agent_id), here)


def _fail(tx: Transaction, run: Run, failure: Problem, chance: float, under_way: "_Wake | None") -> None:
    """No whole answer, or a task that cannot be read: say so in log and state, propose nothing, and wait; after too
    many failures in a row, sleep until a person resumes it (AGENT-21, AGENT-31)."""
    living, state = lifecycle.read(tx, run.agent_id), lifecycle.read_state(tx, run.agent_id)
    failures = state.consecutive_failure_count + 1
    fields: dict[str, Any] = {
        "consecutiveFailureCount": failures,
        "nextWakeAt": iso(tx.now + backoff(failures, chance)),
    }
    metadata = {"errorMessage": failure.message}
    if failures >= MAX_FAILURES:
        fields["nextWakeAt"] = None
        why = Sentence("{failures} failures in a row, the last: {failure}", failures=failures, failure=failure)
        if lifecycle.give_up(tx, living, why):
            metadata["milestone"] = GAVE_UP_MILESTONE
    if under_way is not None:
        fields |= under_way.failed(tx, failure, metadata)
    tx.put(state.id, "agentState", {"revision": state.revision + 1, **fields})
    run_log.move(tx, run.run_key, "fail", failure)


def _repeated(reader: Reader, run: Run) -> WakeResult:
    for message in thread.messages(reader, run.agent_id, run.thread_id):
        if message.metadata.get("milestone") == COMPLETED_MILESTONE:
            return msgspec.convert(message.metadata["result"] | {"repeated": True}, WakeResult)
    raise Problem(
        "no-record", "wake {run_key} was completed, but its record is gone. Wake the agent again", run_key=run.run_key
    )


def _is_for(run: Run, each: queue.QueuedWrites) -> bool:
    return run_key.subscription(run.agent_id, each.subscription_id, each.dots).run_key == run.run_key


class _Wake:
    """One wake under way, from its context to its end."""

    def __init__(
        self,
        journal: Store,
        agent_store: Store,
        run: Run,
        waiting: list[queue.QueuedWrites],
        now: Callable[[], int],
        new_id: Callable[[int], str],
        watch: Callable[[WakeProgress], None],
        here: Here,
    ) -> None:
        self._journal, self._agent_store, self._now, self._new_id, self._watch = (
            journal,
            agent_store,
            now,
            new_id,
            watch,
        )
        self._here = here
        self._context = context.read(journal, agent_store, run.agent_id, now(), here.zone)
        self._limit = lifecycle.setting(self._context.agent, "maxTurns", MAX_TURNS, MAX_CONFIGURED_TURNS)

        self._opening, self._recorded, written = _record(journal, agent_store, run, self._context)
        if self._opening is None and written:
            with agent_store.transaction(now(), AGENT) as tx:
                run = run_log.rethread(tx, run, new_id(tx.now))
            written = []
        self._withheld_before = self._opening.withheld if self._opening is not None else self._context.withheld
        self._run = run
        self._thread = self._writer(written)
        # Writes that waited when the context was read are part of it. An earlier context may lack some of them.
        self._answered = waiting if self._opening is None else []
        self._usage = memory.spent(written)
        self._rate: int | None = None
        self._turns = 0
        self._closing = ""
        self._is_done = False

    def _writer(self, written: list[AgentMessage]) -> Thread:
        """Makes what writes further messages of that record."""
        run, head = self._run, written[-1].id if written else self._context.state.recent_head_message_id
        return Thread(run.agent_id, run.thread_id, run.run_key, head, len(written), self._new_id)

    async def _open(self, model: Model) -> Opening:
        """Condense old notes if they have grown too many, and put down how the conversation begins."""
        if (span := self._context.memory.overflow) is not None:
            await self._condense(model, span)
            # The person may have gone on meanwhile.
            self._context = context.read(
                self._journal, self._agent_store, self._run.agent_id, self._now(), self._here.zone
            )
            self._withheld_before = self._context.withheld
        shown = self._context
        opening = Opening(
            prompt.system(shown.agent.display_name, self._limit, lifecycle.personality(shown.agent)),
            prompt.first_wake(shown) if shown.is_first else prompt.later_wake(shown),
            shown.seen,
            shown.withheld,
        )
        with self._agent_store.transaction(self._now(), AGENT) as tx:
            self._thread.opened(tx, self._run.reason, opening, self._run.reason_id)
        return opening

    async def _condense(self, model: Model, span: memory.Overflow) -> None:
        """Put down the model's summary of these notes. Without an answer they stay, the record says why, and the wake
        goes on (AGENT-491)."""
        self._watch(WakeProgress(0, self._limit))
        try:
            answer, estimate = await self._ask(model, memory.question(span), [])
        except ModelError as error:
            with self._agent_store.transaction(self._now(), AGENT) as tx:
                self._thread.noted(tx, Sentence("Old notes were not condensed: {error}", error=error))
            return
        turn, _ = thread.bounded(0, answer)
        with self._agent_store.transaction(self._now(), AGENT) as tx:
            told_of = self._context.memory.told_of
            memory.keep(tx, self._thread, self._run.agent_id, span, turn, estimate, told_of)
        self._usage = _sum(self._usage, turn.usage)

    # -- the conversation

    async def converse(self, model: Model) -> None:
        """Turn by turn until the model calls nothing more or has had its turns; turns that are on record are not
        asked for again. `ModelError` if the model gives no whole answer."""
        opening = self._opening or await self._open(model)
        self._seen = opening.seen
        self._messages: list[Message] = [SystemMessage(opening.system), UserMessage(opening.user)]
        most = lifecycle.setting(self._context.agent, "setsPerWake", MAX_SETS_PER_WAKE, MAX_CONFIGURED_SETS) * MAX_ITEMS
        # A conversation that goes on knows the proposals that its first prompt had named, and no later ones.
        waiting = [one["id"] for one in self._context.waiting if one["id"] in opening.user]
        task_id = self._context.page.task.id
        limits = CallLimits(most, self._context.budget.lookups)
        self._calls = Calls(self._journal, self._agent_store, self._run, task_id, opening.seen, limits, waiting)
        for recorded in self._recorded[: self._limit]:
            self._take(recorded)
            if self._is_done:
                return
        offered = [ToolSchema(**definition) for definition in TOOLBOX.definitions(RetractSuggestions)]
        while self._turns < self._limit and not self._is_done:
            self._watch(WakeProgress(self._turns + 1, self._limit))
            messages = self._that_fit(offered)
            answer, estimate = await self._ask(model, messages, offered)
            turn, ignored = thread.bounded(self._turns, answer)
            self._measure(messages, offered, turn.usage)
            with self._agent_store.transaction(self._now(), AGENT) as tx:
                self._thread.record(tx, self._turns, turn, ignored, estimate)
            self._take(RecordedTurn(turn, ignored, [RecordedCall(call, None) for call in turn.tool_calls]))

    async def _ask(
        self, model: Model, messages: Sequence[Message], offered: list[ToolSchema]
    ) -> tuple[Turn, int | None]:
        """Ask the model. Nothing is sent in any other way: before each request, what the person allows now is checked,
        and the request is kept (AGENT-80, AGENT-85). With it, the tokens by our estimate, if the server does not count
        them."""
        request = model.request(messages, offered)
        with self._agent_store.transaction(self._now(), AGENT) as tx:
            refused = self._withheld(tx)
            if refused is None:
                sent.keep(tx, self._run.agent_id, self._run.run_key, request)
        if refused is not None:
            raise refused
        turn = await model.complete(messages, offered)
        return turn, None if turn.usage is not None else self._context.budget.tokens_of(len(request.body))

    def _withheld(self, tx: Transaction) -> Withheld | None:
        living, state = lifecycle.read(tx, self._run.agent_id), lifecycle.read_state(tx, self._run.agent_id)
        with self._journal.reading() as journal:
            refused = admission.withheld(journal, tx, living, state, self._here._replace(now=tx.now))
            withheld = context.withheld(journal, tx, living.id, lifecycle.task_of(state), tx.now)
        if refused is None and not set(withheld) <= set(self._withheld_before):
            # It goes on by itself: the next try begins with a context that does not have it.
            with self._journal.reading() as journal:
                who = admission.called(journal, living, state)
            return Withheld("never-sent", "{who} was told of what is never sent now", who=who)
        return refused

    def _that_fit(self, offered: list[ToolSchema]) -> list[Message]:
        """The conversation in what the budget leaves beside its opening and the tools; at least what may be looked up
        has its room (AGENT-492)."""
        opening, turns = self._messages[:2], self._messages[2:]
        limits = self._context.budget
        left = limits.whole - len(msgspec.json.encode([opening, offered]))
        return [*opening, *thread.fitting(turns, max(left, limits.lookups))]

    def _measure(self, messages: list[Message], offered: list[ToolSchema], usage: TokenUsage | None) -> None:
        """Correct the rate of bytes per token by what the server counted for this question (AGENT-70)."""
        if usage is not None and usage.prompt_tokens > 0:
            asked = len(msgspec.json.encode([messages, offered]))
            self._rate = budget.corrected(asked, usage.prompt_tokens)

    def _take(self, recorded: RecordedTurn) -> None:
        """Act on a turn that is on record: what has an answer is recalled, the rest is done now."""
        number, turn = self._turns, recorded.turn
        self._turns += 1
        self._usage = _sum(self._usage, turn.usage)
        self._closing = turn.text or self._closing
        calls = [each.call for each in recorded.calls]
        self._messages.append(AssistantMessage(turn.text, tuple(calls)))
        for index, (call, result) in enumerate(recorded.calls):
            if result is None:
                result = self._answer(number, index, call, recorded.ignored if index == len(calls) - 1 else 0)
            else:
                self._calls.recall(call, result, self._now())
            self._messages.append(ToolMessage(call.id, result))
        self._is_done = not calls

    def _answer(self, number: int, index: int, call: ToolCall, ignored: int) -> str:
        answer = self._calls.answer(call, self._now())
        text = answer.text
        if ignored:
            text += f"\n{ignored} more calls of this turn were ignored: at most {thread.MAX_CALLS} are heard."
        with self._agent_store.transaction(self._now(), AGENT) as tx:
            message_id = self._thread.answered(tx, number, index, call, text, answer.succeeded)
            if answer.changed is not None:
                tx.link("tool_effect", message_id, answer.changed)
        self._watch(WakeProgress(number + 1, self._limit, call.name))
        return text

    # -- the end

    def said_last(self, tx: Transaction, said: Sentence | Problem, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Write the last message of the record, with the result and the tokens used."""
        self._thread.noted(tx, said, {**metadata, **self._spent()})
        return {"recentHeadMessageId": self._thread.head}

    def failed(self, tx: Transaction, failure: Problem, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Write the last message after a failure. It follows what is in the store: what failed may be the transaction
        that wrote the rest."""
        self._thread = self._writer(thread.messages(tx, self._run.agent_id, self._run.thread_id))
        return self.said_last(tx, failure, metadata)

    def end(self) -> WakeResult:
        """Everything that this wake leaves behind, in one transaction (AGENT-18). `Problem("destroyed")`, and nothing
        is left, if the agent was destroyed while it was awake."""
        with self._agent_store.transaction(self._now(), AGENT) as tx:
            living = lifecycle.read(tx, self._run.agent_id)
            if living.lifecycle == DESTROYED:
                raise Problem(
                    "destroyed",
                    "{agent} of {task} was destroyed while it was awake; what it wanted to say was dropped",
                    agent=living.display_name,
                    task=quoted(self._context.page.task.title),
                )
            return self._write(tx, living)

    def _write(self, tx: Transaction, living: Agent) -> WakeResult:
        run, shown = self._run, self._context
        report_id = self._new_id(tx.now)
        # What the model says now may speak of all that it was told.
        told_of = {thread.TOLD_OF: sorted(shown.told_of)} if shown.told_of else {}
        provenance = {
            "runKey": run.run_key,
            "threadId": run.thread_id,
            "journalKnowledge": self._seen.knowledge,
            **told_of,
        }
        report.put(tx, run.agent_id, report_id, report.content(self._words(), shown.page, tx.now), provenance)
        for note in self._calls.observations:
            self._thread.append(
                tx, "observation", note.text, {"priority": note.priority, "category": note.category, **told_of}
            )
        if self._calls.attention is not None:
            attention.ask(tx, run.agent_id, shown.page.task.id, self._calls.attention.arguments())
        result = WakeResult(
            run_key=run.run_key,
            thread_id=run.thread_id,
            change_set_ids=self._calls.builder.build(tx, tx.now),
            report_id=report_id,
            observation_count=len(self._calls.observations),
            turns=self._turns,
            usage=self._usage,
            turn_limit_reached=not self._is_done,
        )
        ended = {"milestone": COMPLETED_MILESTONE, "result": msgspec.to_builtins(result, enc_hook=str)}
        state = lifecycle.read_state(tx, run.agent_id)
        tx.put(
            state.id,
            "agentState",
            {
                **self.said_last(tx, Sentence("The wake was completed."), ended),
                "revision": state.revision + 1,
                "lastWakeAt": iso(tx.now),
                "nextWakeAt": None,
                "consecutiveFailureCount": 0,
                "processedCounterByHost": self._seen.knowledge,
                f"slots/{context.BEYOND}": self._seen.listed() or None,
                **self._measured(state, living),
            },
        )
        lifecycle.woken(tx, living)
        queue.forget(tx, self._answered)
        queue.forget_seen(tx, run.agent_id, self._seen)
        run_log.move(tx, run.run_key, "complete")
        return result

    def _measured(self, state: AgentState, living: Agent) -> dict[str, Any]:
        """The rate for the agent's model, if it is another one than before."""
        model = choice(living).model
        if self._rate is None or self._rate == budget.rate_of(state.slots.get(context.RATES), model):
            return {}
        return {f"slots/{context.RATES}": {str(model): self._rate}}

    def _words(self) -> ReportText:
        """The model's words; if it gave none, those of the last report; in a first wake, what it said at the end."""
        if self._calls.words is not None:
            return self._calls.words
        if self._context.report is not None:
            return report.words_from(self._context.report.content)
        return report.words_from({"tldr": self._closing})

    def _spent(self) -> dict[str, Any]:
        counted = {} if self._usage is None else msgspec.to_builtins(self._usage, str_keys=True)
        return {
            "turns": self._turns,
            "promptTokens": counted.get("prompt_tokens"),
            "completionTokens": counted.get("completion_tokens"),
        }


def _record(
    journal: Store, agent_store: Store, run: Run, present: Context
) -> tuple[Opening | None, list[RecordedTurn], list[AgentMessage]]:
    """What an earlier process recorded of this run, if all is still as that process told the model, and may be: how it
    began, its turns, its messages. Without an opening there is nothing to go on with."""
    with agent_store.reading() as reader:
        written = thread.messages(reader, run.agent_id, run.thread_id) if run.started_at else []
        opening, turns = thread.recorded(reader, written)
    if (
        opening is None
        or not context.is_current(journal, present.page.task.id, opening.seen)
        or not set(present.withheld) <= set(opening.withheld)
    ):
        return None, [], written
    return opening, turns, written


def _sum(total: TokenUsage | None, more: TokenUsage | None) -> TokenUsage | None:
    if total is None or more is None:
        return total or more
    return TokenUsage(total.prompt_tokens + more.prompt_tokens, total.completion_tokens + more.completion_tokens)
