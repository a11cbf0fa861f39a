"""What agents want the person to look at, as `status` and `review` print it."""

from lottisync.answers.agents import AttentionWanted
from lottisync.cli.terminal import Terminal, short
from lottisync.language import headed, say
from lottisync.shown import quoted


def show_attention(terminal: Terminal, wanted: list[AttentionWanted]) -> None:
    """Print what agents want the person to look at."""
    for one in wanted:
        asks = say(
            "{agent_name} asks you to look at {task_title}, about {minutes} min",
            agent_name=one.agent_name,
            task_title=quoted(one.task_title),
            minutes=one.minutes,
        )
        terminal.line(f"{headed(asks, one.reason)}  (lottisync agent attended {short(one.task_id)})", "yellow")
