"""How a fault is planted: our own adapter with one function replaced, wherever it was imported to."""

import sys
from collections.abc import Callable
from typing import Any

from lottisync.adapter.adapter import serve


def plant(original: Callable[..., Any], replacement: Callable[..., Any]) -> None:
    """Put `replacement` in the place of `original` in every module of ours that has it. A fault that is
    planted nowhere proves nothing."""
    planted = 0
    for name, module in list(sys.modules.items()):
        if not name.startswith("lottisync."):
            continue
        for attribute, value in list(vars(module).items()):
            if value is original:
                setattr(module, attribute, replacement)
                planted += 1
    if not planted:
        raise LookupError(f"{original} is nowhere to be found")


def run() -> None:
    serve(sys.stdin.buffer, sys.stdout.buffer)
