"""What an agent leaves in its store: entities with clocks that replicate, beside local tables that do not."""

from functools import partial

import apsw
import pytest
from tests.support.device import Device
from tests.support.scripted_model import ScriptedModel, call, say

from lottisync.agents import context, lifecycle, report, run_log, task_agent, thread
from lottisync.agents.endpoint import ModelChoice, choice, model_for
from lottisync.agents.types import Agent, AgentMessage, AgentReport, AgentReportHead, AgentState
from lottisync.causality.vector_clock import Host
from lottisync.daemon.stores import AGENT_STORE
from lottisync.entities.entity import HIGH, Entity
from lottisync.entities.schema import link_id
from lottisync.entities.view import view
from lottisync.journal import tasks
from lottisync.journal.types import JOURNAL
from lottisync.problem import Problem
from lottisync.store.store import Store

KINDS = {"agent", "agentState", "agentMessage", "agentMessagePayload", "agentReport", "agentReportHead", "changeSet"}
LINKS = {"agent_state", "agent_task", "agent_report_head", "tool_effect"}


@pytest.fixture
def woken(laptop: Device) -> str:
    """An agent that did one thing of every kind."""
    laptop.add_task()
    laptop.do(lambda tx: tasks.add_item(tx, "i1", "t1", "Buy a chain"))
    ident = laptop.add_agent()
    everything = say(
        "w" * 1_000,
        call("update_task_estimate", minutes=90),
        call("set_task_language", languageCode="fr", confidence="high"),
        call("record_observations", observations=["It creaks"]),
        call("update_report", tldr="Ninety minutes."),
    )
    laptop.wake(ident, ScriptedModel(everything, say()))
    return ident


def all_of(store: Store) -> list[Entity]:
    with store.reading() as reader:
        changed = reader.changes(0, 10_000)
        return [entity for change in changed if (entity := reader.entity(change.id)) is not None]


def test_every_entity_and_link_has_a_clock_from_its_creation(laptop: Device, woken: str) -> None:
    """S3-20, S3-21, S3-29, S3-30: and there is no entity for what lives in memory only."""
    found = all_of(laptop.agents)
    assert {entity.type for entity in found} == KINDS | LINKS
    with laptop.agents.reading() as reader:
        host = reader.host
    for entity in found:
        assert entity.clock.keys() == {host}
        assert all(write.stamp.host == host for writes in entity.registers.values() for write in writes)
    kinds = {entity.value("kind") for entity in found if entity.type == "agentMessage"}
    assert kinds == {"user", "thought", "action", "toolResult", "observation", "system"}


def test_all_of_it_replicates_and_the_bookkeeping_does_not(laptop: Device, phone: Device, woken: str) -> None:
    """S3-06, S3-18, S3-27, S3-83: every variant arrives as it is."""
    phone.pull(laptop)
    there = {entity.id: entity for entity in all_of(phone.agents)}
    assert there == {entity.id: entity for entity in all_of(laptop.agents)}
    for table in ("wake_run_log", "saga_log", "wake_queue"):
        with phone.agents.reading() as reader:
            assert reader.local(f"select count(*) from {table}") == [(0,)]
    with laptop.agents.reading() as reader:
        assert reader.local("select count(*) from wake_run_log") == [(1,)]
    said = phone.agents.read(lifecycle.report_head_id(woken, report.CURRENT))
    assert said is not None
    with phone.agents.reading() as reader:
        latest = report.latest_report(reader, woken)
    assert latest is not None
    assert view(said, AgentReportHead).report_id == latest.id


def test_what_a_later_version_wrote_passes_through_unchanged(laptop: Device, phone: Device, woken: str) -> None:
    """S3-28, S3-29"""
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        tx.put("soul", "agentSoul", {"agentId": woken, "mood": {"now": "calm"}})
        joint = link_id("basic", woken, "soul")
        tx.put(joint, "basic", {"fromId": woken, "toId": "soul", "colour": "blue"})
        tx.put(woken, "agent", {"config/temper": "mild"})
    phone.pull(laptop)
    for ident in ("soul", joint, woken):
        assert phone.agents.read(ident) == laptop.agents.read(ident)
    assert phone.agent(woken).config["temper"] == "mild"


