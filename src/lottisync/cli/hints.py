"""Which command helps: the words that the rest of the program uses, and what they mean on this command line.

No other file outside the command line and the web pages names a command; a test looks for it. What another program
built on the same libraries offers instead, that program says.
"""

from lottisync.problem import Problem

HINTS = {
    "agents": "See: lottisync agent list",
    "allow-agent": "Allow it: lottisync agent create {task_id}",
    "backup": "Name a folder that was made with: lottisync backup DIR",
    "conflict": "See: lottisync conflicts show {entity_id}",
    "conflicts": "See: lottisync conflicts",
    "create-agent": "Create it again: lottisync agent create",
    "daemon": "Start one: lottisync daemon",
    "devices": "See: lottisync devices",
    "invite-again": "Make a new one: lottisync pair --invite",
    "invitations": "See: lottisync pair --invitations",
    "init": "Run: lottisync init --name NAME",
    "init-missing": "To have it made empty: lottisync init --missing",
    "mend": "See all of it with: lottisync check; mend it from another device: lottisync verify; "
    "if what it shows now is right: lottisync check --accept ID",
    "move-agent": "Or move it: lottisync agent move",
    "pair-again": "Make a new one: lottisync pair",
    "resume-agent": "Resume it: lottisync agent resume",
    "review": "See: lottisync review",
    "row": "See which row: lottisync check",
    "show-code": "Run there: lottisync pair",
    "status": "See: lottisync status",
    "take-back": "Take one back: lottisync pair --take-back NUMBER. See: lottisync pair --invitations",
    "tasks": "See: lottisync task list",
}

EVENT_HINTS = {
    "agent-asleep": "Resume it: lottisync agent resume",
    "damaged": "See: lottisync check",
    "duplicate-key": "Run there: lottisync devices renew NAME, and: lottisync pair",
}
"""The same for what a running daemon reports, by the code of the event."""


def told(problem: Problem) -> str:
    """The sentence of a problem, and the command that helps."""
    if not problem.hint:
        return problem.message
    return f"{problem.message}. {HINTS[problem.hint].format(**problem.arguments)}"


def event_text(code: str, text: str) -> str:
    """The sentence of an event, and the command that helps."""
    return f"{text}. {EVENT_HINTS[code]}" if code in EVENT_HINTS else text
