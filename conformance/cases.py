"""All cases of the suite: a vector file or a function of a scenario module is one case each."""

import importlib
import inspect
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from conformance.testee import Failure, NotOffered, Refused, Testee
from conformance.world import Replica, World, same

HERE = Path(__file__).resolve().parent


class Case(NamedTuple):
    """`name` is `<level>-<area>/<one-thing>`; `run` raises if the adapter, its first argument, does not conform; the
    second is the program that it meets where two are needed. `seed` is what its chance comes from, and 0 where
    there is none."""

    name: str
    comment: str
    seed: int
    run: Callable[[Testee, Testee], None]

    @property
    def level(self) -> int:
        return int(self.name.partition("-")[0])

    @property
    def area(self) -> str:
        return self.name.partition("-")[2].partition("/")[0]


def all_cases(seed: int, histories: int) -> Iterator[Case]:
    yield from vectors(HERE / "vectors")
    yield from scenarios(HERE / "scenarios", seed, histories)


# -- vectors


def vectors(folder: Path) -> Iterator[Case]:
    for file in sorted(folder.glob("*/*.json")):
        vector = json.loads(file.read_text(encoding="utf-8"))
        yield Case(f"{file.parent.name}/{file.stem}", vector["comment"], 0, _vector_run(vector))


def _vector_run(vector: dict[str, Any]) -> Callable[[Testee, Testee], None]:
    def run(testee: Testee, peer: Testee) -> None:
        for step in vector["steps"]:
            _compare(step, _asked(testee, step))

    return run


def _asked(testee: Testee, step: dict[str, Any]) -> dict[str, Any]:
    if "request" in step:
        return testee.exchange(step["request"])
    line = step["line"].encode() if "line" in step else bytes.fromhex(step["line_hex"])
    return testee.line(line, None)


def _compare(step: dict[str, Any], answer: dict[str, Any]) -> None:
    got = answer.get("error", {}).get("code")
    if "error" in step:
        codes = step["error"] if isinstance(step["error"], list) else [step["error"]]
        if got in codes:
            return
    if got == "unknown-op":
        raise NotOffered(step.get("request", {}).get("op"))
    if "error" in step:
        raise Failure("an error with its code", {"error": step["error"]}, answer)
    if "error" in answer or not same(answer["ok"], step["ok"]):
        raise Failure("the result", {"ok": step["ok"]}, answer)


# -- scenarios


def scenarios(folder: Path, seed: int, histories: int) -> Iterator[Case]:
    """Every public function of a module that takes a world. One that is called `history` runs once a seed. The
    module says which `LEVEL` it is of, if it is not 3."""
    for file in sorted(folder.glob("*.py")):
        module = importlib.import_module(f"conformance.scenarios.{file.stem}")
        area = f"{getattr(module, 'LEVEL', 3)}-{file.stem.replace('_', '-')}"
        for name, function in vars(module).items():
            if name.startswith("_") or not inspect.isfunction(function) or function.__module__ != module.__name__:
                continue
            comment = " ".join((inspect.getdoc(function) or "").split())
            if name == "history":
                for number in range(seed, seed + histories):
                    yield Case(f"{area}/{name}-{number}", comment, number, _scenario_run(function, number))
            else:
                yield Case(f"{area}/{name.replace('_', '-')}", comment, seed, _scenario_run(function, seed))


def _scenario_run(function: Callable[[World], None], seed: int) -> Callable[[Testee, Testee], None]:
    def run(testee: Testee, peer: Testee) -> None:
        with tempfile.TemporaryDirectory(prefix="conformance-", ignore_cleanup_errors=True) as folder:
            world = World(testee, peer, Path(folder), seed)
            try:
                function(world)
            except Refused as refused:
                raise Failure(str(refused), "an answer without an error") from None
            except (LookupError, TypeError, AttributeError) as error:
                raise Failure(f"an answer of another shape than the contract has: {error!r}") from None
            finally:
                for replica in world.replicas.values():
                    _close_if_open(replica)

    return run


def _close_if_open(replica: Replica) -> None:
    """A case that failed may have left anything behind; whatever does not close is killed."""
    try:
        replica.close()
    except Refused as refused:
        if refused.code != "unknown-replica":
            replica.testee.kill()
    except (Failure, NotOffered):
        replica.testee.kill()
