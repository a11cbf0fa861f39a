"""One device's key that runs twice: a home was copied to another machine, and both programs are up
(docs/specs/13-copies.md, section 6).

Each of the two greets as the same device. If the newer connection simply took the place of the older one, as it does
for a program that was started again, the two would take each other's connections over and over. So before a connection
is given up for a program that was started as another one, it is asked for a sign of life. If there is one, the newcomer
is turned away, and all three devices show it to the person. Nothing is lost by that: what the one that waits has
written goes out when the other has stopped, and its chains tell the two apart.
"""

from lottisync.problem import Sentence

LIVING_SECONDS = 5.0
"""How long a connection may take to answer: longer than a round trip anywhere, shorter than a greeting may take."""
REMEMBERED_MS = 120_000
"""For how long after the newcomer's last attempt a device counts as running twice; attempts are half a minute apart."""


def warning(name: str | None) -> Sentence:
    """The sentence for people, about another device or (None) this one."""
    return Sentence(
        "{name} runs twice: its home was copied to another machine, and only one of the two can be connected at a time."
        " Nothing written is lost. Make one of them a device of its own, after its daemon has stopped",
        name=name or Sentence("This device"),
    )
