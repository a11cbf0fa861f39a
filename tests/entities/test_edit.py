"""Usual edits, found in what came, and made here."""

import msgspec
import pytest
from tests.entities.test_batch import GOOD, LATER, STAMP, is_good
from tests.support.batches import HOSTS

from lottisync.entities import batch, edit, version
from lottisync.entities.entity import Entity, write
from lottisync.entities.registers import Registers, Stamp, Write
from lottisync.entities.version import Version

NEXT = Stamp(1, 3_000, 0, HOSTS[0], 3)


def edited(by: Stamp = NEXT, **changes: bytes) -> Version:
    """`GOOD`, of which these values were written by someone who had seen it."""
    values: dict[str, tuple[Write, ...]] = {"a": (Write(STAMP, b'"x"'),), "b": (Write(STAMP, b'"x"'),)}
    values |= {path: (Write(by, value),) for path, value in changes.items()}
    clock = {HOSTS[0]: 2, HOSTS[1]: 1} | {by.host: by.counter}
    return version.close(Entity("t1", "task", clock, Registers.of(values)))


def edits(incoming: Version, stored: Version) -> bool:
    """Whether it is a usual edit of what is here."""
    plain = batch.plain([incoming])
    assert plain is not None
    return bool(edit.received(plain, {stored.id: stored}))


def test_store_644_what_is_not_a_usual_edit_of_what_is_here() -> None:
    """STORE-644: what is here cannot be read, or has a path that what came has not."""
    whole = edited(title=b'"y"', due=b"2")
    assert edits(whole, GOOD)
    for part in ("clock", "stamps", "document"):
        assert not edits(whole, msgspec.structs.replace(GOOD, **{part: b'{"\xff":1'}))
    assert not edits(edited(title=b'"y"'), GOOD)
    more = msgspec.structs.replace(GOOD, clock=b'{"%b":1,%b' % (HOSTS[2].encode(), GOOD.clock[1:]))
    assert is_good(more)
    assert not edits(whole, more), "what is here has seen a write that has left nothing, and what came has not"
    no_text = GOOD.document.replace(b'"title":"x"', b'"title":"\xff"')
    assert not edits(whole, msgspec.structs.replace(GOOD, document=no_text)), "also if what cannot be read is replaced"
    assert not edits(whole, msgspec.structs.replace(GOOD, type="label"))
    assert not edits(whole, msgspec.structs.replace(GOOD, stamps=GOOD.stamps.replace(b"{}]", b'{"due":[]}]')))
    assert not edits(edited(Stamp(1, 3_000, 0, HOSTS[0], 2), title=b'"y"', due=b"2"), GOOD), "a seen counter"
    other = msgspec.structs.replace(whole, document=whole.document.replace(b'"a":"x"', b'"a":"z"'))
    assert is_good(other)
    assert not edits(other, GOOD), "a value that nobody has written"
    plain = batch.plain([whole])
    assert plain is not None
    assert edit.received(plain, {}) == {}
    twice = batch.plain([whole, whole])
    assert twice is not None
    assert edit.received(twice, {GOOD.id: GOOD}) == {}


def test_store_645_what_is_a_usual_edit_of_what_is_here() -> None:
    """STORE-645: one path, all of them, and the first write of a device."""
    assert edits(edited(title=b'"y"', due=b"2"), GOOD)
    assert edits(edited(a=b"1", b=b"2", title=b'"y"', due=b"2"), GOOD)
    assert edits(edited(Stamp(1, 3_000, 0, HOSTS[2], 1), title=b'"y"', due=b"2"), GOOD)


def test_what_is_made_here_is_what_a_write_makes() -> None:
    """STORE-91: the version, its stamps, and what was replaced."""
    made = edit.made([GOOD], [b'{"a":"z","due":2,"new":null}'], [NEXT])
    assert made is not None
    (found,) = made
    entity = version.open_foreign(GOOD)
    after = write(entity, {"a": b'"z"', "due": b"2", "new": b"null"}, NEXT)
    assert found.after == version.close(after)
    assert (found.before, found.clock) == (entity.clock, after.clock)
    assert (found.base, found.stamps) == (after.registers.base, after.registers.stamps)
    assert found.held == entity.registers.raw
    assert found.values == after.registers.raw
    assert found.gone == [("a", STAMP, b'"x"'), ("due", LATER, b"1")]
    assert found.latest() == 3_000
    whole = edit.made([GOOD], [b'{"a":1,"b":1,"due":1,"title":1}'], [NEXT])
    assert whole is not None
    assert (whole[0].base, whole[0].stamps, whole[0].latest()) == (NEXT, {}, 3_000)


@pytest.mark.parametrize("which", ["some of it", "all of it"])
def test_an_entity_begins_with_the_first_write_that_still_counts(which: str) -> None:
    """An edit of some of it leaves that one; an edit of all of it is the first one then."""
    changes = {"title": b'"y"', "due": b"2"} | ({"a": b"1", "b": b"2"} if which == "all of it" else {})
    plain = batch.plain([edited(NEXT, **changes)])
    assert plain is not None
    came = edit.received(plain, {GOOD.id: GOOD})[0]
    document = b"{%b}" % b",".join(b'"%b":%b' % (path.encode(), changes[path]) for path in sorted(changes))
    made = edit.made([GOOD], [document], [NEXT])
    assert made is not None
    first = version.open_foreign(GOOD).registers.earliest()
    assert first == min(STAMP.millis, LATER.millis)
    for found in (came, made[0]):
        assert found.begun == first
        assert found.begins_alike() is (which == "some of it")


def test_columns_of_different_lengths_are_refused_and_not_cut() -> None:
    """A column that is cut would leave an edit out silently."""
    with pytest.raises(ValueError, match="zip"):
        edit.made([GOOD, GOOD], [b'{"a":1}'], [NEXT, NEXT])


def test_nothing_is_made_of_what_is_not_plain_or_cannot_be_read() -> None:
    """STORE-91: the one by one way says what is wrong."""
    both = {"title": (Write(STAMP, b'"x"'), Write(LATER, b'"y"'))}
    contested = version.close(Entity("t2", "task", {HOSTS[0]: 2, HOSTS[1]: 1}, Registers.of(both)))
    no_text = msgspec.structs.replace(GOOD, document=GOOD.document.replace(b'"x"', b'"\xff"', 1))
    for odd in (contested, no_text):
        assert edit.made([GOOD, odd], [b'{"a":1}'] * 2, [NEXT, NEXT]) is None
