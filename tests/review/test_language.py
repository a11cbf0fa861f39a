"""Summaries of proposals in the reader's language."""

from typing import Any

import pytest
from tests.review.reviewer import Reviewer

from lottisync.journal.actions.link_task import SENTENCES
from lottisync.journal.task_action import TaskAction
from lottisync.journal.toolbox import ACTIONS
from lottisync.journal.types import INVERSES, RELATIONS
from lottisync.language import LANGUAGES
from lottisync.review.inbox import Inbox

TRANSLATED = [language for language in LANGUAGES if language != "en"]


def summary(tool: str, args: dict[str, Any], name: str | None = None, language: str = "en") -> str:
    action = ACTIONS.tools[tool].model_construct(**args)
    assert isinstance(action, TaskAction)
    return action.summary(name, language)


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("en", ["0 minutes", "1 minute", "2 minutes", "20 minutes"]),
        ("de", ["0 Minuten", "1 Minute", "2 Minuten", "20 Minuten"]),
        ("es", ["0 minutos", "1 minuto", "2 minutos", "20 minutos"]),
        ("fr", ["0 minute", "1 minute", "2 minutes", "20 minutes"]),
        ("ro", ["0 minute", "1 minut", "2 minute", "20 de minute"]),
    ],
)
def test_rev14_plural_forms(language: str, forms: list[str]) -> None:
    """REV-14: Romanian has three, and French counts nothing as one."""
    for count, form in zip((0, 1, 2, 20), forms, strict=True):
        assert form in f"{summary('update_task_estimate', {'minutes': count}, language=language)} "


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", 'Check off: "Flour"'),
        ("de", "Abhaken: „Flour“"),
        ("es", "Marcar: «Flour»"),
        ("fr", "Cocher : «\u00a0Flour\u00a0»"),
        ("ro", "Bifează: „Flour”"),
        ("xx", 'Check off: "Flour"'),
    ],
)
def test_rev14_a_proposal_reads_in_the_language_of_its_reader(
    laptop: Reviewer, phone: Reviewer, language: str, sentence: str
) -> None:
    """REV-14, S1-63: not in that of the device that made it, and what a person wrote in the quotes of that language."""
    laptop.add_task(items=("Flour",))
    laptop.propose("suggest_checklist_completion", {"items": [{"id": "t1-i0", "reason": "The note of 22:30 says so"}]})
    phone.pull(laptop)
    [one] = Inbox(phone.journal, phone.agents, ACTIONS, language=language).open_sets(phone.now)
    assert one.items[0].summary == sentence


def test_rev14_braces_in_a_title_are_a_title() -> None:
    """REV-14: what a model or a person wrote is never taken for a field."""
    for language in LANGUAGES:
        assert "{minutes} {0}" in summary("set_task_title", {"title": "{minutes} {0}"}, language=language)


def test_rev14_every_relation_can_be_said() -> None:
    """REV-14."""
    assert set(SENTENCES) == {*RELATIONS, *INVERSES}
    for language in TRANSLATED:
        links = [summary("link_task", {"relation": r, "target_task_id": "t2"}, "X", language) for r in SENTENCES]
        assert len(set(links)) == len(SENTENCES)