def test_what_the_model_says_stays_out_of_the_journal(laptop: Device) -> None:
    """AGENT-9, S3-09, S3-10"""
    laptop.add_task()
    ident = laptop.add_agent()
    before = all_of(laptop.journal)
    words = call("update_report", tldr="Private thought", learnings=["Private thought"])
    noting = call("record_observations", observations=["Private thought"])
    laptop.wake(ident, ScriptedModel(say("Private thought", words, noting), say("Private thought")))
    assert all_of(laptop.journal) == before
    assert laptop.agents.file.name == "agent.sqlite"
    assert b"Private thought" not in laptop.journal.file.read_bytes()


def test_queries_of_the_agents_store(laptop: Device, woken: str) -> None:
    """S3-32, S3-33, S3-34, S3-35"""
    with laptop.agents.reading() as reader:
        state = reader.by_type("agentState", owner=woken)
        assert [each.id for each in state] == [lifecycle.state_id(woken)]
        assert len(reader.by_type("agentMessage", owner=woken)) > len(
            reader.by_type("agentMessage", owner=woken, subtype="observation")
        )
        owned = {entity.type for entity in reader.owned_by(woken)}
        assert owned == KINDS
        assert [link.value("toId") for link in reader.links_from(woken, "agent_task")] == ["t1"]
        assert [link.value("fromId") for link in reader.links_to("t1", "agent_task")] == [woken]
        found = task_agent.agent_for_task(reader, "t1")
        assert found is not None
        assert found.id == woken


def test_the_fields_of_the_plan_are_there(laptop: Device, woken: str) -> None:
    """S3-17, S3-22, S3-24, S3-31: three of the required fields belong to every entity, and not to these structs."""
    of_every = {"updatedAt", "vectorClock", "deletedAt"}
    identity = (
        "id agentId kind displayName lifecycle mode allowedCategoryIds currentStateId config createdAt destroyedAt"
    )
    assert set(identity.split()) <= set(Agent.__struct_encode_fields__)
    assert len({*identity.split(), *of_every}) == 14
    message = (
        "id agentId threadId kind createdAt prevMessageId contentEntryId triggerSourceId summaryStartMessageId "
        "summaryEndMessageId summaryDepth tokensApprox metadata"
    )
    assert set(message.split()) <= set(AgentMessage.__struct_encode_fields__)
    entity = laptop.agents.read(woken)
    assert entity is not None
    assert entity.clock
    assert set(run_log.TRANSITIONS.values()) | {run_log.QUEUED} == {
        *("queued", "started", "completed", "failed", "skipped")
    }


