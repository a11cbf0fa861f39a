"""Mutation testing of the pure packages: does any test notice when a rule of the code is turned round?

`tools/mutants.py` plants faults that somebody has thought of. This tool makes them by rule from the syntax tree: `<`
becomes `<=`, `and` becomes `or`, a number grows by one, a statement is left out, and so on (`changes`). For each
*mutation* the tests of its module run in a fork of this process, in which the changed module takes the place of the one
on the disk. The working tree is never touched. A mutation is killed if a test fails or does not end.

    python -m tools.mutation [PART ...]       PART is in the name of a mutation: a file, a function

A mutation is named by its file, its function and the two texts, so the name stays when lines move. What survives and
cannot be told from the original by any test is listed with a reason in `tests/mutants/survivors/pure.toml`:

    [[survivor]]
    mutation = "causality/hlc.py observe: a < b -> a <= b"
    because = "a and b are never equal here: ..."

The list is checked: a survivor that is not on it is a fault, and so is one on it that a test kills, or that is not
a mutation. docs/specs/decisions/0011-own-mutation-tester.md says why this is not a library.
"""

import ast
import importlib.util
import os
import signal
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from itertools import chain, islice
from pathlib import Path
from types import CodeType, ModuleType
from typing import NamedTuple

SOURCE = Path("src/lottisync")
SURVIVORS = Path("tests/mutants/survivors/pure.toml")
SECONDS = 40
"""Of the processor, after which a mutation counts as killed: its tests do not end. A busy machine is not slower."""
TESTS: Mapping[str, tuple[str, ...]] = {
    "causality/chain.py": ("tests/store/test_chain.py", "tests/store/test_fork.py"),
    "causality": ("tests/causality",),
    "review/proposal.py": ("tests/review/test_proposal.py", "tests/conformance/test_reference.py"),
    "journal/guard.py": ("tests/review/test_guard.py", "tests/conformance/test_reference.py"),
    "journal/redundancy.py": ("tests/review/test_redundancy.py", "tests/conformance/test_reference.py"),
    "protocol": ("tests/protocol",),
    "entities/batch.py": ("tests/entities/test_batch.py", "tests/store/test_batch.py"),
    "entities/edit.py": ("tests/entities/test_edit.py", "tests/store/test_batch.py"),
    "entities/canonical.py": ("tests/entities/test_canonical.py", "tests/conformance/test_reference.py"),
    "entities/entity.py": ("tests/entities/test_entity.py", "tests/entities/test_registers.py"),
    "entities/fields.py": ("tests/entities/test_fields.py",),
    "entities/identifier.py": ("tests/entities", "tests/conformance/test_reference.py"),
    "entities/link.py": ("tests/entities", "tests/conformance/test_reference.py"),
    "entities/path.py": ("tests/entities/test_path.py",),
    "entities/registers.py": ("tests/entities/test_registers.py", "tests/entities/test_entity.py"),
    "entities/revival.py": ("tests/entities/test_revival.py",),
    "entities/schema.py": ("tests/entities/test_schema.py",),
    "entities/version.py": ("tests/entities/test_version.py", "tests/entities/test_batch.py"),
    "entities/view.py": ("tests/entities/test_view.py",),
    "review/projection.py": ("tests/review/test_projection.py", "tests/conformance/test_reference.py"),
}
"""A pure package or file -> the tests that have to notice. These have been gone through."""
SWAPS: Mapping[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip


class Mutation(NamedTuple):
    """One change of a module: the `number`th of those of its text (None: no change). `file` is below `SOURCE`."""

    file: str
    name: str
    number: int | None

    def code(self) -> CodeType:
        """The module with the change."""
        tree: ast.AST = ast.parse((SOURCE / self.file).read_text())
        if self.number is not None:
            change = next(islice(changes(tree), self.number, None))
            tree = ast.fix_missing_locations(_Put(change).visit(tree))
        assert isinstance(tree, ast.Module)
        return compile(tree, str(SOURCE / self.file), "exec")


class Change(NamedTuple):
    """`node` is replaced by `new`, within the function or class `where`."""

    where: str
    node: ast.AST
    new: ast.AST

    def words(self) -> str:
        return f"{self.where or 'module'}: {_text(self.node)} -> {_text(self.new)}"


def _text(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())[:100]


# -- the changes that are tried


def changes(tree: ast.AST, where: str = "") -> Iterator[Change]:
    """All changes of a tree, in the order of the text. Annotations, decorators and docstrings are left alone, and so
    are texts: what a message says is for people."""
    for child in _code_of(tree):
        name = getattr(child, "name", None) if isinstance(child, ast.FunctionDef | ast.ClassDef) else None
        inside = f"{where}.{name}".lstrip(".") if name else where
        yield from (Change(inside, child, new) for new in _replacements(child))
        yield from changes(child, inside)


def _code_of(node: ast.AST) -> Iterator[ast.AST]:
    """The children that are code."""
    skipped = {"annotation", "returns", "decorator_list", "bases", "type_params"}
    for field, value in ast.iter_fields(node):
        if field in skipped or (isinstance(node, ast.If) and _text(node.test) == "TYPE_CHECKING"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr | ast.alias):
                yield child


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for at, operator in enumerate(ops):
                if (swap := SWAPS.get(type(operator))) is not None:
                    yield ast.Compare(left, [*ops[:at], swap(), *ops[at + 1 :]], comparators)  # type: ignore[list-item]
        case ast.BoolOp(op=operator, values=values):
            yield ast.BoolOp(SWAPS[type(operator)](), values)  # type: ignore[arg-type]
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in SWAPS:
            yield ast.BinOp(left, SWAPS[type(operator)](), right)  # type: ignore[arg-type]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield ast.Constant(value + 1)
        case (
            ast.If(test=ast.Name() | ast.Attribute() | ast.Call() as test)
            | ast.IfExp(test=ast.Name() | ast.Attribute() | ast.Call() as test)
        ):
            yield _with_test(node, ast.UnaryOp(ast.Not(), test))
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            yield ast.Pass()
        case _:
            pass


def _with_test(node: ast.If | ast.IfExp, test: ast.expr) -> ast.AST:
    if isinstance(node, ast.If):
        return ast.If(test, node.body, node.orelse)
    return ast.IfExp(test, node.body, node.orelse)


class _Put(ast.NodeTransformer):
    """Puts a change into its tree."""

    def __init__(self, change: Change) -> None:
        self._change = change

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self._change.node:
            return ast.copy_location(self._change.new, node)
        return self.generic_visit(node)


def mutations(file: str) -> list[Mutation]:
    """Of a file below `SOURCE`; equal texts within a function are numbered."""
    names: Counter[str] = Counter()
    found = []
    for number, change in enumerate(changes(ast.parse((SOURCE / file).read_text()))):
        name = f"{file} {change.words()}"
        names[name] += 1
        found.append(Mutation(file, name if names[name] == 1 else f"{name} ({names[name]})", number))
    return found


def all_mutations() -> list[Mutation]:
    return [mutation for target in TESTS for file in files(target) for mutation in mutations(file)]


def files(target: str) -> list[str]:
    path = SOURCE / target
    within = [str(each.relative_to(SOURCE)) for each in path.glob("*.py")]
    return [target] if path.is_file() else sorted(file for file in within if file not in TESTS)


def tests_of(file: str) -> Sequence[Sequence[str]]:
    """Run one after the other: those of the module itself, which are the likeliest to notice, and then all."""
    chosen = TESTS.get(file) or TESTS[Path(file).parent.name]
    own = Path(chosen[0]) / f"test_{Path(file).stem}.py"
    return [[str(own)], chosen] if own.exists() else [[each] for each in chosen]


# -- running them


class _Finder(MetaPathFinder, Loader):
    """Gives the changed module in place of the one on the disk."""

    def __init__(self, mutation: Mutation) -> None:
        self._code = mutation.code()
        self._name = f"lottisync.{mutation.file.removesuffix('.py').replace('/', '.')}"
        self._file = str((SOURCE / mutation.file).resolve())

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._file, loader=self)

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, module.__dict__)


