import pytest
from tests.support.counted import NOON
from tests.support.device import Device

from lottisync.agents import report
from lottisync.agents.lifecycle import report_head_id
from lottisync.agents.report import MAX_ENTRIES, MAX_WORDS, ReportText
from lottisync.entities.entity import HIGH, LOW
from lottisync.journal.tasks import TaskPage
from lottisync.journal.types import Task


@pytest.mark.parametrize(
    ("minutes", "text"), [(0, "0m"), (1, "1m"), (59, "59m"), (60, "1h"), (90, "1h 30m"), (240, "4h"), (1440, "24h")]
)
def test_durations_read_like_the_plans(minutes: int, text: str) -> None:
    """S3-70"""
    assert report.duration(minutes) == text


def test_what_is_not_set_is_there_as_nothing() -> None:
    """AGENT-16, S3-70"""
    filled = report.content(ReportText(), TaskPage(Task("t", title="T"), [], [], [], [], []), NOON)
    assert tuple(filled) == report.FIELDS
    assert len(filled) == 12
    assert (filled["estimate"], filled["dueDate"]) == (None, None)
    assert filled["checklistProgress"] == {"total": 0, "completed": 0}
    assert filled["lastUpdated"] == "2025-12-01T12:00:00.000Z"


def test_words_are_cut_and_other_values_are_dropped() -> None:
    """AGENT-19"""
    words = report.words_from(
        {
            "tldr": " x" * MAX_WORDS,
            "goal": 7,
            "achieved": ["a", " ", 3, None],
            "remaining": ["r"] * 99,
            "status": "done",
        }
    )
    assert len(words.tldr) <= MAX_WORDS
    assert (words.goal, words.achieved, len(words.remaining)) == ("", ("a",), MAX_ENTRIES)
    assert "status" not in words.as_content()


def test_words_survive_a_report() -> None:
    words = ReportText("t", "g", ("a",), ("r", "s"), ("l",))
    assert report.words_from(report.content(words, TaskPage(Task("t"), [], [], [], [], []), NOON)) == words


def test_a_report_is_read_without_a_model_and_only_when_it_is_here(laptop: Device) -> None:
    """AGENT-17, S3-03, S3-34"""
    laptop.add_task()
    ident = laptop.add_agent()
    filled = report.content(ReportText("t"), laptop.task(), laptop.now())
    with laptop.agents.reading() as reader:
        assert report.latest_report(reader, ident) is None
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        report.put(tx, ident, "r1", filled, {"runKey": "k"})
    with laptop.agents.reading() as reader:
        found = report.latest_report(reader, ident)
        assert found is not None
        assert found.content == filled  # with the fields that are None
        assert found.provenance == {"runKey": "k"}
        assert report.latest_report(reader, ident, "another scope") is None
        head = report_head_id(ident, "current")
        assert [link.value("toId") for link in reader.links_from(ident, "agent_report_head")] == [head]
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        tx.put(head, "agentReportHead", {"reportId": "still on its way"}, precedence=LOW)
    with laptop.agents.reading() as reader:
        assert report.latest_report(reader, ident) is None
