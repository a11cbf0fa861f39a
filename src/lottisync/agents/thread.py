"""A thread: the record of one wake's conversation, written while it happens (docs/specs/09-agents.md, section 5).

Every turn is stored before anything is done about it, and every result before the model gets it. So a person can
follow an agent's work, and a killed wake goes on from its record: turns are not asked (and paid) for again, and calls
are not carried out again.

Messages are immutable and form a chain: each names the one before it, the first of a wake the last of the wake
before. `metadata.ordinal` is the position in the thread, for readers that sort; `turn` and `call` say which turn of the
model, and which call of it, a message belongs to. Long content is in a payload.

| kind        | text                                   | metadata                                        |
|-------------|----------------------------------------|-------------------------------------------------|
| user        | why it woke; payload: both prompts     | runKey, contextKnowledge, contextBeyond         |
| thought     | what the model said                    | turn, finishReason, token counts, ignoredCalls  |
| action      | the arguments of one call, as they came| turn, call, callId, toolName                    |
| toolResult  | what the model was answered            | turn, call, callId, toolName, succeeded         |
| observation | what it wants to remember              | runKey, priority, category, toldOf              |
| summary     | its older observations, condensed      | token counts, toldOf; summaryStart-, -EndMessage|
| system      | how the wake ended                     | words; milestone and result, or errorMessage    |
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from lottisync import wording
from lottisync.agents import seen
from lottisync.agents.model import AssistantMessage, Message, TokenUsage, ToolCall, ToolMessage, Turn
from lottisync.agents.seen import Seen
from lottisync.agents.types import AgentMessage, AgentMessagePayload, AgentState
from lottisync.entities.view import view
from lottisync.problem import Problem, Sentence
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

MAX_INLINE = 500
"""Characters of content in the message itself. Longer content is in a payload, so that a list of messages is quick to
read."""
PREVIEW = 200
MAX_TEXT = 80_000
"""Characters of one text of the model; longer texts are cut. In the worst JSON a character takes six bytes, so such a
text fits into a document. It is more than any answer about one task needs."""
MAX_CALLS = 32
"""Calls of one turn that are answered. A task has eight fields, and there is a batch tool for its checklist."""
MAX_NAME = 128
MAX_TOKENS = 10**9
"""A greater token count of one turn is taken for an error, and dropped."""
TOLD_OF = "toldOf"
"""In the metadata of what an agent says, and in the provenance of its report: ids of the other tasks that its model was
told of then, so that these words may speak of them."""
ESTIMATED = "estimatedTokens"
"""In the metadata of a turn that the server did not count."""
WORDS = "words"
"""In the metadata of a message of this program: its sentence as `lottisync.wording` stores it."""
_WHOLE = MAX_TEXT * 10
_LENGTHS = (
    (_WHOLE, _WHOLE),
    (4_000, _WHOLE),
    (1_000, _WHOLE),
    (200, _WHOLE),
    (200, 4_000),
    (200, 1_000),
    (100, 100),
)
"""Characters to which what the model said, and what it was answered, are cut; the first that fit."""
_WIRE = 100
"""Bytes that a message or a call takes in a request beside its content, at most."""
CHARS_PER_TOKEN = 4
"""The usual estimate, where no tokenizer is at hand."""


class RecordedCall(NamedTuple):
    call: ToolCall
    result: str | None


class RecordedTurn(NamedTuple):
    turn: Turn
    ignored: int
    calls: list[RecordedCall]


class Opening(NamedTuple):
    """How a recorded conversation began: the two prompts, what their context had seen of the journal, and
    what it could have named and did not (`context.withheld`)."""

    system: str
    user: str
    seen: Seen
    withheld: tuple[str, ...] = ()


class Thread:
    """Writes messages of one wake. `head` is the id of the thread's last message, which the next one names; None if
    it has none."""

    def __init__(
        self, agent_id: str, thread_id: str, run_key: str, head: str | None, ordinal: int, new_id: Callable[[int], str]
    ) -> None:
        self.agent_id, self.thread_id, self.run_key = agent_id, thread_id, run_key
        self.head = head
        self._ordinal = ordinal
        self._new_id = new_id

    def append(
        self,
        tx: Transaction,
        kind: str,
        text: str,
        metadata: Mapping[str, Any] = {},
        *,
        content: Mapping[str, Any] | None = None,
        trigger: str | None = None,
        span: Mapping[str, Any] = {},
    ) -> str:
        """One more message; returns its id. `content` is long content for a payload; without it, a text that is
        too long for the message is moved there as `{"text": ...}`. `span` says what a summary sums up."""
        message_id = self._new_id(tx.now)
        if content is None and len(text) > MAX_INLINE:
            content, text = {"text": text}, text[:PREVIEW] + "…"
        fields = {
            "agentId": self.agent_id,
            "threadId": self.thread_id,
            "kind": kind,
            "text": text,
            "prevMessageId": self.head,
            "triggerSourceId": trigger,
            "tokensApprox": _characters(text, content) // CHARS_PER_TOKEN,
            "metadata": {"runKey": self.run_key, "ordinal": self._ordinal, **_present(metadata)},
            **span,
            "createdAt": iso(tx.now),
        }
        if content is not None:
            payload_id = self._new_id(tx.now)
            tx.put(
                payload_id,
                "agentMessagePayload",
                {
                    "agentId": self.agent_id,
                    "content": dict(content),
                    "createdAt": iso(tx.now),
                },
            )
            fields["contentEntryId"] = payload_id
        tx.put(message_id, "agentMessage", _present(fields))
        self.head = message_id
        self._ordinal += 1
        return message_id

    def noted(self, tx: Transaction, said: Sentence | Problem, metadata: Mapping[str, Any] = {}) -> str:
        """A message of this program: English, with the words for a reader of another language."""
        text = said.message if isinstance(said, Problem) else str(said)
        return self.append(tx, "system", text, {**metadata, WORDS: wording.plain(said)})

    # -- the parts of a conversation

    def opened(self, tx: Transaction, reason: str, opening: Opening, trigger: str) -> None:
        self.append(
            tx,
            "user",
            reason,
            {
                "contextKnowledge": opening.seen.knowledge,
                "contextBeyond": opening.seen.listed() or None,
                "contextWithheld": list(opening.withheld) or None,
            },
            content={"system": opening.system, "user": opening.user},
            trigger=trigger,
        )

    def record(self, tx: Transaction, number: int, turn: Turn, ignored: int, estimate: int | None = None) -> None:
        """A turn as it came: what the model said, and every call it asked for. `estimate`: its tokens, if the server
        did not count them."""
        usage = turn.usage
        self.append(
            tx,
            "thought",
            turn.text,
            {
                "turn": number,
                "finishReason": turn.finish_reason,
                "promptTokens": usage.prompt_tokens if usage else None,
                "completionTokens": usage.completion_tokens if usage else None,
                ESTIMATED: estimate,
                "ignoredCalls": ignored or None,
            },
        )
        for index, call in enumerate(turn.tool_calls):
            self.append(tx, "action", call.arguments, _of_call(number, index, call))

    def answered(
        self, tx: Transaction, number: int, index: int, call: ToolCall, result: str, succeeded: bool = True
    ) -> str:
        return self.append(tx, "toolResult", result, {**_of_call(number, index, call), "succeeded": succeeded})


def _of_call(number: int, index: int, call: ToolCall) -> dict[str, Any]:
    return {"turn": number, "call": index, "callId": call.id, "toolName": call.name}


def _present(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _characters(text: str, content: Mapping[str, Any] | None) -> int:
    return sum(len(str(part)) for part in content.values()) if content is not None else len(text)


# -- what comes from a model is cut to what can be kept


def bounded(number: int, turn: Turn) -> tuple[Turn, int]:
    """Turn `number` as it is kept and acted on, and how many of its calls were ignored: texts that no document
    can hold are cut, half surrogates replaced, ids that are empty or used twice renamed. Nothing else ever sees
    the original, so a wake that goes on from its record sends the model the same texts again."""
    calls: dict[str, ToolCall] = {}
    for index, call in enumerate(turn.tool_calls[:MAX_CALLS]):
        # Servers refuse a conversation in which an answer could belong to two calls, or to none.
        own_id = _cut(call.id, MAX_NAME)
        call_id = f"call-{number}-{index}" if not own_id or own_id in calls else own_id
        calls[call_id] = ToolCall(call_id, _cut(call.name, MAX_NAME), _cut(call.arguments, MAX_TEXT + 1))
    usage = turn.usage
    if usage is not None and not all(0 <= n <= MAX_TOKENS for n in (usage.prompt_tokens, usage.completion_tokens)):
        usage = None
    kept = Turn(_cut(turn.text, MAX_TEXT), tuple(calls.values()), _cut(turn.finish_reason, MAX_NAME), usage)
    return kept, len(turn.tool_calls) - len(calls)


def _cut(text: str, length: int) -> str:
    return text[:length].encode("utf-8", "replace").decode()


# -- what is sent of earlier turns is cut to what fits


def fitting(turns: Sequence[Message], room: int) -> list[Message]:
    """The conversation behind its opening in at most `room` bytes, for a model that is to go on with it (AGENT-492).

    What the model itself said is cut first, then what it was answered, then the oldest turns are left out. A cut
    text says how many bytes are missing. The record keeps all, and each call was answered as it came."""
    for own, answers in _LENGTHS:
        cut = [_shortened(message, own, answers) for message in turns]
        if sum(map(_weight, cut)) <= room:
            return cut
    while sum(map(_weight, cut)) > room:
        cut = _without_oldest(cut)
    return cut


def _shortened(message: Message, own: int, answers: int) -> Message:
    match message:
        case AssistantMessage(text, calls):
            short = [ToolCall(call.id, call.name, _short_arguments(call.arguments, own)) for call in calls]
            return AssistantMessage(_short(text, own), tuple(short))
        case ToolMessage(call_id, text):
            return ToolMessage(call_id, _short(text, answers))
    return message


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}… ({_bytes(text[length:])} more bytes, not sent again)"


def _short_arguments(arguments: str, length: int) -> str:
    """The arguments, cut. They are JSON again, because servers parse the arguments of earlier calls."""
    if len(arguments) <= length:
        return arguments
    note = f"The call arrived whole; {_bytes(arguments[length:])} bytes of it are not sent again."
    return msgspec.json.encode({"beginning": arguments[:length], "note": note}).decode()


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _weight(message: Message) -> int:
    calls = len(message.tool_calls) if isinstance(message, AssistantMessage) else 0
    return len(msgspec.json.encode(message)) + _WIRE * (1 + calls)


def _without_oldest(turns: list[Message]) -> list[Message]:
    """The conversation without its oldest turn and the answers to it. If only one turn is left, the turn loses its
    first call and the answer to it. So each answer keeps its call."""
    starts = [index for index, message in enumerate(turns) if isinstance(message, AssistantMessage)]
    if len(starts) > 1:
        return turns[starts[1] :]
    last, answers = turns[0], turns[1:]
    if not isinstance(last, AssistantMessage) or not last.tool_calls:
        return []
    dropped, *kept = last.tool_calls
    left = [each for each in answers if not (isinstance(each, ToolMessage) and each.tool_call_id == dropped.id)]
    return [AssistantMessage(last.text, tuple(kept)), *left] if kept else []


# -- reading


def messages(reader: Reader, agent_id: str, thread_id: str) -> list[AgentMessage]:
    """The messages of a thread as they were written."""
    found = [view(entity, AgentMessage) for entity in reader.by_type("agentMessage", owner=agent_id)]
    return sorted((m for m in found if m.thread_id == thread_id), key=ordinal)


def observations(reader: Reader, agent_id: str) -> list[AgentMessage]:
    """All that the agent ever noted, oldest first (S3-43)."""
    found = [view(e, AgentMessage) for e in reader.by_type("agentMessage", owner=agent_id, subtype="observation")]
    return sorted(found, key=lambda message: (message.created_at, ordinal(message), message.id))


def spent(reader: Reader, agent_id: str) -> dict[str, TokenUsage]:
    """The tokens that each run of the agent has cost so far, by run key; on all devices, finished or not. They are
    counted by what the model said, so a turn that was continued after a crash counts once."""
    found: dict[str, TokenUsage] = {}
    for kind in ("thought", "summary"):
        for entity in reader.by_type("agentMessage", owner=agent_id, subtype=kind):
            metadata = view(entity, AgentMessage).metadata
            if "promptTokens" in metadata:
                run = str(metadata.get("runKey", ""))
                before = found.get(run, TokenUsage(0, 0))
                found[run] = TokenUsage(
                    before.prompt_tokens + natural(metadata["promptTokens"]),
                    before.completion_tokens + natural(metadata.get("completionTokens")),
                )
    return found


def natural(value: object) -> int:
    """A number of tokens; 0 for anything else that another program has written there."""
    return value if isinstance(value, int) and value > 0 else 0


def content(reader: Reader, message: AgentMessage) -> dict[str, Any]:
    """The message's payload, or `{"text": ...}` where the text says it all."""
    payload = reader.document(message.content_entry_id) if message.content_entry_id else None
    return {"text": message.text} if payload is None else payload.view(AgentMessagePayload).content


