"""What a wake has left behind, read back."""

from collections.abc import Sequence

from tests.support.device import Device

from lottisync.agents import report, run_log, thread
from lottisync.agents.model import (
    Message,
    UserMessage,
)
from lottisync.agents.run_log import Run
from lottisync.agents.types import AgentMessage, AgentReport
from lottisync.entities.view import view
from lottisync.review.change import ChangeSet

QUEUED = "Proposal queued for user review."


def run_of(device: Device, agent_id: str) -> Run:
    """The latest run of the log."""
    with device.agents.reading() as reader:
        return run_log.runs(reader, agent_id)[0]


def sets(device: Device) -> list[ChangeSet]:
    return [view(entity, ChangeSet) for entity in device.in_agents("changeSet")]


def proposed(device: Device) -> list[tuple[str, dict[str, object]]]:
    return [(item.tool_name, item.args) for each in sets(device) for item in each.items]


def current_report(device: Device, agent_id: str) -> AgentReport:
    with device.agents.reading() as reader:
        found = report.latest_report(reader, agent_id)
    assert found is not None
    return found


def thread_of(device: Device, agent_id: str) -> list[AgentMessage]:
    """The messages of the latest run."""
    with device.agents.reading() as reader:
        return thread.messages(reader, agent_id, run_of(device, agent_id).thread_id)


def user_text(messages: Sequence[Message]) -> str:
    message = messages[1]
    assert isinstance(message, UserMessage)
    return message.text
