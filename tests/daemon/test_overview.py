"""What `status` makes of what a daemon says and of what is in the stores."""

from lottisync.daemon.overview import _in_step
from lottisync.sync.peer import PeerState


def test_cli_482_a_device_that_lacks_a_change_is_not_in_step() -> None:
    """CLI-482: `status` said both of one device, when a command had written since the daemon looked."""
    phone = PeerState("p", "phone", connected=True, in_step={"space": True, "journal": True})
    assert _in_step(phone, {})
    assert _in_step(phone, {"space": 0, "journal": 0, "cookbook": 3})
    assert not _in_step(phone, {"space": 0, "journal": 1})
    phone.in_step = {}
    assert not _in_step(phone, {})
