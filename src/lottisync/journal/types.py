"""The journal: tasks, checklists, entries, labels (docs/specs/03-entities.md, section 6).

Ordered children carry their membership and rank themselves: an item knows its checklist and its
position, so two devices that add items at once do not rewrite one list.
"""

from typing import Literal

import msgspec

from lottisync.device import acts
from lottisync.entities.link import Link
from lottisync.entities.schema import EntityType, schema
from lottisync.store.instant import millis

STATUSES = ("OPEN", "GROOMED", "IN PROGRESS", "BLOCKED", "ON HOLD", "DONE", "REJECTED")
CLOSED = ("DONE", "REJECTED")
"""The statuses of a task that needs nothing more."""
PRIORITIES = ("P0", "P1", "P2", "P3")

_CODES = """
aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en
eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja
jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb
nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq
sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu pcm
"""
LANGUAGES = frozenset(_CODES.split())
"""The languages that a task may be in: the codes of ISO 639-1, and `pcm` (Nigerian Pidgin), which has none there."""

STATUS = ("status", "statusReason")
TICK = ("isChecked", "checkedBy", "checkedAt", "checkReason", "proposedBy")
"""Fields that are written together with the first of them: a tick is nothing without who set it, and when."""
POSITION = ("taskId", "checklistId", "rank")
SPAN = ("at", "end")
"""One value in several fields: the place of an item, and the start and end of time that was spent. Two devices that
move one item, or change one span, at the same time leave one of the two values, never half of each."""

NOTE, TIME = "note", "time"
"""The kinds of an entry."""
ENTRY_LINK = "entryLink"
RELATIONS = ("relates_to", "blocks", "follows_up_on", "duplicates", "fixes", "supersedes")
INVERSES = {
    "is_blocked_by": "blocks",
    "has_follow_up": "follows_up_on",
    "is_duplicated_by": "duplicates",
    "is_fixed_by": "fixes",
    "is_superseded_by": "supersedes",
}
"""The other end's word for a relation. A link is stored under one word only, so that what two devices
say from its two ends is one link."""


class Task(msgspec.Struct, frozen=True, rename="camel"):
    """`estimate` is in minutes, `due` a local date `YYYY-MM-DD`; `labels` holds label ids as keys. `never_send`, here
    and in labels and categories: no model is told of it (`lottisync.journal.never_sent`). `remind_at` is an instant,
    `repeat` a rule (`lottisync.journal.repetition`)."""

    id: str
    title: str = ""
    status: str = "OPEN"
    status_reason: str | None = None
    priority: str = "P2"
    due: str | None = None
    remind_at: str | None = None
    repeat: str | None = None
    estimate: int | None = None
    language_code: str | None = None
    language_source: str = "user"
    category_id: str | None = None
    labels: dict[str, bool] = {}
    suppressed_labels: dict[str, bool] = {}
    never_send: bool = False
    created_at: str = ""
    receipts: dict[str, object] = {}


