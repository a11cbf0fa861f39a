"""What a device needs of its relay, looked at part by part: `lottisync relay doctor`.

Each finding says what is there, and what to do. What is permitted is found by trying: one small message is published,
read and deleted. It lies under a name that no device reads.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path

from nats.errors import Error as NatsError
from nats.js.api import DiscardPolicy, StreamInfo
from nats.js.errors import APIError

from lottisync.answers.care import Finding, FindingState
from lottisync.language import headed, listed, marked, number, say, several, translated
from lottisync.problem import Problem
from lottisync.relay.connection import NOT_STORED, RelayConnection, connect, has_no_room, said_by_server, stalled
from lottisync.relay.credentials import expires_at
from lottisync.relay.jetstream import JetStream
from lottisync.relay.server_files import MAX_PAYLOAD
from lottisync.relay.setting import RelaySetting
from lottisync.relay.stream import AGE_SECONDS
from lottisync.store.instant import iso, to_the_minute

DAY_SECONDS = 86_400
CLOCK_SECONDS = 60
PATIENCE_SECONDS = 3.0
"""A server says nothing to a request that it does not permit."""
NEARLY_FULL, FULL = 0.8, 0.95
EXPIRES_SOON_DAYS = 7
ADVICE = {
    "relay-certificate": marked(
        "Give the server's own certificate, or that of who has signed it: lottisync relay set URL --certificate FILE"
    ),
    "relay-certificate-name": marked("Set a URL with a name or address that stands in the server's certificate"),
    "relay-certificate-date": marked("Give the server a new certificate, if the clock of this machine is right"),
    "relay-without-tls": marked(
        "Let the server use TLS: lottisync relay server-config writes what it needs. Or set a URL with nats://, and "
        "the network between sees the password"
    ),
    "relay-demands-tls": marked(
        "Set the URL with tls://, and a certificate that is not known here with it: "
        "lottisync relay set URL --certificate FILE"
    ),
    "relay-refused-us": marked(
        "Look at the name and password in the URL, or give the file: lottisync relay credentials FILE"
    ),
    "relay-credentials": marked("Give a file that this user can read: lottisync relay credentials FILE"),
    "relay-credentials-expired": marked(
        "Ask who runs the server for a new file, and give it: lottisync relay credentials FILE"
    ),
    "relay-not-storing": marked(
        "Look at the server's log and at the disk and folder of its store, and start the server again"
    ),
    "relay-stalled": marked(
        "Look at the server's log and its disk. Make room, and start the server again: it may not go on by itself"
    ),
    "relay-no-room": marked("Give the account and the server more room: max_file, max_file_store, a larger disk"),
    "relay-not-permitted": marked(
        "Ask who runs the server to permit it: docs/guide/relay-server.md lists what a device needs"
    ),
}


async def examine(setting: RelaySetting, tag: bytes, now: Callable[[], int]) -> list[Finding]:
    """Look at all of it; at the first part that fails nothing after it can be looked at."""
    begun = now()
    try:
        client = await connect(setting)
    except Problem as problem:
        start = marked("Start the server, or look at the address: lottisync relay set URL")
        return [Finding("server", "fault", translated(problem), say(ADVICE.get(problem.code, start)))]
    try:
        return [
            _server(client, setting, now() - begun),
            _encryption(setting),
            *_credentials(setting, begun),
            _payload(client.max_payload),
            *await _stream(client, setting, tag, now),
        ]
    finally:
        await client.close()


def _server(client: RelayConnection, setting: RelaySetting, took: int) -> Finding:
    version = client.connected_server_version
    text = say(
        "{url} answers after {took} ms; nats-server {version}",
        url=setting.shown,
        took=number(took),
        version=f"{version.major}.{version.minor}.{version.patch}",
    )
    return Finding("server", "good", text, None)


def _encryption(setting: RelaySetting) -> Finding:
    if setting.url.startswith("tls://"):
        text = say("TLS, and the server has shown a certificate that is trusted here")
        return Finding("encryption", "good", text, None)
    if setting.shown.startswith(("nats://127.", "nats://localhost", "nats://[::1]")):
        return Finding("encryption", "good", say("the server is on this machine"), None)
    text = say("the network between sees the password, and when devices speak; never what they say")
    return Finding("encryption", "warning", text, say("Let the server use TLS, and set a URL with tls://"))


def _credentials(setting: RelaySetting, now: int) -> list[Finding]:
    """Until when they are good, if they say so."""
    if not setting.credentials or (ends := expires_at(Path(setting.credentials))) is None:
        return []
    text = say("they expire at {at}", at=to_the_minute(iso(ends)))
    if ends - now > EXPIRES_SOON_DAYS * DAY_SECONDS * 1000:
        return [Finding("credentials", "good", text, None)]
    return [Finding("credentials", "warning", text, say(ADVICE["relay-credentials-expired"]))]


def _payload(limit: int) -> Finding:
    if limit >= MAX_PAYLOAD:
        text = several(
            "the server takes {count} byte in a message", "the server takes {count} bytes in a message", limit
        )
        return Finding("message size", "good", text, None)
    text = several(
        "the server takes {count} byte in a message, and one of ours may have {ours}",
        "the server takes {count} bytes in a message, and one of ours may have {ours}",
        limit,
        ours=number(MAX_PAYLOAD),
    )
    advice = say("Set {setting} in its configuration", setting=f"max_payload: {MAX_PAYLOAD}")
    return Finding("message size", "fault", text, advice)


async def _stream(client: RelayConnection, setting: RelaySetting, tag: bytes, now: Callable[[], int]) -> list[Finding]:
    try:
        relay = await JetStream.opened(client, setting, tag, PATIENCE_SECONDS)
        limits = _limits(await relay.info())
    except (Problem, TimeoutError, NatsError) as error:
        problem = error if isinstance(error, Problem) else stalled(setting, error, client.refused)
        switch_on = marked("Switch JetStream on in the server's configuration, with room for 64 MiB")
        return [Finding("stream", "fault", translated(problem), say(ADVICE.get(problem.code, switch_on)))]
    return [*limits, _room(*await relay.room()), *await _permissions(relay, client, now)]


def _limits(info: StreamInfo) -> list[Finding]:
    config = info.config
    wrong = []
    if config.discard != DiscardPolicy.NEW:
        wrong.append((say("it forgets the oldest when it is full"), "discard: new"))
    if config.max_msg_size not in (None, -1) and config.max_msg_size < MAX_PAYLOAD:
        text = several("it takes {count} byte in a message", "it takes {count} bytes in a message", config.max_msg_size)
        wrong.append((text, f"max_msg_size: {MAX_PAYLOAD}"))
    if config.max_age and config.max_age < AGE_SECONDS:
        text = several(
            "it forgets after {count} day", "it forgets after {count} days", round(config.max_age / DAY_SECONDS)
        )
        wrong.append((text, "max_age: 90 days"))
    if config.allow_rollup_hdrs:
        wrong.append((say("one message with Nats-Rollup deletes all of it"), "allow_rollup_hdrs: false"))
    if not config.max_bytes or config.max_bytes < 0:
        wrong.append((say("a stolen password can fill the disk"), "max_bytes"))
    if not wrong:
        return [Finding("stream", "good", say("{name} is as devices make it", name=config.name), None)]
    return [
        Finding("stream", "warning", headed(str(config.name), text), say("Set {setting} for it", setting=setting))
        for text, setting in wrong
    ]


def _room(used: int, limit: int | None) -> Finding:
    text = several("{count} byte", "{count} bytes", used)
    if limit is None:
        return Finding("storage", "good", text, None)
    text = say("{used} of {most}", used=text, most=number(limit))
    if used > NEARLY_FULL * limit:
        state: FindingState = "fault" if used > FULL * limit else "warning"
        return Finding("storage", state, text, say("Give the stream more room: max_bytes"))
    return Finding("storage", "good", text, None)


async def _permissions(relay: JetStream, client: RelayConnection, now: Callable[[], int]) -> list[Finding]:
    """Publish, list, read and delete, until one is refused. The message that the server stored has the time of its
    clock."""
    clock: list[float] = []
    trial = relay.trial()

    async def read() -> None:
        clock.append(now() / 1000 - await trial.stored_at())

    steps: list[tuple[str, Callable[[], Awaitable[object]]]] = [
        (say("publish"), trial.put),
        (say("list"), relay.names),
        (say("read"), read),
        (say("delete"), trial.delete),
    ]
    done: list[str] = []
    for what, step in steps:
        try:
            await step()
        except (TimeoutError, NatsError) as error:
            return [_not_done(error, client, done, what), _clock(clock)]
        done.append(what)
    text = say("these work: {done}", done=listed(done))
    return [Finding("permissions", "good", text, None), _clock(clock)]


def _not_done(error: TimeoutError | NatsError, client: RelayConnection, done: list[str], what: str) -> Finding:
    """Why one step was not done: there is no room, the server's disk fails, or it is not permitted."""
    if has_no_room(error):
        text = say("the relay is full: {reason}", reason=said_by_server(error))
        return Finding("storage", "fault", text, say("Give the stream more room: max_bytes"))
    if isinstance(error, APIError) and error.err_code in NOT_STORED:
        text = say("the server stores nothing: {reason}", reason=said_by_server(error))
        return Finding("storage", "fault", text, say(ADVICE["relay-not-storing"]))
    reason = client.refused or str(error).removeprefix("nats: ") or type(error).__name__
    return Finding("permissions", "fault", _refused(done, what, reason), say(ADVICE["relay-not-permitted"]))


def _refused(done: list[str], what: str, reason: str) -> str:
    if not done:
        return say("{what} does not work: {reason}", what=what, reason=reason)
    return say("these work: {done}; {what} does not: {reason}", done=listed(done), what=what, reason=reason)


def _clock(measured: list[float]) -> Finding:
    """By how many seconds this machine is ahead of the server, if that was measured."""
    if not measured:
        return Finding("clock", "unknown", say("not compared: no message could be put there and read again"), None)
    [ahead] = measured
    if abs(ahead) <= CLOCK_SECONDS:
        return Finding("clock", "good", say("this machine and the server say the same time"), None)
    seconds = number(round(abs(ahead)))
    if ahead > 0:
        text = say("this machine is {seconds} s ahead of the server", seconds=seconds)
    else:
        text = say("this machine is {seconds} s behind the server", seconds=seconds)
    return Finding("clock", "warning", text, say("Set the clock of the one that is wrong"))
