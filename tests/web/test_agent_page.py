"""An agent's page: what it did, what that cost, and the person's verbs on it."""

import re
from functools import partial

import anyio
import pytest
from tests.support.scripted_model import ScriptedModel, Step, call, say
from tests.web.visitor import TASK, TITLE, Visitor

from lottisync import wording
from lottisync.agents import lifecycle, switch, task_agent
from lottisync.agents.model import ModelError, TokenUsage, Turn
from lottisync.agents.run_key import user_initiated
from lottisync.agents.wake import wake
from lottisync.device import clock
from lottisync.journal import never_sent, tasks
from lottisync.problem import Problem, Sentence
from lottisync.review.precedence import PERSON
from lottisync.store.instant import iso
from lottisync.web.agent_page import spelled

HOUR = 3_600_000


def minding(visitor: Visitor) -> str:
    """An agent for the task."""
    home = visitor.home
    return task_agent.create_task_agent(
        home.journal, home.agent, TASK, name="Mina", home_device=home.key.device_id, model="scripted", now=visitor.now()
    )


def woken(visitor: Visitor, agent_id: str, *script: Step, turn: str = "1") -> None:
    home = visitor.home
    go = partial(
        wake,
        home.journal,
        home.agent,
        ScriptedModel(*script),
        user_initiated(agent_id, "session", turn),
        agent_id=agent_id,
        device=home.key.device_id,
        now=visitor.now,
        new_id=clock.new_id,
    )
    anyio.run(go)


def lifecycle_of(visitor: Visitor, agent_id: str) -> str:
    with visitor.home.agent.reading() as reader:
        return lifecycle.read(reader, agent_id).lifecycle


def test_web_340_a_page_shows_what_an_agent_did_and_what_it_cost(visitor: Visitor) -> None:
    """WEB-340: what it said, each call and its answer, the tokens of the wake and of all."""
    agent_id = minding(visitor)
    usage = TokenUsage(1_200, 34)
    woken(
        visitor, agent_id, say("I looked at it.", call("update_task_estimate", minutes=90), usage=usage), say("Done.")
    )
    page = visitor.get(f"/agents/{agent_id}")
    for text in (
        "Mina",
        "I looked at it.",
        "update_task_estimate",
        "&#34;minutes&#34;",
        "Proposal queued for user review.",
        "1,300 read, 44 written",
        "1,344 tokens",
    ):
        assert text in page
    assert f'href="/tasks/{TASK}"' in page
    assert f'href="/agents/{agent_id}"' in visitor.get(f"/tasks/{TASK}")


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ('{"rationale": "Er k\\u00e4me"}', '{"rationale": "Er käme"}'),
        ('{"rationale": "\\ud800"}', '{"rationale": "\\ud800"}'),
        ("no JSON", "no JSON"),
        ("[" * 9_999, "[" * 9_999),
    ],
)
def test_web_879_what_a_call_was_given_is_shown_by_its_letters(sent: str, shown: str) -> None:
    """WEB-879: as it is, where it is not JSON, or not text."""
    assert spelled(sent) == shown


def test_web_879_numbers_are_written_as_the_language_writes_them(visitor: Visitor) -> None:
    agent_id = minding(visitor)
    usage = TokenUsage(1_200, 34)
    woken(visitor, agent_id, say("", call("update_report", tldr="Er käme."), usage=usage), say("Done.", usage=usage))
    german = visitor.client.get(f"/agents/{agent_id}", headers={"accept-language": "de"}).text
    assert "2.400 gelesen" in german
    assert "<td>2.400</td>" in german
    assert "Er käme" in german
    assert "u00e4" not in german


