"""What a device needs to work, looked at part by part: `lottisync doctor` (docs/specs/11-command-line.md, section 5).

Each check looks at one part and gives one finding: what is there, and what to do. A check that fails itself is a
finding, too: one broken part does not hide the others. Nothing is changed.
"""

import shutil
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

from lottisync.answers.care import Finding
from lottisync.daemon.home import TaskHome
from lottisync.daemon.status import DaemonStatus, last_seen, read_status
from lottisync.device.home import KEY_FILE
from lottisync.net.interfaces import Interface, interfaces
from lottisync.net.listener import DEFAULT_PORT, is_free
from lottisync.net.multicast import is_heard
from lottisync.problem import Problem
from lottisync.store.instant import iso
from lottisync.sync.peer import clock_warning

MEGABYTE = 1_000_000
LITTLE_SPACE = 200 * MEGABYTE
NO_SPACE = 20 * MEGABYTE
OTHERS = 0o077
"""The permission bits of the group and of all other users."""
CONNECT_SECONDS = 3.0
PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")


def examine_home(home: TaskHome, now: int) -> list[Finding]:
    """The parts that belong to a home. `now` is wall time in milliseconds since 1970."""
    running = read_status(home)
    checks: list[tuple[str, Callable[[], list[Finding]]]] = [
        ("permissions", lambda: [permissions(home.path)]),
        ("disk", lambda: [disk(home.path, shutil.disk_usage(home.path).free)]),
        ("stores", lambda: [stores(home)]),
        ("daemon", lambda: [daemon(running)]),
        ("port", lambda: [port(running, free=is_free(DEFAULT_PORT))]),
        ("clock", lambda: clocks(home, running, now)),
        ("devices", lambda: devices(home, running)),
    ]
    return [finding for part, check in checks for finding in _looked_at(part, check)]


def examine_machine(environ: Mapping[str, str]) -> list[Finding]:
    """The parts that any home on this machine needs: the network, and the model that `environ` names."""
    checks: list[tuple[str, Callable[[], list[Finding]]]] = [
        ("addresses", lambda: [addresses(interfaces())]),
        ("multicast", lambda: [multicast(interfaces(), is_heard)]),
        ("model", lambda: [model(environ)]),
    ]
    return [finding for part, check in checks for finding in _looked_at(part, check)]


def _looked_at(part: str, check: Callable[[], list[Finding]]) -> list[Finding]:
    try:
        return check()
    except Problem as problem:
        return [Finding(part, "fault", problem.message, "See more with: lottisync check")]
    except OSError as error:
        return [Finding(part, "unknown", f"the system refused to say: {error.strerror or error}", None)]


def permissions(path: Path) -> Finding:
    """Whether this user can write the home, and no other user can read the key."""
    key = path / KEY_FILE
    if key.stat().st_mode & OTHERS:
        return Finding("permissions", "fault", f"other users can read {key}", f"Run: chmod 600 {key}")
    if path.stat().st_mode & OTHERS:
        return Finding("permissions", "warning", f"other users can look into {path}", f"Run: chmod 700 {path}")
    return Finding("permissions", "good", f"only this user can read {path}", None)


def disk(path: Path, free: int) -> Finding:
    """Whether there is room; `free` in bytes."""
    text = f"{free // MEGABYTE:,} MB are free for {path}"
    if free < NO_SPACE:
        return Finding("disk", "fault", text, "Make room. Until then nothing can be written")
    if free < LITTLE_SPACE:
        return Finding("disk", "warning", text, "Make room soon")
    return Finding("disk", "good", text, None)


def stores(home: TaskHome) -> Finding:
    """Whether every store opens. Raises `Problem` about the first that does not."""
    count = 0
    for store in home.stores.values():
        with store.reading() as reader:
            count += reader.count()
    return Finding("stores", "good", f"{len(home.stores)} stores with {count:,} entities open", None)


def daemon(running: DaemonStatus | None) -> Finding:
    if running is None:
        return Finding("daemon", "warning", "no daemon runs, so nothing syncs", "Run: lottisync daemon")
    return Finding("daemon", "good", f"runs since {running.started_at} (pid {running.pid})", None)


