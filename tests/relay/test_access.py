"""How a device comes to a NATS server, what a server for a household needs, and `relay doctor`
(docs/specs/19-relay.md, section 10)."""

import ssl
from collections.abc import Callable, Iterator
from datetime import UTC
from ipaddress import ip_address
from pathlib import Path

import anyio
import nkeys
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.support import nats_account
from tests.support.command_line import Result, run_here
from tests.support.event_loop import until
from tests.support.household import Member
from tests.support.nats_server import WHERE, Server
from tests.support.ports import free_port
from tests.support.recorded_wire import RecordedWire
from tests.support.relay import introduce

from lottisync.cli import relay_diagnosis
from lottisync.cli.relay_diagnosis import examine
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.problem import Problem
from lottisync.relay import connection, server_files, setting
from lottisync.relay.credentials import expires_at, form_of
from lottisync.relay.jetstream import JetStream
from lottisync.relay.setting import RelaySetting
from lottisync.store.instant import LAST, iso, there, to_the_minute

needs_server = pytest.mark.skipif(WHERE is None, reason="there is no nats-server on this machine")
SPACE, TAG = bytes(range(16)), bytes(8)
Start = Callable[..., Server]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts servers, and stops them at the end."""
    running: list[Server] = []

    def started(more: str = "", max_payload: int = 1024 * 1024) -> Server:
        running.append(Server(tmp_path / f"server-{len(running)}", max_payload, more))
        return running[-1]

    yield started
    for server in running:
        server.stop()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    TaskHome.create(tmp_path / "laptop", "laptop").close()
    return tmp_path / "laptop"


def doctor(home: Path) -> tuple[Result, dict[str, str]]:
    """What it said, and the state of each part."""
    done = run_here("relay", "doctor", "--json", home=home)
    return done, {each["part"]: each["state"] for each in done.json["findings"]}


def advice(done: Result, part: str) -> str:
    return next(f"{each['text']} {each['advice']}" for each in done.json["findings"] if each["part"] == part)


@needs_server
def test_relay_541_a_household_s_server_runs_with_what_was_written_for_it(
    home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """RELAY-541, RELAY-5410, RELAY-5411, RELAY-542, RELAY-543"""
    folder, port = tmp_path / "relay", free_port()
    made = run_here(
        *("relay", "server-config", str(folder), "--host", "127.0.0.1", "--port", str(port)),
        *("--person", "ada", "--person", "grace"), home=home,
    )  # fmt: skip
    assert made.code == 0
    assert {file.stat().st_mode & 0o077 for file in folder.iterdir()} == {0}
    password = (folder / "ada.url").read_text().split(":")[2].split("@")[0]
    assert password not in made.out
    server = Server.configured(folder / "nats-server.conf", port)
    try:
        command = next(line for line in made.out.splitlines() if line.startswith("On one device of ada: "))
        assert run_here(*command.partition("lottisync ")[2].split(), home=home).code == 0
        done, states = doctor(home)
        assert (done.code, {*states.values()}) == (0, {"good"}), done.out
        assert password not in done.out
        assert "eof_received" not in caplog.text
        stands = run_here("relay", "status", "--json", home=home).json
        assert stands["storage"]["allowed"] == server_files.STREAM_BYTES
        ada, grace = ((folder / f"{name}.url").read_text().strip() for name in ("ada", "grace"))
        certificate = (folder / "certificate.pem").read_text()
        anyio.run(_bounded, RelaySetting(ada, SPACE, certificate), RelaySetting(grace, SPACE, certificate))
    finally:
        server.stop()
    again = run_here("relay", "server-config", str(folder), "--host", "127.0.0.1", home=home)
    assert (again.code, "is there already" in again.err) == (1, True)
    assert run_here("relay", "server-config", "x", "--host", "h", "--person", "a b", home=home).code == 2


async def _bounded(mine: RelaySetting, theirs: RelaySetting) -> None:
    """A password reaches no other account, and can neither delete a stream nor change its bounds."""
    ada, grace = await JetStream.connect(mine, TAG), await JetStream.connect(theirs, TAG)
    await ada.trial().put()
    assert (await ada.info()).state.messages == 1
    assert (await grace.info()).state.messages == 0
    for request in ("DELETE", "UPDATE"):
        ada._client.refused = ""
        with pytest.raises(TimeoutError):
            await ada._client.request(f"$JS.API.STREAM.{request}.LS-{SPACE.hex()}", b"", timeout=0.2)
        await until(lambda: "permissions violation" in ada._client.refused.lower(), "that the server has refused")
    assert (await ada.info()).state.messages == 1
    for each in (ada, grace):
        await each.close()


@needs_server
def test_relay_1045_a_device_looks_as_often_as_it_likes(tmp_path: Path) -> None:
    """RELAY-1045: more often than an account has room for lists."""
    file, port = tmp_path / "nats-server.conf", free_port()
    text = server_files.configuration(f"127.0.0.1:{port}", {"ada": "secret"}, tls=False)
    file.write_text(text.replace(f"max_consumers: {server_files.CONSUMERS}", "max_consumers: 4"))
    server = Server.configured(file, port)

    async def looks() -> None:
        relay = await JetStream.connect(RelaySetting(f"nats://ada:secret@127.0.0.1:{port}", SPACE), TAG)
        await relay.trial().put()
        for _ in range(6):
            await relay.names()
            await relay.news()
        await relay.close()

    try:
        anyio.run(looks)
    finally:
        server.stop()


@pytest.mark.parametrize("now", [0, LAST, 2**48 - 1])
def test_ent_570_a_certificate_of_a_clock_at_its_limits(now: int) -> None:
    """ENT-570"""
    made, _ = server_files.certificate(["127.0.0.1"], now)
    held = x509.load_pem_x509_certificate(made.encode())
    assert held.not_valid_before_utc <= held.not_valid_after_utc


@needs_server
def test_relay_543_tls_is_kept_or_nothing_is_said(start: Start, tmp_path: Path) -> None:
    """RELAY-543"""
    plain = start()
    wire = RecordedWire(plain.port)
    with pytest.raises(Problem, match="does not use TLS"):
        anyio.run(connection.connect, RelaySetting(wire.url.replace("nats://", "tls://ada:secret@"), SPACE))
    wire.close()
    assert b"INFO" in b"".join(wire.directions)  # it has heard what is said
    assert b"secret" not in b"".join(wire.directions)
    public, private = server_files.certificate(["127.0.0.1"], 1_800_000_000_000)
    (tmp_path / "certificate.pem").write_text(public)
    (tmp_path / "key.pem").write_text(private)
    secure = start(f'tls {{ cert_file: "{tmp_path}/certificate.pem", key_file: "{tmp_path}/key.pem" }}')
    url = f"tls://127.0.0.1:{secure.port}"
    with pytest.raises(Problem, match="certificate is not valid") as refused:
        anyio.run(connection.connect, RelaySetting(url, SPACE))
    assert refused.value.code == "relay-certificate"
    another, _ = server_files.certificate(["127.0.0.1"], 1_800_000_000_000)
    with pytest.raises(Problem, match="certificate is not valid"):
        anyio.run(connection.connect, RelaySetting(url, SPACE, another))


@needs_server
def test_relay_1241_a_certificate_that_was_given_is_enough_no_matter_who_has_signed_it(
    start: Start, tmp_path: Path
) -> None:
    """RELAY-1241: the household's own authority has signed it. Either certificate may be given; the name still has to
    be right."""
    shown, authority = signed_by_an_authority(tmp_path, "127.0.0.1")
    server = start(f'tls {{ cert_file: "{tmp_path}/certificate.pem", key_file: "{tmp_path}/key.pem" }}')

    async def connects(host: str, certificate: str) -> None:
        client = await connection.connect(RelaySetting(f"tls://{host}:{server.port}", SPACE, certificate))
        await client.close()

    for given in (shown, authority):
        anyio.run(connects, "127.0.0.1", given)
        with pytest.raises(Problem, match="certificate is not valid"):
            anyio.run(connects, "localhost", given)


@needs_server
@pytest.mark.parametrize(
    ("host", "years_ago", "to_do"),
    [
        ("127.0.0.1", 0, "Give the server's own certificate"),
        ("nas.home.arpa", 0, "stands in the server's certificate"),
        ("127.0.0.1", 2 * server_files.YEARS, "Give the server a new certificate"),
    ],
)
def test_relay_1242_doctor_says_what_is_wrong_with_a_certificate(
    start: Start, home: Path, tmp_path: Path, host: str, years_ago: int, to_do: str
) -> None:
    """RELAY-1242: nobody here knows it, it is for another name, or it is of another time."""
    public, private = server_files.certificate([host], clock.now() - years_ago * 365 * 86_400_000)
    (tmp_path / "certificate.pem").write_text(public)
    (tmp_path / "key.pem").write_text(private)
    secure = start(f'tls {{ cert_file: "{tmp_path}/certificate.pem", key_file: "{tmp_path}/key.pem" }}')
    known = "own" not in to_do
    given = ("--certificate", str(tmp_path / "certificate.pem")) if known else ()
    assert run_here("relay", "set", f"tls://127.0.0.1:{secure.port}", *given, home=home).code == 0
    done, states = doctor(home)
    assert (done.code, states) == (1, {"server": "fault"})
    assert to_do in advice(done, "server")


def signed_by_an_authority(folder: Path, host: str) -> tuple[str, str]:
    """The certificate of a server at `host`, which lies in `folder` with its key, and that of who has signed it."""
    own, authority = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    signer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "the house")])
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))])
    made = []
    for called, key, extension in (
        (x509.Name([]), own, names),
        (signer, authority, x509.BasicConstraints(ca=True, path_length=0)),
    ):
        builder = x509.CertificateBuilder(signer, called, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(there(clock.now() - 1_000, UTC)).not_valid_after(there(LAST, UTC))
        signed = builder.add_extension(extension, critical=True).sign(authority, hashes.SHA256())
        made.append(signed.public_bytes(serialization.Encoding.PEM).decode())
    (folder / "certificate.pem").write_text(made[0])
    form = serialization.PrivateFormat.PKCS8
    (folder / "key.pem").write_bytes(own.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return made[0], made[1]


@needs_server
def test_relay_1040_a_server_that_does_not_agree_on_tls_is_not_one_that_is_away(
    start: Start, home: Path, tmp_path: Path
) -> None:
    """RELAY-1040"""
    public, private = server_files.certificate(["127.0.0.1"], 1_800_000_000_000)
    (tmp_path / "certificate.pem").write_text(public)
    (tmp_path / "key.pem").write_text(private)
    secure = start(f'tls {{ cert_file: "{tmp_path}/certificate.pem", key_file: "{tmp_path}/key.pem" }}')
    cases = [
        (start().url.replace("nats://", "tls://"), "the server does not use TLS", "Let the server use TLS"),
        (secure.url, "the server demands TLS", "Set the URL with tls://"),
    ]
    for url, what, to_do in cases:
        certificate = ("--certificate", str(tmp_path / "certificate.pem"))
        assert run_here("relay", "set", url, *certificate, home=home).code == 0
        done, states = doctor(home)
        assert (done.code, states) == (1, {"server": "fault"})
        assert what in advice(done, "server")
        assert to_do in advice(done, "server")
        assert what in run_here("relay", "status", home=home).err


@needs_server
def test_without_tls_the_certificates_of_this_machine_are_not_read(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are hundreds, and a device visits its relay again and again."""

    async def visit() -> None:
        await (await JetStream.connect(RelaySetting(start().url, SPACE), TAG)).close()

    monkeypatch.setattr(ssl, "create_default_context", lambda **_: pytest.fail("they were read"))
    anyio.run(visit)