def test_web_618_a_page_shows_the_whole_report_and_what_became_of_each_call(visitor: Visitor) -> None:
    """WEB-618, WEB-6180"""
    agent_id = minding(visitor)
    said = {"tldr": "All but the day.", "goal": "A warm winter.", "achieved": ["The fitter is <found>."]}
    woken(
        visitor,
        agent_id,
        say(
            "",
            call("update_report", **said, remaining=["The day."], learnings=["He closes at noon."]),
            call("propose_a_song", title="x"),
            call("set_task_language", languageCode="de", confidence="high"),
        ),
        say("Done."),
    )
    page = visitor.get(f"/agents/{agent_id}")
    for text in ("All but the day.", "Goal: A warm winter.", "The fitter is &lt;found&gt;.", "The day.", "at noon."):
        assert text in page
    assert page.count("(nothing was done)") == 1
    assert page.count('<span class="ink">done</span>') == 2
    assert "changed the" in page


def test_web_507_why_it_woke_is_said_in_the_readers_language(visitor: Visitor) -> None:
    """WEB-507"""
    agent_id = minding(visitor)
    woken(visitor, agent_id, say("Done."))
    page = visitor.client.get(f"/agents/{agent_id}", headers={"accept-language": "de"}).text
    assert "du hast darum gebeten" in page
    assert "you asked" not in page


def test_web_341_a_wake_that_failed_says_why(visitor: Visitor) -> None:
    agent_id = minding(visitor)
    with pytest.raises(Problem, match="is away"):
        woken(visitor, agent_id, ModelError("model-rejected", "the <model> is away"))
    page = visitor.get(f"/agents/{agent_id}")
    assert "failed" in page
    assert '<p class="stop">The &lt;model&gt; is away.</p>' in page


def test_web_342_the_persons_verbs_change_its_life_and_what_is_not_allowed_is_said(visitor: Visitor) -> None:
    """WEB-342, WEB-343"""
    agent_id = minding(visitor)
    place = f"/agents/{agent_id}"
    visitor.post(place, verb="wake")
    with visitor.home.agent.reading() as reader:
        assert lifecycle.read(reader, agent_id).timers
    assert "Paused" in visitor.post(place, verb="pause")
    assert "dormant" in visitor.post(place, 400, verb="wake")
    assert lifecycle_of(visitor, agent_id) == "dormant"
    visitor.post(place, verb="resume")
    assert "for good?" in visitor.get(f"{place}?ask=destroy")
    assert lifecycle_of(visitor, agent_id) == "active"  # looking at the question ends nothing
    assert "Ended" in visitor.post(place, verb="destroy")
    assert lifecycle_of(visitor, agent_id) == "destroyed"
    visitor.post(place, 400, verb="resume")


@pytest.mark.parametrize(
    ("standing", "why", "shown"),
    [
        ("active", None, "Asleep"),
        ("dormant", None, "Paused"),
        ("dormant", Sentence("the model is away"), "Gave up"),
        ("destroyed", None, "Ended"),
    ],
)
def test_web_34_how_an_agent_stands_is_said_in_a_word(
    visitor: Visitor, standing: str, why: Sentence | None, shown: str
) -> None:
    agent_id = minding(visitor)
    with visitor.home.agent.transaction(visitor.now(), PERSON) as tx:
        tx.put(agent_id, "agent", {"lifecycle": standing})
        held = wording.plain(why) if why else None
        tx.put(lifecycle.read_state(tx, agent_id).id, "agentState", {f"slots/{lifecycle.ASLEEP_BECAUSE}": held})
    assert f'<span class="tag">{shown}</span>' in visitor.get(f"/agents/{agent_id}")


def test_web_34_a_wake_that_is_under_way_is_said(visitor: Visitor) -> None:
    agent_id = minding(visitor)
    seen = []

    def looks(_: object) -> Turn:
        seen.append('<span class="tag">Awake</span>' in visitor.get(f"/agents/{agent_id}"))
        return say("Done.")

    woken(visitor, agent_id, looks)
    assert seen == [True]


