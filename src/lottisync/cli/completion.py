"""`completion`: what a shell runs to complete a call, and what it is offered: commands, options, ids and names.

The shell asks this program itself, by click's protocol (`_LOTTISYNC_COMPLETE`). A person is in the middle of typing: a
home that is missing or cannot be read completes nothing, and says nothing.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from lottisync.answers.care import CompletionScript
from lottisync.cli.options import asked, default_path
from lottisync.cli.terminal import Terminal, common, short
from lottisync.daemon.home import TaskHome

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

VARIABLE = "_LOTTISYNC_COMPLETE"
MOST = 200
"""How many ids are offered at most: more do not help."""

Offered = Iterator[tuple[str, str]]
"""What can be typed, and what it is."""
Complete = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@common
@click.pass_context
def completion(context: click.Context, terminal: Terminal, shell: str) -> None:
    """Print the script that completes commands, options, ids and names in your shell.

    \b
    eval "$(lottisync completion bash)"                                      # in ~/.bashrc
    eval "$(lottisync completion zsh)"                                       # in ~/.zshrc
    lottisync completion fish > ~/.config/fish/completions/lottisync.fish
    """
    from click.shell_completion import ShellComplete, get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    made = kind(context.find_root().command, {}, "lottisync", VARIABLE)
    # Not `made.source()`: that of bash starts a bash to ask for its version.
    script = ShellComplete.source(made)
    terminal.emit(CompletionScript(shell, script), lambda: click.echo(script))


def _from_home(offered: Callable[[TaskHome], Offered]) -> Complete:
    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        try:
            home = TaskHome.open(default_path(asked(context).home))
            try:
                found = list(offered(home))
            finally:
                home.close()
        except Exception:  # noqa: BLE001 - a traceback would appear in the line being typed; commands say what is wrong
            return []
        return [CompletionItem(text, help=what) for text, what in found if text.startswith(incomplete)]

    return complete


def _tasks(home: TaskHome) -> Offered:
    from lottisync.journal.task_list import FILE, Wanted, page_of

    for line in page_of(home.path / FILE, home.journal, Wanted(limit=MOST)).lines:
        yield short(line.id), line.title


def _proposals(home: TaskHome) -> Offered:
    from lottisync.device import clock
    from lottisync.journal.toolbox import ACTIONS
    from lottisync.review.inbox import Inbox

    for one in Inbox(home.journal, home.agent, ACTIONS).open_sets(clock.now()):
        for item in one.items:
            yield item.name, item.summary


def _devices(home: TaskHome) -> Offered:
    for member in home.roster().members.values():
        yield member.name, member.status


tasks, proposals, devices = _from_home(_tasks), _from_home(_proposals), _from_home(_devices)
