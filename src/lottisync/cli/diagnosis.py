"""What a device needs to work, looked at part by part: `lottisync doctor` (docs/specs/11-command-line.md, section 5).

Each check looks at one part and gives one finding: what is there, and what to do. A check that cannot be done is a
finding, too, so one broken part does not hide the others. Nothing is changed."""

import shutil
import socket
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lottisync.answers.care import Finding, FindingState
from lottisync.cli.hints import hint_of, refusal_hint
from lottisync.daemon.home import TaskHome
from lottisync.daemon.status import DaemonStatus, last_seen, read_status
from lottisync.device import clock
from lottisync.device.home import KEY_FILE
from lottisync.language import headed, number, say, several, translated
from lottisync.net.interfaces import Interface, interfaces
from lottisync.net.listener import DEFAULT_PORT, is_free
from lottisync.net.multicast import is_heard
from lottisync.problem import Problem, Sentence
from lottisync.relay import setting
from lottisync.relay.credentials import expires_at, form_of
from lottisync.store.beside import beside
from lottisync.store.instant import iso
from lottisync.sync.peer import PeerState, clock_trouble, own_clock_doubt
from lottisync.sync.refusal import recent

if TYPE_CHECKING:
    from lottisync.agents import admission
    from lottisync.agents.openai_client import OpenAIModel
    from lottisync.agents.types import Agent

MEGABYTE = 1_000_000
LITTLE_SPACE = 200 * MEGABYTE
NO_SPACE = 20 * MEGABYTE
OTHERS = 0o077
"""The permission bits of the group and of all other users."""
CONNECT_SECONDS = 3.0
Reading = Callable[[str], str]
"""An instant (ISO 8601, UTC) as it is shown."""
PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")


def examine_home(home: TaskHome, now: int, environ: Mapping[str, str], reading: Reading = str) -> list[Finding]:
    """The parts that belong to a home. `now` is wall time in milliseconds since 1970. The keys of its endpoints are in
    `environ`. `reading` says an instant as it is shown."""
    running = read_status(home)
    checks: list[tuple[str, Callable[[], list[Finding]]]] = [
        ("permissions", lambda: [permissions(home.path)]),
        ("disk", lambda: [disk(home.path, shutil.disk_usage(home.path).free)]),
        ("stores", lambda: [stores(home)]),
        ("daemon", lambda: [daemon(running, reading)]),
        ("port", lambda: [port(running, free=is_free(DEFAULT_PORT))]),
        ("clock", lambda: clocks(home, running, now, reading)),
        ("devices", lambda: devices(home, running, now)),
        ("relay", lambda: relay(home, now, reading)),
        ("endpoint", lambda: endpoints(home, environ)),
    ]
    return [finding for part, check in checks for finding in _looked_at(part, check)]


def examine_machine(environ: Mapping[str, str]) -> list[Finding]:
    """The parts that any home on this machine needs: the network, and the model that `environ` names."""
    checks: list[tuple[str, Callable[[], list[Finding]]]] = [
        ("addresses", lambda: [addresses(interfaces())]),
        ("multicast", lambda: [multicast(interfaces(), lambda host: is_heard(host, clock.draw(16)))]),
        ("model", lambda: [model(environ)]),
    ]
    return [finding for part, check in checks for finding in _looked_at(part, check)]


def _looked_at(part: str, check: Callable[[], list[Finding]]) -> list[Finding]:
    try:
        return check()
    except Problem as problem:
        return [Finding(part, "fault", translated(problem), hint_of(problem) or say("See more with: lottisync check"))]
    except OSError as error:
        return [
            Finding(
                part, "unknown", say("the system refused to say: {strerror}", strerror=error.strerror or error), None
            )
        ]


def permissions(path: Path) -> Finding:
    """Whether this user can write the home, and no other user can read the key."""
    key = path / KEY_FILE
    if key.stat().st_mode & OTHERS:
        return Finding(
            "permissions", "fault", say("other users can read {key}", key=key), say("Run: chmod 600 {key}", key=key)
        )
    if path.stat().st_mode & OTHERS:
        return Finding(
            "permissions",
            "warning",
            say("other users can look into {path}", path=path),
            say("Run: chmod 700 {path}", path=path),
        )
    return Finding("permissions", "good", say("only this user can read {path}", path=path), None)


