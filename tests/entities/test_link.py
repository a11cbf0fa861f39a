"""Links as structs, and what every struct of a registry has to keep to."""

from collections.abc import Iterator

import msgspec
import pytest
from tests.entities.test_view import entity

from lottisync.agents.types import LINK_KINDS
from lottisync.daemon.stores import AGENT_STORE
from lottisync.device.space import SPACE
from lottisync.entities.link import Link
from lottisync.entities.schema import EntityType
from lottisync.entities.view import view
from lottisync.journal.types import ENTRY_LINK, JOURNAL, EntryLink


def described() -> Iterator[EntityType]:
    for schema in (JOURNAL, AGENT_STORE, SPACE):
        yield from schema.types.values()


@pytest.mark.parametrize("kind", [t for t in described() if t.view is not None], ids=lambda kind: str(kind.name))
def test_every_struct_reads_a_document_in_which_nothing_stands_yet(kind: EntityType) -> None:
    """ENT-13: the id is all that it needs, and what may be null is null where it is absent."""
    assert kind.view is not None
    first, *others = msgspec.structs.fields(kind.view)
    assert (first.name, first.required) == ("id", True)
    assert not [field.name for field in others if field.required]
    read = view(entity({"x": 1}, kind.name), kind.view)
    for field in others:
        if type(None) in getattr(field.type, "__args__", ()):
            assert getattr(read, field.name) is None, field.name


def test_only_what_its_own_code_reads_has_no_struct() -> None:
    """ENT-13: signed records, addresses, and settings, each of which is a value of its own."""
    without = {kind.name for kind in described() if kind.view is None}
    assert without == {"membership", "host", "box", "addresses", "setting"}


def test_a_link_is_read_with_its_ends() -> None:
    """ENT-13, S3-16, S3-29: each of the eight relations; a relation of a later program reads as a plain link."""
    fields = {"fromId": "a1", "toId": "t1", "createdAt": "2026-01-01T00:00:00.000Z", "colour": "blue"}
    for kind in LINK_KINDS:
        struct = AGENT_STORE.types[kind].view
        assert struct is Link
        assert AGENT_STORE.types[kind].link
    later = view(entity(fields, "agent_soul"), Link)
    assert (later.id, later.from_id, later.to_id, later.created_at) == ("t1", "a1", "t1", "2026-01-01T00:00:00.000Z")


def test_a_link_of_tasks_has_relations() -> None:
    """ENT-13"""
    assert JOURNAL.types[ENTRY_LINK].view is EntryLink
    link = view(entity({"fromId": "t2", "toId": "t3", "relations": {"blocks": True}}, ENTRY_LINK), EntryLink)
    assert (link.from_id, link.to_id, link.relations) == ("t2", "t3", {"blocks": True})


def test_what_was_read_cannot_be_changed_in_place() -> None:
    """Nothing would be written by it."""
    link = Link("l1", "t1", "t2")
    with pytest.raises(AttributeError, match="immutable"):
        link.to_id = "t3"  # type: ignore[misc]
    assert hash(link) == hash(Link("l1", "t1", "t2"))