@needs_server
def test_relay_542_an_nkey_of_this_device_alone(start: Start, home: Path, tmp_path: Path) -> None:
    """RELAY-542"""
    user = nats_account.key(nkeys.PREFIX_BYTE_USER, 7)
    server = start(f"authorization {{ users: [ {{ nkey: {nats_account.name(user)} }} ] }}")
    seed = tmp_path / "laptop.nkey"
    seed.write_text(nats_account.seed(user) + "\n")
    assert run_here("relay", "set", server.url, home=home).code == 0
    done, states = doctor(home)
    assert (done.code, states) == (1, {"server": "fault"})
    assert "lottisync relay credentials FILE" in advice(done, "server")
    said = run_here("relay", "credentials", str(seed), "--json", home=home)
    assert (said.json["credentials"], nats_account.seed(user) in said.out) == (str(seed), False)
    assert doctor(home)[0].code == 0
    assert run_here("relay", "credentials", "--none", home=home).code == 0
    assert doctor(home)[0].code == 1


@needs_server
def test_relay_542_credentials_of_an_operator(start: Start, home: Path, tmp_path: Path) -> None:
    """RELAY-542, RELAY-895"""
    operator = nats_account.Operator()
    server = start(operator.configuration)
    file = tmp_path / "laptop.creds"
    file.write_text(operator.credentials(3))
    assert form_of(file) == "creds"
    said = run_here("relay", "set", server.url, "--credentials", str(file), home=home)
    assert (said.code, "needs a file of its own: lottisync relay credentials FILE" in said.out) == (0, True)
    done, states = doctor(home)
    assert (done.code, states["permissions"]) == (0, "good"), done.out


