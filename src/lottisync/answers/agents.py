"""Answers about agents: how they stand, their wakes, what they said."""

from typing import Any

import msgspec

from lottisync.answers.form import DeviceId, Instant


class Tokens(msgspec.Struct, frozen=True):
    """What models read and wrote, as their servers counted."""

    read: int
    written: int


class AgentHome(msgspec.Struct, frozen=True, rename="camel"):
    """The device on which an agent wakes. `offered`: it was away for so long that another may take the agent over.
    `name` is null for a device that is not known here."""

    id: DeviceId
    name: str | None
    last_seen_at: Instant | None
    offered: bool


class WithheldAnswer(msgspec.Struct, frozen=True):
    """Why nothing is sent to an agent's model now: `code` is `agents-off`, `never-sent`, `no-endpoint` or `budget`;
    `text` says it in a sentence; `until` is when it goes on by itself, or null."""

    code: str
    text: str
    until: Instant | None


class AgentAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """How an agent stands. `taskTitle` is null if its task is gone; `model` if it has none of its own, `endpoint` if it
    asks the server that the environment names. `withheld` is null if its model may be asked. `taskClosed` is the status
    of a task that is done or rejected: the agent sleeps until it is opened again. `changesWaiting`: changes of its task
    that it has not looked at yet. `failures`: how many wakes failed in a row; `failure`: why the last of them did;
    `asleepReason`: why it gave up. `timers`: when it wakes, by the timer's name. `tokens`: the cost of its wakes, of
    which there were `wakeCount`; `tokensToday`: what counts for its limit of the day. `attentionReason`: why it asks
    the person to look, or null."""

    id: str
    name: str
    lifecycle: str
    awake: bool
    task_id: str
    task_title: str | None
    task_closed: str | None
    model: str | None
    endpoint: str | None
    withheld: WithheldAnswer | None
    home_device: AgentHome
    config: dict[str, Any]
    subscriptions: dict[str, Any]
    timers: dict[str, Instant]
    last_wake_at: Instant | None
    next_wake_at: Instant | None
    failures: int
    failure: str | None
    asleep_reason: str | None
    changes_waiting: int
    wake_count: int
    tokens: Tokens
    tokens_today: int
    attention_reason: str | None
    tldr: str | None


class Agents(msgspec.Struct, frozen=True):
    """All agents there ever were."""

    agents: list[AgentAnswer]


class Woken(msgspec.Struct, frozen=True, rename="camel"):
    """How a wake went. `proposalsMade`: how many proposals it made, in the sets `changeSetIds`; `notes`: how many notes
    it took. `turnLimitReached`: the model was not done. `repeated`: this wake was complete before, and nothing was done
    now. `tokens` is null if the server does not count them."""

    agent_id: str
    run_key: str
    thread_id: str
    report_id: str
    change_set_ids: list[str]
    proposals_made: int
    notes: int
    turns: int
    turn_limit_reached: bool
    repeated: bool
    tokens: Tokens | None


class TimerSet(msgspec.Struct, frozen=True, rename="camel"):
    """The agent wakes at `at`, where a daemon runs."""

    agent_id: str
    timer: str
    at: Instant


class AgentRules(msgspec.Struct, frozen=True, rename="camel"):
    """What holds for all agents on all devices: whether they are `off`, how many tokens they may use in a day together
    (null: no limit), and how many they have used today, as far as this device knows."""

    off: bool
    tokens_a_day: int | None
    tokens_today: int


class MarkedAnswer(msgspec.Struct, frozen=True):
    """Something that is never sent to a model. `type` is `task`, `label` or `category`."""

    id: str
    type: str
    name: str


class NeverSent(msgspec.Struct, frozen=True):
    """All that the person has marked as never to be sent."""

    marked: list[MarkedAnswer]


class SentAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """A request that was sent to a model: its number, the wake, when and where to, and its size in bytes."""

    number: int
    run_key: str
    at: Instant
    address: str
    bytes: int


class Sent(msgspec.Struct, frozen=True):
    """The requests of an agent that are kept, the latest first."""

    requests: list[SentAnswer]


class SentBody(msgspec.Struct, frozen=True):
    """A request with its body, as it was sent."""

    request: SentAnswer
    body: str


class ReportAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """What the agent reported last."""

    id: str
    agent_id: str
    created_at: Instant
    content: dict[str, Any]


class RunAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """A wake on this device: why it began (`reason` and what that was, `reasonId`), and how it ended."""

    run_key: str
    reason: str
    reason_id: str
    status: str
    created_at: Instant
    completed_at: Instant | None
    failure: str | None
    tokens: Tokens


class Runs(msgspec.Struct, frozen=True, rename="camel"):
    """The wakes of an agent on this device, the latest first. The agent wakes on the device `homeDeviceName` now; that
    is null for a device that is not known here, and `taskTitle` for a task that is gone."""

    agent_name: str
    task_title: str | None
    home_device_name: str | None
    wakes: list[RunAnswer]


class Changed(msgspec.Struct, frozen=True):
    """An entity of the journal that a call changed; `name` is its title, if it has one."""

    id: str
    type: str
    name: str | None


class MessageAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """What was said or done in a wake; `text` is null for a turn that only calls tools. `tool` is null if it was no
    call of a tool. `succeeded` says of the answer to a call whether the call did anything, and is null for all else.
    `changedEntities`: what it changed at once. `priority` and `category` are those of a note, and null for all else."""

    at: Instant
    kind: str
    tool: str | None
    text: str | None
    succeeded: bool | None = None
    changed_entities: list[Changed] = []
    priority: str | None = None
    category: str | None = None


class ConversationAnswer(msgspec.Struct, frozen=True):
    """All of a wake, in order."""

    messages: list[MessageAnswer]


class AttentionWanted(msgspec.Struct, frozen=True, rename="camel"):
    """An agent wants the person to look at its task: for about so many minutes, with an impact and an urgency from 1
    to 5, and with little, usual or much energy (`low`, `neutral`, `high`)."""

    agent_id: str
    agent_name: str
    task_id: str
    task_title: str
    reason: str
    minutes: int
    impact: int
    urgency: int
    energy_fit: str
    asked_at: Instant
