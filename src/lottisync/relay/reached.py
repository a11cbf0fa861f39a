"""Whether the relay that is used was reached: what a program that visits it says of itself."""

import msgspec

from lottisync.problem import Sentence


class Reached(msgspec.Struct, frozen=True, rename="camel"):
    """`failure` says why it was not reached at the last try; null if it was. That has not changed `since` then (ISO
    8601). `url` is without what is secret in it."""

    url: str
    since: str
    failure: Sentence | None = None