@needs_server
def test_relay_1243_credentials_that_have_expired_are_named_as_such(start: Start, home: Path, tmp_path: Path) -> None:
    """RELAY-1243, RELAY-894: a server says of them only that it does not accept them."""
    operator = nats_account.Operator()
    server = start(operator.configuration)
    file, now = tmp_path / "laptop.creds", clock.now() // 1000
    file.write_text(operator.credentials(3))
    assert run_here("relay", "set", server.url, "--credentials", str(file), home=home).code == 0
    assert "credentials" not in doctor(home)[1]
    for expires, state in ((now + 30 * 86_400, "good"), (now + 86_400, "warning")):
        file.write_text(operator.credentials(3, expires))
        done, states = doctor(home)
        assert (done.code, states["credentials"]) == (0, state)
        assert to_the_minute(iso(expires * 1000)) in advice(done, "credentials")
    file.write_text(operator.credentials(3, now - 60))
    done, states = doctor(home)
    assert (done.code, states) == (1, {"server": "fault"})
    assert f"expired at {to_the_minute(iso(1000 * (now - 60)))}" in advice(done, "server")
    assert "new file, and give it: lottisync relay credentials FILE" in advice(done, "server")
    said = run_here("relay", "status", home=home).err
    assert ("expired at" in said, "lottisync relay doctor" in said) == (True, True)
    file.write_text(nats_account.Operator().credentials(4, now + 60)[:-200])
    assert "lottisync relay doctor" in run_here("relay", "status", home=home).err


