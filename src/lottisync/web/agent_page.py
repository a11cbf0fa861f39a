"""An agent: its state, what it did in each wake and what that cost, and the person's verbs on it."""

import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from lottisync.agents import admission, attention, lifecycle, run_log, thread
from lottisync.agents.model import TokenUsage
from lottisync.agents.report import latest_report
from lottisync.agents.run_log import Run
from lottisync.agents.types import Agent, AgentMessage, AgentState
from lottisync.entities.view import view
from lottisync.language import marked, say, translated
from lottisync.problem import Problem
from lottisync.review.precedence import PERSON
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction
from lottisync.web import words
from lottisync.web.frame import back_to, form_of, page, problem_text, site_of

MAX_WAKES = 20
CHIPS = (
    ("", marked("All")),
    ("calls", marked("Tool calls")),
    ("notes", marked("Notes to itself")),
    ("wakes", marked("Wakes")),
)
"""What of an agent's wakes is shown, by `?show=`: all, only these steps, or only when and why it woke."""
KINDS = {"calls": ("action", "toolResult"), "notes": ("observation", "summary"), "wakes": ()}
TIMER = "person"
"""The timer that a person sets: "now" from here, an instant in the command line."""
CAUSES = {
    "userInitiated": marked("you asked"),
    "subscription": marked("its task changed"),
    "timer": marked("it was time"),
}
"""Why it woke, in words. A cause that is not here is called by its own name."""
BAR, GAP, HIGH = 22, 8, 96
"""Width, distance and greatest height of the bars, in the drawing's own units."""


class Step(NamedTuple):
    """One message of a wake: `kind` as in `agents.thread`, the tool of a call or an answer, and the text. An answer
    also says whether the tool `succeeded`, and has a line for each entity that the call `touched`."""

    kind: str
    tool: str
    text: str
    at: str
    succeeded: bool | None = None
    touched: tuple[str, ...] = ()


class Wake(NamedTuple):
    """One wake. `run` is None for one on another device, whose end is not known here."""

    key: str
    at: str
    cause: str
    run: Run | None
    tokens: TokenUsage
    steps: list[Step]

    @property
    def calls(self) -> int:
        return sum(step.kind == "action" for step in self.steps)

    @property
    def failed(self) -> str:
        """Why it ended badly; '' if it did not."""
        if self.run is None or self.run.status not in (run_log.FAILED, run_log.SKIPPED):
            return ""
        message = self.run.error_message
        return words.sentence(translated(message)) if message else say("It ended before it was done.")


class Bar(NamedTuple):
    """A wake's tokens in the drawing: read below, written on top."""

    x: int
    read: int
    written: int
    failed: bool


def one_agent(request: Request) -> Response:
    """`GET /agents/{agent}`."""
    return _shown(request)


def change(request: Request) -> Response:
    """`POST /agents/{agent}`: one of the person's verbs."""
    site, agent_id = site_of(request), request.path_params["agent"]
    verb = VERBS.get(form_of(request).one("verb"))
    try:
        if verb is None:
            raise Problem("bad-verb", "there is nothing called {verb!r} to do", verb=form_of(request).one("verb")[:40])
        with site.agents.transaction(site.now(), PERSON) as tx:
            verb(tx, agent_id, site.home.key.device_id)
    except Problem as problem:
        return _shown(request, said=problem_text(problem), status=400)
    if form_of(request).one("back") == "inbox":
        return back_to("/inbox")
    return back_to(f"/agents/{agent_id}", done=form_of(request).one("verb"))


def _wake_now(tx: Transaction, agent_id: str, here: str) -> None:
    lifecycle.led(tx, agent_id, "wake")  # an agent that cannot wake says why
    lifecycle.set_timer(tx, agent_id, TIMER, iso(tx.now))


