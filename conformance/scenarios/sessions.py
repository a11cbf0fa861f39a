"""A scripted peer that keeps to the rules: greeting, rounds either way, copies, and the heartbeat."""

from collections.abc import Iterable
from typing import Any

from conformance import wire
from conformance.generate import reference
from conformance.peer import (
    SOMEBODY,
    STORES,
    G,
    H,
    Past,
    Peer,
    begin,
    branch,
    chained,
    empty,
    end,
    genesis,
    key,
    known,
    state,
    version,
    whole,
)
from conformance.world import AGENT, DAY, JOURNAL, SPACE, Replica, World

LEVEL = 2


def _some(*titles: str) -> Past:
    past = Past()
    for number, title in enumerate(titles, 1):
        past.write(f"t{number}", {"title": title})
    return past


def _met(world: World, replica: Replica, past: Past, **other: Any) -> Peer:
    """A peer that has this in its journal and nothing else, greeted."""
    peer = Peer(world, replica, **other)
    peer.greet(journal=past.have())
    return peer


# -- the greeting


def the_acceptor_greets_first(world: World) -> None:
    """Under TLS a client that is about to be refused believes that it was let in: the first hello is the welcome."""
    a = world.device("a")
    peer = Peer(world, a)
    world.expect("what is said before anything is heard", [m[0] for m in peer.heard], ["hello"])
    world.expect("the version", peer.last("hello")[1], 1)


def the_initiator_waits_for_the_greeting(world: World) -> None:
    """And answers it."""
    a = world.device("a")
    peer = Peer(world, a, role="initiator")
    world.expect("what is said before anything is heard", peer.heard, [])
    world.expect("the answer begins", [m[0] for m in peer.say(peer.hello())][:1], ["hello"])


def equal_stores_say_hello_and_nothing_else(world: World) -> None:
    """However much is in them (SYNC-25)."""
    a = world.device("a")
    for number in range(30):
        a.write(f"t{number}", {"title": "x"})
    peer = Peer(world, a)
    theirs = peer.last("hello")
    said = peer.say(peer.hello(state=theirs[4], gossip=theirs[5]))
    world.expect("said in answer to an equal state", said, [])
    world.expect("said when time passes", [m[0] for m in peer.wait(5)], ["ping"])


def the_state_in_the_greeting(world: World) -> None:
    """A hash over knowledge, chains and digest of the stores, to the byte (SYNC-15, COPY-1)."""
    a = world.device("a")
    host, forms = a.hosts[JOURNAL], []
    for title in ("one", "two"):
        a.write("t1", {"title": title})
        forms.append(reference.form(a.dump()[0]))
    value = genesis(host)
    for form in forms:
        value = chained(value, form)
    journal = [known({host: [2, 2, value.hex()]}), bytes.fromhex(a.digest())]
    nothing = Past().summary()
    expected = state({SPACE: nothing, JOURNAL: journal, AGENT: nothing})
    world.expect("the state", Peer(world, a).last("hello")[4].hex(), expected.hex())


def another_version_is_refused(world: World) -> None:
    """With a sentence that holds both numbers (SYNC-18)."""
    a = world.device("a")
    for role, number in (("responder", 7), ("initiator", 7), ("responder", 0), ("responder", 2**40)):
        peer = Peer(world, a, role=role)
        peer.say(peer.hello(version=number))
        peer.expect_closed(f"version {number} as {role}", "version")
        reason = peer.last("close")[2]
        world.expect(f"1 and {number} are in {reason!r}", "1" in reason and str(number) in reason, True)


def fields_that_a_later_version_adds(world: World) -> None:
    """Are passed over (SYNC-12)."""
    a = world.device("a")
    peer = Peer(world, a)
    peer.say([*peer.hello(), {"colour": "green"}, 7])
    world.expect("answered", [m[0] for m in peer.say(["ping", 3, 0, "more"])], ["pong"])


def the_plain_encoding_is_enough(world: World) -> None:
    """A peer that lists no other is answered plainly, however much there is to say (SYNC-44)."""
    a = world.device("a")
    for number in range(50):
        a.write(f"t{number}", {"title": "again and again"})
    peer = Peer(world, a)
    peer.greet()
    world.expect("versions", sum(len(m[3]) for m in peer.said("batch")), 50)


