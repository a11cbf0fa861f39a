import pytest
from tests.support.device import Device

from lottisync.agents import lifecycle, task_agent
from lottisync.agents.lifecycle import ACTIVE, CREATED, DESTROYED, DORMANT, TRANSITIONS
from lottisync.agents.types import Agent
from lottisync.entities.entity import HIGH, LOW
from lottisync.journal import tasks
from lottisync.problem import Problem


def test_an_agent_is_made_with_its_state_and_its_links(laptop: Device) -> None:
    """AGENT-3, S3-22, S3-56, S3-73"""
    laptop.do(lambda tx: tasks.add_task(tx, "t1", "Repair the bicycle", {"categoryId": "home"}))
    ident = laptop.add_agent()
    made, state = laptop.agent(ident), laptop.state(ident)
    assert (made.kind, made.mode, made.lifecycle) == ("taskAgent", "autonomous", CREATED)
    assert made.allowed_category_ids == {"home": True}
    assert made.config == {"model": "scripted", "maxTurns": 5}
    assert made.home_device == laptop.id
    assert made.current_state_id == state.id
    assert state.slots == {"activeTaskId": "t1"}
    assert (state.revision, state.consecutive_failure_count, state.processed_counter_by_host) == (0, 0, {})
    with laptop.agents.reading() as reader:
        assert [link.value("toId") for link in reader.links_from(ident, "agent_task")] == ["t1"]
        assert [link.value("toId") for link in reader.links_from(ident, "agent_state")] == [state.id]
        assert task_agent.agent_for_task(reader, "t1") == made
        assert task_agent.agent_for_task(reader, "t2") is None


def test_two_devices_that_make_an_agent_at_the_same_time_have_made_one(laptop: Device, phone: Device) -> None:
    """AGENT-3"""
    laptop.add_task()
    phone.pull(laptop)
    phone.pass_minutes(5)
    assert laptop.add_agent() == phone.add_agent()
    laptop.pull(phone)
    phone.pull(laptop)
    with laptop.agents.reading() as ours, phone.agents.reading() as theirs:
        assert [a.id for a in lifecycle.list_agents(ours)] == [task_agent.agent_id("t1")]
        assert ours.digest() == theirs.digest()
        # The home is one of the two, the same on both, so that exactly one of them wakes it.
        assert lifecycle.list_agents(ours)[0].home_device == lifecycle.list_agents(theirs)[0].home_device == phone.id
        assert len(ours.links_to("t1", "agent_task")) == 1


def test_making_it_again_changes_nothing_but_what_it_may_see(laptop: Device) -> None:
    """AGENT-3, AGENT-42, AGENT-7"""
    laptop.add_task()
    ident = laptop.add_agent()
    with laptop.agents.reading() as reader:
        before = reader.digest()
    laptop.add_agent(name="Somebody else")
    with laptop.agents.reading() as reader:
        assert reader.digest() == before
    laptop.do(lambda tx: tasks.edit_task(tx, "t1", {"categoryId": "work"}))
    laptop.add_agent()
    assert laptop.agent(ident).allowed_category_ids == {"work": True}
    assert laptop.agent(ident).display_name == "Laura"


def test_no_agent_for_a_task_that_is_not_there(laptop: Device) -> None:
    with pytest.raises(Problem) as raised:
        laptop.add_agent("nowhere")
    assert raised.value.code == "unknown-id"
    assert laptop.in_agents("agent") == []


@pytest.mark.parametrize("name", ["", " ", "x" * 81])
def test_a_name_is_a_line(laptop: Device, name: str) -> None:
    laptop.add_task()
    with pytest.raises(Problem, match="1 to 80"):
        laptop.add_agent(name=name)
    assert laptop.in_agents("agent") == []


def test_the_life_of_an_agent(laptop: Device) -> None:
    """AGENT-5, S3-71, S3-72"""
    laptop.add_task()
    ident = laptop.add_agent()
    for verb, then in ((lifecycle.pause, DORMANT), (lifecycle.resume, ACTIVE), (lifecycle.destroy, DESTROYED)):
        with laptop.agents.transaction(laptop.now(), HIGH) as tx:
            verb(tx, ident)
        assert laptop.agent(ident).lifecycle == then
    assert laptop.agent(ident).destroyed_at is not None
    with laptop.agents.reading() as reader:
        assert task_agent.agent_for_task(reader, "t1") is None
        assert [a.id for a in lifecycle.list_agents(reader)] == [ident]
        assert [a.id for a in lifecycle.list_agents(reader, DESTROYED)] == [ident]
        assert lifecycle.list_agents(reader, ACTIVE) == []
    laptop.add_agent()
    assert laptop.agent(ident).lifecycle == CREATED
    assert laptop.agent(ident).destroyed_at is None


@pytest.mark.parametrize("event", ["wake", "pause", "resume", "destroy", "create"])
@pytest.mark.parametrize("state", [CREATED, ACTIVE, DORMANT, DESTROYED, "hibernating"])
def test_every_pair_of_lifecycle_and_event_leads_somewhere_or_says_why_not(state: str, event: str) -> None:
    """AGENT-5"""
    living = Agent("a", display_name="Laura", lifecycle=state)
    if (state, event) in TRANSITIONS:
        assert lifecycle.after(living, event) == TRANSITIONS[state, event]
    else:
        with pytest.raises(Problem, match=f"Laura is {state}; cannot {event}"):
            lifecycle.after(living, event)


def test_a_pause_on_another_device_beats_the_first_wake(laptop: Device, phone: Device) -> None:
    """AGENT-273"""
    laptop.add_task()
    ident = laptop.add_agent()
    phone.pull(laptop)
    with phone.agents.transaction(phone.now(), HIGH) as tx:
        lifecycle.pause(tx, ident)
    laptop.pass_minutes(60)
    with laptop.agents.transaction(laptop.now(), LOW) as tx:
        lifecycle.woken(tx, lifecycle.read(tx, ident))
    laptop.pull(phone)
    phone.pull(laptop)
    assert laptop.agent(ident).lifecycle == phone.agent(ident).lifecycle == DORMANT


def test_a_home_can_be_given_up(laptop: Device) -> None:
    laptop.add_task()
    ident = laptop.add_agent()
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        lifecycle.move(tx, ident, "device-9")
    assert laptop.agent(ident).home_device == "device-9"


def test_of_several_agents_the_newest_minds_the_task(laptop: Device) -> None:
    """S3-73"""
    from lottisync.entities.schema import link_id

    laptop.add_task()
    laptop.add_agent()
    laptop.pass_minutes(5)
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        tx.put("b", "agent", {"displayName": "Newer", "createdAt": "2026-01-01T00:00:00.000Z"}, precedence=LOW)
        tx.put(link_id("agent_task", "b", "t1"), "agent_task", {"fromId": "b", "toId": "t1"})
    with laptop.agents.reading() as reader:
        found = task_agent.agent_for_task(reader, "t1")
    assert found is not None
    assert found.id == "b"
