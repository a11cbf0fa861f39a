"""REV-6: the language, the one write of an agent without a verdict."""

import pytest
from tests.review.reviewer import Reviewer

from lottisync.agents.toolbox import TOOLBOX
from lottisync.entities.entity import LOW
from lottisync.journal.actions.set_task_language import SetTaskLanguage
from lottisync.journal.toolbox import BadCall


def said(device: Reviewer, code: str, confidence: str = "high") -> str:
    with device.journal.transaction(device.later(), LOW) as tx:
        call = TOOLBOX.checked("set_task_language", {"languageCode": code, "confidence": confidence})
        if isinstance(call, BadCall):
            return call.text
        assert isinstance(call, SetTaskLanguage)
        return call.at_once(tx, "t1")


def test_s1_16_an_agent_records_the_language_and_corrects_itself(laptop: Reviewer) -> None:
    """S1-16."""
    laptop.add_task()
    assert said(laptop, "DE") == 'Language set to "de".'
    assert said(laptop, "de") == 'Skipped: language is already "de".'
    assert said(laptop, "fr") == 'Language set to "fr".'
    task = laptop.page().task
    assert (task.language_code, task.language_source) == ("fr", "agent")


@pytest.mark.parametrize("source", ["user", "agent"])
def test_s1_16_the_users_language_stays(laptop: Reviewer, source: str) -> None:
    """S1-16, REV-6: Whatever the source says: the write that holds it was the user's."""
    laptop.add_task()
    laptop.edit(languageCode="ro", languageSource=source)
    assert said(laptop, "de") == 'Skipped: the user chose the language "ro".'
    assert laptop.page().task.language_code == "ro"


def test_s1_16_the_choice_of_a_person_on_another_device_wins(laptop: Reviewer, phone: Reviewer) -> None:
    """S1-16, REV-304."""
    laptop.add_task()
    phone.pull(laptop)
    phone.edit(languageCode="ro", languageSource="user")
    laptop.later(60_000)
    said(laptop, "de")
    laptop.meet(phone)
    assert [device.page().task.language_code for device in (laptop, phone)] == ["ro", "ro"]


def test_rev6_nothing_is_written_that_is_not_sure_or_not_there(laptop: Reviewer) -> None:
    """REV-6."""
    laptop.add_task()
    assert "when you are sure" in said(laptop, "de", "low")
    assert "languageCode" in said(laptop, "german")
    laptop.do(lambda tx: tx.delete("t1"))
    assert "was deleted" in said(laptop, "de")
