"""The codes that errors have, read off the source: what a `Problem` is made with, wherever one is made.

A program that reads `{"error":{"code":...}}` compares codes, so they are in docs/json.md (`tools/json_page.py`). The
codes of faults, with which `check` answers, are there, too, and those that a command gives where the system or the call
is wrong. Those of the conformance adapter are on its own page.

A code is a text where it is given, or a name at the top of a module. Where a private function of a module takes it as
its parameter `code`, the calls of that function are looked at. Where a class says of its `code` which ones there are (a
`Literal`), these are taken. The code of another error is handed on as `error.code`. A code that is made in any
other way cannot be read off the source, and ends this program with an error (`Unseen`); so does one without a sentence.

Why `Problem.code` is `str` and not a `Literal` of all codes: such a type would be one list below all packages. Every
package would have to change it, and the data layer would hold codes of tasks and agents. What the type would give is
checked otherwise. A misspelt code where an error is made is a row that docs/json.md does not have, and `make check`
fails. A misspelt code in a comparison is one that no error has, and the test of this file fails.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parent.parent / "src" / "lottisync"
MADE_WITH = ("Problem", "Fault", "Error")
"""What is made with a code: what is raised, what is said of a store, and what an answer has of an error."""
SENTENCES = {
    "usage": "a call that cannot be read: what is wrong in it, and where its help is",
    "refused-by-system": "the system refused {what}: {why}. Mend that and try again",
}
"""Codes of `lottisync.cli.main`, whose sentences are those of another library."""


class Unseen(ValueError):
    """A code is made in a way that this program cannot read."""


class Maker(NamedTuple):
    """What makes an error: a class, or a function with a parameter `code`. `at` is where the code stands in a call,
    None if it is given by name alone, and `usual` the code without one. `fixed`: it takes none. `said` is the sentence
    if a call has none."""

    at: int | None = None
    usual: ast.expr | None = None
    fixed: bool = False
    said: str = ""


def codes(source: Path = SOURCE) -> dict[str, list[str]]:
    """Code -> the sentences that it comes with, by file and line. Raises `Unseen`."""
    files = [(path, tree) for path, tree in _parsed(source) if path.parent.name != "adapter"]
    found: dict[str, list[str]] = {}
    for code, sentence in _Reading([(str(path.relative_to(source)), tree) for path, tree in files]).made():
        found.setdefault(code, []).append(sentence)
    if bare := [code for code, sentences in found.items() if not any(sentences)]:
        raise Unseen(f"these codes of errors have no sentence: {', '.join(bare)}")
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
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[ast.Constant(value=str(text))])):
                yield name, text  # `marked("...")`
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                for each, value in zip(names, values, strict=False):
                    if isinstance(each, ast.Name) and isinstance(value, ast.Constant) and isinstance(value.value, str):
                        yield each.id, value.value


def _kinds(trees: Iterable[ast.Module]) -> dict[str, list[str]]:
    """What is made with a code, and what is derived from it, each with the classes that it is derived from."""
    bases: dict[str, list[str]] = {}
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.ClassDef):  # there may be an answer of the same name
            bases.setdefault(node.name, []).extend(base.id for base in node.bases if isinstance(base, ast.Name))
    found = set(MADE_WITH)
    while more := {name for name, of in bases.items() if not found.isdisjoint(of)} - found:
        found |= more
    return {name: bases.get(name, []) for name in sorted(found)}


class _Reading:
    """The modules, and what in them makes errors."""

    def __init__(self, files: list[tuple[str, ast.Module]]) -> None:
        self._files = files
        trees = [tree for _, tree in files]
        self._texts = {name: text for tree in trees for name, text in _constants(tree.body)}
        self._lists = {name: words for tree in trees for name, words in _literals(tree.body)}
        self._classes = _kinds(trees)
        self._makers: dict[str, Maker] = {}
        for name in self._classes:
            self._makers[name] = self._class_maker(name)
        self._local: dict[tuple[str, str], Maker] = {}
        for file, tree in files:
            for inside, within, call in _calls(tree):
                if inside is not None and not within:
                    self._note_function(file, inside, call)

    def made(self) -> Iterator[tuple[str, str]]:
        for file, tree in self._files:
            for inside, within, call in _calls(tree):
                if (maker := self._maker(file, call, within)) is not None and not maker.fixed:
                    yield from self._made(file, inside, within, call, maker)
        for name in sorted(self._classes):
            for code in self._words_of(name):
                yield code, ""

    def _made(
        self, file: str, inside: ast.FunctionDef | None, within: str, call: ast.Call, maker: Maker
    ) -> Iterator[tuple[str, str]]:
        code = _code_in(call, maker)
        if inside is not None and _is_parameter(code, inside):
            own = within in self._classes and inside.name in ("__init__", "__new__")
            if own or (not within and (file, inside.name) in self._local):
                return  # the caller gives the code
        if isinstance(code, ast.Attribute) and code.attr == "code":
            return  # the code of another error, handed on
        name = _called(call)
        seen = self._read(code)
        if not seen and name in self._classes and self._words_of(name):
            return  # one of the codes that the class names
        if not seen:
            given = ast.unparse(code) if code is not None else "none"
            raise Unseen(f"{file}:{call.lineno}: the code of an error cannot be read here: {given}")
        said = [self._text(_assigned(each, inside)) for each in call.args if each is not code]
        sentence = next(filter(None, said), maker.said)
        for one in seen:
            yield one, sentence or SENTENCES.get(one, "")

    def _note_function(self, file: str, inside: ast.FunctionDef, call: ast.Call) -> None:
        """A function that makes an error with its parameter `code` is a maker itself. It is private, and no method: so
        all its calls are in its module, and have its name."""
        if _called(call) not in self._classes or not inside.name.startswith("_"):
            return
        if _is_parameter(_code_in(call, self._makers[_called(call)]), inside):
            said = next(filter(None, map(self._text, call.args[1:])), "")
            self._local[file, inside.name] = _taking(inside, said)

    def _maker(self, file: str, call: ast.Call, within: str) -> Maker | None:
        name = _called(call)
        if name == "super().__init__" and within in self._classes:
            base = next((each for each in self._classes[within] if each in self._classes), None)
            return self._makers[base] if base is not None else None
        if name == "cls" and within in self._classes:
            return self._makers[within]
        return self._local.get((file, name)) or self._makers.get(name)

    def _class_maker(self, name: str) -> Maker:
        """How a class takes its code: by its own `__init__`, or by that of the class that it is derived from."""
        if name in MADE_WITH:
            return Maker(at=0)
        for tree in (tree for _, tree in self._files):
            for node in tree.body:
                if isinstance(node, ast.ClassDef) and node.name == name:
                    for one in node.body:
                        if isinstance(one, ast.FunctionDef) and one.name == "__init__":
                            return _taking(one, "")
        return self._class_maker(next(each for each in self._classes[name] if each in self._classes))

    def _words_of(self, name: str) -> tuple[str, ...]:
        """The codes that a class names: `code: Codes`."""
        for tree in (tree for _, tree in self._files):
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and node.name == name:
                    for one in node.body:
                        match one:
                            case ast.AnnAssign(target=ast.Name(id="code"), annotation=ast.Name(id=words)):
                                return self._lists.get(words, ())
        return ()

    def _read(self, code: ast.expr | None) -> list[str]:
        match code:
            case ast.IfExp(body=one, orelse=other):
                both = [self._read(one), self._read(other)]
                return [each for several in both for each in several] if all(both) else []
            case ast.Constant(value=str(text)):
                return [text]
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in self._texts:
                return [self._texts[name]]
            case _:
                return []

    def _text(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return self._texts.get(name, "")
            case ast.Call(args=[ast.Constant(value=str(text)), *_]):  # `marked("...")`
                return text
            case _:
                return ""


def _taking(function: ast.FunctionDef, said: str) -> Maker:
    """How a function takes its parameter `code`; it takes none if it has no such parameter."""
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args) if each.arg not in ("self", "cls")]
    if "code" in names:
        return Maker(at=names.index("code"), said=said)
    for each, usual in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        if each.arg == "code":
            return Maker(usual=usual, said=said)
    return Maker(fixed=True)


def _code_in(call: ast.Call, maker: Maker) -> ast.expr | None:
    for each in call.keywords:
        if each.arg == "code":
            return each.value
    if maker.at is not None and len(call.args) > maker.at:
        return call.args[maker.at]
    return maker.usual


def _is_parameter(code: ast.expr | None, function: ast.FunctionDef) -> bool:
    several = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return isinstance(code, ast.Name) and code.id == "code" and any(each.arg == "code" for each in several)


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__"):
            return "super().__init__"
        case ast.Attribute(value=ast.Name(), attr=("Problem" | "Fault") as name):
            return name
        case _:
            return ""


def _assigned(node: ast.expr, function: ast.FunctionDef | None) -> ast.expr:
    """What a name of a function stands for where it is used: what was last assigned to it above."""
    if function is None or not isinstance(node, ast.Name):
        return node
    found = [
        (each.lineno, each.value)
        for each in ast.walk(function)
        if isinstance(each, ast.Assign) and each.lineno < node.lineno and ast.unparse(each.targets[0]) == node.id
    ]
    return max(found, key=lambda one: one[0])[1] if found else node


def _calls(
    node: ast.AST, inside: ast.FunctionDef | None = None, within: str = ""
) -> Iterator[tuple[ast.FunctionDef | None, str, ast.Call]]:
    """Every call, with the function and the class in which it stands."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.Call):
            yield inside, within, each
        yield from _calls(
            each,
            each if isinstance(each, ast.FunctionDef) else inside,
            each.name if isinstance(each, ast.ClassDef) else within,
        )


def _literals(body: Iterable[ast.stmt]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The lists of words that have a name at the top of a module: `Codes = Literal["one", "two"]`."""
    for statement in body:
        match statement:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Subscript(value=ast.Name(id="Literal"), slice=ast.Tuple(elts=words)),
            ):
                yield name, tuple(str(each.value) for each in words if isinstance(each, ast.Constant))