VERBS: Mapping[str, Callable[[Transaction, str, str], None]] = {
    "wake": _wake_now,
    "attended": lambda tx, agent_id, here: attention.settle(tx, agent_id),
    "pause": lambda tx, agent_id, here: lifecycle.pause(tx, agent_id),
    "resume": lambda tx, agent_id, here: lifecycle.resume(tx, agent_id),
    "destroy": lambda tx, agent_id, here: lifecycle.destroy(tx, agent_id),
    "move": lambda tx, agent_id, here: lifecycle.move(tx, agent_id, here),
}


DONE = {
    "wake": marked("{name} wakes as soon as its device can"),
    "pause": marked("{name} is paused"),
    "resume": marked("{name} may wake again"),
    "move": marked("{name} wakes on {device}"),
    "destroy": marked("{name} is ended; what it wrote stays readable"),
}
"""What is said after a verb."""


def _shown(request: Request, *, said: str = "", status: int = 200) -> Response:
    site, agent_id = site_of(request), request.path_params["agent"]
    chosen = request.query_params.get("show", "")
    chosen = chosen if chosen in KINDS else ""
    try:
        with site.agents.reading() as reader:
            found = lifecycle.read(reader, agent_id)
            state = lifecycle.read_state(reader, agent_id)
            report = latest_report(reader, agent_id)
            with site.journal.reading() as journal:
                wakes = wakes_of(reader, journal, agent_id)
                withheld = admission.withheld(journal, reader, found, state, site.here)
                asked = attention.open_request(reader, journal, agent_id)
    except Problem as problem:
        return page(request, "gone.html", title=say("Not here"), at="", status=404, said="", why=problem_text(problem))
    task_id = lifecycle.task_of(state)
    with site.journal.reading() as journal:
        task = journal.document(task_id) if task_id and not lifecycle.asleep_without_task(journal, state) else None
        closed = lifecycle.asleep_after_task(journal, state)
    home = site.name_of(found.home_device)
    if not said and (done := DONE.get(request.query_params.get("done", ""))):
        said = words.sentence(say(done, name=found.display_name, device=home))
    return page(
        request,
        "agent.html",
        title=found.display_name,
        at="",
        said=said,
        status=status,
        chips=CHIPS,
        chosen=chosen,
        listed=_of_kind(wakes, chosen),
        agent=found,
        standing=_standing(found, state, awake=run_log.is_awake(site.agents, agent_id), closed=closed),
        asleep=lifecycle.asleep_because(state),
        withheld=problem_text(withheld) if withheld is not None and found.lifecycle != lifecycle.DESTROYED else "",
        attention=asked.request.rationale if asked is not None else "",
        facts=_facts(found, state, site.now()),
        task=task_id if task is not None else "",
        task_title=task.document().get("title", "") if task is not None else "",
        home=home,
        at_home=found.home_device == site.home.key.device_id,
        report=report.content if report is not None else {},
        wakes=wakes,
        bars=bars_of(wakes),
        width=max(1, len(wakes)) * (BAR + GAP),
        bar=BAR,
        high=HIGH,
        asks=request.query_params.get("ask", "") == "destroy",
    )


def _of_kind(wakes: list[Wake], chosen: str) -> list[Wake]:
    """The wakes with the steps of the kind that was chosen; those that have none are left out."""
    if chosen in ("", "wakes"):
        return wakes
    kept = [(wake, [step for step in wake.steps if step.kind in KINDS[chosen]]) for wake in wakes]
    return [wake._replace(steps=steps) for wake, steps in kept if steps]


def _standing(found: Agent, state: AgentState, *, awake: bool, closed: str | None) -> str:
    """What the agent does now, in a word or two."""
    if found.lifecycle == lifecycle.DESTROYED:
        return say("Ended")
    if awake:
        return say("Awake")
    if found.lifecycle == lifecycle.DORMANT:
        return say("Gave up") if lifecycle.asleep_because(state) else say("Paused")
    return say("Asleep: its task is closed") if closed else say("Asleep")


