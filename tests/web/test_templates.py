"""What a template takes from another one is there: a page that nobody tried would answer with an error."""

from functools import cache
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

import lottisync.web

FOLDER = Path(lottisync.web.__file__).parent / "templates"
NAMES = sorted(file.name for file in FOLDER.glob("*.html"))


@cache
def parsed(template: str) -> nodes.Template:
    return Environment(autoescape=True).parse((FOLDER / template).read_text())


def macros(template: str) -> set[str]:
    return {macro.name for macro in parsed(template).find_all(nodes.Macro)}


def taken(tree: nodes.Template) -> set[tuple[str, str]]:
    """The template and the name of each thing that this one takes from an imported one."""
    imported = {
        one.target: one.template.value for one in tree.find_all(nodes.Import) if isinstance(one.template, nodes.Const)
    }
    return {
        (imported[one.node.name], one.attr)
        for one in tree.find_all(nodes.Getattr)
        if isinstance(one.node, nodes.Name) and one.node.name in imported
    }


@pytest.mark.parametrize("template", NAMES)
def test_what_a_template_takes_from_another_is_there(template: str) -> None:
    assert {(other, name) for other, name in taken(parsed(template)) if name not in macros(other)} == set()


def test_a_macro_that_is_gone_is_found() -> None:
    """The look itself can fail."""
    tree = Environment(autoescape=True).parse('{% import "parts.html" as frame %}{{ frame.gone() }}{{ one.gone }}')
    assert taken(tree) == {("parts.html", "gone")}
