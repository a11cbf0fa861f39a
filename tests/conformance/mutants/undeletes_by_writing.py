"""A write to what was deleted brings it back."""

from collections.abc import Mapping
from typing import Any

from tests.conformance.mutants.planting import run

from lottisync.causality.vector_clock import Clock, Dot
from lottisync.entities.entity import DELETED_AT, is_deleted
from lottisync.store.transaction import Transaction

original = Transaction.put


def put(
    self: Transaction,
    entity_id: str,
    type_name: str,
    fields: Mapping[str, Any],
    *,
    precedence: int | None = None,
    seen: Clock | None = None,
) -> Dot:
    entity = self.entity(entity_id)
    undone = {DELETED_AT: None} if entity is not None and is_deleted(entity) else {}
    return original(self, entity_id, type_name, {**fields, **undone}, precedence=precedence, seen=seen)


Transaction.put = put  # type: ignore[method-assign]
run()
