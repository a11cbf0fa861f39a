"""The space: this person's devices and what they agree on (docs/specs/03-entities.md, section 6).

Membership records and host bindings are immutable, signed documents whose meaning is
`lottisync.identity.roster`'s business. They lead every round: data is never delivered before the
host that wrote it is known.
"""

from lottisync.entities.schema import EntityType, schema

MEMBERSHIP, HOST_BINDING, ADDRESSES, BOX_KEY = "membership", "host", "addresses", "box"

PEERS = """
create table if not exists peers (device text not null, host text not null, port integer not null,
    seen_at text not null, primary key (device, host, port)) strict, without rowid;
create table if not exists introductions (device text primary key, secret blob not null) strict, without rowid;
"""
"""Where other devices were reached, and when they were connected last: the row of a device with an empty `host` and
port 0 says only that, no matter which side dialled. What devices
handed over when they were paired (`lottisync.device.peers`)."""
VERIFICATIONS = """
create table if not exists verifications (bell text not null, device text not null, store text not null,
    state text not null, done integer not null default 0, total integer not null default 0,
    mended integer not null default 0,
    primary key (bell, device, store)) strict, without rowid;
"""
"""What was asked to be compared, how far it is and how it ended (`lottisync.sync.verification`)."""
STATEMENTS = f"""
create table if not exists statements (id text primary key, type text not null, fields text not null)
    strict, without rowid;
create trigger if not exists keep_statement after insert on space_entities
    when new.type in ('{MEMBERSHIP}', '{HOST_BINDING}')
    begin insert or ignore into statements values (new.id, new.type, new.serialized); end;
insert or ignore into statements
    select id, type, serialized from space_entities where type in ('{MEMBERSHIP}', '{HOST_BINDING}');
"""
"""Every signed record a second time, as it first came. A disk that damages the row of a revocation does not bring the
device back (`lottisync.device.membership.read_roster`)."""
INVITATIONS = """
create table if not exists invitations (number integer primary key, secret blob not null,
    until integer not null, host text not null, wanted integer not null, port integer not null default 0,
    failure text not null default '', takes_back integer not null default 0, device text, name text, words text,
    joined_at integer) strict;
"""
"""Invitations that were given out, and who joined by them (`lottisync.device.invitations`)."""
ABSENCES = """
create table if not exists absences (device text primary key, why text not null, tried_at text not null, since text,
    address text, others integer not null, error text, clock_said text) strict, without rowid;
create table if not exists listening (id integer primary key check (id = 0), host text not null,
    port integer not null) strict;
create table if not exists clock_differences (device text primary key, off integer not null, heard_at text not null)
    strict, without rowid;
"""
"""Why each device was away when it was tried last, how far its clock was from ours, and where this one's program
listens (`lottisync.device.peers`)."""
RELAY = """
create table if not exists relay_channels (lane blob not null, channel text not null, number integer not null,
    link blob not null, primary key (lane, channel)) strict, without rowid;
create table if not exists relay_out (number integer primary key, message blob not null) strict;
create table if not exists relay_epochs (id blob primary key, key blob not null, generation integer not null,
    revocations text not null, held_since integer not null) strict, without rowid;
create table if not exists relay_heads (lane blob primary key, number integer not null, link blob not null)
    strict, without rowid;
create table if not exists relay_losses (lane blob primary key, shown integer not null, known integer not null)
    strict, without rowid;
create table if not exists relay_snapshots (at integer not null) strict;
create table if not exists relay_space (id integer primary key check (id = 0), space blob not null) strict;
create table if not exists relay_credentials (id integer primary key check (id = 0), file text not null) strict;
"""
"""What this device has said at a relay and not heard of again, the epoch keys that it holds, the last message that it
has seen of every lane and what it has missed there, when it began snapshots, which space that is of, and where
its credentials lie (`lottisync.relay.ledger`)."""
LOCAL_TABLES = PEERS + VERIFICATIONS + STATEMENTS + INVITATIONS + ABSENCES + RELAY
"""True for this device only, so they do not replicate."""

SPACE = schema(
    "space",
    [
        EntityType(MEMBERSHIP, owner="device", subtype="kind"),
        EntityType(HOST_BINDING, owner="device", subtype="store"),
        EntityType(ADDRESSES, together=(("ways", "renewedAt"),)),
        EntityType("setting"),
        EntityType(BOX_KEY, owner="device"),
    ],
    owner_column="device_id",
    leading=frozenset({MEMBERSHIP, HOST_BINDING}),
    version=3,
    local_tables=LOCAL_TABLES,
)