def full_text(reader: Reader, message: AgentMessage) -> str:
    """The whole text; of a message of this program a `Sentence`, which can be said in another language."""
    said = wording.of_field(message.metadata.get(WORDS)) if message.kind == "system" else None
    return said or str(content(reader, message).get("text", message.text))


def failed_because(reader: Reader, state: AgentState) -> Sentence | None:
    """Why the last wake failed, on whichever device it was; None if it did not."""
    last = reader.document(state.recent_head_message_id) if state.recent_head_message_id else None
    metadata = last.view(AgentMessage).metadata if last is not None else {}
    why = metadata.get("errorMessage")
    return wording.of_field(metadata.get(WORDS, why)) if isinstance(why, str) else None


def told_of(message: AgentMessage) -> list[str]:
    """The other tasks of which the message may speak."""
    return listed(message.metadata.get(TOLD_OF))


def listed(ids: object) -> list[str]:
    """The ids that are kept under `TOLD_OF`. Any device may have written it, so what is not text counts as absent."""
    return [ident for ident in ids if isinstance(ident, str)] if isinstance(ids, list) else []


def ordinal(message: AgentMessage) -> int:
    """Its position in its thread."""
    ordinal = message.metadata.get("ordinal")
    return ordinal if isinstance(ordinal, int) else 0