class Checklist(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    task_id: str = ""
    title: str = ""
    rank: str = ""
    created_at: str = ""
    receipts: dict[str, object] = {}


class ChecklistItem(msgspec.Struct, frozen=True, rename="camel"):
    """`checked_by` is `user` or `agent`; anything else, and a record without it, counts as `user`
    (S0-05, S0-51). The fields of `TICK` are always written together."""

    id: str
    task_id: str = ""
    checklist_id: str = ""
    title: str = ""
    rank: str = ""
    is_checked: bool = False
    checked_by: Literal["user", "agent"] = "user"
    checked_at: str | None = None
    check_reason: str | None = None
    proposed_by: str | None = None
    is_archived: bool = False
    created_at: str = ""
    receipts: dict[str, object] = {}

    @property
    def set_by_user(self) -> bool:
        return self.checked_by == "user"


class Entry(msgspec.Struct, frozen=True, rename="camel"):
    """Something written down: `kind` is `note`, written at the instant `at`, or `time`, spent from `at` to `end`. A
    time entry without an `end` is a timer that runs. `knowledge` is what the journal knew when a user wrote the entry:
    its place in causality."""

    id: str
    task_id: str = ""
    kind: str = "note"
    text: str = ""
    at: str = ""
    end: str | None = None
    author: str = "user"
    knowledge: dict[str, int] = {}
    created_at: str = ""
    receipts: dict[str, object] = {}

    @property
    def runs(self) -> bool:
        """Whether it is a timer that runs."""
        return self.kind == TIME and self.end is None

    @property
    def minutes(self) -> int | None:
        """The whole minutes that were spent; None for a note, a timer that runs, and a span that cannot be read."""
        if self.kind != TIME or self.end is None:
            return None
        try:
            return max(0, round((millis(self.end) - millis(self.at)) / 60_000))
        except ValueError:
            return None


class Label(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    name: str = ""
    color: str = ""
    never_send: bool = False
    created_at: str = ""


class Category(msgspec.Struct, frozen=True, rename="camel"):
    """What tasks are sorted by, and what agents are allowed by (`Agent.allowed_category_ids`)."""

    id: str
    name: str = ""
    color: str = ""
    never_send: bool = False
    created_at: str = ""


class EntryLink(Link, frozen=True, rename="camel"):
    """A link between two tasks; `relations` holds the words of `RELATIONS` as keys, so that two tasks may have several
    relations."""

    relations: dict[str, bool] = msgspec.field(default_factory=dict)


def link_ends(relation: str, task_id: str, other_id: str) -> tuple[str, str, str]:
    """How "`task_id` <relation> `other_id`" is stored: the relation, from, to. `relates_to` has no direction."""
    if relation in INVERSES:
        return INVERSES[relation], other_id, task_id
    if relation == "relates_to":
        return relation, min(task_id, other_id), max(task_id, other_id)
    return relation, task_id, other_id


VIEWS = """
create view if not exists tasks as select id, serialized ->> '$.title' as title, serialized ->> '$.status' as status,
    serialized ->> '$.statusReason' as status_reason, serialized ->> '$.priority' as priority,
    serialized ->> '$.due' as due, serialized ->> '$.remindAt' as remind_at, serialized ->> '$.repeat' as repeat,
    serialized ->> '$.estimate' as estimate_minutes,
    (select c.serialized ->> '$.name' from journal_entities c where c.id = t.serialized ->> '$.categoryId') as category,
    created_at, updated_at
    from journal_entities t where type = 'task' and deleted_at is null;
create view if not exists checklist_items as select id, task_id, serialized ->> '$.checklistId' as checklist_id,
    serialized ->> '$.title' as title, serialized ->> '$.isChecked' as is_checked,
    serialized ->> '$.checkedBy' as checked_by, serialized ->> '$.checkedAt' as checked_at,
    coalesce(serialized ->> '$.isArchived', 0) as is_archived, serialized ->> '$.rank' as rank, created_at, updated_at
    from journal_entities where type = 'checklistItem' and deleted_at is null;
create view if not exists notes as select id, task_id, serialized ->> '$.text' as text,
    serialized ->> '$.author' as author,
    serialized ->> '$.at' as at, created_at, updated_at
    from journal_entities where type = 'entry' and subtype = 'note' and deleted_at is null;
"""
"""For people with any SQLite tool: what is live, a column for each field (docs/specs/17-backup.md, section 4)."""

JOURNAL = schema(
    "journal",
    [
        EntityType("task", Task, subtype="status", together=(STATUS,)),
        EntityType("checklist", Checklist, owner="taskId"),
        EntityType("checklistItem", ChecklistItem, owner="taskId", together=(TICK, POSITION)),
        EntityType("entry", Entry, owner="taskId", subtype="kind", together=(SPAN,)),
        EntityType("label", Label),
        EntityType("category", Category),
        EntityType(ENTRY_LINK, EntryLink, link=True),
    ],
    owner_column="task_id",
    local_tables=acts.TABLE + VIEWS,
)
