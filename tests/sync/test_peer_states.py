"""What is shown of another device, without a connection."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from tests.support.household import Member, inline

from lottisync.language import speaking, translated
from lottisync.protocol.message import Close
from lottisync.sync.peer import PeerState, Receiving
from lottisync.sync.peer_record import PeerRecord
from lottisync.sync.peer_states import ENDED, REFUSED, PeerStates, said_of_close
from lottisync.sync.peer_status import PeerStatus
from lottisync.sync.refusal import KINDS

PHONE = "b" * 64


@pytest.fixture
def states(tmp_path: Path) -> Iterator[PeerStates]:
    member = Member(tmp_path, 1)
    record = PeerRecord(member.space, inline, clock=lambda: member.now, report=lambda code, text: None)
    made = PeerStates(member.stores, record, inline, clock=lambda: member.now, where=lambda device: [])
    made.know({PHONE: "phone"}, [PHONE])
    yield made
    member.close()


def shown(states: PeerStates, receiving: Receiving) -> PeerState:
    (found,) = anyio.run(states.snapshot, [receiving])
    return found


def test_cli_472_a_round_is_shown_while_its_connection_lives(states: PeerStates) -> None:
    """CLI-472: a round that was cut off comes no further."""
    far = Receiving("journal", 1_000, 4_000, 250)
    states.connected(PHONE, PeerStatus(receiving=far), None)
    assert shown(states, far).receiving == far
    states.disconnected(PHONE, None, here=False)
    assert shown(states, far).receiving is None


def test_cli_860_the_last_word_of_another_device_is_quoted(states: PeerStates) -> None:
    """CLI-860: what both sides mean the same by is said in the reader's language, and so is which one is older."""

    def said(code: str, reason: str) -> str:
        states.disconnected(PHONE, Close(code, reason), here=False)
        error = states.states[PHONE].failure
        assert error is not None
        with speaking("de"):
            return translated(error)

    older = "it speaks version 2 of the sync protocol, this device version 1: update this device first"
    assert said("version", older).startswith("es spricht Version 2 des Sync-Protokolls, dieses Gerät Version 1")
    assert said("version", "speak 2 or 1") == "das andere Gerät hat die Verbindung beendet: 'speak 2 or 1'"
    assert said("revoked", "out") == "dieses Gerät wurde dort widerrufen: es gehört nicht mehr zu deinen Geräten"


@pytest.mark.parametrize("code", [*REFUSED, *ENDED])
@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "ro"])
def test_sync_1000_what_a_code_means_is_said_in_the_readers_language(code: str, language: str) -> None:
    """SYNC-1000, SYNC-40: before, a German reader saw an English sentence alone."""
    said = said_of_close(Close(code, "no\nmore"))
    with speaking(language):
        shown = translated(said)
    assert (shown == translated(said)) is (language == "en")
    assert ("'no\u2424more'" in shown) is (code in REFUSED)


def test_sync_1000_each_code_of_a_refusal_has_its_meaning() -> None:
    """SYNC-1000"""
    assert set(REFUSED) >= set(KINDS) - {"comparison", "want", "connection", "version", "other"}
    assert said_of_close(Close("a code of tomorrow", "no")) == "the other device ended the connection: 'no'"