def what_was_packed_is_heard(world: World) -> None:
    """After both greetings have listed it, a frame may be one zstd frame that says what it holds (SYNC-44)."""
    a = world.device("a")
    peer = Peer(world, a)
    theirs = peer.last("hello")
    peer.say(peer.hello(state=theirs[4], gossip=theirs[5], encodings=[wire.PLAIN, wire.ZSTD]))
    if wire.ZSTD not in peer.last("hello")[6]:
        return  # it need not offer this
    body = wire.pack([["ping", 5]])
    said = peer.bytes(wire.framed(wire.zstd_frame([(body, 1)], len(body)), wire.ZSTD))
    world.expect("the answer", said, [["pong", 5]])


def bytes_one_by_one(world: World) -> None:
    """However the stream is cut, the same is heard and said (SYNC-1)."""
    past = _some("one", "two")
    answers = []
    for name, size in (("a", 1), ("b", 7), ("c", 1_000_000)):
        peer = Peer(world, world.device(name))
        hello = peer.hello(gossip=peer.last("hello")[5])
        stream = (
            wire.frame(hello, ["want", {JOURNAL: past.have()}]) + wire.frame(*whole(past)) + wire.frame(["ping", 9])
        )
        said = [m for at in range(0, len(stream), size) for m in peer.bytes(stream[at : at + size])]
        world.expect(f"knowledge, {size} bytes at a time", world.replicas[name].knowledge(), past.knowledge)
        answers.append([[m[0] for m in said], [m for m in said if m[0] in ("ack", "pong")]])
    world.expect("seven bytes at a time", answers[1], answers[0])
    world.expect("all at once", answers[2], answers[0])


# -- a round that comes in


def a_round_brings_everything(world: World) -> None:
    """The versions, the knowledge, the chains; Ack says what the store is then (SYNC-4, SYNC-15)."""
    a = world.device("a")
    past = _some("one", "two", "three")
    past.write("t1", {"title": "one again"})
    peer = _met(world, a, past)
    peer.say(*whole(past))
    world.expect("the entities", a.dump(), [past.entities[each] for each in sorted(past.entities)])
    world.expect("knowledge", a.knowledge(), past.knowledge)
    world.expect("digest", a.digest(), past.digest().hex())
    ack = peer.last("ack")
    world.expect("ack", ack[:4], ["ack", 1, JOURNAL, {}])
    world.expect("the summary", [each.hex() for each in ack[4]], [each.hex() for each in past.summary()])
    world.expect_sound(a)
    peer.hang_up()
    again = Peer(world, a)
    again.greet(journal=past.have())
    world.expect("nothing is said back", [again.said(tag) for tag in ("begin", "probe")], [[], []])


def ack_says_what_is_known_beyond_the_round(world: World) -> None:
    """The receiver's own writes, and nothing that the round has just said."""
    a = world.device("a")
    own = a.write("mine", {"title": "x"})
    past = _some("one")
    peer = _met(world, a, past)
    peer.say(*whole(past))
    world.expect("ack", peer.last("ack")[3], {own["host"]: own["counter"]})


def knowledge_comes_with_the_end(world: World) -> None:
    """Never earlier; what has arrived stays when the line is cut, and is named in the next Want (SYNC-4, SYNC-28)."""
    a = world.device("a")
    past = _some("one", "two", "three")
    peer = _met(world, a, past)
    first, second, third = past.versions()
    peer.say(begin(past), past.chain(), ["batch", 1, 1, [first]])
    peer.say(["batch", 1, 2, [second]])
    world.expect("knowledge in a round", a.knowledge(), {})
    peer.hang_up()
    world.expect("knowledge of a round that was cut", a.knowledge(), {})
    world.expect("what has arrived", [entity["id"] for entity in a.dump()], ["t1", "t2"])
    world.expect_sound(a)
    a.close()
    a.open()
    again = _met(world, a, past)
    have = again.last("want")[1][JOURNAL]
    world.expect("the next Want knows", have[1].get(H, [0])[0], 0)
    world.expect("the next Want names", sorted(have[2]), [[H, 1, "t1"], [H, 2, "t2"]])
    again.say(begin(past, count=1), ["batch", 1, 0, [third]], end(past))
    world.expect("knowledge in the end", a.knowledge(), past.knowledge)
    world.expect("the digest", a.digest(), past.digest().hex())


def a_round_that_is_given_up(world: World) -> None:
    """Cut: what arrived stays, knowledge does not come, and the next round may (SYNC-4)."""
    a = world.device("a")
    past = _some("one", "two")
    peer = _met(world, a, past)
    first, second = past.versions()
    peer.say(begin(past), past.chain(), ["batch", 1, 1, [first]], ["abort", 1])
    world.expect("knowledge", a.knowledge(), {})
    world.expect("what has arrived", [entity["id"] for entity in a.dump()], ["t1"])
    peer.say(begin(past, 2, count=1), ["batch", 2, 0, [second]], end(past, 2))
    world.expect("knowledge in the end", a.knowledge(), past.knowledge)


