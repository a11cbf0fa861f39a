"""A device around stores that a test has made: it signs nothing, and takes what any host has written."""

from collections.abc import Mapping

from tests.support.counted import NOON

from lottisync.causality.vector_clock import Host
from lottisync.device.clock import Environment
from lottisync.device.device import Device
from lottisync.device.membership import NoStrangers, Strangers
from lottisync.identity.device_key import DeviceKey
from lottisync.store.store import Store


class Holder(Device):
    """`id` is 64 hexadecimal digits, `stores` are in the order of delivery. Its clock stands still at noon."""

    def __init__(self, id: str, stores: Mapping[str, Store]) -> None:
        super().__init__(stores, _no_key, Environment(lambda: NOON, _no_id, _no_host, _no_seed))
        self._id = id

    @property
    def id(self) -> str:
        return self._id

    def strangers(self) -> Strangers:
        return NoStrangers()


def _no_key() -> DeviceKey:
    raise AssertionError("this device signs nothing")


def _no_id(now: int) -> str:
    raise AssertionError("this device names nothing: the test does")


def _no_host() -> Host:
    raise AssertionError("the stores of this device mint their hosts")


def _no_seed() -> bytes:
    raise AssertionError("this device draws nothing")
