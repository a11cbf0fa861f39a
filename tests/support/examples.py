"""How many examples a law is tried with."""

from typing import Any

from hypothesis import settings


def examples(count: int, **more: Any) -> settings:
    """`count` in the suite, which repeats its examples; more in another profile (tests/conftest.py).
    `make deep` tries five times as many, also for what it alone runs."""
    return settings(max_examples=count * settings().max_examples // 100, **more)
