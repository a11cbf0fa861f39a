"""Sentences that are stored, and read in another language (docs/specs/11-command-line.md, section 8)."""

import ast
import re
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.command_line import run_here
from tests.support.proposals import wake_on
from tools.catalogue import APART, MESSAGE_AT, SOURCE, collected

from lottisync import wording
from lottisync.agents import lifecycle, run_log, thread
from lottisync.agents.model import ModelError
from lottisync.agents.model_process import ModelFailure
from lottisync.agents.run_key import Trigger
from lottisync.daemon.home import TaskHome
from lottisync.daemon.status import DaemonStatus, _decoder, encoded
from lottisync.device import clock
from lottisync.device.absence import Away
from lottisync.device.peers import last_absences, remember_absences
from lottisync.entities.entity import HIGH, LOW
from lottisync.journal import tasks
from lottisync.journal.repetition import Rule, how_often
from lottisync.language import LANGUAGES, speaking, translated
from lottisync.problem import Invalid, Problem, Sentence, counted
from lottisync.review import effect_write
from lottisync.sync.event import Mended, words
from lottisync.sync.peer import AddressState, PeerState

QUOTA = ModelError(
    "model-rate-limited", "{address} asks to slow down: try again later ({words})", address="A", words="429"
)
NO_SENTENCES: list[Any] = [None, 3, {}, [1]]


def in_german(said: str) -> str:
    with speaking("de"):
        return translated(said)


def test_cli_860_a_stored_sentence_is_said_in_the_readers_language() -> None:
    """CLI-860: with the sentences and the numbers in it."""
    why = Sentence("{failures} failures in a row, the last: {failure}", failures=5, failure=QUOTA)
    held = wording.of_column(wording.column(why))
    assert held == str(why)
    assert in_german(held) == f"5 Fehlschlägen hintereinander, der letzte: {in_german(QUOTA.sentence)}"
    assert in_german(held) != held
    assert wording.of_field(wording.plain(why)) == held
    timed = Sentence(
        "{address} was silent for too long (limits: {connect_seconds:g} s to connect)", address="A", connect_seconds=3.0
    )
    assert wording.of_column(wording.column(timed)) == str(timed)


@pytest.mark.parametrize(
    ("language", "count", "said"),
    [
        *(("en", 1, "1 proposal"), ("en", 2_000, "2,000 proposals")),
        *(("de", 1, "1 Vorschlag"), ("de", 2, "2 Vorschläge")),
        *(("fr", 1, "1 proposition"), ("fr", 2, "2 propositions")),
        *(("ro", 1, "1 propunere"), ("ro", 19, "19 propuneri"), ("ro", 20, "20 de propuneri")),
        *(("ro", 101, "101 propuneri"), ("ro", 1_120, "1.120 de propuneri")),
    ],
)
def test_cli_441_a_stored_number_takes_the_form_of_the_readers_language(language: str, count: int, said: str) -> None:
    """CLI-441, CLI-860: "20 propuneri" was not Romanian."""
    held = wording.of_column(wording.column(counted("{count:,} proposal", "{count:,} proposals", count)))
    with speaking(language):
        assert translated(held) == said
        assert translated(Sentence("{what}: {titles}", what="x", titles=held)).endswith(f": {said}")


@pytest.mark.parametrize(
    ("language", "every", "said"),
    [
        *(("en", 1, "every week"), ("en", 2, "every 2 weeks"), ("en", 20, "every 20 weeks")),
        *(("de", 1, "jede Woche"), ("de", 2, "alle 2 Wochen"), ("de", 20, "alle 20 Wochen")),
        *(("ro", 1, "în fiecare săptămână"), ("ro", 2, "la fiecare 2 săptămâni")),
        ("ro", 20, "la fiecare 20 de săptămâni"),
    ],
)
def test_cli_441_how_often_a_task_repeats_takes_the_form_of_the_number(language: str, every: int, said: str) -> None:
    """CLI-441: "la fiecare 20 săptămâni" was no Romanian. Also of what was stored before, with the plural alone."""
    rule = how_often(Rule(date(2026, 12, 1), every, "W"))
    held = wording.of_column(wording.column(rule))
    with speaking(language):
        assert (translated(rule), translated(held)) == (said, said)
        if every > 1:
            assert translated(Sentence("every {count} weeks", count=every)) == said