def a_round_that_comes_again(world: World) -> None:
    """Under another number: a join twice is a join (MERGE-3)."""
    a = world.device("a")
    past = _some("one", "two")
    peer = _met(world, a, past)
    peer.say(*whole(past))
    before = [a.dump(), a.knowledge(), a.digest()]
    peer.say(*whole(past, 2))
    world.expect("what is there", [a.dump(), a.knowledge(), a.digest()], before)
    world.expect("ack", peer.last("ack")[:2], ["ack", 2])
    world.expect_sound(a)


def what_was_brought_is_not_sent_back(world: World) -> None:
    """No echo, neither at once nor later (SYNC-26, SYNC-29)."""
    a = world.device("a")
    past = _some("one", "two")
    peer = _met(world, a, past)
    peer.say(*whole(past))
    past.write("t3", {"title": "while connected"})
    peer.say(begin(past, 2, count=1), past.chain(2, 0, 3), ["batch", 2, 1, past.versions()[2:]], end(past, 2))
    world.expect("it has come", a.knowledge(), past.knowledge)
    peer.wait(1)
    world.expect("rounds of the replica", peer.said("begin"), [])


def credit_is_given_back(world: World) -> None:
    """Who takes what is large grants more: thirty batches are no more than one (SYNC-45)."""
    a = world.device("a")
    past = _some(*map(str, range(30)))
    peer = _met(world, a, past)
    peer.say(begin(past), past.chain())
    sent = 1
    for number, each in enumerate(past.versions(), 1):
        world.expect(f"there is credit for batch {number}", peer.credit > sent, True)
        peer.say(["batch", 1, number, [each]])
        sent += 1
    peer.say(end(past))
    world.expect("knowledge", a.knowledge(), past.knowledge)


def a_bad_version_in_a_good_round(world: World) -> None:
    """Kept as it came and named by check; the round goes on, knowledge is adopted (SYNC-48, SYNC-480, SYNC-481)."""
    a = world.device("a")
    past = _some("one", "two", "three")
    versions = past.versions()
    versions[1][4] = b'{"title": "two"}'  # not canonical: a space
    peer = _met(world, a, past)
    peer.say(begin(past), past.chain(), ["batch", 1, 1, versions], end(Past()))
    world.expect("the session", peer.closed, None)
    world.expect("ack", peer.last("ack")[:3], ["ack", 1, JOURNAL])
    world.expect("knowledge", a.knowledge(), past.knowledge)
    world.expect("the good ones", [entity["id"] for entity in a.dump()], ["t1", "t3"])
    world.expect("check names it and nothing else", ["t2" in each for each in a.check()], [True])
    world.expect("somebody is told", [each["code"] for each in peer.events], ["quarantined"])


def bad_versions_are_passed_on(world: World) -> None:
    """As the bytes that came: a newer program may read them (SYNC-48, SYNC-8)."""
    a = world.device("a")
    past = _some("one")
    bad = past.versions()[0]
    bad[3] = b"[9,9,9]"
    peer = _met(world, a, past)
    peer.say(begin(past), past.chain(), ["batch", 1, 1, [bad]], end(past))
    other = Peer(world, a, device=SOMEBODY)
    other.greet()
    world.expect("what another device gets", [m[3] for m in other.said("batch")], [[bad]])


def a_far_future_clock_over_a_session(world: World) -> None:
    """What a device with a wrong clock wrote is kept, and carries nobody along (CAUS-9)."""
    a = world.device("a")
    past = Past()
    past.write("t1", {"title": "from the future"}, millis=world.now + 3650 * DAY)
    peer = _met(world, a, past)
    peer.say(*whole(past))
    world.expect("kept", a.fields("t1"), {"title": "from the future"})
    a.write("t2", {"title": "now"})
    reading = next(entity for entity in a.dump() if entity["id"] == "t2")["registers"]["title"][0]["hlc"]
    world.expect("the own reading is of today", reading[0] <= world.now + DAY, True)