def test_messages_of_a_thread_are_read_in_order_with_their_metadata(laptop: Device, woken: str) -> None:
    """S3-24, S3-31, S3-34: each kind has what the table in `thread` says, and about how many tokens it is."""
    with laptop.agents.reading() as reader:
        [run] = run_log.runs(reader, woken)
        record = thread.messages(reader, woken, run.thread_id)
        assert thread.messages(reader, woken, "another") == []
        sizes = [len(thread.full_text(reader, each)) for each in record if each.kind == "thought"]
    assert [each.metadata["ordinal"] for each in record] == list(range(len(record)))
    assert [each.tokens_approx for each in record if each.kind == "thought"] == [size // 4 for size in sizes]
    assert record[0].tokens_approx > 1_000, "both prompts are in its payload"
    for kind, names in {
        "user": {"contextKnowledge"},
        "thought": {"turn", "finishReason", "promptTokens", "completionTokens"},
        "action": {"turn", "call", "callId", "toolName"},
        "toolResult": {"turn", "call", "callId", "toolName", "succeeded"},
        "observation": {"priority", "category"},
        "system": {"milestone", "result", "turns", "promptTokens", "completionTokens", "words"},
    }.items():
        held = [set(each.metadata) for each in record if each.kind == kind]
        assert held, kind
        assert all(one == {"runKey", "ordinal", *names} for one in held), kind


def test_a_link_is_written_once_however_often(laptop: Device, woken: str) -> None:
    """S3-35: upsertLink, getLinksFrom, getLinksTo."""
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        tx.link("basic", woken, "t9")
        tx.link("basic", woken, "t9")
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        tx.link("basic", woken, "t9")
    with laptop.agents.reading() as reader:
        for found in (reader.links_from(woken, "basic"), reader.links_to("t9", "basic")):
            assert [each.id for each in found] == [link_id("basic", woken, "t9")]


def test_the_agents_file_has_a_format_of_its_own(laptop: Device, woken: str) -> None:
    """S3-32: it is opened with the home, and a newer format of it is refused by itself, whatever the journal has."""
    file = laptop.agents.file
    new_host = partial(Host, "0" * 16)
    laptop.close()
    connection = apsw.Connection(str(file))
    before = connection.pragma("user_version")
    connection.pragma("user_version", before + 1)
    connection.close()
    with pytest.raises(Problem, match="Install a newer lottisync"):
        Store.open(file, AGENT_STORE, new_host)
    Store.open(laptop.journal.file, JOURNAL, new_host).close()
    connection = apsw.Connection(str(file))
    connection.pragma("user_version", before)
    connection.close()
    opened = Store.open(file, AGENT_STORE, new_host)
    with opened.reading() as reader:
        assert lifecycle.read(reader, woken).id == woken
    opened.close()


def test_identity_state_and_report_have_the_plans_fields(laptop: Device, woken: str) -> None:
    """S3-22, S3-23, S3-26, S3-31, S3-56"""
    made, state = laptop.agent(woken), laptop.state(woken)
    assert isinstance(made, Agent)
    assert isinstance(state, AgentState)
    assert (made.kind, made.mode, made.lifecycle, made.current_state_id) == (
        "taskAgent",
        "autonomous",
        "active",
        state.id,
    )
    assert made.config == {"model": "scripted", "maxTurns": 5}
    assert state.slots["activeTaskId"] == "t1"
    with laptop.journal.reading() as reader:
        assert state.processed_counter_by_host.keys() == reader.knowledge().keys()
    with laptop.agents.reading() as reader:
        latest = report.latest_report(reader, woken)
    assert isinstance(latest, AgentReport)
    assert (latest.scope, latest.confidence) == ("current", None)
    assert set(latest.provenance) == {"runKey", "threadId", "journalKnowledge"}


def test_the_model_is_the_agents_own_unless_the_person_says_another() -> None:
    """S3-08"""
    at_home = {"LOTTISYNC_MODEL_URL": "http://127.0.0.1:11434/v1"}
    own = ModelChoice("qwen3", None)
    assert model_for(own, {}, at_home).model == "qwen3"
    assert model_for(own, {}, at_home | {"LOTTISYNC_MODEL": "other"}).model == "other"
    assert model_for(own, {}, at_home | {"LOTTISYNC_MODEL": " "}).model == "qwen3"
    assert choice(Agent("a", config={"model": 5, "endpoint": []})) == ModelChoice(None, None)


def test_the_context_is_the_journals_own_reading(laptop: Device, woken: str) -> None:
    """S3-64, S3-65: what a person is shown of the task is what the model gets, texts of entries included."""
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "Heard on the phone: two hours"))
    sent = context.read(laptop.journal, laptop.agents, woken, laptop.now()).task
    with laptop.journal.reading() as reader:
        shown = tasks.as_json(tasks.page(reader, "t1"))
    assert sent["logEntries"] == shown["entries"]
    assert [sent[key] for key in ("title", "status", "priority", "checklists")] == [
        shown[key] for key in ("title", "status", "priority", "checklists")
    ]