@pytest.mark.parametrize("unit", "DWMY")
def test_cli_441_each_unit_of_a_repetition_has_its_forms(unit: str) -> None:
    """CLI-441"""
    assert [str(how_often(Rule(date(2026, 12, 1), every, unit))) for every in (1, 20)] == [
        str(Rule(date(2026, 12, 1), every, unit)) for every in (1, 20)
    ]
    with speaking("ro"):
        assert "20 de " in translated(how_often(Rule(date(2026, 12, 1), 20, unit)))


@pytest.mark.parametrize(
    ("count", "english", "german", "romanian"),
    [
        (1, "1 entity of", "1 Eintrag von", "1 entitate din"),
        (2, "2 entities of", "2 Einträge von", "2 entități din"),
        (20, "20 entities of", "20 Einträge von", "20 de entități din"),
    ],
)
def test_cli_441_what_was_mended_takes_the_form_of_the_number(
    count: int, english: str, german: str, romanian: str
) -> None:
    """CLI-441"""
    said = words(Mended("journal", count), "phone")
    assert said is not None
    for language, part in (("en", english), ("de", german), ("ro", romanian)):
        with speaking(language):
            assert f"{part} journal" in translated(said[1])


COUNTED = re.compile(r"\{count(?::,)?\} [a-z]+s\b")
ONE_FORM = {
    "{count} forks of {store} of which nothing is here are too many": "the other device gets it as it is",
    "{count} invitations are open already": "a limit",
    "{count} rounds of {store} could not be taken: {reason}": "a limit",
    "line {number} has {count} bytes; a line may have {max_line}": "more than a limit",
    "{name} has {count:,} bytes; a task file may have {max_bytes:,}": "more than a limit",
    "{name} opened more than {count} connections at one time: it gets no more of them": "a limit",
    "{path} of {entity_id} has {count} values; got number {choice}": "two at least, and seldom more",
}
"""Messages with a number that are said in one form, and why."""


def test_cli_441_what_is_counted_has_a_form_for_each_number() -> None:
    """CLI-441: "20 propuneri" was no Romanian, and "1 characters" no English."""
    found = {text for text, message in collected().items() if message.plural is None and COUNTED.search(text)}
    assert found == ONE_FORM.keys()


def test_cli_861_what_a_device_has_stored_in_place_of_a_number() -> None:
    """CLI-861: one form is shown, whatever is stored as the count, also where the sentence has one without it."""
    assert in_german(wording.of_field(["{count} labels", {"count": "many"}]) or "") == "many Labels"
    assert in_german(wording.of_field(["{count} labels", {"count": -2.5}]) or "") == "-2.5 Labels"
    assert in_german(wording.of_field(["refused once, {at}", {"at": "noon"}]) or "").endswith("noon")


def test_cli_860_a_text_of_an_earlier_program_is_shown_as_it_stands() -> None:
    """CLI-860"""
    for text in ("the disk {failed}", "[1]", "null", '["a"', "{", ""):
        assert wording.of_column(text) == text
    assert [wording.of_field(value) for value in NO_SENTENCES] == [None] * 4
    assert wording.of_field("{x}") == "{x}"


JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)
NAMES = ("a", "x", "_", "", "0", "a.b", "a[0]")
"""Of values. Only a plain one can be named by a template; `str.format` would look for the others elsewhere."""
TEMPLATE = st.text(st.sampled_from(list("{}!rs:.0[]ax_9<>,%")), max_size=16)


@given(st.one_of(JSON, st.tuples(TEMPLATE, st.dictionaries(st.sampled_from(NAMES), JSON, max_size=3)).map(list)))
def test_cli_861_whatever_a_device_has_stored_can_be_shown(value: Any) -> None:
    """CLI-861"""
    said = wording.of_field(value)
    for text in (said, wording.of_column(msgspec.json.encode(value).decode())):
        if text is not None:
            assert isinstance(in_german(text), str)


