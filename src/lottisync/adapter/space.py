"""All replicas that one runner has opened, and the rounds between them: the operations of level 3.

They belong to one person and know each other's hosts, so nobody here is a stranger. What is not
built yet answers `not-built`, which a suite tells from a wrong answer and from an operation that the
contract does not have.
"""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from lottisync.adapter import request as r
from lottisync.adapter.proposals import Proposals
from lottisync.adapter.replica import Replica
from lottisync.adapter.request import Request
from lottisync.adapter.round import Round
from lottisync.adapter.wire_entity import BadRequest
from lottisync.causality import vector_clock
from lottisync.causality.vector_clock import Dot
from lottisync.problem import Problem
from lottisync.protocol.message import MAX_BATCH
from lottisync.store.check import broken_invariants

FAULTS = ("duplicate", "reorder")


class Space:
    def __init__(self) -> None:
        self._replicas: dict[str, Replica] = {}
        self._rounds: dict[int, Round] = {}
        self._numbers = count(1)
        self.operations: dict[str, Callable[[Request], Any]] = {
            "open": self._open,
            "close": self._close,
            "write": self._write,
            "read": lambda q: self._replica(q).read(r.text(q, "store"), r.text(q, "entity")),
            "delete": self._delete,
            "undelete": self._undelete,
            "knowledge": lambda q: self._replica(q).knowledge(r.text(q, "store")),
            "digest": lambda q: self._replica(q).digest(r.text(q, "store")),
            "sync": self._sync,
            "round.begin": self._round_begin,
            "round.step": self._round_step,
            "round.cut": self._round_cut,
            "verify": self._verify,
            "purge": self._not_built,
            "retire": self._not_built,
            "corrupt": self._corrupt,
            "check": lambda q: self._replica(q).check(),
            "dump": lambda q: self._replica(q).dump(r.text(q, "store")),
        }
        self.operations |= Proposals(self._replica, self.operations).operations

    def close(self) -> None:
        for replica in self._replicas.values():
            replica.close()
        self._replicas.clear()

    # -- replicas

    def _replica(self, request: Request, field: str = "replica") -> Replica:
        name = r.text(request, field)
        if name not in self._replicas:
            raise Problem("unknown-replica", f"no replica {name!r} is open")
        return self._replicas[name]

    def _open(self, request: Request) -> dict[str, Any]:
        name, folder = r.text(request, "replica"), Path(r.text(request, "dir"))
        if name in self._replicas:
            raise Problem("open-already", f"replica {name!r} is open already")
        detect = request.get("detect", "early")
        if detect not in ("early", "late"):
            raise BadRequest("'detect' is early or late")
        frame_entities = r.whole(request, "frame_entities", least=1) if "frame_entities" in request else MAX_BATCH
        replica = Replica(
            name, folder, r.field(request, "seed"), r.now(request), min(frame_entities, MAX_BATCH), detect
        )
        self._replicas[name] = replica
        return {"hosts": replica.hosts()}

    def _close(self, request: Request) -> None:
        """Closing takes a replica off the line: its running rounds are cut."""
        replica = self._replica(request)
        self._rounds = {n: x for n, x in self._rounds.items() if replica not in (x.source, x.target)}
        del self._replicas[replica.name]
        replica.close()

    def _write(self, request: Request) -> dict[str, Any]:
        seen = None
        if request.get("seen") is not None:
            seen = r.clock(request, "seen")
            vector_clock.validate(seen)
        dot = self._replica(request).write(
            r.text(request, "store"),
            r.text(request, "entity"),
            r.text(request, "type"),
            r.mapping(request, "set"),
            r.precedence(request),
            seen,
            r.now(request),
        )
        return _named(dot)

    def _delete(self, request: Request) -> dict[str, Any]:
        store, entity = r.text(request, "store"), r.text(request, "entity")
        return _named(self._replica(request).delete(store, entity, r.precedence(request), r.now(request)))

    def _undelete(self, request: Request) -> dict[str, Any]:
        store, entity = r.text(request, "store"), r.text(request, "entity")
        return _named(self._replica(request).undelete(store, entity, r.precedence(request), r.now(request)))

    def _corrupt(self, request: Request) -> None:
        drop = request.get("drop") is True
        value = None if drop else r.field(request, "value")
        store, entity, path = r.text(request, "store"), r.text(request, "entity"), r.text(request, "path")
        self._replica(request).corrupt(store, entity, path, value, drop=drop)

    # -- rounds

    def _ends(self, request: Request) -> tuple[Replica, Replica]:
        source, target = self._replica(request, "from"), self._replica(request, "to")
        if source is target:
            raise BadRequest("'from' and 'to' are two replicas")
        return source, target

    def _sync(self, request: Request) -> dict[str, Any]:
        """One round of one store, or of all of them in the order of delivery, cut off after so many frames
        in all. With `reorder` frames arrive last to first, with `duplicate` all of them arrive again."""
        source, target = self._ends(request)
        names = source.store_names if request.get("store") is None else (r.text(request, "store"),)
        left = None if request.get("cut_after") is None else r.whole(request, "cut_after")
        faults = r.names(request, "faults", FAULTS)
        now = r.now(request)
        rounds = [Round(next(self._numbers), source, target, name, now) for name in names]
        frames = size = 0
        for running in rounds:
            order = list(range(running.frames))
            if "reorder" in faults:
                order.reverse()
            if left is not None:
                order = order[: left - frames]
            for number in order * (2 if "duplicate" in faults else 1):
                running.deliver(number)
                size += running.size(number)
            frames += len(order)
            if not running.complete:
                break
        return {
            "frames": frames,
            "bytes": size,
            "complete": all(running.complete for running in rounds),
            "diverged": [running.store_name for running in rounds if running.diverged],
        }

    def _round_begin(self, request: Request) -> dict[str, int]:
        source, target = self._ends(request)
        number = next(self._numbers)
        begun = self._rounds[number] = Round(number, source, target, r.text(request, "store"), r.now(request))
        return {"round": number, "frames": begun.frames}

    def _running(self, request: Request) -> tuple[int, Round]:
        number = r.whole(request, "round")
        if number not in self._rounds:
            raise Problem("unknown-round", f"no round {number} is running")
        return number, self._rounds[number]

    def _round_step(self, request: Request) -> dict[str, bool]:
        number, running = self._running(request)
        done = running.step()
        if done:
            del self._rounds[number]
        return {"done": done}

    def _round_cut(self, request: Request) -> None:
        number, _ = self._running(request)
        del self._rounds[number]

    # -- proof

    def _verify(self, request: Request) -> dict[str, Any]:
        source, target = self._ends(request)
        name = r.text(request, "store")
        states = []
        for replica in (source, target):
            with replica.store(name).reading() as reader:
                broken = broken_invariants(reader)
                if broken:
                    raise Problem("not-built", f"{replica.name} needs mending: {broken[0]}")
                states.append((reader.knowledge(), reader.held_beyond(), reader.digest()))
        (*ours, our_digest), (*theirs, their_digest) = states
        if ours == theirs and our_digest != their_digest:
            raise Problem("not-built", f"{source.name} and {target.name} know the same and differ: this needs mending")
        return {"equal": our_digest == their_digest, "mended": 0}

    def _not_built(self, request: Request) -> None:
        raise Problem("not-built", f"{request.get('op')} is not built yet")


def _named(dot: Dot) -> dict[str, Any]:
    return {"host": dot.host, "counter": dot.counter}
