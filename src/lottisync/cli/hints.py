"""Which command helps with a `Problem`: the words that libraries use, and what they mean on this command line."""

from lottisync.problem import Problem

HINTS = {
    "backup": "Name a folder that was made with: lottisync backup DIR",
    "conflict": "See: lottisync conflicts show {entity_id}",
    "conflicts": "See: lottisync conflicts",
    "daemon": "Start one: lottisync daemon",
    "devices": "See: lottisync devices",
    "invite-again": "Make a new one: lottisync pair --invite",
    "invitations": "See: lottisync pair --invitations",
    "init": "Run: lottisync init --name NAME",
    "init-missing": "To have it made empty: lottisync init --missing",
    "mend": "See all of it with: lottisync check; mend it from another device: lottisync verify; "
    "if what it shows now is right: lottisync check --accept ID",
    "pair-again": "Make a new one: lottisync pair",
    "review": "See: lottisync review",
    "row": "See which row: lottisync check",
    "show-code": "Run there: lottisync pair",
    "take-back": "Take one back: lottisync pair --take-back NUMBER. See: lottisync pair --invitations",
    "tasks": "See: lottisync task list",
}


def told(problem: Problem) -> str:
    """The sentence of a problem, and the command that helps."""
    if not problem.hint:
        return problem.message
    return f"{problem.message}. {HINTS[problem.hint].format(**problem.arguments)}"
