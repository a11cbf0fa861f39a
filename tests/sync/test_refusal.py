"""What was refused of a device, as `status` has it: SYNC-880 to SYNC-882."""

import secrets

from lottisync.problem import Sentence
from lottisync.protocol import message as m
from lottisync.store.instant import iso
from lottisync.sync.event import AskedTooOften, ComparisonRefused, Mended, OverAllowance, kind_of_refusal
from lottisync.sync.refusal import KINDS, SHOWN_MS, Refusal, kind_of, recent, with_one_more

NOW = 1_764_590_400_000


def test_sync_880_each_kind_is_there_once_with_its_number_and_its_latest_reason() -> None:
    found: list[Refusal] = []
    for number, kind in enumerate(("comparison", "malformed", "comparison", "illegal", "comparison")):
        found = with_one_more(found, KINDS[kind], Sentence(f"reason {number}"), NOW + number)
    assert found == [
        Refusal("comparison", 3, iso(NOW + 4), Sentence("reason 4")),
        Refusal("illegal", 1, iso(NOW + 3), Sentence("reason 3")),
        Refusal("malformed", 1, iso(NOW + 1), Sentence("reason 1")),
    ]


def test_sync_881_a_device_that_invents_codes_makes_one_kind_of_them() -> None:
    found: list[Refusal] = []
    for number in range(1_000):
        kind = kind_of(secrets.token_hex(8))
        assert kind == "other"
        found = with_one_more(found, kind, Sentence("x" * m.MAX_TEXT), NOW + number)
    assert [(each.kind, each.count) for each in found] == [("other", 1_000)]


def test_sync_880_what_refuses_nothing_is_not_a_refusal() -> None:
    """A goodbye, a newer connection, silence, a full disk there."""
    assert {kind_of(code) for code in ("goodbye", "duplicate-connection", "timeout", "stuck", "failed")} == {None}
    assert [kind_of(code) for code in ("bad-entity", "version")] == ["bad-entity", "version"]
    assert kind_of_refusal(Mended("journal", 1)) is None
    assert (
        kind_of_refusal(OverAllowance("journal")) == kind_of_refusal(ComparisonRefused("journal", "")) == "comparison"
    )
    assert kind_of_refusal(AskedTooOften()) == "want"


def test_sync_882_a_kind_is_shown_for_a_day_after_it_came_up_last() -> None:
    old = Refusal("want", 9, iso(NOW), Sentence("asked"))
    new = Refusal("illegal", 1, iso(NOW + 1), Sentence("out of turn"))
    assert recent([new, old], NOW + SHOWN_MS - 1) == [new, old]
    assert recent([new, old], NOW + SHOWN_MS) == [new]
