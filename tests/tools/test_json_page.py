"""The page of answers shows examples as if they came from one fixed folder."""

import sys
from pathlib import Path

from tools.json_page import shortened


def test_an_example_names_no_folder_of_the_machine_that_made_it(tmp_path: Path) -> None:
    unit = f'ExecStart="{sys.executable}" -m lottisync daemon --home "{tmp_path}/laptop"'
    assert shortened({"text": [unit]}, tmp_path) == {
        "text": ['ExecStart="/home/ada/.venv/bin/python" -m lottisync daemon --home "/home/ada/laptop"']
    }
