"""A new thing that an agent may propose is one file and its sentences: here, that a task gets a colour.

Everything between is the engine's: proposing, showing, confirming, undoing, the index, the languages."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import write_po
from pydantic import Field
from tests.review.reviewer import LAURA, Reviewer
from tests.support.proposals import wake_on

from lottisync.journal.task_action import TaskField
from lottisync.journal.toolbox import TASK_TOOLS, Toolbox
from lottisync.language import Catalogue, marked
from lottisync.problem import Sentence
from lottisync.review.action import TargetView
from lottisync.review.inbox import Inbox
from lottisync.review.item_view import ItemView
from lottisync.review.policy import Policy
from lottisync.review.precedence import PERSON
from lottisync.review.verdict import Verdicts

SENTENCE = marked('Paint it "{colour}"')
TRANSLATIONS = {
    "de": 'In "{colour}" streichen',
    "es": 'Pintar de "{colour}"',
    "fr": 'Peindre en "{colour}"',
    "ro": 'Vopsește în "{colour}"',
}


class PaintTask(TaskField):
    tool: ClassVar[str] = "paint_task"
    purpose: ClassVar[str] = "Propose a colour for the task."
    register: ClassVar[str] = "colour"
    noun: ClassVar[str] = "colour"

    colour: str = Field(description="The colour.", min_length=1)

    def value(self) -> Any:
        return self.colour

    def current(self, target_view: TargetView) -> dict[str, Any]:
        return {"colour": target_view.target.value("colour") if target_view.target is not None else None}

    def summary(self, name: str | None = None, language: str = "en") -> str:
        return self.catalogue.say(SENTENCE, language, colour=self.colour)

    def own_obstacle(self, target_view: TargetView, task_id: str, policy: Policy) -> str | None:
        forbidden = policy.agent is not None and policy.agent.value("noPaint")
        return Sentence("the agent has no brush") if forbidden else None


ACTIONS = Toolbox((*TASK_TOOLS, PaintTask))


@pytest.fixture
def sentences(tmp_path: Path) -> Iterator[None]:
    """The new action's own catalogue: a folder for each language."""
    before = PaintTask.catalogue
    for language, text in TRANSLATIONS.items():
        folder = tmp_path / "locale" / language / "LC_MESSAGES"
        folder.mkdir(parents=True)
        catalog = Catalog(locale=language)
        catalog.add(str(SENTENCE), text)
        with (folder / "painting.po").open("wb") as file:
            write_po(file, catalog)
    PaintTask.catalogue = Catalogue(tmp_path / "locale", "painting")
    yield
    PaintTask.catalogue = before


@pytest.fixture
def laptop(tmp_path: Path) -> Iterator[Reviewer]:
    device = Reviewer(tmp_path / "laptop")
    yield device
    device.close()


def proposed(device: Reviewer, colour: str) -> str:
    """What a wake is answered that proposes a colour."""
    wake = wake_on(device.journal, device.agents, run=f"run-{colour}", thread="thread")
    call = ACTIONS.parse("paint_task", f'{{"colour": "{colour}"}}')
    assert isinstance(call, PaintTask)
    answer = wake.propose(call, device.now)
    device.built(wake)
    return answer


def listed(device: Reviewer, language: str = "en") -> list[ItemView]:
    inbox = Inbox(device.journal, device.agents, ACTIONS, language=language)
    return [item for shown in inbox.open_sets(device.now) for item in shown.items]


def colour(device: Reviewer) -> Any:
    entity = device.journal.read("t1")
    assert entity is not None
    return entity.value("colour")


@pytest.mark.usefixtures("sentences")
def test_an_action_in_one_file_is_proposed_read_confirmed_and_undone(laptop: Reviewer) -> None:
    """REV-1, REV-2, REV-14, REV-40, REV-56."""
    laptop.add_task()
    verdicts = Verdicts(laptop.journal, laptop.agents, ACTIONS, device_id="laptop", new_id=laptop.new_id)
    assert "queued" in proposed(laptop, "red")
    assert [listed(laptop, language)[0].summary for language in ("en", *TRANSLATIONS)] == [
        'Paint it "red"',
        'In "red" streichen',
        'Pintar de "red"',
        'Peindre en "red"',
        'Vopsește în "red"',
    ]
    [item] = listed(laptop)
    assert [(change.path, change.before, change.after) for change in item.changes] == [("colour", None, "red")]
    assert verdicts.confirm(item.id, laptop.later()).result == "applied"
    assert colour(laptop) == "red"
    assert proposed(laptop, "red") == "Skipped: colour is already red."
    assert verdicts.undo(item.id, laptop.later()).result == "undone"
    assert colour(laptop) is None


def test_a_version_without_the_action_shows_it_and_can_reject_it(laptop: Reviewer) -> None:
    """REV-103."""
    laptop.add_task()
    assert "queued" in proposed(laptop, "red")
    [item] = laptop.waiting()
    assert item.failure == "this version does not know the tool paint_task; update it to confirm this"
    assert laptop.verdicts.confirm(item.id, laptop.later()).result == "failed"
    assert laptop.verdicts.reject(item.id, laptop.later()).result == "rejected"


def test_an_action_has_a_rule_of_its_own_for_what_an_agent_may_do(laptop: Reviewer) -> None:
    """REV-5: the engine hands on the agent as it is stored, and so knows no product's rule."""
    laptop.add_task()
    verdicts = Verdicts(laptop.journal, laptop.agents, ACTIONS, device_id="laptop", new_id=laptop.new_id)
    assert "queued" in proposed(laptop, "red")
    with laptop.agents.transaction(laptop.later(), PERSON) as tx:
        tx.put(LAURA, "agent", {"noPaint": True})
    assert proposed(laptop, "blue") == "Skipped: the agent has no brush."
    [item] = listed(laptop)
    assert item.failure == "the agent has no brush"
    assert verdicts.confirm(item.id, laptop.later()).result == "failed"
    assert colour(laptop) is None
