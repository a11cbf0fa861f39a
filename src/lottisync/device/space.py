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
port 0 says only that, no matter which side dialled. What devices handed over when they were paired
(`lottisync.device.peers`)."""
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
LOCAL_TABLES = PEERS + STATEMENTS + INVITATIONS + ABSENCES
"""True for this device only, so they do not replicate. A program adds the tables of what lies above a device, such as
`lottisync.relay.tables`."""

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
