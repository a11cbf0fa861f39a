"""What all figures are measured with: a record of fifteen fields and about 400 bytes of JSON."""

from typing import Any


def ident(number: int) -> str:
    """Ids grow with the number, as those of entities do that were made one after the other."""
    return f"task-{number:08d}"


def task(number: int) -> dict[str, Any]:
    return {
        "title": f"Task number {number} with a title of usual length",
        "status": "OPEN",
        "priority": f"P{number % 4}",
        "due": f"2026-12-{number % 28 + 1:02d}",
        "estimate": number % 480 + 1,
        "languageCode": "en",
        "categoryId": f"category-{number % 7}",
        "createdAt": "2026-11-20T18:30:00.000Z",
        "statusReason": None,
        "labels": {"home": True, "garden": number % 2 == 0},
        "suppressedLabels": {"work": True},
        "languageSource": "user",
        "note": "A line of text, as long as people write them into such fields.",
        "source": "bench",
    }
