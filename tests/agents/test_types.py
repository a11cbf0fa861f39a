"""The types of the agent store: their names and fields."""

from lottisync.daemon.stores import AGENT_STORE


def test_the_six_kinds_of_entity_and_the_eight_relations_are_there() -> None:
    """STORE-10, S3-13, S3-16"""
    entities = {name for name, described in AGENT_STORE.types.items() if not described.link}
    links = {name for name, described in AGENT_STORE.types.items() if described.link}
    assert entities >= {
        "agent",
        "agentState",
        "agentMessage",
        "agentMessagePayload",
        "agentReport",
        "agentReportHead",
        "changeSet",
        "changeDecision",
    }
    assert links >= {
        "agent_state",
        "agent_head_message",
        "message_prev",
        "message_payload",
        "agent_report_head",
        "report_source_span",
        "tool_effect",
        "agent_task",
    }
