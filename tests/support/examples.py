"""How many examples a law is tried with."""

from typing import Any

from hypothesis import settings


def examples(count: int, **more: Any) -> settings:
    """`count` where the suite repeats its examples, and as many times more as the profile has (tests/conftest.py)."""
    return settings(max_examples=count * settings().max_examples // 100, **more)