def a_dot_with_two_meanings(world: World) -> None:
    """A row that was changed behind its store's back, there: settled, told, and no end of the session (SYNC-53)."""
    a = world.device("a")
    past = _some("one", "two")
    peer = _met(world, a, past)
    peer.say(*whole(past))
    forged = past.copied()
    forged.entities["t1"]["registers"]["title"][0]["value"] = "zzz"
    past.write("t3", {"title": "three"})
    other = Peer(world, a, device=SOMEBODY)
    other.greet(journal=past.have())
    three = past.versions()[2]
    other.say(begin(past, count=2), past.chain(1, 0, 3), ["batch", 1, 1, [forged.versions()[0], three]], end(past))
    world.expect("the session", other.closed, None)
    world.expect("knowledge", a.knowledge(), past.knowledge)
    world.expect("the greater value stands", a.fields("t1"), {"title": "zzz"})
    world.expect("somebody is told", [each["code"] for each in other.events][:1], ["mended"])
    world.expect_sound(a)


# -- a round that goes out


def a_round_goes_out(world: World) -> None:
    """What the peer lacks, chains in front; the next store's only after Ack (SYNC-27, COPY-2)."""
    a = world.device("a")
    a.write("g1", {"displayName": "x"}, type="agent", store=AGENT)
    a.write("t1", {"title": "x"})
    a.write("t1", {"title": "y"})
    a.write("s1", {"value": 1}, type="setting", store=SPACE)
    peer = Peer(world, a)
    peer.greet()
    for number, store in enumerate(STORES, 1):
        world.expect(
            f"rounds before ack {number}", [m[1:3] for m in peer.said("begin")][number - 1 :], [[number, store]]
        )
        opening, batch = peer.last("begin"), peer.last("batch")
        host, entity = a.hosts[store], a.dump(store)[0]
        world.expect(f"knowledge of {store}", opening[3], a.knowledge(store))
        world.expect(f"versions of {store}", batch[3], [version(entity)])
        sent = peer.last("chain")
        world.expect(f"the chain of {store}", sent[3:7], [host, "", 1, genesis(host)])
        world.expect(f"its values in {store}", len(sent[7]), 16 * a.knowledge(store)[host])
        peer.say(["ack", number, store, {}, peer.last("end")[2]])
    peer.wait(1)
    world.expect("rounds in all", len(peer.said("begin")), 3)
    a.write("t2", {"title": "z"})
    peer.wait(1)
    world.expect("a change while connected", [len(m[3]) for m in peer.said("batch")][3:], [1])
    world.expect("its round", peer.last("begin")[2:4], [JOURNAL, a.knowledge()])


def only_what_is_lacking_goes_out(world: World) -> None:
    """What the Want names as known or as held is not sent (SYNC-28)."""
    a = world.device("a")
    past = _some("one", "two", "three")
    peer = _met(world, a, past)
    peer.say(*whole(past))
    other = Peer(world, a, device=SOMEBODY)
    have = [past.summary(), {H: [1, 3, past.values[3]]}, [[H, 3, "t3"]], [], {}]
    other.greet(journal=have)
    world.expect("what is sent", [[v[0] for v in m[3]] for m in other.said("batch")], [["t2"]])
    world.expect("no chain that is there already", other.said("chain"), [])


def nothing_large_goes_out_without_credit(world: World) -> None:
    """Eight at the beginning, and then as many as were granted (SYNC-45). A chain is large, and there are ten."""
    a = world.device("a")
    peer = Peer(world, a)
    peer.greet()
    for number in range(1, 11):
        past = Past(f"{number:016x}")
        past.write(f"t{number}", {"title": "x"})
        peer.say(*whole(past, number))
    other = Peer(world, a, device=SOMEBODY)
    other.greet()
    world.expect("at first", [len(other.said(tag)) for tag in ("chain", "batch")], [8, 0])
    other.wait(1)
    world.expect("while nothing is granted", len(other.said("chain")), 8)
    other.grant(1)
    world.expect("after one more credit", len(other.said("chain")), 9)
    other.say(["want", {JOURNAL: empty()}])
    world.expect("a Want stops a round that waits", len(other.said("abort")), 1)
    other.grant(3)
    world.expect("and it begins again", [m[1] for m in other.said("begin")], [1, 2])


def what_arrived_on_the_other_side_is_not_forgotten(world: World) -> None:
    """Ack may come late: a Ping in between is answered, and the round counts once (SYNC-22, SYNC-26)."""
    a = world.device("a")
    a.write("t1", {"title": "x"})
    peer = Peer(world, a)
    peer.greet()
    world.expect("a ping in between", peer.say(["ping", 1]), [["pong", 1]])
    peer.say(["ack", 1, JOURNAL, {}, peer.last("end")[2]])
    peer.say(["ack", 1, JOURNAL, {}, peer.last("end")[2]])
    peer.wait(1)
    world.expect("rounds", len(peer.said("begin")), 1)


