"""Three devices, partitions, random verdicts: the laws of any history (a Hypothesis state machine).

Whatever three devices propose, decide, undo, type and exchange, in part or in whole, when all have met:
the stores are equal, so is the projection, in every order of arrival; no verdict is lost; no operation has
two effects; what was decided differently is either shown as contested or was settled by somebody."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.review.reviewer import DAY, Reviewer
from tests.support.examples import examples

from lottisync.journal.toolbox import ACTIONS
from lottisync.review import index
from lottisync.review.inbox import Inbox
from lottisync.review.ledger import Ledger
from lottisync.review.projection import ItemStatus, project
from lottisync.review.proposal_record import proposal_records
from lottisync.store.check import broken_invariants

pytestmark = pytest.mark.unmeasured  # measuring makes it half as slow again, and shows no more

DEVICES = 3
ITEMS = 4
devices, items = st.integers(0, DEVICES - 1), st.integers(0, ITEMS - 1)


class ThreeDevices(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="lottisync-three-"))
        self.devices = [Reviewer(self.folder / str(n), n + 1) for n in range(DEVICES)]
        self.given: dict[str, str] = {}
        first = self.devices[0]
        first.add_task(items=("Flour",))
        first.edit(estimate=30)
        builder = first.builder()
        builder.queue("update_task_estimate", {"minutes": 60}, first.now)
        builder.queue("set_task_title", {"title": "Rye bread"}, first.now)
        builder.queue("add_multiple_checklist_items", {"items": [{"title": "Milk"}, {"title": "Eggs"}]}, first.now)
        [self.set] = first.built(builder)
        for other in self.devices[1:]:
            other.pull(first)

    def teardown(self) -> None:
        if not hasattr(self, "devices"):
            return
        try:
            self.meet_all()
            self.laws()
        finally:
            for device in self.devices:
                device.close()
            shutil.rmtree(self.folder)

    # -- what may happen

    def noted(self, device: Reviewer, outcome: Any, verdicts: tuple[str, ...]) -> None:
        """Remember the decision that a person was shown."""
        if outcome.result in ("applied", "no-op", "rejected", "deferred", "undone", "kept"):
            [decision] = [d for d in device.decisions() if d.id == outcome.decision]
            assert decision.verdict in verdicts
            self.given[decision.id] = decision.verdict

    @rule(who=devices, which=items, minutes=st.sampled_from([None, 75, 90]), over=st.booleans())
    def confirm(self, who: int, which: int, minutes: int | None, over: bool) -> None:
        device, edited = self.devices[who], {"minutes": minutes} if minutes and which == 0 else None
        outcome = device.verdicts.confirm(
            f"{self.set}.{which}", device.later(), edited_args=edited, against="current" if over else "base"
        )
        self.noted(device, outcome, ("confirmed",))

    @rule(who=devices, which=items)
    def reject(self, who: int, which: int) -> None:
        device = self.devices[who]
        self.noted(device, device.verdicts.reject(f"{self.set}.{which}", device.later(), "no"), ("rejected",))

    @rule(who=devices, which=items)
    def defer(self, who: int, which: int) -> None:
        device = self.devices[who]
        self.noted(
            device, device.verdicts.defer(f"{self.set}.{which}", device.now + DAY, device.later()), ("deferred",)
        )

    @rule(who=devices, which=items)
    def undo(self, who: int, which: int) -> None:
        device = self.devices[who]
        outcome = device.verdicts.undo(f"{self.set}.{which}", device.later())
        self.noted(device, outcome, ("retracted", "deferred"))

    @rule(who=devices, which=items)
    def keep(self, who: int, which: int) -> None:
        device = self.devices[who]
        self.noted(device, device.verdicts.keep(f"{self.set}.{which}", device.later()), ("confirmed",))

    @rule(who=devices)
    def dismiss(self, who: int) -> None:
        device = self.devices[who]
        for outcome in device.verdicts.dismiss(self.set, device.later()):
            self.noted(device, outcome, ("rejected",))

    @rule(who=devices, minutes=st.integers(600, 900))
    def type(self, who: int, minutes: int) -> None:
        self.devices[who].edit(estimate=minutes)

    @rule(who=devices)
    def propose_again(self, who: int) -> None:
        self.devices[who].propose("add_checklist_item", {"title": "Milk"}, run=f"again-{who}")

    @rule(one=devices, other=devices, stores=st.sampled_from([(), ("journal",), ("agent",)]))
    def pull(self, one: int, other: int, stores: tuple[str, ...]) -> None:
        """A round; or one that was cut off between the stores."""
        if one != other:
            self.devices[one].pull(self.devices[other], *stores)

    @rule(who=devices, days=st.integers(1, 9))
    def wait(self, who: int, days: int) -> None:
        self.devices[who].later(days * DAY)

    # -- what holds

    @invariant()
    def every_device_can_show_what_it_has(self) -> None:
        for device in getattr(self, "devices", []):
            Inbox(device.journal, device.agents, ACTIONS).unsettled_sets(device.now)
            proposal_records(device.journal, device.agents, ACTIONS, device.now)

    def meet_all(self) -> None:
        for _ in range(2):
            for one in self.devices:
                for other in self.devices:
                    if one is not other:
                        one.pull(other)

    def laws(self) -> None:
        first = self.devices[0]
        for device in self.devices:
            device.now = first.now
            assert device.same_as(first)
            for store in (device.journal, device.agents):
                with store.reading() as reader:
                    assert broken_invariants(reader) == []
            assert device.states() == first.states()
            index.refresh(device.agents, device.now)
            with device.agents.reading() as reader:
                assert list(index.faults(reader, device.now)) == []
                listed = {entry.set_id for entry in index.entries(reader, only_open=True)}
            assert listed == {ident for ident, state in device.states().items() if state.open}
        with first.agents.reading() as reader:
            ledger = Ledger.read(reader, first.now)
        assert project(ledger.sets[::-1], ledger.decisions[::-1], first.now) == ledger.states
        held = {decision.id: decision.verdict for decision in ledger.decisions}
        assert self.given.items() <= held.items(), "a verdict was lost"
        for placed in ledger.placed():
            self.law_of(placed.item.operation_id, ledger)
        titles = first.titles()
        assert len(titles) == len(set(titles)), "an effect happened twice"

    def law_of(self, operation: str, ledger: Ledger) -> None:
        known = {decision.id: decision for decision in ledger.on_operation(operation)}
        seen = {other for decision in known.values() for other in decision.seen}
        [placed, *_] = [one for one in ledger.placed() if one.item.operation_id == operation]
        heads = {decision.verdict for ident, decision in known.items() if ident not in seen}
        differ = "confirmed" in heads and heads & {"rejected", "retracted"}
        assert placed.state.contested >= bool(differ), "a contest is not shown"
        if "confirmed" in heads:
            assert placed.state.status is ItemStatus.CONFIRMED
        with self.devices[0].journal.reading() as reader:
            entities = [reader.entity("t1"), *reader.owned_by("t1", deleted=True)]
        holders = {e.id for e in entities if e is not None and f"receipts/{operation}" in e.registers}
        assert len(holders) <= 1, "one operation took effect in two places"
        if "confirmed" in heads:
            assert len(holders) == 1 or any(d.result == "no-op" for d in known.values())


ThreeDevices.TestCase.settings = examples(25, stateful_step_count=14, suppress_health_check=list(HealthCheck))


class TestThreeDevices(ThreeDevices.TestCase):  # type: ignore[misc, valid-type]
    """REV-30, REV-31, REV-37, REV-54, REV-55, REV-56, REV-58, S1-65, C-05."""