def _facts(found: Agent, state: AgentState, now: int) -> list[tuple[str, str, bool]]:
    """The facts of an agent: name, value, and whether the value is an instant. A time that has passed is not shown as
    the next wake."""
    wakes = state.next_wake_at if found.lifecycle == lifecycle.ACTIVE else None
    facts = [
        (say("Woke last"), state.last_wake_at or "", True),
        (say("Wakes again"), wakes if wakes and wakes > iso(now) else "", True),
        (say("Model"), str(found.config.get("model") or ""), False),
        (say("Failures in a row"), str(state.consecutive_failure_count or ""), False),
    ]
    return [fact for fact in facts if fact[1]]


def wakes_of(reader: Reader, journal: Reader, agent_id: str) -> list[Wake]:
    """The latest wakes, the newest first: those of this device from its log, others from what they wrote."""
    logged = {run.run_key: run for run in run_log.runs(reader, agent_id)}
    costs = thread.spent(reader, agent_id)
    spoken: dict[str, list[AgentMessage]] = {}
    for entity in reader.by_type("agentMessage", owner=agent_id):
        message = view(entity, AgentMessage)
        spoken.setdefault(str(message.metadata.get("runKey", "")), []).append(message)
    begun = {key: min(message.created_at for message in messages) for key, messages in spoken.items()}
    begun |= {key: run.created_at for key, run in logged.items()}
    newest = sorted(begun, key=lambda key: (begun[key], key), reverse=True)[:MAX_WAKES]
    return [
        _wake(reader, journal, key, begun[key], logged.get(key), costs.get(key), spoken.get(key, [])) for key in newest
    ]


def _wake(
    reader: Reader,
    journal: Reader,
    key: str,
    at: str,
    run: Run | None,
    cost: TokenUsage | None,
    messages: list[AgentMessage],
) -> Wake:
    ordered = sorted(messages, key=lambda message: (message.created_at, thread.ordinal(message), message.id))
    cause = run.reason if run is not None else next((m.text for m in ordered if m.kind == "user"), "")
    cause = say(CAUSES.get(cause, cause))
    steps = [_step(reader, journal, message) for message in ordered if message.kind not in ("user", "system")]
    return Wake(key, at, cause, run, cost or TokenUsage(0, 0), [step for step in steps if step.text or step.touched])


def _step(reader: Reader, journal: Reader, message: AgentMessage) -> Step:
    ids = [str(link.value("toId")) for link in reader.links_from(message.id, "tool_effect")]
    answer = message.kind == "toolResult"
    text = thread.full_text(reader, message)
    return Step(
        message.kind,
        str(message.metadata.get("toolName", "")),
        spelled(text) if message.kind == "action" else text,
        message.created_at,
        message.metadata.get("succeeded") is True if answer else None,
        tuple(_touched(journal, ident) for ident in ids),
    )


def spelled(arguments: str) -> str:
    """What a call was given, with the letters that a model wrote as numbers (`\\u00e4`); what is not JSON as it is."""
    try:
        spelled = json.dumps(json.loads(arguments), ensure_ascii=False)
        spelled.encode()
    except (ValueError, RecursionError):
        return arguments
    return spelled


def _touched(journal: Reader, ident: str) -> str:
    document = journal.document(ident)
    kind = say(document.type) if document is not None else say("something that was forgotten")
    title = document.document().get("title") if document is not None else None
    return say("changed the {type} {name}", type=kind, name=title if isinstance(title, str) and title else ident)


def bars_of(wakes: list[Wake]) -> list[Bar]:
    """The oldest at the left; heights are in proportion to the wake that cost most."""
    most = max((wake.tokens.prompt_tokens + wake.tokens.completion_tokens for wake in wakes), default=0) or 1
    return [
        Bar(
            number * (BAR + GAP),
            round(HIGH * wake.tokens.prompt_tokens / most),
            round(HIGH * wake.tokens.completion_tokens / most),
            bool(wake.failed),
        )
        for number, wake in enumerate(reversed(wakes))
    ]
