"""A relay: devices that are never up at the same time exchange their rounds through it (docs/specs/19-relay.md).

It is a peer that cannot read, is not believed, and may forget. What lies in it are rounds, recorded for a reader who is
not there, sealed under keys that only the person's devices have.
"""