# -- copies


def _two_copies() -> tuple[Past, Past]:
    past = _some("one", "two")
    other = past.copied()
    past.write("t1", {"title": "here"})
    other.write("t1", {"title": "there"})
    return past, other


def chains_that_differ_are_searched_and_split(world: World) -> None:
    """The last value that both share is asked for; both branches stay, under new names (COPY-5, COPY-4)."""
    a = world.device("a")
    here, there = _two_copies()
    _met(world, a, here).say(*whole(here))
    other = Peer(world, a, device=SOMEBODY)
    other.greet(journal=there.have())
    world.expect("it asks for values", other.last("probe")[1:3], [JOURNAL, H])
    asked = other.last("probe")[3]
    world.expect("below the one that differs", all(1 <= n < 3 for n in asked), True)
    world.expect("no version crosses before", other.said("batch"), [])
    other.say(["probed", JOURNAL, H, {n: there.values[n] for n in asked}])
    node = here.values[2]
    world.expect("it has found the node", other.last("want")[1][JOURNAL][3], [node])
    ours, theirs = branch(here.values[3]), branch(there.values[3])
    world.expect("what it knows", a.knowledge(), {H: 2, ours: 3})
    world.expect_sound(a)

    # The other side splits as well, and brings its branch.
    entity = there.entities["t1"]
    renamed = {
        **entity,
        "clock": {H: 2, theirs: 3},
        "registers": {"title": [{**entity["registers"]["title"][0], "host": theirs}]},
    }
    nothing = Past().summary()
    logs = {H: [2, 2, node], theirs: [3, 3, there.values[3]]}
    other.say(["want", {JOURNAL: [nothing, logs, [], [node], {}]}])
    other.say(
        ["begin", 1, JOURNAL, {theirs: 3}, {}, False, 1],
        ["chain", 1, 0, theirs, H, 3, node, there.values[3]],
        ["batch", 1, 1, [version(renamed)]],
        ["end", 1, nothing],
    )
    world.expect("the session", other.closed, None)
    world.expect("what it knows in the end", a.knowledge(), {H: 2, ours: 3, theirs: 3})
    values = sorted(write["value"] for write in a.dump()[0]["registers"]["title"])
    world.expect("both titles are there", values, ["here", "there"])
    world.expect_sound(a)


def links_that_part_within_a_round(world: World) -> None:
    """Nothing of them is stored, both sides split, and the round is refused (COPY-4)."""
    a = world.device("a")
    here, there = _two_copies()
    there.write("t4", {"title": "one more"})
    _met(world, a, here).say(*whole(here))
    other = Peer(world, a, device=SOMEBODY)
    # It says that it has nothing of that host, so that nobody can look for a difference before.
    other.greet()
    other.say(begin(there), there.chain(), ["batch", 1, 1, there.versions()], end(there))
    world.expect("it refuses", other.last("reject")[1:3], [1, JOURNAL])
    world.expect("the session", other.closed, None)
    world.expect("what it knows", a.knowledge(), {H: 2, branch(here.values[3]): 3})
    world.expect("nothing of the round is there", [entity["id"] for entity in a.dump()], ["t1", "t2"])
    world.expect_sound(a)


def a_peer_knows_more_of_us_than_we_do(world: World) -> None:
    """This store was rolled back: it goes on under a new host, and no dot is used twice (COPY-6, STORE-9)."""
    a = world.device("a")
    a.write("t1", {"title": "x"})
    host = a.hosts[JOURNAL]
    peer = Peer(world, a)
    have = [Past().summary(), {host: [5, 5, b"v" * 16]}, [], [], {}]
    peer.greet(journal=have)
    world.expect("the next write is under another host", a.write("t2", {"title": "y"})["host"] != host, True)
    world.expect_sound(a)


# -- refused rounds


def _refused(world: World, peer: Peer, what: str) -> None:
    world.expect(f"{what}: refused", peer.last("reject")[1:3], [1, JOURNAL])
    world.expect(f"{what}: nothing is acknowledged", peer.said("ack"), [])
    world.expect(f"{what}: the session goes on", [peer.closed, peer.say(["ping", 8])], [None, [["pong", 8]]])


