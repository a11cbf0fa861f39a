"""The creation of an agent as an act of the person, which `undo` takes back (docs/specs/11-command-line.md, section 6).

The agent is in another store than the acts, so the act is noted by the agent's id. To take it back ends the agent, as
`agent destroy` does; to create it again brings it back.
"""

from lottisync.agents import lifecycle
from lottisync.agents.lifecycle import CREATED, DESTROYED
from lottisync.agents.task_agent import agent_for_task, create_task_agent
from lottisync.device import acts
from lottisync.device.acts import Act, title_of
from lottisync.language import marked
from lottisync.problem import Problem, Sentence
from lottisync.review.precedence import PERSON
from lottisync.store.store import Store

SAID = marked("agent created")


def create(
    journal: Store, agent_store: Store, task_id: str, origin: str, *, name: str, home_device: str, model: str, now: int
) -> str:
    """Make the agent of a task, as `create_task_agent` does, and note that this was done from `origin`. Where one minds
    the task already, nothing is noted."""
    with agent_store.reading() as reader:
        minded = agent_for_task(reader, task_id) is not None
    ident = create_task_agent(journal, agent_store, task_id, name=name, home_device=home_device, model=model, now=now)
    if not minded:
        with journal.reading() as reader:
            title = title_of(reader.document(task_id))
        acts.note_elsewhere(journal, now, origin, acts.said_of(Sentence(SAID), title), [ident])
    return ident


def is_creation(agent_store: Store, act: Act) -> bool:
    """Whether an act is the creation of an agent, and no verdict."""
    if len(act.about) != 1:
        return False
    with agent_store.reading() as reader:
        entity = reader.entity(act.about[0])
    return entity is not None and entity.type == "agent"


def take_back(journal: Store, agent_store: Store, act: Act, now: int, origin: str) -> int:
    """End an agent that has never been awake since it was created, and give the number of the act that this is. Raises
    `Problem` for one that has."""
    [ident] = act.about
    with agent_store.transaction(now, PERSON) as tx:
        found = lifecycle.read(tx, ident)
        which = lifecycle.task_of(lifecycle.read_state(tx, ident)) or ident
        if act.undoes is not None:
            raise Problem(
                "agent-taken-back",
                "an agent that was taken back comes back by a new call",
                hint="create-agent",
                which=which,
            )
        if found.lifecycle not in (CREATED, DESTROYED):
            raise Problem(
                "agent-has-worked",
                "{name} is not as it was created. Nothing was taken back",
                hint="end-agent",
                name=found.display_name,
                which=which,
            )
        if found.lifecycle == CREATED:
            lifecycle.destroy(tx, ident)
    return acts.note_elsewhere(journal, now, origin, acts.said_of_undo(act), act.about, act.n)
