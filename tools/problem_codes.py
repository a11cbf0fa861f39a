"""The codes that errors have, read off the source: what a `Problem` is made with, wherever one is made.

A program that reads `{"error":{"code":...}}` compares codes, so they stand in docs/json.md (`tools/json_page.py`).
Those of the conformance adapter stand in its own page.

Why `Problem.code` is `str` and not a `Literal` of all codes: such a type would be one list below all packages. Every
package would have to change it, and the data layer would hold codes of tasks and agents. What the type would give is
checked otherwise. A misspelt code where an error is made is a row that docs/json.md does not have, and `make check`
fails. A misspelt code in a comparison is one that no error has, and the test of this file fails.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "lottisync"


def codes(source: Path = SOURCE) -> dict[str, list[str]]:
    """Code -> the sentences that it comes with, by file and line. A code is a text, or a constant that holds one."""
    trees = [tree for path, tree in _parsed(source) if path.parent.name != "adapter"]
    texts = {name: text for tree in trees for name, text in _constants(tree.body)}
    found: dict[str, list[str]] = {}
    for code, sentence in _made(trees, _kinds(trees), texts):
        found.setdefault(code, []).append(sentence)
    return dict(sorted(found.items()))


def compared(source: Path = SOURCE) -> dict[str, str]:
    """The codes that the source asks for, `error.code == "..."`, each with a place where it does."""
    return {
        code: f"{path.relative_to(source)}:{node.lineno}"
        for path, tree in _parsed(source)
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare | ast.Match)
        for code in _asked_for(node)
    }


@cache
def _parsed(source: Path) -> list[tuple[Path, ast.Module]]:
    return [(path, ast.parse(path.read_text())) for path in sorted(source.rglob("*.py"))]


def _asked_for(node: ast.Compare | ast.Match) -> list[str]:
    match node:
        case ast.Compare(left=ast.Attribute(attr="code"), comparators=[ast.Tuple(elts=several)]):
            found: list[ast.expr] = several
        case ast.Compare(left=ast.Attribute(attr="code"), comparators=[one]):
            found = [one]
        case ast.Match(subject=ast.Attribute(attr="code"), cases=cases):
            found = [case.pattern.value for case in cases if isinstance(case.pattern, ast.MatchValue)]
        case _:
            return []
    return [each.value for each in found if isinstance(each, ast.Constant) and isinstance(each.value, str)]


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
    bases: dict[str, set[str]] = {}
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.ClassDef):  # there may be an answer of the same name
            bases.setdefault(node.name, set()).update(base.id for base in node.bases if isinstance(base, ast.Name))
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
