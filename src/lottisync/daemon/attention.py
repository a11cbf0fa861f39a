"""What agents want the person to look at, for every program that shows it. It loads little: `review` begins with it."""

from lottisync.agents import attention
from lottisync.answers.agents import AttentionWanted
from lottisync.daemon.home import TaskHome
from lottisync.problem import Problem


def attention_wanted(home: TaskHome, damaged: list[Problem]) -> list[AttentionWanted]:
    """What agents want the person to look at, the most urgent first. `damaged` gets why any is left out."""
    with home.agent.reading() as reader, home.journal.reading() as journal:
        return [
            AttentionWanted(
                asked.agent_id,
                name,
                asked.task_id,
                title,
                asked.rationale,
                asked.minutes,
                asked.impact,
                asked.urgency,
                asked.energy_fit,
                asked.created_at,
            )
            for asked, name, title in attention.open_requests(reader, journal, damaged)
        ]