@pytest.mark.parametrize(
    "template", ["{a:>99999999999}", "{a.__class__}", "{a[0]}", "{a!s:99}", "{b}", "{a", "{a}" * 99]
)
def test_cli_861_a_template_only_puts_values_in_their_places(template: str) -> None:
    """CLI-861: it is shown as it stands, and nothing of it is carried out."""
    said = wording.sentence(wording.Wording(template, {"a": "x"}))
    assert said == template
    assert in_german(said) == template


def test_cli_861_what_another_device_wrote_is_short() -> None:
    """CLI-861: sentences within sentences cannot grow without end."""
    words = wording.Wording("x" * 10_000)
    for _ in range(9):
        words = wording.Wording("{a}" * 16, {"a": words})
    assert len(wording.sentence(words)) <= 16**wording.MAX_DEPTH * wording.MAX_TEXT


# -- where they are stored


def test_cli_860_why_a_wake_failed(tmp_path: Path) -> None:
    """CLI-860: the log of wakes, the agent's record and why it sleeps."""
    home = TaskHome.create(tmp_path, "laptop")
    with home.agent.transaction(clock.now(), LOW) as tx:
        run = run_log.enqueue(tx, Trigger("run", "userInitiated", "", None), "laura", "t")
        run_log.move(tx, run.run_key, "refuse", QUOTA)
        writer = thread.Thread("laura", "t", "run", None, 0, clock.new_id)
        writer.noted(tx, QUOTA, {"errorMessage": QUOTA.message})
        tx.put("laura", "agent", {"agentId": "laura", "displayName": "Laura"})
        lifecycle.give_up(
            tx,
            lifecycle.read(tx, "laura"),
            Sentence("{failures} failures in a row, the last: {failure}", failures=5, failure=QUOTA),
        )
        tx.put(lifecycle.state_id("laura"), "agentState", {"recentHeadMessageId": writer.head})
    with home.agent.reading() as reader:
        state = lifecycle.read_state(reader, "laura")
        [said] = thread.messages(reader, "laura", "t")
        found = (
            run_log.runs(reader, "laura")[0].error_message,
            thread.failed_because(reader, state),
            thread.full_text(reader, said),
        )
        because = lifecycle.asleep_because(state)
    for each in found:
        assert each == QUOTA.message
        assert isinstance(each, Sentence)
        assert in_german(each) == in_german(QUOTA.sentence) != QUOTA.message
    assert because is not None
    assert in_german(because).startswith("5 Fehlschlägen hintereinander")


def test_cli_860_a_model_in_a_process_of_its_own() -> None:
    """CLI-860: its error came through a pipe as English text."""
    through = msgspec.json.decode(
        msgspec.json.encode(ModelFailure(QUOTA.code, wording.written(QUOTA))), type=ModelFailure
    )
    assert in_german(wording.sentence(through.said)) == in_german(QUOTA.sentence)


def test_cli_860_why_a_device_is_away(tmp_path: Path) -> None:
    """CLI-860: in the daemon's file, and in the table for when none runs."""
    home = TaskHome.create(tmp_path, "laptop")
    why = Sentence("the name {host} leads to no address ({why})", host="phone.example", why="Name or service not known")
    away = Away("unreachable", "2026-03-01T10:00:00.000Z", failure=why)
    remember_absences(home.space, {"phone": away}, clock.now())
    with home.space.reading() as reader:
        assert last_absences(reader) == {"phone": away}
        kept = last_absences(reader)["phone"].failure
    status = DaemonStatus(
        1,
        2,
        "",
        [PeerState("phone", "phone", failure=why, away=away, addresses=[AddressState("a:1", [], failure=why)])],
        unusable={"journal": why},
    )
    again = _decoder.decode(encoded(status))
    assert again == status
    [peer] = again.peers
    assert peer.away is not None
    for each in (kept, peer.failure, peer.away.failure, peer.addresses[0].failure, again.unusable["journal"]):
        assert each is not None
        assert in_german(each).startswith("der Name phone.example führt zu keiner Adresse")