def recorded(reader: Reader, written: list[AgentMessage]) -> tuple[Opening | None, list[RecordedTurn]]:
    """A thread as the conversation it records, for a wake that goes on with it."""
    opening: Opening | None = None
    turns: list[RecordedTurn] = []
    for message in written:
        metadata = message.metadata
        match message.kind:
            case "user":
                prompts = content(reader, message)
                before = seen.stored(metadata["contextKnowledge"], metadata.get("contextBeyond"))
                opening = Opening(
                    str(prompts["system"]), str(prompts["user"]), before, tuple(metadata.get("contextWithheld", ()))
                )
            case "thought":
                usage = (
                    TokenUsage(metadata["promptTokens"], metadata["completionTokens"])
                    if "promptTokens" in metadata
                    else None
                )
                turn = Turn(full_text(reader, message), (), metadata["finishReason"], usage)
                turns.append(RecordedTurn(turn, metadata.get("ignoredCalls", 0), []))
            case "action":
                call = ToolCall(metadata["callId"], metadata["toolName"], full_text(reader, message))
                turns[-1].calls.append(RecordedCall(call, None))
            case "toolResult":
                call, _ = turns[metadata["turn"]].calls[metadata["call"]]
                turns[metadata["turn"]].calls[metadata["call"]] = RecordedCall(call, full_text(reader, message))
    return opening, turns
