"""The tools that a task's agent is offered: those of the task (`lottisync.journal.toolbox`), and its own six.

Two of its own only read the task. The others are about its records and its proposals: the report, the observations,
taking proposals back, and asking for the person's attention.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from lottisync.journal.arguments import MAX_BATCH, Arguments, Call, Id
from lottisync.journal.toolbox import TASK_TOOLS, Toolbox

MAX_OBSERVATION = 2_000
MAX_RETRACTION = 500
MAX_RATIONALE = 500

NoteLine = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_OBSERVATION)]


class Retraction(Arguments):
    id: Id = Field(description="The id of the proposal.")
    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_RETRACTION)] = Field(
        description="Why the user need not decide on it any more."
    )


class RetractSuggestions(Call):
    tool: ClassVar[str] = "retract_suggestions"
    purpose: ClassVar[str] = (
        "Take back proposals of your own that the user has not decided on and that no longer make sense."
    )
    when: ClassVar[str] = (
        "Only for a proposal that what was written has made wrong or needless. That the user decided on one proposal "
        "is not a reason to take back the others."
    )
    offered: ClassVar[bool] = False

    proposals: list[Retraction] = Field(
        min_length=1, max_length=MAX_BATCH, description="Your own proposals that still wait for the user."
    )


class ChecklistProgress(Arguments):
    total: int = Field(ge=0)
    completed: int = Field(ge=0)


class UpdateReport(Call):
    """Your report. The program fills in the other fields."""

    tool: ClassVar[str] = "update_report"
    purpose: ClassVar[str] = "Write your report on the task; it replaces the earlier one."
    when: ClassVar[str] = "At most once a wake, as the last call. Not at all if nothing changed since your last report."

    tldr: NoteLine = Field(description="Where the task stands, in two or three sentences.")
    title: NoteLine | None = None
    goal: NoteLine | None = None
    status: NoteLine | None = None
    priority: NoteLine | None = None
    estimate: NoteLine | None = None
    due_date: NoteLine | None = None
    achieved: Annotated[list[NoteLine], Field(max_length=50)] = Field(default=[], description="What has been done.")
    remaining: Annotated[list[NoteLine], Field(max_length=50)] = Field(default=[], description="What is still to do.")
    learnings: Annotated[list[NoteLine], Field(max_length=50)] = Field(default=[], description="What was learnt.")
    checklist_progress: ChecklistProgress | None = None
    last_updated: str | None = Field(default=None, exclude=True, json_schema_extra={"deprecated": True})


def _as_observation(value: Any) -> Any:
    """A bare text is a note, too."""
    return {"text": str(value)} if isinstance(value, str | int | float) else value


class Observation(Arguments):
    text: NoteLine = Field(description="One note.")
    priority: Literal["routine", "notable", "critical"] = Field(default="routine", description="How much it matters.")
    category: Literal["grievance", "excellence", "templateImprovement", "operational"] = Field(
        default="operational",
        description="grievance: the user complained; excellence: they praised; templateImprovement: how agents like "
        "you should work; operational: anything else.",
    )


class RecordObservations(Call):
    tool: ClassVar[str] = "record_observations"
    purpose: ClassVar[str] = "Keep private notes for your later wakes."
    when: ClassVar[str] = "Once a wake at most, with all that is worth keeping; often there is nothing."

    elements: ClassVar[str | None] = "observations"

    observations: list[Annotated[Observation, BeforeValidator(_as_observation)]] = Field(
        min_length=1, max_length=MAX_BATCH, description="Private notes worth remembering in later wakes."
    )


class RequestAttention(Call):
    tool: ClassVar[str] = "request_attention"
    purpose: ClassVar[str] = "Ask the user to look at this task themselves. They see it at once, and settle it."
    when: ClassVar[str] = (
        "Only if the task cannot go on without the user, or something goes wrong that they must know. Once; it stays "
        "until they settle it. Never in place of a proposal."
    )

    rationale: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_RATIONALE)] = Field(
        description="What the user should look at, and why now."
    )
    minutes: int = Field(default=15, ge=1, le=1_440, description="How many minutes of the user it takes.")
    impact: int = Field(default=3, ge=1, le=5, description="How much depends on it; 5 is the most.")
    urgency: int = Field(default=3, ge=1, le=5, description="How soon it is needed; 5 is today.")
    energy_fit: Literal["low", "neutral", "high"] = Field(
        default="neutral", description="How much energy it asks of the user."
    )


class ReadEntries(Call):
    tool: ClassVar[str] = "read_entries"
    purpose: ClassVar[str] = "Read entries of the task's log that were left out or cut. Answered at once."
    when: ClassVar[str] = "When the message says that entries are left out or cut, and you need one of them."

    ids: list[Id] = Field(default=[], max_length=MAX_BATCH, description="The entries to read, by their ids.")
    before: Id | None = Field(default=None, description="Without ids: read the entries before this one.")
    offset: int = Field(default=0, ge=0, description="Where in a long text to begin, in characters.")


class SearchTask(Call):
    tool: ClassVar[str] = "search_task"
    purpose: ClassVar[str] = "Search everything of the task: log entries, items, and your own notes. Answered at once."
    when: ClassVar[str] = "When the message says that something is left out, and you need a certain fact or item."

    words: Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)] = Field(
        default="", description="Words or pieces of words that must all stand in it. Empty: list everything."
    )
    type: Literal["entry", "item", "note"] | None = Field(default=None, description="Only results of this type.")
    skip: int = Field(default=0, ge=0, description="How many results to skip, to read on.")


TOOLBOX = Toolbox(
    (*TASK_TOOLS, ReadEntries, SearchTask, RetractSuggestions, RequestAttention, UpdateReport, RecordObservations)
)