def test_cli_860_why_an_effect_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CLI-860: the proposal says so in the language of its reader, and in English with `--json`."""
    home = TaskHome.create(tmp_path, "laptop")
    with home.journal.transaction(clock.now(), HIGH) as tx:
        tasks.add_task(tx, "t1", "Bake bread", {"estimate": 30})
    with home.agent.transaction(clock.now(), HIGH) as tx:
        tx.put("laura", "agent", {"agentId": "laura", "displayName": "Laura"})
    builder = wake_on(home.journal, home.agent, run="r1", waiting=[])
    assert "queued" in builder.queue("update_task_estimate", {"minutes": 90}, clock.now())
    with home.agent.transaction(clock.now(), LOW) as tx:
        builder.build(tx, clock.now())
    name = run_here("review", "--json", home=tmp_path).json["sets"][0]["items"][0]["name"]

    def fails(*given: object) -> None:
        raise IndexError(3)

    monkeypatch.setattr(effect_write, "take_effect", fails)
    said = "es ist unerwartet fehlgeschlagen (IndexError: 3)"
    assert said in run_here("review", "confirm", name, "--language", "de", home=tmp_path).out
    assert said in run_here("review", "--language", "de", home=tmp_path).out
    [shown] = run_here("review", "--json", "--language", "de", home=tmp_path).json["sets"][0]["items"]
    assert shown["failure"] == "it failed unexpectedly (IndexError: 3)"


# -- that none is made of text


MADE_OF = {
    "Failure": 1,
    "Unreadable": 0,
    "Outcome": 2,
    "AddressState": 6,
    "give_up": 2,
    "noted": 1,
    "move": 3,
    "abandon": 2,
}
"""What keeps a sentence for later, and the place of the sentence in the call."""


def finished_texts(tree: ast.AST) -> list[str]:
    """Sentences in such calls that are finished English text: with values put in, or never said as a message."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            place = MADE_OF.get(name, 99)
            if place < len(node.args) and isinstance(node.args[place], ast.JoinedStr | ast.BinOp):
                found.append(ast.unparse(node))
    return found


def test_cli_860_nothing_that_is_kept_is_finished_text() -> None:
    """CLI-860: in all of the code."""
    for file in sorted(SOURCE.rglob("*.py")):
        assert finished_texts(ast.parse(file.read_text(encoding="utf-8"))) == [], file.name


def test_cli_860_finished_text_is_found() -> None:
    """CLI-860: the search above finds what it is there for."""
    source = 'Failure("refused", f"{name} is gone")\nOutcome(item, "failed", "it " + why)\nFailure("refused", GONE)'
    assert len(finished_texts(ast.parse(source))) == 2


# -- that a reason within a sentence is one, too

REASONS = {"error", "why", "reason", "because", "fault", "complaint", "failure", "cause", "problem"}
"""What a value is called that says why."""
FOREIGN = {
    "relay/connection.py": "what the server says, or OpenSSL",
    "review/desk.py": "an exception that nobody has foreseen",
    "store/database.py": "what the system says",
    "web/authority.py": "what the system says",
}
"""Files with text in such a place that is not ours, and whose it is."""


class Defined(NamedTuple):
    """What the code calls its own: classes with their bases, and of each function what it is said to return."""

    bases: dict[str, list[str]]
    returned: dict[str, set[str]]

    @staticmethod
    def of(trees: Iterable[ast.AST]) -> "Defined":
        found = Defined({}, {})
        for node in (node for tree in trees for node in ast.walk(tree)):
            if isinstance(node, ast.ClassDef):
                found.bases[node.name] = [base.id for base in node.bases if isinstance(base, ast.Name)]
            elif isinstance(node, FUNCTION) and node.returns is not None:
                found.returned.setdefault(node.name, set()).add(ast.unparse(node.returns))
        return found

    def keeps_its_words(self, name: str) -> bool:
        return name in ("Problem", "Invalid") or any(map(self.keeps_its_words, self.bases.get(name, [])))

    def is_invalid(self, name: str) -> bool:
        return name == "Invalid" or any(map(self.is_invalid, self.bases.get(name, [])))

    def is_text(self, function: str) -> bool:
        return any(map(is_text, self.returned.get(function, ())))


FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


def is_text(annotation: str) -> bool:
    return "str" in annotation.replace('"', "").split(" | ")


def called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def finished_reasons(tree: ast.AST, defined: Defined) -> list[str]:
    """Values of sentences that say why, and are, or may be, finished English text: written there, or given by a name of
    the same function. Exceptions of ours keep their words if they are a `Problem` or an `Invalid`."""

    def within(scope: ast.AST) -> Iterator[str]:
        for node in ast.walk(scope):
            if isinstance(node, ast.Call) and called(node) in MESSAGE_AT:
                for each in node.keywords:
                    if each.arg in REASONS and (text := finished(each.value, scope, frozenset())):
                        yield text

    def finished(value: ast.AST, scope: ast.AST, seen: frozenset[str]) -> str:
        match value:
            case ast.Constant(value=str(text)):
                return text
            case ast.JoinedStr() | ast.BinOp():
                return ast.unparse(value)
            case ast.IfExp(body=one, orelse=other):
                return finished(one, scope, seen) or finished(other, scope, seen)
            case ast.BoolOp(values=values):
                return next(filter(None, (finished(each, scope, seen) for each in values)), "")
            case (
                ast.Subscript(value=inner)
                | ast.NamedExpr(value=inner)
                | ast.Call(func=ast.Name(id="str"), args=[inner])
            ):
                return finished(inner, scope, seen)
            case ast.Call():
                return ast.unparse(value) if defined.is_text(called(value)) else ""
            case ast.Name(id=name) if name not in seen:
                return next(filter(None, (bound(node, name, scope, seen | {name}) for node in ast.walk(scope))), "")
            case _:
                return ""

    def bound(node: ast.AST, name: str, scope: ast.AST, seen: frozenset[str]) -> str:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=given)], value=value)
                | ast.NamedExpr(target=ast.Name(id=given), value=value)
            ):
                return finished(value, scope, seen) if given == name else ""
            case ast.arg(arg=given, annotation=ast.expr() as kind):
                return f"{name}: str" if given == name and is_text(ast.unparse(kind)) else ""
            case ast.ExceptHandler(name=given, type=ast.expr() as kinds) if given == name:
                caught = {each.id for each in ast.walk(kinds) if isinstance(each, ast.Name)} & defined.bases.keys()
                return next((f"{name}: {each}" for each in sorted(caught) if not defined.keeps_its_words(each)), "")
            case _:
                return ""

    functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTION)]
    return [text for scope in functions for text in within(scope)]


def test_cli_440_why_something_is_so_is_said_in_the_readers_language() -> None:
    """CLI-440: a reason within a sentence is a sentence, a `Problem`, an `Invalid`, or not of this program. What the
    command line and the pages say was translated before."""
    trees = {
        str(file.relative_to(SOURCE)): ast.parse(file.read_text(encoding="utf-8"))
        for file in sorted(SOURCE.rglob("*.py"))
        if not {"cli", *APART} & set(file.relative_to(SOURCE).parts) and file.name != "inbox_page.py"
    }
    defined = Defined.of(trees.values())
    found = {file: finished_reasons(tree, defined) for file, tree in trees.items()}
    assert {file: texts for file, texts in found.items() if texts and file not in FOREIGN} == {}
    assert [file for file in FOREIGN if not found[file]] == []


@pytest.mark.parametrize(
    "line",
    [
        'raise Problem("x", "no: {why}", why="it is gone")',
        'raise Problem("x", "no: {why}", why=f"{a} is gone")',
        'b = a or "gone"; raise Problem("x", "no: {why}", why=b)',
        'raise Problem("x", "no: {why}", why=text)',
        'raise Problem("x", "no: {why}", why=text[:9])',
        'return Sentence("no: {error}", error=words())',
        'return Sentence("no: {error}", error=Sentence("gone") if a else "gone")',
        'try: g()\n    except Gone as error: raise Problem("x", "no: {error}", error=error)',
        'try: g()\n    except (OSError, Gone) as error: raise Problem("x", "no: {error}", error=str(error))',
    ],
)
def test_cli_440_a_reason_that_is_english_text_is_found(line: str) -> None:
    """CLI-440: the search above finds what it is there for."""
    tree = ast.parse(f"class Gone(Exception): pass\ndef words() -> str: ...\ndef f(a: int, text: str):\n    {line}")
    assert len(finished_reasons(tree, Defined.of([tree]))) == 1