@pytest.mark.parametrize("expires", ["", "a.b.c", "a.e30.c", "a.eyJleHAiOiJ4In0.c", "a.eyJleHAiOjFlOTl9.c", "a.W10.c"])
def test_relay_1243_what_says_nothing_of_when_it_expires(tmp_path: Path, expires: str) -> None:
    """RELAY-1243"""
    file = tmp_path / "laptop.creds"
    assert expires_at(file) is None
    file.write_text(f"-----BEGIN NATS USER JWT-----\n{expires}\n\n-----BEGIN USER NKEY SEED-----\nSU{'A' * 56}\n")
    assert expires_at(file) is None


def test_relay_542_credentials_stay_on_their_device_and_errors_show_nothing_of_them(tmp_path: Path, home: Path) -> None:
    """RELAY-542"""
    laptop, phone = (Member(tmp_path / f"device-{number}", number) for number in (1, 2))
    for one, other in ((laptop, phone), (phone, laptop)):
        one.admit(other)
    file = tmp_path / "laptop.nkey"
    setting.write(laptop.space, "nats://relay.example", SPACE, laptop.now)
    setting.use_credentials(laptop.space, str(file), laptop.now)
    introduce(laptop, phone)
    found = [setting.read(each.space) for each in (laptop, phone)]
    assert [each.credentials if each else None for each in found] == [str(file), ""]
    for text in ("SUsecret", "-----BEGIN NATS USER JWT-----\nSUsecret\n"):
        file.write_text(text)
        with pytest.raises(Problem, match="neither NATS credentials") as refused:
            form_of(file)
        assert "SUsecret" not in refused.value.message
        assert run_here("relay", "credentials", str(file), home=home).code == 1
    file.unlink()
    with pytest.raises(Problem, match="cannot be read"):
        form_of(file)
    assert run_here("relay", "credentials", home=home).code == 2
    said = run_here("relay", "set", "htp://ada:secret@relay.example", home=home)
    assert (said.code, "secret" in said.err, "relay.example" in said.err) == (1, False, True)
    (tmp_path / "both.pem").write_text("".join(server_files.certificate(["::1", "relay.example"], 1_800_000_000_000)))
    said = run_here("relay", "set", "tls://relay.example", "--certificate", str(tmp_path / "both.pem"), home=home)
    assert (said.code, "a private key is with it" in said.err) == (1, True)


