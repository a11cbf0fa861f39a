"""Links: what joins two entities (docs/specs/03-entities.md, section 6).

A link is an entity whose id is derived from its type and its two ends, so that two devices that link
the same make one. Its type is its relation; one of a type that this program does not know is read as
a plain `Link` with its two ends, and is passed on unchanged.
"""

import msgspec

FROM_ID, TO_ID = "fromId", "toId"


class Link(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    from_id: str = ""
    to_id: str = ""
    created_at: str = ""