@pytest.mark.parametrize(
    "line",
    [
        'raise Problem("x", "no: {why}", why=Sentence("it is gone"))',
        'raise Problem("x", "no: {why}", why=why)',
        'try: g()\n    except (OSError, Bad) as error: raise Problem("x", "no: {error}", error=error)',
        'try: g()\n    except OSError as error: raise Problem("x", "no: {error}", error=error.strerror or error)',
        'return Sentence("no: {name}", name="it")',
    ],
)
def test_cli_440_a_reason_that_keeps_its_words_or_is_foreign_may_stand(line: str) -> None:
    """CLI-440"""
    tree = ast.parse(f"class Bad(Invalid): pass\ndef f(why: Sentence):\n    {line}")
    assert finished_reasons(tree, Defined.of([tree])) == []


def test_cli_440_what_an_exception_says_is_a_message() -> None:
    """CLI-440: the catalogue has what each kind of `Invalid` is made of."""
    defined = Defined.of(ast.parse(file.read_text(encoding="utf-8")) for file in SOURCE.rglob("*.py"))
    assert {name for name in defined.bases if defined.is_invalid(name)} <= MESSAGE_AT.keys()


def test_an_invalid_value_keeps_its_words() -> None:
    """CLI-440, CLI-860: within another sentence, also where it is stored."""
    invalid = Invalid("a key has {limit} bytes; got {size}", limit=32, size=3)
    assert str(invalid) == invalid.sentence == "a key has 32 bytes; got 3"
    why = Sentence("this device cannot go on: {problem}", problem=invalid)
    for said in (why, wording.of_column(wording.column(why))):
        assert said == "this device cannot go on: a key has 32 bytes; got 3"
        assert in_german(said) == ("dieses Gerät kann nicht weitermachen: ein Schlüssel hat 32 Bytes; angegeben: 3")


def test_a_problem_keeps_its_words() -> None:
    problem = Problem("x", "{a} is {b!r}", a="A", b=3)
    assert problem.sentence == problem.message == "A is 3"
    assert problem.sentence.template == "{a} is {b!r}"


@pytest.mark.parametrize("name", ["", "0", "a.b", "a[0]"])
def test_cli_861_a_value_with_a_name_that_no_template_can_give_is_not_put_in(name: str) -> None:
    """CLI-861: another device may have written it, and `str.format` raised IndexError and KeyError."""
    assert wording.of_field(["{" + name + "}", {name: "x"}]) == "{" + name + "}"


@pytest.mark.parametrize(
    "stored",
    [
        ["(Did you mean one of: {possibilities}?)", {"possibilities": "x"}],
        ["mended {count:,} entities of {store}", {"store": "x"}],
    ],
)
def test_cli_861_a_sentence_of_ours_with_other_values_than_its_translation_needs_is_said_in_english(
    stored: list[Any],
) -> None:
    """CLI-861: it was a KeyError, wherever the sentence of another device was shown."""
    held = wording.of_field(stored)
    assert held is not None
    for language in LANGUAGES:
        with speaking(language):
            assert translated(held)


def test_cli_861_a_sentence_of_our_own_with_other_values_is_a_bug() -> None:
    """CLI-861: only one that was stored may have them; a wrong translation is found."""
    with speaking("de"), pytest.raises(KeyError):
        translated(Sentence("(Did you mean one of: {possibilities}?)", possibilities="x"))


def test_cli_861_a_number_without_end_is_not_formatted() -> None:
    """CLI-861"""
    assert wording.of_column('["{a:.1f}",{"a":1' + "0" * 400 + "}]") == "{a:.1f}"
