"""Time that was spent, and the timer that runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.review.reviewer import START, Reviewer

from lottisync.journal import time_entry
from lottisync.problem import Problem
from lottisync.store.instant import iso, millis

MINUTE, DAY = 60_000, 86_400_000


def started(device: Reviewer, entry_id: str, task_id: str = "t1") -> None:
    device.do(lambda tx: time_entry.start(tx, entry_id, task_id, "kneading", iso(tx.now)))


def stopped(device: Reviewer, entry_id: str) -> None:
    device.do(lambda tx: time_entry.stop(tx, entry_id, iso(tx.now)))


def running(device: Reviewer) -> list[str]:
    with device.journal.reading() as reader:
        return [entry.id for entry in time_entry.running(reader)]


@given(length=st.integers(min_value=-5 * MINUTE, max_value=DAY + 5 * MINUTE))
def test_jour_244_a_span_is_at_most_a_day_and_never_backwards(length: int) -> None:
    """JOUR-244"""
    if 0 <= length <= DAY:
        span = time_entry.checked_span(iso(START), iso(START + length))
        assert millis(span.end or "") - millis(span.at) == length
    else:
        with pytest.raises(Problem, match="from a start to a later end"):
            time_entry.checked_span(iso(START), iso(START + length))


@pytest.mark.parametrize("text", ["", "14:00", "2026-02-28T22:00", "yesterday", "99999-01-01T00:00:00Z"])
def test_jour_26_an_instant_has_an_offset(text: str) -> None:
    """JOUR-26, JOUR-2"""
    with pytest.raises(Problem, match="an instant like"):
        time_entry.checked_instant(text)
    assert time_entry.checked_instant("2026-03-01T00:00:00+02:00") == "2026-02-28T22:00:00.000Z"


def test_jour_27_a_timer_that_starts_stops_the_one_that_runs(laptop: Reviewer) -> None:
    """JOUR-27, S3-66"""
    laptop.add_task("t1")
    laptop.add_task("t2", "Clean up")
    started(laptop, "e1")
    laptop.later(30 * MINUTE)
    started(laptop, "e2", "t2")
    assert running(laptop) == ["e2"]
    [first] = laptop.page("t1").times
    assert (first.minutes, first.runs, laptop.page("t1").minutes_spent) == (30, False, 30)
    [second] = laptop.page("t2").times
    assert (second.minutes, second.runs) == (None, True)


def test_jour_245_a_timer_is_stopped_on_another_device_once(laptop: Reviewer, phone: Reviewer) -> None:
    """JOUR-245: a second stop changes nothing."""
    laptop.add_task()
    started(laptop, "e1")
    laptop.meet(phone)
    phone.later(20 * MINUTE)
    stopped(phone, "e1")
    laptop.meet(phone)
    end = laptop.page().times[0].end
    stopped(laptop, "e1")
    laptop.meet(phone)
    assert [device.page().times[0].end for device in (laptop, phone)] == [end, end]
    assert laptop.same_as(phone)


def test_jour_27_two_devices_apart_may_run_one_each(laptop: Reviewer, phone: Reviewer) -> None:
    """JOUR-27: both are shown, and the next start stops both."""
    laptop.add_task()
    laptop.meet(phone)
    started(laptop, "e1")
    started(phone, "e2")
    laptop.meet(phone)
    assert sorted(running(laptop)) == sorted(running(phone)) == ["e1", "e2"]
    laptop.later(MINUTE)
    started(laptop, "e3")
    assert running(laptop) == ["e3"]


def test_jour_26_two_devices_that_change_a_span_leave_one_of_the_two(laptop: Reviewer, phone: Reviewer) -> None:
    """JOUR-26: never the start of the one and the end of the other."""
    laptop.add_task()
    spans = [time_entry.checked_span(iso(START + h * 3_600_000), iso(START + (h + 1) * 3_600_000)) for h in (0, 5, 9)]
    laptop.do(lambda tx: time_entry.add(tx, "e1", "t1", "kneading", spans[0]))
    laptop.meet(phone)
    laptop.do(lambda tx: time_entry.edit(tx, "e1", span=spans[1]))
    phone.do(lambda tx: time_entry.edit(tx, "e1", span=spans[2]))
    laptop.meet(phone)
    assert laptop.same_as(phone)
    [held] = laptop.page().times
    assert (held.at, held.end) in spans[1:]


def test_jour_244_a_timer_that_was_forgotten_is_cut_to_a_day(laptop: Reviewer) -> None:
    """JOUR-244, JOUR-245"""
    laptop.add_task()
    started(laptop, "e1")
    laptop.later(3 * DAY)
    stopped(laptop, "e1")
    assert laptop.page().times[0].minutes == 24 * 60


def test_jour_12_an_edit_of_the_words_leaves_a_timer_running(laptop: Reviewer) -> None:
    """JOUR-12, JOUR-1: and a note is not a time entry."""
    laptop.add_task()
    started(laptop, "e1")
    laptop.do(lambda tx: time_entry.edit(tx, "e1", text="resting"))
    assert running(laptop) == ["e1"]
    laptop.note("n1")
    with laptop.journal.reading() as reader, pytest.raises(Problem, match="n1 is a note"):
        time_entry.read(reader, "n1")
    laptop.do(lambda tx: time_entry.remove(tx, "e1"))
    assert [entry.id for entry in laptop.page().entries] == ["n1"]
