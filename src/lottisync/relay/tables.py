"""The local tables of `space` in which a device keeps what `lottisync.relay.ledger` reads and writes. They are in a
module of their own: every command opens the stores with their tables, and few commands use a relay."""

TABLES = """
create table if not exists relay_channels (lane blob not null, channel text not null, number integer not null,
    hash blob not null, primary key (lane, channel)) strict, without rowid;
create table if not exists relay_out (number integer primary key, message blob not null) strict;
create table if not exists relay_epochs (id blob primary key, key blob not null, generation integer not null,
    revocations text not null, held_since integer not null) strict, without rowid;
create table if not exists relay_heads (lane blob primary key, number integer not null, hash blob not null)
    strict, without rowid;
create table if not exists relay_losses (lane blob primary key, shown integer not null, known integer not null)
    strict, without rowid;
create table if not exists relay_snapshots (at integer not null) strict;
create table if not exists relay_space (id integer primary key check (id = 0), space blob not null) strict;
create table if not exists relay_credentials (id integer primary key check (id = 0), file text not null) strict;
"""
"""What this device has said at a relay and not heard of again, the epoch keys that it holds, the last message that it
has seen of every lane and what it has missed there, when it began snapshots, which space that is of, and where
its credentials lie."""