def a_round_before_the_two_have_agreed(world: World) -> None:
    """Nobody has looked yet whether the chains agree (SYNC-5)."""
    a = world.device("a")
    past = _some("one")
    peer = Peer(world, a)
    peer.say(peer.hello())
    peer.say(*whole(past))
    _refused(world, peer, "a round without a Want")
    world.expect("nothing is there", a.dump(), [])


def a_round_to_a_store_that_was_split_since(world: World) -> None:
    """It was made for what the receiver had said; the receiver says again what it has (SYNC-5)."""
    a = world.device("a")
    here, _ = _two_copies()
    _met(world, a, here).say(*whole(here))
    past = Past(G)
    past.write("t9", {"title": "nine"})
    peer = _met(world, a, past)
    other = Peer(world, a, device=SOMEBODY)
    other.greet(journal=[Past().summary(), {H: [2, 2, here.values[2]]}, [], [here.values[2]], {}])
    peer.say(*whole(past))
    _refused(world, peer, "a round to a store that was split")
    world.expect("it says what it has now", peer.last("want")[1][JOURNAL][3], [here.values[2]])
    world.expect("nothing of the round is there", a.read("t9"), None)
    world.expect_sound(a)


def a_round_in_the_middle_of_a_split(world: World) -> None:
    """Every frame of a round looks whether it still stands; what comes after the refusal is passed over (SYNC-5)."""
    a = world.device("a")
    here, _ = _two_copies()
    _met(world, a, here).say(*whole(here))
    past = Past(G)
    past.write("t8", {"title": "eight"})
    past.write("t9", {"title": "nine"})
    peer = _met(world, a, past)
    eight, nine = past.versions()
    peer.say(begin(past), past.chain(), ["batch", 1, 1, [eight]])
    Peer(world, a, device=SOMEBODY).greet(
        journal=[Past().summary(), {H: [2, 2, here.values[2]]}, [], [here.values[2]], {}]
    )
    peer.say(["batch", 1, 2, [nine]], end(past))
    _refused(world, peer, "a round that does not stand any more")
    world.expect("what came later is not there", a.read("t9"), None)
    world.expect("knowledge", a.knowledge().get(G), None)
    world.expect_sound(a)


# -- forgetting


def _forgotten(world: World, replica: Replica) -> Past:
    """A replica that was told that everything of a host was forgotten: its F covers what nobody holds any more."""
    past = _some("one", "two")
    peer = _met(world, replica, past)
    peer.say(["begin", 1, JOURNAL, past.knowledge, past.knowledge, False, 0], past.chain(), end(Past()))
    other = Peer(world, replica)
    other.greet()
    world.expect("what it says it has forgotten", other.last("want")[1][JOURNAL][4], past.knowledge)
    return past


def a_peer_that_is_behind_gets_the_keys(world: World) -> None:
    """It has not seen all that was forgotten, so it gets all, and the keys of what there is (FORGET-8)."""
    a = world.device("a")
    _forgotten(world, a)
    a.write("t7", {"title": "x"})
    peer = Peer(world, a, device=SOMEBODY)
    peer.greet()
    opening = peer.last("begin")
    world.expect("knowledge, forgotten, behind", opening[3:6], [a.knowledge(), {H: 2}, True])
    world.expect("the keys", [m[3] for m in peer.said("keys")], [key("t7")])
    order = [m[0] for m in peer.heard if m[0] in ("begin", "chain", "batch", "keys", "end")]
    world.expect("keys come last", order[-2:], ["keys", "end"])


def a_sender_that_has_not_seen_what_is_forgotten(world: World) -> None:
    """It would bring back what is gone: it is refused, and has to pull first (SYNC-5)."""
    a = world.device("a")
    _forgotten(world, a)
    past = Past(G)
    past.write("t9", {"title": "nine"})
    peer = _met(world, a, past, device=SOMEBODY)
    peer.say(*whole(past))
    _refused(world, peer, "a round of one who is behind")
    world.expect("nothing of the round is there", a.read("t9"), None)


