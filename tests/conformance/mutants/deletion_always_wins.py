"""Deleted is deleted, and an edit that the deleter had not seen is swallowed without a word."""

from tests.conformance.mutants.planting import plant, run

from lottisync.entities import entity
from lottisync.entities.entity import Entity


def has_unseen_edit(_: Entity) -> bool:
    return False


plant(entity.has_unseen_edit, has_unseen_edit)
run()
