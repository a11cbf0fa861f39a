"""The codes that errors have, read off the source: what a `Problem` is made with, wherever one is made.

A program that reads `{"error":{"code":...}}` compares codes, so they stand in docs/json.md (`tools/json_page.py`).
Those of the conformance adapter stand in its own page.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "lottisync"


def codes(source: Path = SOURCE) -> dict[str, list[str]]:
    """Code -> the sentences that it comes with, by file and line. A code is a text, or a constant that holds one."""
    paths = [path for path in sorted(source.rglob("*.py")) if path.parent.name != "adapter"]
    trees = [ast.parse(path.read_text()) for path in paths]
    texts = {name: text for tree in trees for name, text in _constants(tree.body)}
    found: dict[str, list[str]] = {}
    for code, sentence in _made(trees, _kinds(trees), texts):
        found.setdefault(code, []).append(sentence)
    return dict(sorted(found.items()))


def _constants(body: Iterable[ast.stmt]) -> Iterator[tuple[str, str]]:
    """The texts that have a name at the top of a module, alone or in a tuple."""
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                yield name, text
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                for each, value in zip(names, values, strict=False):
                    if isinstance(each, ast.Name) and isinstance(value, ast.Constant) and isinstance(value.value, str):
                        yield each.id, value.value


def _kinds(trees: Iterable[ast.Module]) -> set[str]:
    """`Problem`, and what is derived from it."""
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = {"Problem"}
    while more := {name for name, of in bases.items() if of & found} - found:
        found |= more
    return found


def _made(trees: Iterable[ast.Module], kinds: set[str], texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for node in (node for tree in trees for node in ast.walk(tree)):
        match node:
            case ast.Call(func=ast.Name(id=name), args=[code, *rest]) if name in kinds:
                pass
            case ast.Call(
                func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__"), args=[code, *rest]
            ):
                pass
            case _:
                continue
        said = _text(code, texts)
        if said and " " not in said:
            yield said, _text(rest[0], texts) if rest else ""


def _text(node: ast.expr, texts: Mapping[str, str]) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return texts.get(name, "")
        case ast.Call(args=[ast.Constant(value=str(text)), *_]):  # `marked("...")`
            return text
        case _:
            return ""
