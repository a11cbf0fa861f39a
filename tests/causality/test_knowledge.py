"""Knowledge: prefixes of every host's writes."""

from hypothesis import given
from hypothesis import strategies as st
from tests.support.strategies import HOSTS, clocks

from lottisync.causality.knowledge import beyond, in_order, missing, union
from lottisync.causality.vector_clock import Clock, Dot, Host, covers

A, B, C = HOSTS


def test_what_a_clock_shows_beyond_knowledge() -> None:
    """CAUS-15"""
    assert beyond({C: 2, A: 4, B: 1}, {A: 3, B: 1}) == [Dot(A, 4), Dot(C, 2)]


@given(clocks, clocks)
def test_nothing_is_beyond_exactly_what_covers(clock: Clock, knowledge: Clock) -> None:
    """CAUS-15"""
    assert (beyond(clock, knowledge) == []) == covers(knowledge, clock)


def test_there_is_one_form_in_which_knowledge_is_hashed() -> None:
    """CAUS-5"""
    form = in_order({C: 1, A: 0, B: 2})
    assert list(form.items()) == [(B, 2), (C, 1)]


def test_how_much_another_knows_more() -> None:
    """CAUS-5: the number that people are shown counts writes, also of hosts never heard of."""
    assert missing({A: 3, B: 9}, {A: 5, B: 1, C: 2}) == 4


@given(st.lists(clocks))
def test_a_union_covers_each_of_its_parts_and_no_more(many: list[dict[Host, int]]) -> None:
    """CAUS-4"""
    whole = union(many)
    assert all(covers(whole, part) for part in many)
    assert all(any(part.get(host) == counter for part in many) for host, counter in whole.items())
