"""The structs that commands answer with."""

import msgspec
from tools import json_page


def test_every_struct_is_a_value_and_speaks_camel_case() -> None:
    for kind in json_page.structs().values():
        for name in kind.__struct_encode_fields__:
            assert "_" not in name, f"{kind.__name__}.{name}"


def test_every_object_inside_an_answer_is_shown_once_by_its_name() -> None:
    found = json_page.structs()
    assert all(issubclass(kind, msgspec.Struct) for kind in found.values())
    kinds = {kind for name, kind in found.items() if name == kind.__name__}
    assert len(kinds) == len(found)
