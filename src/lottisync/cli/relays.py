"""`relay`: where devices meet that are never up at the same time (docs/specs/19-relay.md)."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lottisync.answers.care import Diagnosis, Finding, Relay, RelayPeer, RelayServer, RelayStorage
from lottisync.cli.doctors import shown_findings
from lottisync.cli.help_pages import Group
from lottisync.cli.options import everywhere
from lottisync.cli.terminal import Terminal, common
from lottisync.device import clock
from lottisync.language import marked, number, say, several, translated
from lottisync.problem import Problem
from lottisync.relay.setting import RelaySetting

if TYPE_CHECKING:
    from lottisync.relay.visits import RelayStatus

NO_RELAY = marked("No relay is used. Set one: lottisync relay set URL")
NOT_TOLD = marked(
    "No word of it could be left at {shown}: a device that comes there alone hears of it from another one"
)
PERSON = re.compile(r"\A[A-Za-z][A-Za-z0-9_-]{0,31}\Z")
PASSWORD_BYTES = 24
EXISTING = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group(cls=Group)
@everywhere
def relay(home: str | None, as_json: bool) -> None:
    """Let devices that are never up at the same time meet at a NATS server."""


@relay.command("set")
@click.argument("url", required=False)
@click.option("--from", "file", type=EXISTING, help="Read the URL from a file: it may hold a password.")
@click.option(
    "--certificate",
    type=EXISTING,
    help="The certificate that the server shows, or that of who has signed it (PEM). All devices trust it.",
)
@click.option("--credentials", type=EXISTING, help="NATS credentials or an NKey, for this device alone.")
@common
def set_relay(
    terminal: Terminal, url: str | None, file: Path | None, certificate: Path | None, credentials: Path | None
) -> None:
    """Use the NATS server at URL, on all your devices.

    \b
    lottisync relay set nats://name:password@relay.example:4222
    lottisync relay set --from home.url --certificate certificate.pem
    lottisync relay set tls://relay.example:4222 --credentials laptop.creds
    """
    from lottisync.relay import setting

    if (url is None) == (file is None):
        raise click.UsageError(say("Give the URL of the relay, or --from FILE."))
    given = setting.parse_url(file.read_text().strip() if file is not None else str(url))
    trusted = setting.parse_certificate(certificate.read_text()) if certificate is not None else ""
    was = setting.read(terminal.home.space)
    if credentials is not None:
        _use_credentials(terminal, credentials)
    found = setting.write(terminal.home.space, given, clock.draw(16), clock.now(), trusted)
    word_was_left = was is None or was.url == found.url or _word_left(terminal, was)

    def shown() -> None:
        if was is not None and not word_was_left:
            terminal.line(say(NOT_TOLD, shown=was.shown), "yellow")
        terminal.line(
            say("All your devices use {shown} once they hear of it. Their daemons visit it.", shown=found.shown)
        )
        if found.credentials:
            file = found.credentials
            terminal.line(
                say(
                    "This device shows {file} there. Each of the others needs a file of its own: "
                    "lottisync relay credentials FILE",
                    file=file,
                )
            )

    terminal.emit(_answer(found), shown)


@relay.command("credentials")
@click.argument("file", type=EXISTING, required=False)
@click.option("--none", is_flag=True, help="Show none any more.")
@common
def set_credentials(terminal: Terminal, file: Path | None, none: bool) -> None:
    """Show the NATS credentials or the NKey in FILE at the relay, on this device alone.

    The file stays where it is. Only its path is noted, and no other device hears of it: each device has its own file,
    which comes from the person who runs the server.

    \b
    lottisync relay credentials phone.creds
    """
    from lottisync.relay import setting

    if (file is None) != none:
        raise click.UsageError(say("Give a FILE, or --none."))
    _use_credentials(terminal, file)
    terminal.emit(
        _answer(setting.read(terminal.home.space)),
        lambda: terminal.line(
            say("This device shows {file} at the relay.", file=file.resolve()) if file else say("It shows none there.")
        ),
    )


@relay.command()
@common
def off(terminal: Terminal) -> None:
    """Use no relay any more, on no device. What lies there goes after 90 days.

    \b
    lottisync relay off
    """
    from lottisync.relay import setting

    was = setting.read(terminal.home.space)
    setting.remove(terminal.home.space, clock.now())
    word_was_left = was is None or _word_left(terminal, was)

    def shown() -> None:
        terminal.line(say("No relay is used any more.") if was is not None else say("No relay was used."))
        if was is not None and not word_was_left:
            terminal.line(say(NOT_TOLD, shown=was.shown), "yellow")

    terminal.emit(Relay(None, []), shown)


@relay.command()
@common
def status(terminal: Terminal) -> None:
    """Visit the relay, take what is new, and show how your devices stand there.

    \b
    lottisync relay status
    """
    from lottisync.relay import setting

    used = setting.read(terminal.home.space)
    if used is None:
        terminal.emit(Relay(None, []), lambda: terminal.line(say(NO_RELAY)))
        return
    found = _visit(terminal, used)

    def shown() -> None:
        terminal.line(_stored(used.shown, found))
        for each in found.standing:
            terminal.line(translated(each.text), "green" if each.in_step and not each.silent else "yellow")

    terminal.emit(_answer(used, found), shown)


def _stored(relay: str, found: "RelayStatus") -> str:
    """How much lies there, of how much may."""
    if found.allowed is None:
        return several(
            "{relay}: {count} byte is stored there", "{relay}: {count} bytes are stored there", found.used, relay=relay
        )
    return several(
        "{relay}: {used} of {count} byte are stored there",
        "{relay}: {used} of {count} bytes are stored there",
        found.allowed,
        relay=relay,
        used=number(found.used),
    )


@relay.command()
@common
def doctor(terminal: Terminal) -> None:
    """Look at all that this device needs of the relay, and say what to do. Exit code 1 if there is a fault.

    One small message is published there, read and deleted.

    \b
    lottisync relay doctor
    """
    import anyio

    from lottisync.relay import setting
    from lottisync.relay.visits import needs_nats, tag

    used = setting.read(terminal.home.space)
    if used is None:
        findings = [Finding("relay", "unknown", say("no relay is used"), say("Set one: lottisync relay set URL"))]
    else:
        with needs_nats():
            from lottisync.cli.relay_diagnosis import examine
        findings = anyio.run(examine, used, tag(terminal.home, used), clock.now)
    terminal.emit(Diagnosis(findings), lambda: shown_findings(terminal, findings))
    if any(each.state == "fault" for each in findings):
        raise click.exceptions.Exit(1)


@relay.command("server-config")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--host", "hosts", multiple=True, required=True, help="A name or address of the server; may be repeated.")
@click.option("--port", type=click.IntRange(1, 65535), default=4222, show_default=True)
@click.option("--person", "people", multiple=True, default=["home"], help="One account for each; may be repeated.")
@common
def server_config(terminal: Terminal, folder: Path, hosts: tuple[str, ...], port: int, people: tuple[str, ...]) -> None:
    """Write all that a household's nats-server needs into FOLDER: its configuration, a certificate, and a URL for each
    person.

    \b
    lottisync relay server-config relay --host nas.home.arpa --host 192.168.1.5
    lottisync relay server-config relay --host nas.home.arpa --person ada --person grace
    """
    from lottisync.relay import server_files

    for person in people:
        if not PERSON.match(person):
            raise click.BadParameter(
                say("{person!r} is not a name of letters, digits, - and _.", person=person), param_hint="--person"
            )
    passwords = {person: clock.token(PASSWORD_BYTES) for person in people}
    public, private = server_files.certificate(hosts, clock.now())
    first = f"[{hosts[0]}]" if ":" in hosts[0] else hosts[0]
    files = {
        "nats-server.conf": server_files.configuration(f"0.0.0.0:{port}", passwords, tls=True),
        "certificate.pem": public,
        "key.pem": private,
        **{f"{person}.url": f"tls://{person}:{password}@{first}:{port}\n" for person, password in passwords.items()},
    }
    _write(folder, files)

    def shown() -> None:
        terminal.line(
            say(
                "Copy {folder} to {hosts}, and start it there, in that folder: nats-server -c nats-server.conf",
                folder=folder,
                hosts=hosts[0],
            )
        )
        for person in people:
            url, trusted = folder / f"{person}.url", folder / "certificate.pem"
            terminal.line(
                say(
                    "On one device of {person}: lottisync relay set --from {url} --certificate {trusted}",
                    person=person,
                    url=url,
                    trusted=trusted,
                )
            )
        terminal.line(
            say("These files hold passwords and a key. Delete {folder} here when both is done.", folder=folder),
            "yellow",
        )

    terminal.emit(RelayServer([str(folder / name) for name in files], list(people)), shown)


def _write(folder: Path, files: dict[str, str]) -> None:
    """Write a file that this user alone can read. A file that is there is never replaced: a server may use it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in files:
        if (folder / name).exists():
            raise Problem("exists", "{file} is there already. Choose another folder, or delete it", file=folder / name)
    for name, text in files.items():
        descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)


