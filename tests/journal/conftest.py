"""Two devices of one person: those of the reviews."""

from tests.review.conftest import laptop, phone

__all__ = ["laptop", "phone"]