def survives(mutation: Mutation) -> bool:
    """Whether all tests of its module pass with the mutation, in a fork of this process."""
    import hypothesis  # noqa: F401 - loaded once, and not in each fork
    import pytest  # noqa: F401

    child = os.fork()
    if child == 0:
        os._exit(_run(mutation))
    _, status = os.waitpid(child, 0)
    return os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0


def _run(mutation: Mutation) -> int:
    """In the fork: the exit code of pytest. It never returns to what the parent was doing."""
    try:
        import pytest

        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        os.setpgid(0, 0)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        for name in [name for name in sys.modules if name.split(".")[0] in ("lottisync", "tests", "conformance")]:
            del sys.modules[name]
        sys.meta_path.insert(0, _Finder(mutation))
        # Without what would show a person why a test fails: asserts with their values, and smaller examples.
        plain = ("-x", "-q", "--assert=plain", "--hypothesis-profile=notice", "-m", "not deep")
        quick = (
            *plain,
            *chain.from_iterable(("-p", f"no:{plugin}") for plugin in ("cacheprovider", "randomly", "xdist")),
        )
        return next((1 for tests in tests_of(mutation.file) if pytest.main([*quick, *tests])), 0)
    except BaseException:  # noqa: BLE001 - whatever ends the tests, the mutation was noticed
        return 1


# -- what is known to survive


def listed(file: Path = SURVIVORS) -> dict[str, str]:
    """Mutation -> why no test can tell it from the original."""
    return {each["mutation"]: each["because"] for each in tomllib.loads(file.read_text()).get("survivor", [])}


def faults(tried: Iterable[Mutation], known: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with these mutations and the list, one by one."""
    for mutation in tried:
        survived = survives(mutation)
        if survived and mutation.name not in known:
            yield f"survived: {mutation.name}"
        if not survived and mutation.name in known:
            yield f"listed as a survivor, but a test kills it: {mutation.name}"


def main() -> int:
    wanted = sys.argv[1:]
    found = all_mutations()
    found = [each for each in found if not wanted or any(part in each.name for part in wanted)]
    known, wrong = listed(), 0
    for fault in faults(found, known):
        wrong += 1
        print(fault, flush=True)
    print(f"{len(found)} mutations, {sum(each.name in known for each in found)} listed as survivors, {wrong} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
