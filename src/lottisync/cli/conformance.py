"""`conformance-adapter`."""

import sys

import click

from lottisync.cli.terminal import Terminal, common


@click.command("conformance-adapter")
@common
def conformance_adapter(terminal: Terminal) -> None:
    """Answer the conformance suite's requests, one JSON object a line, until the input ends.

    --home and --json are accepted as everywhere; the adapter uses no home and always speaks JSON.

    \b
    lottisync conformance-adapter
    """
    from lottisync.adapter.adapter import serve

    serve(sys.stdin.buffer, sys.stdout.buffer)
