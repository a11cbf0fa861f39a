"""All replicas that one runner has opened, and the rounds between them: the operations of level 3.

They belong to one person and know each other's hosts, so none of them is a stranger."""

import base64
import hashlib
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from lottisync.adapter import request as r
from lottisync.adapter.conversation import SessionOperations
from lottisync.adapter.proposals import ProposalOperations
from lottisync.adapter.replica import Replica, device_of
from lottisync.adapter.request import Request
from lottisync.adapter.round import Round
from lottisync.adapter.verification import verify
from lottisync.adapter.wire_entity import BadRequest
from lottisync.causality import vector_clock
from lottisync.causality.vector_clock import Dot
from lottisync.entities.schema import StoreSchema, schema
from lottisync.problem import Problem
from lottisync.protocol.message import MAX_BATCH
from lottisync.store import forgetting

FAULTS = ("duplicate", "reorder")


class Space:
    """See the module. Each operation on replicas is one method."""

    def __init__(self) -> None:
        self._replicas: dict[str, Replica] = {}
        self._rounds: dict[int, Round] = {}
        self._sessions: dict[int, SessionOperations] = {}
        self._devices: dict[Path, set[str]] = {}
        self._time = 0
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
            "round.abort": self._round_abort,
            "verify": self._verify,
            "purge": self._purge,
            "retire": self._retire,
            "session.open": self._session_open,
            "session.receive": self._session_receive,
            "session.tick": self._session_tick,
            "session.close": self._session_close,
            "corrupt": self._corrupt,
            "check": lambda q: self._replica(q).check(),
            "dump": lambda q: self._replica(q).dump(r.text(q, "store")),
        }
        self.operations |= ProposalOperations(self._replica, self.operations).operations

    def close(self) -> None:
        for conversation in self._sessions.values():
            conversation.close()
        self._sessions.clear()
        for replica in self._replicas.values():
            replica.close()
        self._replicas.clear()

    def _now(self, request: Request) -> int:
        """The runner's time. It is kept for operations that come without a time."""
        self._time = r.now(request)
        return self._time

    # -- replicas

    def _replica(self, request: Request, field: str = "replica") -> Replica:
        name = r.text(request, field)
        if name not in self._replicas:
            raise Problem("unknown-replica", "no replica {name!r} is open", name=name)
        return self._replicas[name]

    def _open(self, request: Request) -> dict[str, Any]:
        name, folder = r.text(request, "replica"), Path(r.text(request, "dir"))
        if name in self._replicas:
            raise Problem("open-already", "replica {name!r} is open already", name=name)
        detect = request.get("detect", "early")
        if detect not in ("early", "late"):
            raise BadRequest("'detect' is early or late")
        frame_entities = r.whole(request, "frame_entities", least=1) if "frame_entities" in request else MAX_BATCH
        replica = Replica(
            name,
            folder,
            r.field(request, "seed"),
            self._now(request),
            min(frame_entities, MAX_BATCH),
            detect,
            _further_stores(request),
        )
        self._replicas[name] = replica
        self._devices.setdefault(replica.household, set()).add(replica.device.id)
        return {"hosts": replica.hosts()}

    def _close(self, request: Request) -> None:
        """Close a replica. Its running rounds and sessions are cut."""
        replica = self._replica(request)
        for number in [n for n, x in self._sessions.items() if x.replica is replica]:
            self._sessions.pop(number).close()
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
            self._now(request),
        )
        return _named(dot)

    def _delete(self, request: Request) -> dict[str, Any]:
        store, entity = r.text(request, "store"), r.text(request, "entity")
        return _named(self._replica(request).delete(store, entity, r.precedence(request), self._now(request)))

    def _undelete(self, request: Request) -> dict[str, Any]:
        store, entity = r.text(request, "store"), r.text(request, "entity")
        return _named(self._replica(request).undelete(store, entity, r.precedence(request), self._now(request)))

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
        names = tuple(source.stores) if request.get("store") is None else (r.text(request, "store"),)
        left = None if request.get("abort_after") is None else r.whole(request, "abort_after")
        faults = r.names(request, "faults", FAULTS)
        now = self._now(request)
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
        begun = self._rounds[number] = Round(number, source, target, r.text(request, "store"), self._now(request))
        return {"round": number, "frames": begun.frames}

    def _running(self, request: Request) -> tuple[int, Round]:
        number = r.whole(request, "round")
        if number not in self._rounds:
            raise Problem("unknown-round", "no round {number} is running", number=number)
        return number, self._rounds[number]

    def _round_step(self, request: Request) -> dict[str, bool]:
        number, running = self._running(request)
        done = running.step()
        if done:
            del self._rounds[number]
        return {"done": done}

    def _round_abort(self, request: Request) -> None:
        number, _ = self._running(request)
        del self._rounds[number]

    # -- proof

    def _verify(self, request: Request) -> dict[str, Any]:
        source, target = self._ends(request)
        now = self._now(request) if "now" in request else self._time
        equal, mended = verify(source, target, r.text(request, "store"), now)
        return {"equal": equal, "mended": mended}

    # -- forgetting

    def _active(self, replica: Replica) -> set[str]:
        """The devices that are waited for: all that this runner has opened beside this one, and not retired since."""
        return self._devices[replica.household]

    def _purge(self, request: Request) -> dict[str, int]:
        replica = self._replica(request)
        others = self._active(replica) - {replica.device.id}
        min_age = r.whole(request, "min_age") if "min_age" in request else forgetting.MIN_AGE
        store = r.text(request, "store")
        waited_for = forgetting.waited_for(store, {store: replica.store(store), **replica.stores}, others)
        with replica.store(store).transaction(self._now(request), None) as tx:
            return {"purged": forgetting.purge(tx, waited_for, min_age)}

    def _retire(self, request: Request) -> None:
        active = self._active(self._replica(request))
        device = device_of(r.text(request, "target"))
        if device not in active:
            raise Problem("unknown-replica", "no replica {request!r} is waited for", request=request["target"])
        active.remove(device)

    # -- sessions

    def _session_open(self, request: Request) -> dict[str, Any]:
        role = r.text(request, "role")
        if role not in ("initiator", "responder"):
            raise BadRequest("'role' is initiator or responder")
        number = next(self._numbers)
        boot = hashlib.sha256(f"{request['replica']}/{number}".encode()).digest()[:16]
        conversation = SessionOperations(
            self._replica(request), initiator=role == "initiator", boot=boot, now=self._now(request)
        )
        self._sessions[number] = conversation
        return {"session": number, "send": conversation.result()["send"]}

    def _session(self, request: Request) -> tuple[int, SessionOperations]:
        number = r.whole(request, "session")
        if number not in self._sessions:
            raise Problem("unknown-session", "no session {number} is open", number=number)
        return number, self._sessions[number]

    def _session_receive(self, request: Request) -> dict[str, Any]:
        _, conversation = self._session(request)
        try:
            data = base64.b64decode(r.text(request, "bytes"), validate=True)
        except ValueError:
            raise BadRequest("'bytes' is base64") from None
        conversation.receive(data, self._now(request))
        return conversation.result()

    def _session_tick(self, request: Request) -> dict[str, Any]:
        _, conversation = self._session(request)
        conversation.tick(self._now(request))
        return conversation.result()

    def _session_close(self, request: Request) -> None:
        number, conversation = self._session(request)
        del self._sessions[number]
        conversation.close()


def _further_stores(request: Request) -> list[StoreSchema]:
    """The stores that a replica has in addition to the three, in the order of the request."""
    listed = request.get("stores") or []
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        raise BadRequest("'stores' is a list of names")
    try:
        return [schema(name, []) for name in listed]
    except ValueError as error:
        raise BadRequest(f"'stores': {error}") from None


def _named(dot: Dot) -> dict[str, Any]:
    return {"host": dot.host, "counter": dot.counter}
