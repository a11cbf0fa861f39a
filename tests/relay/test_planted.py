"""Each rule of the model of a relay is planted as a fault (docs/specs/19-relay.md, section 13)."""

import re
from pathlib import Path

from tools import mutants

PAGE = Path(__file__).parents[2] / "docs" / "specs" / "19-relay.md"
RULES = 31
"""Of the model."""


def test_each_rule_of_the_model_is_planted_as_a_fault() -> None:
    _, _, section = PAGE.read_text().partition("## 13. ")
    rows = re.findall(r"^\| (.*?) \| (.+?) \| `(\w+)` \|$", section, re.MULTILINE)
    listed = {mutant.name: mutant.caught_by for mutant in mutants.listed()}
    assert sum(bool(rule) for rule, _, _ in rows) == RULES
    for _, fault, test in rows:
        assert listed[fault].endswith(f"::{test}"), fault
