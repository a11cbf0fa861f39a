"""In a request 1.0 is not 1."""

from typing import Any

from tests.conformance.mutants.planting import plant, run

from lottisync.adapter.adapter import whole_numbers


def as_it_came(value: Any) -> Any:
    return value


plant(whole_numbers, as_it_came)
run()
