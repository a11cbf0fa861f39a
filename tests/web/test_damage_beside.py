"""A damaged row costs no page what stands beside it: STORE-946."""

from pathlib import Path

import apsw
import pytest
from tests.web.full_home import OTHER, furnish_wholly
from tests.web.visitor import ITEM, TASK, Visitor

PAGES = ("/inbox", "/inbox?since=1", "/tasks", "/activity", "/conflicts", "/devices", "/settings")


@pytest.mark.parametrize("change", ["serialized = '{'", "type = cast(x'ff00' as text)", "clock = ''", "stamps = ''"])
@pytest.mark.parametrize(("ident", "task"), [(TASK, OTHER), (OTHER, TASK), (ITEM, TASK)])
def test_store_946_a_damaged_row_hides_no_page(tmp_path: Path, ident: str, task: str, change: str) -> None:
    """STORE-946, STORE-100, REL-D7: the inbox, the page of a task and the activity were answered with a fault."""
    visitor = Visitor(tmp_path / "laptop", furnish_wholly)
    with apsw.Connection(str(tmp_path / "laptop" / "journal.sqlite")) as connection:
        connection.execute(f"update journal_entities set {change} where id = ?", (ident,))
        assert connection.changes() == 1
    connection.close()
    for page in (*PAGES, f"/tasks/{task}?since=1"):
        visitor.get(page)
    assert f"/tasks/{task}" in visitor.get("/activity")
    assert visitor.client.get(f"/tasks/{ident}").status_code in (200, 404)
    visitor.close()


def test_store_100_a_damaged_agent_is_said_on_the_page_of_its_task(tmp_path: Path) -> None:
    """STORE-100, STORE-29: the page of the task was answered with a fault."""
    visitor = Visitor(tmp_path / "laptop", furnish_wholly)
    with visitor.home.agent.reading() as reader:
        reports = [document.id for document in reader.documents("agentReport")]
    with apsw.Connection(str(tmp_path / "laptop" / "agent.sqlite")) as connection:
        for ident in reports:
            connection.execute("update agent_entities set serialized = '{' where id = ?", (ident,))
        assert connection.changes() == 1
    connection.close()
    assert "is damaged" in visitor.get("/tasks/t3", 404)
    visitor.get("/inbox")
    visitor.close()
