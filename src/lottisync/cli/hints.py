"""Which command helps: the words that the rest of the program uses, and what they mean on this command line.

No other file outside the command line and the web pages names a command; a test looks for it. Another program on the
same library has its own hints."""

import errno
import re
import shlex
from collections.abc import Iterable

from lottisync.device.absence import Away, shown_away
from lottisync.language import marked, say, translated
from lottisync.problem import Problem

_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32}")

HINTS = {
    "acts": "See: lottisync undo --list",
    "admit-again": "Make it there: lottisync pair --invite --yes",
    "agents": "See: lottisync agent list",
    "agents-on": "Turn them on: lottisync agent on",
    "allow-agent": "Allow it: lottisync agent create {task_id}",
    "backup": "Name a folder that was made with: lottisync backup DIR",
    "conflict": "See: lottisync conflicts show {entity_id}",
    "conflicts": "See: lottisync conflicts",
    "create-agent": "Create it again: lottisync agent create {which}",
    "daemon": "Start one: lottisync daemon",
    "daemon-or-wait": "Leave out --no-wait, or start one: lottisync daemon",
    "devices": "See: lottisync devices",
    "end-agent": "To end it: lottisync agent destroy {which}",
    "invite-again": "Make a new one: lottisync pair --invite",
    "invitations": "See: lottisync pair --invitations",
    "format": "A checklist is read with --markdown, a table with --csv: lottisync import --help",
    "history": "See: lottisync history {entity_id}",
    "init": "Run: lottisync init --name NAME",
    "init-missing": "To have it made empty: lottisync init --missing",
    "damaged-file": "Or move it to another folder, and have it made empty, for the other devices to fill: "
    "lottisync init --missing",
    "unusable-file": "Put it right, or move it to another folder, and have the store made empty, for the other devices "
    "to fill: lottisync init --missing",
    "name-address": "Or name the address of the device that shows it: lottisync pair CODE --at HOST:PORT",
    "other-folder": "Choose another folder with --home DIR",
    "other-port": "Choose another one with --listen HOST:PORT",
    "pages": "It was started with --no-web, or this says why: lottisync logs",
    "mend": "See all of it with: lottisync check; mend it from another device: lottisync verify; "
    "if what it shows now is right: lottisync check --accept ID",
    "move-agent": "Or move it: lottisync agent move {which}",
    "pair-again": "Make a new one: lottisync pair",
    "redo": "To do it again: lottisync undo {by}",
    "relay-doctor": "To see what to do: lottisync relay doctor",
    "resume-agent": "Resume it: lottisync agent resume {which}",
    "review": "See: lottisync review",
    "revoke": "To take it out for good: lottisync devices revoke {called}",
    "row": "See which row: lottisync check",
    "show-code": "Run there: lottisync pair; or name its address here: lottisync pair CODE --at HOST:PORT",
    "status": "See: lottisync status",
    "take-back": "Take one back: lottisync pair --take-back NUMBER. See: lottisync pair --invitations",
    "tasks": "See: lottisync task list",
    "web-key": "Give both: lottisync daemon --web-cert FILE --web-key FILE",
    "web-network": "Serve them there: lottisync daemon --web 0.0.0.0:PORT",
    "wakes": "See: lottisync agent log {which}",
}

EVENT_HINTS = {
    "agent-asleep": "Resume it: lottisync agent resume TASK",
    "damaged": "See: lottisync check",
    "relay-away": "To see what to do: lottisync relay doctor",
    "duplicate-key": "Run there: lottisync devices renew NAME, and: lottisync pair",
}
"""The same for what a running daemon reports, by the code of the event."""

REFUSAL_HINTS = {
    "comparison": marked("Run there: lottisync check"),
    "bad-entity": marked("Run there: lottisync check"),
    "connection": marked("End the daemon there and start it again: lottisync daemon"),
    "version": marked("Install the newer lottisync on the older device"),
}
"""The same for what was refused, by its kind; for any other kind `DOCTOR`."""
DOCTOR = marked("Run there: lottisync doctor")


def with_hint(problem: Problem) -> str:
    """The sentence of a problem, and the command that helps."""
    said, helps = translated(problem), hint_of(problem)
    return f"{said}. {helps}" if helps else said


def hint_of(problem: Problem) -> str:
    """The command that helps; empty if there is none."""
    if not problem.hint:
        return ""
    named = {name: _shortened(held) for name, held in problem.arguments.items()}
    return say(HINTS[problem.hint], **named)


def _shortened(held: object) -> object:
    """An id as the pages print it, and commands take it; anything else as it is."""
    return held[-8:] if isinstance(held, str) and _ID.fullmatch(held) else held


def hints_of(problems: Iterable[Problem]) -> list[str]:
    """What helps with several, each sentence once."""
    return [helps for helps in dict.fromkeys(map(hint_of, problems)) if helps]


def system_text(error: OSError) -> str:
    """The sentence of an error of the system."""
    what = error.filename or say("something that the command needs")
    why = error.strerror or error
    if error.errno == errno.EROFS:
        return say("the system refused {what}: {why}. Make it writable and try again", what=what, why=why)
    return say("the system refused {what}: {why}. Mend that and try again", what=what, why=why)


def away_text(away: Away, name: str) -> str:
    """Why the device `name` is away, and the command that helps; empty if there is nothing to say yet."""
    said = translated(shown_away(away))
    if away.reason != "no-address":
        return said
    return f"{said}. {say('Add one: lottisync devices address {name} HOST:PORT', name=shlex.quote(name))}"


def event_text(code: str, text: str) -> str:
    """The sentence of an event, and the command that helps."""
    return f"{text}. {say(EVENT_HINTS[code])}" if code in EVENT_HINTS else text


def refusal_hint(kind: str) -> str:
    """What helps if something was refused of a device, or by it."""
    return say(REFUSAL_HINTS.get(kind, DOCTOR))