def what_others_have_forgotten_goes(world: World) -> None:
    """A replica that is behind gives up what the sender has forgotten, and keeps what it never saw (FORGET-8)."""
    a = world.device("a")
    past = _some("one", "two")
    _met(world, a, past).say(*whole(past))
    own = a.write("mine", {"title": "nobody has seen this"})
    later = past.copied()
    del later.entities["t1"]
    later.write("t3", {"title": "three"})
    gone = Past(G)
    gone.write("t0", {"title": "x"})
    other = Peer(world, a, device=SOMEBODY)
    other.greet(journal=later.have())
    keys = b"".join(sorted(key(ident) for ident in ("t2", "t3")))
    knowledge = {**later.knowledge, **gone.knowledge}
    other.say(
        ["begin", 1, JOURNAL, knowledge, {H: 1, G: 1}, True, 1],
        later.chain(1, 0, 3), gone.chain(1, 1), ["batch", 1, 2, later.versions()[-1:]], ["keys", 1, 3, keys],
        ["end", 1, Past().summary()],
    )  # fmt: skip
    world.expect("the session", other.closed, None)
    world.expect("what is there", sorted(entity["id"] for entity in a.dump()), ["mine", "t2", "t3"])
    world.expect("the own write", a.fields("mine"), {"title": "nobody has seen this"})
    world.expect("the own host has gone on", a.knowledge()[own["host"]] > own["counter"], True)
    world.expect_sound(a)


# -- mending


def equal_knowledge_and_another_digest(world: World) -> None:
    """Is told, and compared: what differs is named, sent both ways, and mended (SYNC-7, MEND-5)."""
    a = world.device("a")
    past = _some("one", "two")
    _met(world, a, past).say(*whole(past))
    forged = past.copied()
    forged.entities["t1"]["registers"]["title"][0]["value"] = "zzz"
    peer = Peer(world, a, device=b"\xff" * 32)  # the one with the smaller id begins: that is the replica
    peer.greet(journal=forged.have())
    world.expect("somebody is told", [each["code"] for each in peer.events], ["diverged"])
    opening = peer.last("compare")
    hashes = [[ident, bytes.fromhex(reference.digest(past.entities[ident]))[:8]] for ident in ("t1", "t2")]
    world.expect("it says what it compares", opening[1:3], [JOURNAL, past.summary()[0]])
    world.expect("and what it holds", sorted(opening[3][0][2]), hashes)
    world.expect("a node with items has no children", opening[3][0][1], None)
    peer.say(["mend", JOURNAL, [forged.versions()[0]], ["t1"]], ["compare", JOURNAL, opening[2], []])
    world.expect("what it held", [m[2] for m in peer.said("mend")], [[past.versions()[0]]])
    peer.say(["compare", JOURNAL, opening[2], []])
    world.expect("how it has ended", peer.last("mended")[:3], ["mended", JOURNAL, 1])
    world.expect("the greater value stands", a.fields("t1"), {"title": "zzz"})
    world.expect("the digests", a.digest(), forged.digest().hex())
    world.expect_sound(a)


def a_comparison_of_many(world: World) -> None:
    """Of more than 32 entities it begins with the fingerprints of 32 children, to the byte; what answers a child with
    few entities is their ids and hashes (MEND-1)."""
    a = world.device("a")
    past = _some(*(f"title {number}" for number in range(100)))
    _met(world, a, past).say(*whole(past))
    hashes = {ident: bytes.fromhex(reference.digest(entity)) for ident, entity in past.entities.items()}
    below: dict[int, list[str]] = {child: [] for child in range(32)}
    for ident in sorted(hashes):
        below[key(ident)[0] >> 3].append(ident)
    children = [_fingerprint(hashes[ident] for ident in below[child]) for child in range(32)]
    forged = past.copied()
    forged.entities["t7"]["registers"]["title"][0]["value"] = "zzz"
    peer = Peer(world, a, device=b"\xff" * 32)
    peer.greet(journal=forged.have())
    opening = peer.last("compare")
    world.expect("it opens with fingerprints, and nil for entities", opening[3], [[b"", children, None]])
    differs = key("t7")[0] >> 3
    theirs = hashes | {"t7": bytes.fromhex(reference.digest(forged.entities["t7"]))}
    items = [[ident, theirs[ident][:8]] for ident in below[differs]]
    peer.say(["compare", JOURNAL, opening[2], [[bytes([differs]), None, items]]])
    world.expect("it sends the one that differs, and wants it", peer.last("mend")[2:], [[past.versions()[6]], ["t7"]])
    peer.say(["mend", JOURNAL, [forged.versions()[6]], []], ["compare", JOURNAL, opening[2], []])
    peer.say(["compare", JOURNAL, opening[2], []])
    world.expect("how it has ended", peer.last("mended")[:3], ["mended", JOURNAL, 1])
    world.expect("the digests", a.digest(), forged.digest().hex())
    world.expect_sound(a)


def _fingerprint(hashes: Iterable[bytes]) -> bytes:
    """Of the node above these versions: the sum of their hashes modulo 2^128."""
    return (sum(int.from_bytes(each, "big") for each in hashes) % 2**128).to_bytes(16, "big")


