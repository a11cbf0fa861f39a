"""What the tests cite: one rule for the rules of the specifications and for the person's requirements.

A test is a function whose name begins with `test`, or a class. It cites an id in its name (`test_sync_4_...`), in
its docstring, in a comment within it, or in its decorators. The docstring of a module is not a citation, for it
announces and shows nothing; nor is any other string, for it may be a sample.
"""

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

Test = ast.FunctionDef | ast.AsyncFunctionDef


class Citing(NamedTuple):
    """A test, and the text in which it may cite something."""

    place: str
    """As pytest names it, without the classes: `tests/store/test_store.py::test_x`."""
    name: str
    text: str


def citing(root: Path) -> Iterator[Citing]:
    """Every test below `root`, file by file."""
    for file in sorted((root / "tests").rglob("*.py")):
        source = file.read_text()
        comments = _comments(source)
        for node in _definitions(ast.parse(source)):
            if isinstance(node, ast.ClassDef):
                text = ast.get_docstring(node) or ""
            elif isinstance(node, Test) and node.name.startswith("test"):
                text = "\n".join(_said(node, comments))
            else:
                continue
            yield Citing(f"{file.relative_to(root).as_posix()}::{node.name}", node.name, text)


def _definitions(node: ast.AST) -> Iterator[ast.AST]:
    """The classes and functions of a file, but none within an expression: most of a file is expressions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            if isinstance(child, Test | ast.ClassDef):
                yield child
            yield from _definitions(child)


def _comments(source: str) -> dict[int, str]:
    """Line -> the comment on it."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}


def _said(test: Test, comments: dict[int, str]) -> Iterator[str]:
    yield ast.get_docstring(test) or ""
    first = min([decorator.lineno for decorator in test.decorator_list] + [test.lineno])
    yield from (text for line, text in comments.items() if first <= line <= (test.end_lineno or first))
    for decorator in test.decorator_list:
        for node in ast.walk(decorator):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
