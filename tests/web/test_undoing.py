"""The button that takes back what was done last from this browser: CLI-146."""

import re

from tests.support.proposals import propose
from tests.web.visitor import PROPOSED, TASK, Visitor

BUTTON = re.compile(r'name="act" value="(\d+)"')


def button(visitor: Visitor, path: str) -> str:
    found = BUTTON.search(visitor.get(path))
    return found[1] if found else ""


def test_cli_146_the_last_act_of_this_browser_is_taken_back(visitor: Visitor) -> None:
    """CLI-146, CLI-142"""
    at = f"/tasks/{TASK}"
    assert button(visitor, at) == "", "what was done elsewhere is not offered"
    before = visitor.task
    visitor.post(at, verb="title", value="Boiler")
    visitor.post(at, verb="priority", value="P0")
    first = button(visitor, at)
    visitor.post("/undo", act=first, back=TASK)
    assert "Something else was done since" in visitor.post("/undo", 409, act=first, back=TASK)
    visitor.post("/undo", act=button(visitor, "/inbox"))
    assert (visitor.task.title, visitor.task.priority) == (before.title, before.priority)
    assert button(visitor, at) == ""


def test_cli_145_a_verdict_of_this_browser_is_taken_back(visitor: Visitor) -> None:
    """CLI-145, CLI-146"""
    propose(visitor.home, PROPOSED[0])
    before = visitor.task
    item, shown = visitor.rows(visitor.get("/inbox"))[0]
    visitor.decide(item, shown, "confirm")
    assert visitor.task != before
    visitor.post("/undo", act=button(visitor, "/inbox"))
    assert (visitor.task.title, visitor.task.estimate, visitor.task.due) == (before.title, before.estimate, before.due)


def test_cli_1094_an_agent_that_was_created_in_this_browser_is_taken_back(visitor: Visitor) -> None:
    """CLI-1094, CLI-146"""
    at = f"/tasks/{TASK}"
    visitor.post(at, verb="create-agent", name="Mina", model="")
    visitor.post("/undo", act=button(visitor, at), back=TASK)
    with visitor.home.agent.reading() as reader:
        lifecycles = {agent.value("displayName"): agent.value("lifecycle") for agent in reader.by_type("agent")}
    assert lifecycles["Mina"] == "destroyed"