def _use_credentials(terminal: Terminal, file: Path | None) -> None:
    from lottisync.relay import setting
    from lottisync.relay.credentials import form_of

    if file is not None:
        form_of(file)
    path = str(file.resolve()) if file is not None else ""
    setting.use_credentials(terminal.home.space, path, clock.now())


def _answer(used: RelaySetting | None, found: "RelayStatus | None" = None) -> Relay:
    if used is None:
        return Relay(None, [])
    peers = [
        RelayPeer(s.device, s.name, s.heard_at or None, s.in_step, s.lacking, s.silent, s.differs)
        for s in (found.standing if found is not None else [])
    ]
    storage = RelayStorage(found.used, found.allowed) if found is not None else None
    return Relay(used.shown, peers, used.credentials or None, storage)


def _visit(terminal: Terminal, used: RelaySetting, *, publish: bool = False) -> "RelayStatus":
    """Read what lies there. Where a daemon runs, it is the one that publishes."""
    import anyio

    from lottisync.relay.visits import Visits

    visits = Visits(terminal.home, clock.draw, lambda code, sentence: terminal.line(translated(sentence), "yellow"))

    async def visit() -> "RelayStatus":
        return await visits.once(used, publish=publish)

    return anyio.run(visit)


def _word_left(terminal: Terminal, was: RelaySetting) -> bool:
    """Whether devices that use only this relay are told there that it is left (RELAY-1244). A daemon tells them."""
    from lottisync.daemon.status import read_status

    if read_status(terminal.home) is None:
        try:
            _visit(terminal, was, publish=True)
        except Exception:  # noqa: BLE001 - a library of another's raises what it likes, and this device has left
            return False
    return True
