"""Keys in the order of UTF-16, as a language whose text is made of that would sort them."""

from typing import Any

import msgspec
from tests.conformance.mutants.planting import run

from lottisync.entities import canonical


def sorted_by_utf16(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: sorted_by_utf16(value[key]) for key in sorted(value, key=lambda key: key.encode("utf-16-be"))}
    return [sorted_by_utf16(item) for item in value] if isinstance(value, list) else value


class Encoder:
    def encode(self, value: Any) -> bytes:
        return msgspec.json.encode(sorted_by_utf16(value))


canonical._encoder = Encoder()  # type: ignore[assignment]
run()
