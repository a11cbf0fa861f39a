"""The vectors of one area: one file each, one success or one failure in each."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

A, B, C = "a" * 16, "b" * 16, "c" * 16
"""Three hosts."""
WIDTH = 110


class Book:
    def __init__(self, level: int, area: str) -> None:
        self.folder = f"{level}-{area}"
        self.vectors: dict[str, dict[str, Any]] = {}

    def ok(self, name: str, spec: str, comment: str, op: str, result: Any, *, shows: str = "", **fields: Any) -> None:
        """`shows` is for the reader of a failure (the bytes that were hashed); no runner looks at it."""
        self._add(name, spec, comment, {"request": {"op": op, **fields}, "ok": result}, shows)

    def error(self, name: str, spec: str, comment: str, op: str, code: str | list[str], **fields: Any) -> None:
        """`code` may be several, where it depends on a language's JSON reader which of them comes first."""
        self._add(name, spec, comment, {"request": {"op": op, **fields}, "error": code})

    def line(self, name: str, spec: str, comment: str, line: str | bytes, code: str | list[str]) -> None:
        """A line as it stands, for what no JSON writer would write; the answer's id is null."""
        raw = {"line": line} if isinstance(line, str) else {"line_hex": line.hex()}
        self._add(name, spec, comment, {**raw, "error": code})

    def _add(self, name: str, spec: str, comment: str, step: dict[str, Any], shows: str = "") -> None:
        if name in self.vectors:
            raise ValueError(f"{self.folder}/{name} is there twice")
        self.vectors[name] = {"comment": comment, "spec": spec.split(), "steps": [step]}
        if shows:
            self.vectors[name]["shows"] = shows

    def write(self, vectors: Path) -> None:
        folder = vectors / self.folder
        folder.mkdir(parents=True)
        for name, vector in self.vectors.items():
            (folder / f"{name}.json").write_text(_laid_out(vector, "") + "\n", encoding="utf-8")


def _laid_out(value: Any, margin: str) -> str:
    """JSON for people: what fits a line stands on one."""
    line = json.dumps(value, ensure_ascii=False)
    if len(margin) + len(line) <= WIDTH or not isinstance(value, dict | list) or not value:
        return line
    inner = margin + "  "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {_laid_out(item, inner)}" for key, item in value.items()]
    else:
        parts = [_laid_out(item, inner) for item in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(parts) + f"\n{margin}{closing}"


def held(value: Any, host: str, counter: float, *, by: str = "user", at: list[int] | None = None) -> dict[str, Any]:
    """A write that a register holds."""
    return {
        "value": value,
        "precedence": 1 if by == "user" else 0,
        "hlc": at or [1000, 0],
        "host": host,
        "counter": counter,
    }


def entity(clock: Mapping[str, float], registers: dict[str, list[dict[str, Any]]], **other: Any) -> dict[str, Any]:
    return {"id": "t1", "type": "task", "clock": clock, "registers": registers} | other


def gone(seen: Mapping[str, float], at: str = "2026-01-01T00:00:00.000Z") -> dict[str, Any]:
    """The value of `deletedAt`."""
    return {"at": at, "seen": seen}