def test_web_342_each_verb_is_a_form_where_it_can_be_done(visitor: Visitor) -> None:
    """WEB-342: to end one is asked about first. One that lives on another device can be moved here."""
    agent_id = minding(visitor)
    place = f"/agents/{agent_id}"

    def forms(path: str) -> set[str]:
        return set(re.findall(rf'<form method="post" action="{place}".*?name="verb" value="(\w+)"', visitor.get(path)))

    assert forms(place) == {"wake", "pause"}
    assert forms(f"{place}?ask=destroy") == {"wake", "pause", "destroy"}
    with visitor.home.agent.transaction(visitor.now(), PERSON) as tx:
        tx.put(agent_id, "agent", {"homeDevice": "f" * 64})
    assert forms(place) == {"wake", "pause", "move"}
    visitor.post(place, verb="pause")
    assert forms(place) == {"resume", "move"}
    visitor.post(place, verb="destroy")
    assert forms(place) == set()


@pytest.mark.parametrize(
    ("standing", "later", "shown"), [("active", HOUR, True), ("active", -HOUR, False), ("dormant", HOUR, False)]
)
def test_web_1025_an_agent_wakes_again_at_a_time_to_come(
    visitor: Visitor, standing: str, later: int, *, shown: bool
) -> None:
    """WEB-1025: neither at one that is over, nor while it is paused."""
    agent_id = minding(visitor)
    with visitor.home.agent.transaction(visitor.now(), PERSON) as tx:
        state = lifecycle.read_state(tx, agent_id)
        tx.put(state.id, "agentState", {"nextWakeAt": iso(visitor.now() + later)})
        tx.put(agent_id, "agent", {"lifecycle": standing})
    assert ("Wakes again" in visitor.get(f"/agents/{agent_id}")) is shown


def test_web_1026_what_a_verb_has_done_is_said(visitor: Visitor) -> None:
    """WEB-1026: also where the page looks as before. One that is ended neither minds nor wakes."""
    agent_id = minding(visitor)
    for verb, said in (
        ("wake", "Mina wakes as soon as its device can."),
        ("pause", "Mina is paused."),
        ("resume", "Mina may wake again."),
        ("move", "Mina wakes on laptop."),
        ("destroy", "Mina is ended; what it wrote stays readable."),
    ):
        page = visitor.post(f"/agents/{agent_id}", verb=verb)
        assert re.findall(r'<p id="said"[^>]*>([^<]+)<', page) == [said]
        assert ("wakes on laptop" in page.partition('id="lede"')[2].partition("</p>")[0]) is (verb != "destroy")


@pytest.mark.parametrize("verb", ["", "create", "wake "])
def test_web_343_another_verb_changes_nothing(visitor: Visitor, verb: str) -> None:
    agent_id = minding(visitor)
    with visitor.home.agent.reading() as reader:
        before = reader.digest()
    assert "nothing called" in visitor.post(f"/agents/{agent_id}", 400, verb=verb)
    with visitor.home.agent.reading() as reader:
        assert reader.digest() == before


def test_an_agent_that_is_not_here_is_said(visitor: Visitor) -> None:
    assert "there is no agent" in visitor.get("/agents/nobody", 404).lower()
    visitor.post("/agents/nobody", 404, verb="pause")


# -- what it asks for, and what keeps it


def asking(visitor: Visitor) -> str:
    """An agent that asks for attention."""
    agent_id = minding(visitor)
    asked = call("request_attention", rationale="The <shop> closes on Friday.", minutes=5, urgency=5)
    woken(visitor, agent_id, say("", asked), say("Done."))
    return agent_id


