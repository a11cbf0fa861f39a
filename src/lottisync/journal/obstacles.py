"""Why a proposal cannot be carried out, as a person reads it. What a model gets has ids in it, and no titles of tasks
that it has not seen."""

from lottisync.device.acts import title_of
from lottisync.journal.task_action import NOT_ALLOWED
from lottisync.language import say, translated
from lottisync.problem import Sentence
from lottisync.shown import quoted
from lottisync.store.reader import Reader


def in_titles(reader: Reader, obstacle: str) -> str:
    """The sentence in the reader's language, with tasks, items and the category by their titles."""
    if not isinstance(obstacle, Sentence):
        return translated(obstacle)
    said = dict(obstacle.arguments)
    if said.get("fault") == NOT_ALLOWED:
        said["fault"] = _not_allowed(reader, str(said.get("task_id")))
    for name in ("task_id", "item"):
        document = reader.document(str(said[name])) if name in said else None
        if document is not None:
            said[name] = quoted(title_of(document))
    return say(obstacle.template, **said)


def _not_allowed(reader: Reader, task_id: str) -> Sentence:
    task = reader.document(task_id)
    category = reader.document(str(task.document().get("categoryId"))) if task is not None else None
    if category is None:
        return NOT_ALLOWED
    return Sentence("the agent is not allowed in its category {category}", category=quoted(title_of(category)))