def disk(path: Path, free: int) -> Finding:
    """Whether there is room; `free` in bytes."""
    text = say("{free} MB are free for {path}", free=number(free // MEGABYTE), path=path)
    if free < NO_SPACE:
        return Finding("disk", "fault", text, say("Make room. Until then nothing can be written"))
    if free < LITTLE_SPACE:
        return Finding("disk", "warning", text, say("Make room soon"))
    return Finding("disk", "good", text, None)


def stores(home: TaskHome) -> Finding:
    """Whether every store opens. Raises `Problem` about the first that does not."""
    count = 0
    for store in home.stores.values():
        with store.reading() as reader:
            count += reader.count()
    return Finding(
        "stores",
        "good",
        say(
            "{stores} with {entities} can be opened",
            stores=several("{count} store", "{count} stores", len(home.stores)),
            entities=several("{count} entity", "{count} entities", count),
        ),
        None,
    )


def daemon(running: DaemonStatus | None, reading: Reading) -> Finding:
    if running is None:
        return Finding("daemon", "warning", say("no daemon runs, so nothing syncs"), say("Run: lottisync daemon"))
    return Finding(
        "daemon",
        "good",
        say("runs since {started_at} (pid {pid})", started_at=reading(running.started_at), pid=running.pid),
        None,
    )


def relay(home: TaskHome, now: int, reading: Reading) -> list[Finding]:
    """Which one is used, and whether this device can show its credentials there. It is asked nothing."""
    used = setting.read(home.space)
    if used is None:
        return []
    state: FindingState = "unknown"
    text = say("{url} is used, and was not asked", url=used.shown)
    file = Path(used.credentials)
    try:
        if used.credentials and form_of(file) and (ends := expires_at(file)) is not None and ends <= now:
            state, text = "fault", say("the credentials of this device expired at {at}", at=reading(iso(ends)))
    except Problem as problem:
        state, text = "fault", translated(problem)
    return [Finding("relay", state, text, say("Look at it: lottisync relay doctor"))]


def port(running: DaemonStatus | None, *, free: bool) -> Finding:
    """Where others reach this device. `free`: no program listens on the usual port."""
    if running is not None and running.port == DEFAULT_PORT:
        return Finding(
            "port", "good", say("the daemon listens on the usual port {default_port}", default_port=DEFAULT_PORT), None
        )
    if running is not None:
        text = say(
            "the daemon listens on port {port}, not on the usual {default_port}",
            port=running.port,
            default_port=DEFAULT_PORT,
        )
        return Finding("port", "good", text, say("A firewall has to let port {port} in", port=running.port))
    if free:
        return Finding("port", "good", say("the usual port {default_port} is free", default_port=DEFAULT_PORT), None)
    advice = say("End that program, or choose a port: lottisync daemon --listen [::]:PORT")
    return Finding(
        "port", "warning", say("another program has the usual port {default_port}", default_port=DEFAULT_PORT), advice
    )


def clocks(home: TaskHome, running: DaemonStatus | None, now: int, reading: Reading = str) -> list[Finding]:
    """This device's clock, compared with what it wrote earlier; the clocks of the others, by what they said."""
    try:
        seen = max(last_seen(home, running).values(), default="")
    except Problem:  # that the store cannot be read is the finding of other parts
        seen = ""
    here = iso(now)
    found = [Finding("clock", "good", say("it is {here}", here=reading(here)), None)]
    if seen > here:
        text = say("it says {here}, but a device was connected at {seen}", here=reading(here), seen=reading(seen))
        found = [Finding("clock", "fault", text, say("Set the clock of this machine"))]
    doubt = clock.doubt(now) or own_clock_doubt(running.peers if running else [], now)
    if doubt is not None:
        found = [Finding("clock", "fault", translated(doubt), say("Set the clock of this machine"))]
    for peer in running.peers if running else []:
        silent_since = None if peer.connected else peer.clock_heard_at
        trouble = clock_trouble(peer.name, peer.clock_off, peer.ahead, now, heard_at=silent_since)
        if trouble is not None:
            found.append(
                Finding(
                    "clock", "warning", translated(trouble), say("Set the clock on {name}, or here", name=peer.name)
                )
            )
    return found


def devices(home: TaskHome, running: DaemonStatus | None, now: int) -> list[Finding]:
    """Each other device in use, and whether the two understand each other."""
    states = {state.device: state for state in running.peers} if running else {}
    found = []
    for member in home.roster().active_peers():
        state = states.get(member.device)
        part = "devices"
        if state is None:
            found.append(
                Finding(part, "unknown", say("{name}: no daemon runs here that knows", name=member.name), None)
            )
        elif state.connected:
            found.append(Finding(part, "good", say("{name}: connected", name=member.name), None))
            found += _refused(state, now)
        elif state.away is not None and state.away.reason == "version":
            why = translated(state.failure or Sentence("it speaks another version"))
            text = headed(member.name, why)
            found.append(Finding(part, "fault", text, say("Install the newer lottisync on the older device")))
        elif state.away is not None and state.away.reason == "no-address":
            advice = say("Run: lottisync devices address {name} HOST:PORT", name=member.name)
            found.append(Finding(part, "warning", say("{name}: no address is known", name=member.name), advice))
        else:
            text = say("{name}: away", name=member.name) + (f" ({translated(state.failure)})" if state.failure else "")
            found.append(Finding(part, "warning", text, say("Start its daemon, or see: lottisync status")))
    return found or [Finding("devices", "warning", say("this device knows no other"), say("Run: lottisync pair"))]


def _refused(state: PeerState, now: int) -> list[Finding]:
    """What was refused lately between this device and another that is connected."""
    return [
        Finding("devices", "warning", translated(each.reason), refusal_hint(each.kind))
        for each in recent(state.refusals, now)
    ]


def addresses(here: list[Interface]) -> Finding:
    """Whether other machines can reach this one at all."""
    hosts = [each.host for each in here if not each.loopback]
    if not hosts:
        return Finding(
            "addresses", "warning", say("this machine has no network address"), say("Connect it to a network")
        )
    return Finding("addresses", "good", ", ".join(hosts), None)


def multicast(here: list[Interface], heard: Callable[[str], bool]) -> Finding:
    """Whether mDNS can work. `heard` looks at one IPv4 address of this machine."""
    hosts = [each.host for each in here if not each.ipv6 and not each.loopback]
    if not hosts:
        return Finding("multicast", "unknown", say("there is no IPv4 address to try it on"), None)
    silent = [host for host in hosts if not heard(host)]
    if len(silent) < len(hosts):
        return Finding("multicast", "good", say("this machine hears its own multicast"), None)
    advice = say("Let UDP port 5353 through the firewall, or run: lottisync devices address NAME HOST:PORT")
    return Finding("multicast", "warning", say("no multicast is heard on {silent}", silent=", ".join(silent)), advice)


def model(environ: Mapping[str, str]) -> Finding:
    """Whether the server of the model takes connections. Nothing is sent to it, no key either."""
    from lottisync.agents.model import ModelError
    from lottisync.agents.openai_client import model_from_environment

    try:
        configured = model_from_environment(environ)
    except ModelError as error:
        if error.code == "model-not-configured" and not environ.get("LOTTISYNC_MODEL_URL"):
            return Finding("model", "unknown", say("no model is configured, so no agent wakes here"), None)
        return Finding("model", "fault", translated(error), say("Mend the variable, and start the daemon again"))
    return _reached("model", "", configured, environ)


def endpoints(home: TaskHome, environ: Mapping[str, str]) -> list[Finding]:
    """For each server of models in config.toml: whether it takes connections. For each server that an agent on this
    device asks: whether config.toml has it. Nothing is sent."""
    from lottisync.agents.endpoint import ModelChoice, model_for
    from lottisync.daemon.settings import read_settings

    named = read_settings(home.path).endpoints
    found = []
    for name, endpoint in named.items():
        try:
            model = model_for(ModelChoice(None, name), named, environ)
        except Problem as problem:
            found.append(Finding("endpoint", "fault", headed(name, translated(problem)), say("Mend it in config.toml")))
            continue
        if endpoint.key_env and not environ.get(endpoint.key_env):
            text, advice = (
                say("{name}: the variable {key_env} is not set here", name=name, key_env=endpoint.key_env),
                say("Set {key_env}", key_env=endpoint.key_env),
            )
            found.append(
                Finding("endpoint", "warning", text, say("{advice} where the daemon is started", advice=advice))
            )
        else:
            found.append(_reached("endpoint", headed(name), model, environ))
    return found + _not_here(home, named)


def _not_here(home: TaskHome, named: Collection[str]) -> list[Finding]:
    """The agents that wait for an endpoint that this device does not have."""
    from lottisync.agents import admission, lifecycle

    here = admission.Here(home.key.device_id, 0, endpoints=named)

    def waits(each: "Agent") -> "admission.Withheld | None":
        return admission.without_endpoint(
            each, here, admission.called(journal, each, lifecycle.read_state(reader, each.id))
        )

    with home.agent.reading() as reader, home.journal.reading() as journal:
        waiting = beside(lifecycle.list_agents(reader, lifecycle.ACTIVE), waits, [])  # `stores` and `check` name damage
    advice = say("Or choose another one: lottisync agent model TASK --endpoint NAME")
    return [Finding("endpoint", "warning", translated(why), advice) for why in waiting if why is not None]


def _reached(part: str, name: str, model: "OpenAIModel", environ: Mapping[str, str]) -> Finding:
    if not model.is_loopback and any(environ.get(variable) for variable in PROXIES):
        return Finding(
            part,
            "unknown",
            say("{name}{address} is behind a proxy; it was not tried", name=name, address=model.address),
            None,
        )
    try:
        with socket.create_connection(model.endpoint, timeout=CONNECT_SECONDS):
            return Finding(
                part, "good", say("{name}{address} takes connections", name=name, address=model.address), None
            )
    except OSError as error:
        text = say(
            "{name}{address} takes no connection: {strerror}",
            name=name,
            address=model.address,
            strerror=error.strerror or error,
        )
        return Finding(part, "warning", text, say("Start that server, or look at the network. Agents wait meanwhile"))