def port(running: DaemonStatus | None, *, free: bool) -> Finding:
    """Where others reach this device. `free`: nobody listens on the usual port."""
    if running is not None and running.port == DEFAULT_PORT:
        return Finding("port", "good", f"the daemon listens on the usual port {DEFAULT_PORT}", None)
    if running is not None:
        text = f"the daemon listens on port {running.port}, not on the usual {DEFAULT_PORT}"
        return Finding("port", "good", text, f"A firewall has to let port {running.port} in")
    if free:
        return Finding("port", "good", f"the usual port {DEFAULT_PORT} is free", None)
    advice = "End that program, or choose a port: lottisync daemon --listen [::]:PORT"
    return Finding("port", "warning", f"another program has the usual port {DEFAULT_PORT}", advice)


def clocks(home: TaskHome, running: DaemonStatus | None, now: int) -> list[Finding]:
    """This device's clock, by what it wrote down earlier; the others', by what they said."""
    seen = max(last_seen(home, running).values(), default="")
    here = iso(now)
    found = [Finding("clock", "good", f"it is {here}", None)]
    if seen > here:
        text = f"it says {here}, but a device was connected at {seen}"
        found = [Finding("clock", "fault", text, "Set the clock of this machine")]
    for peer in running.peers if running else []:
        if peer.ahead:
            found.append(Finding("clock", "warning", clock_warning(peer.name, peer.ahead), f"Set it on {peer.name}"))
    return found


def devices(home: TaskHome, running: DaemonStatus | None) -> list[Finding]:
    """Each other device in use, and whether the two understand each other."""
    states = {state.device: state for state in running.peers} if running else {}
    found = []
    for member in home.roster().active_peers():
        state = states.get(member.device)
        part = "devices"
        if state is None:
            found.append(Finding(part, "unknown", f"{member.name}: no daemon runs here that knows", None))
        elif state.connected:
            found.append(Finding(part, "good", f"{member.name}: connected", None))
        elif state.away == "version":
            text = f"{member.name}: {state.error or 'it speaks another version'}"
            found.append(Finding(part, "fault", text, "Install the newer lottisync on both devices"))
        elif state.away == "no-address":
            advice = f"Run: lottisync devices address {member.name} HOST:PORT"
            found.append(Finding(part, "warning", f"{member.name}: no address is known", advice))
        else:
            text = f"{member.name}: away{f' ({state.error})' if state.error else ''}"
            found.append(Finding(part, "warning", text, "Start its daemon, or see: lottisync status"))
    return found or [Finding("devices", "warning", "this device knows no other", "Run: lottisync pair")]


def addresses(here: list[Interface]) -> Finding:
    """Whether other machines can reach this one at all."""
    hosts = [each.host for each in here if not each.loopback]
    if not hosts:
        return Finding("addresses", "warning", "this machine has no network address", "Connect it to a network")
    return Finding("addresses", "good", ", ".join(hosts), None)


def multicast(here: list[Interface], heard: Callable[[str], bool]) -> Finding:
    """Whether mDNS can work: `heard` says it of one IPv4 address of this machine."""
    hosts = [each.host for each in here if not each.ipv6 and not each.loopback]
    if not hosts:
        return Finding("multicast", "unknown", "there is no IPv4 address to try it on", None)
    silent = [host for host in hosts if not heard(host)]
    if len(silent) < len(hosts):
        return Finding("multicast", "good", "this machine hears its own multicast", None)
    advice = "Let UDP port 5353 through the firewall, or run: lottisync devices address NAME HOST:PORT"
    return Finding("multicast", "warning", f"no multicast is heard on {', '.join(silent)}", advice)


def model(environ: Mapping[str, str]) -> Finding:
    """Whether the server of the model takes connections. Nothing is sent to it, no key either."""
    from lottisync.agents.model import ModelError
    from lottisync.agents.openai_client import model_from_environment

    try:
        configured = model_from_environment(environ)
    except ModelError as error:
        if error.code == "not-configured" and not environ.get("LOTTISYNC_MODEL_URL"):
            return Finding("model", "unknown", "no model is configured, so no agent wakes here", None)
        return Finding("model", "fault", error.message, "Mend the variable, and start the daemon again")
    if not configured.is_loopback and any(environ.get(name) for name in PROXIES):
        return Finding("model", "unknown", f"{configured.address} is behind a proxy; it was not tried", None)
    try:
        with socket.create_connection(configured.endpoint, timeout=CONNECT_SECONDS):
            return Finding("model", "good", f"{configured.address} takes connections", None)
    except OSError as error:
        text = f"{configured.address} takes no connection: {error.strerror or error}"
        return Finding("model", "warning", text, "Start that server, or look at the network. Agents wait meanwhile")
