"""Another text for the timer that runs. A timer is data, so it is found on whichever device the person confirms."""

from typing import Any, ClassVar

from pydantic import Field

from lottisync.entities.view import view
from lottisync.journal.actions.update_time_entry import Summary, TimeChange
from lottisync.journal.arguments import Id
from lottisync.journal.types import Entry
from lottisync.language import marked
from lottisync.problem import Sentence
from lottisync.review.action import TargetView


class UpdateRunningTimer(TimeChange):
    tool: ClassVar[str] = "update_running_timer"
    purpose: ClassVar[str] = "Propose another text for a timer that runs."
    when: ClassVar[str] = "When a timer runs on this task and what was written says what the user is doing."
    subject: ClassVar[frozenset[str]] = frozenset({"timerId"})

    id: Id = Field(alias="timerId", description="The id of the time entry that runs.")
    text: Summary = Field(alias="summary", description="What is being done.")

    def owned_id(self) -> str:
        return self.id

    def values(self) -> dict[str, Any]:
        return {"text": self.text}

    def _misfit(self, target_view: TargetView) -> str | None:
        if target_view.target is not None and view(target_view.target, Entry).runs:
            return None
        return Sentence("timer {timer}: it does not run any more", timer=self.id)

    def summary(self, name: str | None = None, language: str = "en") -> str:
        entry = self.called(name, language)
        text = marked('Change text of running timer {name}: "{summary}"')
        return self.catalogue.say(text, language, name=entry, summary=self.text)
