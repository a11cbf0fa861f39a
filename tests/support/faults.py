"""A good version, and versions with one fault each, which no correct implementation can have written."""

import msgspec

from lottisync.entities.version import MAX_VERSION, Version

CLOCK = b'{"0000000000000001":2,"0000000000000002":1}'
STAMPS = (
    b'[[1,7,0,"0000000000000001",2],{"due":[1,9,0,"0000000000000001",1]},{"due":[[[0,9,0,"0000000000000002",1],"d"]]}]'
)
DOCUMENT = b'{"due":null,"labels/bug":true,"title":"x"}'
GOOD = Version("t1", "task", CLOCK, STAMPS, DOCUMENT)


def altered(part: str, old: bytes, new: bytes) -> Version:
    whole: bytes = getattr(GOOD, part)
    assert whole.count(old) >= 1
    return msgspec.structs.replace(GOOD, **{part: whole.replace(old, new, 1)})


FAULTS: dict[str, Version] = {
    "empty id": msgspec.structs.replace(GOOD, id=""),
    "id with a quote": msgspec.structs.replace(GOOD, id='t1","'),
    "id with a newline": msgspec.structs.replace(GOOD, id="t1\n"),
    "id too long": msgspec.structs.replace(GOOD, id="t" * 129),
    "id beginning with a dot": msgspec.structs.replace(GOOD, id=".t"),
    "empty type": msgspec.structs.replace(GOOD, type=""),
    "type with a quote": msgspec.structs.replace(GOOD, type='ta"sk'),
    "type too long": msgspec.structs.replace(GOOD, type="t" * 65),
    "clock is not an object": msgspec.structs.replace(GOOD, clock=b"[]"),
    "clock is not JSON": msgspec.structs.replace(GOOD, clock=b"{"),
    "clock is empty": msgspec.structs.replace(GOOD, clock=b"{}"),
    "clock counts from 0": altered("clock", b'2":1', b'2":0'),
    "clock counter below 0": altered("clock", b'2":1', b'2":-1'),
    "clock counter over 2^53-1": altered("clock", b'2":1', b'2":9007199254740992'),
    "clock counter of 5000 digits": altered("clock", b'2":1', b'2":1' + b"0" * 5_000),
    "clock counter is a fraction": altered("clock", b'2":1', b'2":1.5'),
    "clock counter is text": altered("clock", b'2":1', b'2":"1"'),
    "clock host in capitals": altered("clock", b"0000000000000002", b"000000000000000F"),
    "clock host too short": altered("clock", b'"0000000000000002"', b'"2"'),
    "clock unsorted": msgspec.structs.replace(GOOD, clock=b'{"0000000000000002":1,"0000000000000001":2}'),
    "clock component twice": altered("clock", b'"0000000000000002":1', b'"0000000000000002":1,"0000000000000002":1'),
    "clock with white space": altered("clock", b":2", b": 2"),
    "stamps are not an array": msgspec.structs.replace(GOOD, stamps=b"{}"),
    "stamps lack a part": msgspec.structs.replace(GOOD, stamps=b'[[1,7,0,"0000000000000001",2],{}]'),
    "stamps have a part too many": altered("stamps", b"}]", b"},0]"),
    "base stamp lacks a part": altered("stamps", b"[1,7,0,", b"[1,7,"),
    "precedence 2": altered("stamps", b"[1,7", b"[2,7"),
    "precedence -1": altered("stamps", b"[[[0,9", b"[[[-1,9"),
    "precedence is true": altered("stamps", b"[1,7", b"[true,7"),
    "milliseconds over 48 bits": altered("stamps", b"[1,7", b"[1,281474976710656"),
    "milliseconds below 0": altered("stamps", b"[1,7", b"[1,-7"),
    "ticks over 16 bits": altered("stamps", b"[1,7,0", b"[1,7,65536"),
    "stamp counter 0": altered("stamps", b'[1,9,0,"0000000000000001",1]', b'[1,9,0,"0000000000000001",0]'),
    "write that the clock does not cover": altered("stamps", b'1",2]', b'1",3]'),
    "write of a host that the clock lacks": altered("stamps", b'"0000000000000002",1', b'"0000000000000003",1'),
    "stamp of a path that is not there": altered(
        "stamps", b'{"due":[1', b'{"gone":[1,7,0,"0000000000000001",1],"due":[1'
    ),
    "stamp that equals the base": altered(
        "stamps", b'{"due":[1,9', b'{"title":[1,7,0,"0000000000000001",2],"due":[1,9'
    ),
    "base that is not the most frequent": msgspec.structs.replace(
        GOOD,
        stamps=b'[[1,9,0,"0000000000000001",1],{"labels/bug":[1,7,0,"0000000000000001",2],'
        b'"title":[1,7,0,"0000000000000001",2]},{"due":[[[0,9,0,"0000000000000002",1],"d"]]}]',
    ),
    "sibling of a path that is not there": altered("stamps", b'{"due":[[[', b'{"gone":[[['),
    "sibling that is greater than the winner": altered("stamps", b"[[[0,9", b"[[[1,9999"),
    "no siblings where some are listed": altered("stamps", b'[[[0,9,0,"0000000000000002",1],"d"]]', b"[]"),
    "sibling of the winner's dot": altered(
        "stamps", b'[0,9,0,"0000000000000002",1],"d"', b'[0,9,0,"0000000000000001",1],"d"'
    ),
    "sibling with a value that is not canonical": altered("stamps", b',"d"]', b',"\\u0064"]'),
    "sibling without a value": altered("stamps", b',"d"]', b"]"),
    "document is not an object": msgspec.structs.replace(GOOD, document=b"[]"),
    "document is not JSON": msgspec.structs.replace(GOOD, document=b'{"a"'),
    "document is not UTF-8": altered("document", b'"x"', b'"\xff"'),
    "document with half a surrogate pair": altered("document", b'"x"', b'"\\ud800"'),
    "no register at all": msgspec.structs.replace(GOOD, stamps=b'[[1,7,0,"0000000000000001",2],{},{}]', document=b"{}"),
    "path outside of the grammar": altered("document", b'"title"', b'"ti tle"'),
    "path two levels down": altered("document", b'"labels/bug"', b'"labels/bug/x"'),
    "path twice": altered("document", b'"title":"x"', b'"title":"x","title":"x"'),
    "document unsorted": msgspec.structs.replace(GOOD, document=b'{"due":null,"title":"x","labels/bug":true}'),
    "value that is not canonical": altered("document", b"true", b"1.0"),
    "value with white space": altered("document", b"true", b"[1, 2]"),
    "value too deep": altered("document", b"true", b"[" * 33 + b"]" * 33),
    "value far too deep": altered("document", b"true", b"[" * 50_000 + b"]" * 50_000),
    "number that is not exact": altered("document", b"true", b"9007199254740993"),
    "too large": altered("document", b'"x"', b'"' + b"x" * MAX_VERSION + b'"'),
}