@needs_server
def test_relay_540_doctor_says_what_is_wrong_with_a_server_and_what_to_do(
    start: Start, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELAY-540"""
    monkeypatch.setattr(relay_diagnosis, "PATIENCE_SECONDS", 0.5)
    assert doctor(home)[1] == {"relay": "unknown"}
    allowed = '["ls.>", "$JS.API.STREAM.>", "$JS.API.CONSUMER.>", "$JS.API.DIRECT.GET.>"]'
    small = start(max_payload=100_000)
    lacking = start(
        "authorization { users: [ { user: ada, password: secret, permissions: { "
        f'publish: {allowed.replace("STREAM.>", "STREAM.INFO.*").replace(", ", ", ")}, subscribe: ["ls.>", "_INBOX.>"]'
        " } } ] }"
    )
    run_here("relay", "set", small.url, home=home)
    done, states = doctor(home)
    assert (done.code, states["message size"], "max_payload" in advice(done, "message size")) == (1, "fault", True)
    run_here("relay", "set", lacking.url.replace("//", "//ada:secret@"), home=home)
    done, states = doctor(home)
    assert (done.code, states["stream"], "secret" in done.out) == (1, "fault", False)
    assert "permissions violation" in advice(done, "stream").lower()
    run_here("relay", "set", "nats://127.0.0.1:9", home=home)
    done, states = doctor(home)
    assert (done.code, states) == (1, {"server": "fault"})
    assert "Start the server" in advice(done, "server")


@needs_server
def test_relay_540_doctor_says_what_is_wrong_with_a_stream(start: Start) -> None:
    """RELAY-540"""
    server = start()
    used = RelaySetting(server.url, SPACE)

    async def work() -> None:
        client = await connection.connect(used)
        await client.jetstream().add_stream(
            name=f"LS-{SPACE.hex()}", subjects=[f"ls.{SPACE.hex()}.>"], max_bytes=1_000, max_age=86_400,
            max_msg_size=500, allow_rollup_hdrs=True, allow_direct=True,
        )  # fmt: skip
        for _ in range(2):
            await client.publish(f"ls.{SPACE.hex()}.a.b.log", b"x" * 400)
        await client.close()

    anyio.run(work)

    def at(ahead: int) -> dict[str, list[str]]:
        findings = anyio.run(examine, used, TAG, lambda: clock.now() + ahead)
        return {part: [f.state for f in findings if f.part == part] for part in {f.part for f in findings}}

    assert at(0) == {
        "server": ["good"], "encryption": ["good"], "message size": ["good"], "stream": ["warning"] * 4,
        "storage": ["warning"], "permissions": ["good"], "clock": ["good"],
    }  # fmt: skip
    assert at(120_000)["clock"] == at(-120_000)["clock"] == ["warning"]


@needs_server
def test_relay_540_doctor_says_what_is_not_permitted(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """RELAY-540"""
    publish = (
        '["ls.>", "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.CREATE.*", "$JS.API.CONSUMER.>", "$JS.API.DIRECT.GET.>"]'
    )
    server = start(
        "authorization { users: [ { user: ada, password: secret, permissions: { "
        f'publish: {publish}, subscribe: ["ls.>", "_INBOX.>"] }} }} ] }}'
    )
    used = RelaySetting(server.url.replace("//", "//ada:secret@"), SPACE)
    permissions, compared = anyio.run(examine, used, TAG, clock.now)[-2:]
    assert (permissions.part, permissions.state) == ("permissions", "fault")
    assert permissions.text.startswith("these work: publish, list and read; delete does not: ")
    assert "docs/guide/relay-server.md" in (permissions.advice or "")
    assert (compared.part, compared.state) == ("clock", "good")


@needs_server
def test_relay_1041_doctor_says_that_it_could_not_compare_the_clocks(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELAY-1041"""
    monkeypatch.setattr(relay_diagnosis, "PATIENCE_SECONDS", 0.5)
    publish = '["ls.>", "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.CREATE.*", "$JS.API.CONSUMER.>"]'
    server = start(
        "authorization { users: [ { user: ada, password: secret, permissions: { "
        f'publish: {publish}, subscribe: ["ls.>", "_INBOX.>"] }} }} ] }}'
    )
    used = RelaySetting(server.url.replace("//", "//ada:secret@"), SPACE)
    permissions, compared = anyio.run(examine, used, TAG, clock.now)[-2:]
    assert permissions.text.startswith("these work: publish and list; read does not: ")
    assert (compared.part, compared.state, compared.text.split(":")[0]) == ("clock", "unknown", "not compared")