# -- heartbeat and end


def a_ping_every_five_seconds(world: World) -> None:
    """And a Pong with its number for one of the peer's (SYNC-22)."""
    a = world.device("a")
    peer = Peer(world, a)
    theirs = peer.last("hello")
    peer.say(peer.hello(state=theirs[4], gossip=theirs[5]))
    world.expect("before it is due", peer.wait(4.9), [])
    world.expect("when it is due", [m[0] for m in peer.wait(0.1)], ["ping"])
    world.expect("before the next", peer.wait(4), [])
    peer.say(["pong", peer.last("ping")[1]])
    world.expect("the next", [m[0] for m in peer.wait(1)], ["ping"])
    world.expect("a ping of the peer", peer.say(["ping", 77]), [["pong", 77]])


def a_ping_says_what_the_clock_says(world: World) -> None:
    """In milliseconds since 1970 (CAUS-420). A peer whose clock is a century off is heard and answered like any
    (CAUS-423)."""
    a = world.device("a")
    peer = Peer(world, a)
    theirs = peer.last("hello")
    peer.say(peer.hello(state=theirs[4], gossip=theirs[5]))
    peer.wait(5)
    world.expect("the clock in the ping", peer.last("ping")[2], world.now)
    for clock in (0, 1, world.now - 365 * DAY, world.now + 100 * 365 * DAY, 2**48 - 1):
        world.expect(f"a ping that says {clock}", peer.say(["ping", 7, clock]), [["pong", 7]])
    world.expect("the session goes on", peer.closed, None)


def fifteen_seconds_of_silence(world: World) -> None:
    """End the session; any byte is a sign of life (SYNC-23)."""
    a = world.device("a")
    peer = Peer(world, a)
    theirs = peer.last("hello")
    peer.say(peer.hello(state=theirs[4], gossip=theirs[5]))
    peer.wait(14)
    peer.bytes(b"\0")  # the first byte of a length
    peer.wait(14.9)
    world.expect("within fifteen seconds", peer.closed, None)
    peer.wait(0.1)
    peer.expect_closed("silence", "timeout")


def five_seconds_for_the_greeting(world: World) -> None:
    """A peer that has not said hello by then is dropped, no matter what else it says (SYNC-21)."""
    a = world.device("a")
    for role in ("responder", "initiator"):
        peer = Peer(world, a, role=role)
        peer.wait(4)
        peer.bytes(b"\0\0")
        peer.wait(0.9)
        world.expect(f"within five seconds as {role}", peer.closed, None)
        peer.wait(0.1)
        world.expect(f"after five seconds as {role}", peer.closed and peer.closed["code"], "timeout")


def close_is_the_last_word(world: World) -> None:
    """What came before it in the same breath is done, without an answer; then nothing is said or heard (SYNC-20)."""
    a = world.device("a")
    past = _some("one")
    peer = _met(world, a, past)
    said = peer.say(*whole(past), ["ping", 1], ["close", "goodbye", "going home"])
    world.expect("said in answer to a Close", said, [])
    world.expect("the end", peer.closed, {"code": "goodbye", "message": "going home"})
    world.expect("what came before it is there", a.knowledge(), past.knowledge)
    past.write("t2", {"title": "two"})
    a.write("t3", {"title": "three"})
    later = peer.say(["ping", 2]) + peer.say(*whole(past, 2)) + peer.wait(6)
    world.expect("said after a Close", later, [])
    world.expect("heard after a Close", a.read("t2"), None)
    world.expect_sound(a)


def messages_behind_a_close(world: World) -> None:
    """In one frame with it: not heard (SYNC-20)."""
    a = world.device("a")
    past = _some("one")
    peer = _met(world, a, past)
    peer.say(["close", "goodbye", ""], *whole(past))
    world.expect("what came behind it", a.dump(), [])
    world.expect("the end", peer.closed and peer.closed["code"], "goodbye")


def two_sessions_of_one_replica(world: World) -> None:
    """What one brings, the other passes on (SYNC-8)."""
    a = world.device("a")
    past = _some("one", "two")
    giver, taker = _met(world, a, past), Peer(world, a, device=SOMEBODY)
    taker.greet()
    giver.say(*whole(past))
    taker.wait(1)
    world.expect("the other gets", [m[3] for m in taker.said("batch")], [past.versions()])
    world.expect("and the chain with it", taker.last("chain")[3:], past.chain()[3:])