@pytest.mark.parametrize("back", ["inbox", ""])
def test_agent150_a_request_for_attention_is_settled_where_it_is_shown(visitor: Visitor, back: str) -> None:
    """AGENT-150: in the inbox and on the agent's page, and one stays on that page."""
    agent_id = asking(visitor)
    places = ("/inbox", f"/agents/{agent_id}")
    for place in places:
        page = visitor.get(place)
        assert "The &lt;shop&gt; closes on Friday." in page
        assert "Mina" in page
        assert TITLE in page
        assert f'action="/agents/{agent_id}"' in page
        assert 'value="attended"' in page
    after = visitor.post(f"/agents/{agent_id}", verb="attended", back=back)
    assert ("<title>Inbox" in after) == (back == "inbox")
    for place in places:
        assert "closes on Friday." not in visitor.get(place).partition('id="wakes-title"')[0]
    assert "does not ask for your attention" in visitor.post(f"/agents/{agent_id}", 400, verb="attended", back=back)


def test_agent480_a_page_asks_nothing_for_a_task_that_is_closed(visitor: Visitor) -> None:
    """AGENT-480"""
    agent_id = asking(visitor)
    with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
        tasks.edit_task(tx, TASK, {"status": "DONE"})
    for place in ("/inbox", f"/agents/{agent_id}"):
        assert 'value="attended"' not in visitor.get(place)


def test_agent151_a_page_says_what_keeps_an_agent_from_its_model(visitor: Visitor) -> None:
    """AGENT-151: the switch, the mark, the budget, the endpoint that is not here."""
    agent_id = minding(visitor)
    place = f"/agents/{agent_id}"
    assert 'id="withheld"' not in visitor.get(place)
    with visitor.home.agent.transaction(visitor.now(), PERSON) as tx:
        tx.put(agent_id, "agent", {"config/endpoint": "home"})
    assert " waits: this device has no endpoint" in visitor.get(place)
    with visitor.home.agent.transaction(visitor.now(), PERSON) as tx:
        tx.put(agent_id, "agent", {"config/endpoint": None, "config/tokensADay": 5})
    woken(visitor, agent_id, say("Done.", usage=TokenUsage(10, 1)))
    assert " is paused: budget. The 5 tokens of today are used; it goes on at " in visitor.get(place)
    with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
        never_sent.mark(tx, TASK, never=True)
    assert "is never sent to a model" in visitor.get(place)
    with visitor.home.agent.transaction(visitor.now(), PERSON) as tx:
        switch.turn(tx, off=True)
    assert " sleeps: agents are off on all devices" in visitor.get(place)
    visitor.post(place, verb="destroy")
    assert 'id="withheld"' not in visitor.get(place)


def test_web_960_the_steps_of_an_agent_are_shown_by_their_kind(visitor: Visitor) -> None:
    """WEB-960, WEB-9600: by the address alone, and the page leads to each of them."""
    agent_id = minding(visitor)
    noted = call("record_observations", observations=[{"text": "The fitter is away."}])
    script = (say("I looked at it.", noted, usage=TokenUsage(1_200, 34)), say("Done.", usage=TokenUsage(0, 0)))
    woken(visitor, agent_id, *script)
    everything, calls, notes, wakes = (
        visitor.get(f"/agents/{agent_id}?show={show}") for show in ("", "calls", "notes", "wakes")
    )
    assert "you asked" in wakes
    assert "1,234 tokens" in wakes
    for text, pages in (("I looked at it.", "e"), ("record_observations", "ec"), ("<b>Note to itself", "en")):
        shown = {name for name, page in zip("ecnw", (everything, calls, notes, wakes), strict=True) if text in page}
        assert shown == set(pages), text
    assert visitor.get(f"/agents/{agent_id}?show=%3Cb%3E") == visitor.get(f"/agents/{agent_id}") == everything
    leads = re.findall(rf'href="/agents/{agent_id}\?show=(\w*)#wakes-title"( aria-current="true")?>', calls)
    assert leads == [("", ""), ("calls", ' aria-current="true"'), ("notes", ""), ("wakes", "")]


def test_web_960_where_nothing_is_of_the_kind_the_page_says_so(visitor: Visitor) -> None:
    agent_id = minding(visitor)
    woken(visitor, agent_id, say("Done."))
    assert "It has done nothing of this kind." in visitor.get(f"/agents/{agent_id}?show=notes")
