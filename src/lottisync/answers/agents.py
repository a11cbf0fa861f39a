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


class AgentAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """How an agent stands. `taskTitle` is null if its task is gone; `model` if it has none of its own.
    `taskClosed` is the status of a task that is done or rejected: the agent sleeps until it is opened again.
    `changesWaiting`: changes of its task that it has not looked at yet. `failures`: how many wakes failed in a row;
    `asleepBecause`: why it gave up. `timers`: when it wakes, by the timer's name. `tokens`: the cost of its `wakes`."""

    id: str
    name: str
    lifecycle: str
    awake: bool
    task_id: str
    task_title: str | None
    task_closed: str | None
    model: str | None
    home: AgentHome
    config: dict[str, Any]
    subscriptions: dict[str, Any]
    timers: dict[str, Instant]
    last_wake_at: Instant | None
    next_wake_at: Instant | None
    failures: int
    asleep_because: str | None
    changes_waiting: int
    wakes: int
    tokens: Tokens
    tldr: str | None


class Agents(msgspec.Struct, frozen=True):
    """All agents there ever were."""

    agents: list[AgentAnswer]


class Woken(msgspec.Struct, frozen=True, rename="camel"):
    """How a wake went. `proposed`: how many proposals it made, in the sets `changeSetIds`; `notes`: how many notes it
    took. `turnLimitReached`: the model was not done. `repeated`: this wake was complete before, and nothing was done
    now. `tokens` is null if the server does not count them."""

    id: str
    run_key: str
    thread_id: str
    report_id: str
    change_set_ids: list[str]
    proposed: int
    notes: int
    turns: int
    turn_limit_reached: bool
    repeated: bool
    tokens: Tokens | None


class TimerSet(msgspec.Struct, frozen=True):
    """The agent wakes at `at`, where a daemon runs."""

    id: str
    timer: str
    at: Instant


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
    error: str | None
    tokens: Tokens


class Runs(msgspec.Struct, frozen=True):
    """The wakes of an agent, the latest first."""

    wakes: list[RunAnswer]


class Message(msgspec.Struct, frozen=True):
    """What was said or done in a wake; `tool` is null if it was no call of a tool."""

    at: Instant
    kind: str
    tool: str | None
    text: str


class Conversation(msgspec.Struct, frozen=True):
    """All of a wake, in order."""

    messages: list[Message]
