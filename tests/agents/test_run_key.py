import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lottisync.agents import run_key
from lottisync.causality.vector_clock import Dot, Host

dots = st.lists(
    st.builds(Dot, st.sampled_from([Host("0" * 15 + digit) for digit in "123a"]), st.integers(1, 2**53 - 1)), max_size=8
)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_plans_formulas_to_the_byte() -> None:
    """AGENT-1, AGENT-2, S3-36"""
    assert run_key.user_initiated("a", "s", "t").run_key == sha256("a|s|t")
    assert run_key.timer("a", "t", "2026-02-20T14:30:00.000Z").run_key == sha256("a|t|2026-02-20T14:30:00.000Z")
    change = run_key.subscription("a", "sub", [Dot(Host("bb"), 2), Dot(Host("aa"), 10)])
    assert change.logical_change_key == sha256("aa:10,bb:2")
    assert change.run_key == sha256(f"a|sub|{change.logical_change_key}")


@given(dots)
def test_one_change_has_one_key_in_whatever_order_and_however_often_its_dots_are_named(found: list[Dot]) -> None:
    """AGENT-2, S3-37, S3-84"""
    once = run_key.subscription("a", "sub", found)
    assert run_key.subscription("a", "sub", [*reversed(found), *found]) == once


@given(dots, dots)
def test_different_changes_have_different_keys(one: list[Dot], other: list[Dot]) -> None:
    """AGENT-2"""
    same = set(one) == set(other)
    assert (run_key.logical_change_key(one) == run_key.logical_change_key(other)) == same


def test_dots_are_sorted_by_number_and_not_as_text() -> None:
    a = Host("a" * 16)
    assert run_key.logical_change_key([Dot(a, 10), Dot(a, 9)]) == sha256(f"{a}:9,{a}:10")


def test_a_part_cannot_pretend_to_be_two() -> None:
    """AGENT-1"""
    with pytest.raises(ValueError, match="holds no"):
        run_key.user_initiated("a", "s|t", "u")
