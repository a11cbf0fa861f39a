"""The command line: one function a command, each a thin layer over the packages below.

Commands are found by name and imported when they are called, so `lottisync --help` and
`lottisync task list` load nothing they don't need. This module is also the boundary of errors: a
`Problem` becomes one line on standard error and its exit code; so does a call that click cannot read, and so does an
error of the system. Nothing else is caught here. Exit codes: 0 done, 1 could not be done, 2 the call was wrong
(docs/specs/11-command-line.md)."""

import importlib
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from lottisync.answers.form import Error, FailedAnswer
from lottisync.cli import help_pages
from lottisync.cli.help_pages import Group
from lottisync.cli.hints import system_text, with_hint
from lottisync.cli.options import everywhere, language_of_call
from lottisync.cli.output import answer_line, drop, finish, prepare, writing
from lottisync.language import say, speaking
from lottisync.problem import Problem
from lottisync.shown import one_line

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {
    "init": ("lottisync.cli.homes:init", "Make this device's home."),
    "daemon": ("lottisync.cli.daemons:daemon", "Keep in step with the other devices."),
    "open": ("lottisync.cli.browsers:open_pages", "Open the inbox in a browser."),
    "pair": ("lottisync.cli.pairing:pair", "Make two devices trust each other."),
    "devices": ("lottisync.cli.devices:devices", "List this person's devices, or put one away."),
    "status": ("lottisync.cli.homes:status", "Show the stores and the state of the devices."),
    "import": ("lottisync.cli.files:import_file", "Add the tasks of a file."),
    "task": ("lottisync.cli.task_verbs:task", "List, show, add and change tasks."),
    "search": ("lottisync.cli.searches:search", "Find tasks, items and notes by their words."),
    "agent": ("lottisync.cli.agents:agent", "Create a task's agent, wake it, read its report."),
    "review": ("lottisync.cli.reviews:review", "Decide on what agents propose."),
    "undo": ("lottisync.cli.undoing:undo", "Take back what was done last, from this terminal."),
    "history": ("lottisync.cli.histories:history", "Show who wrote what, and what it replaced."),
    "conflicts": ("lottisync.cli.conflicts:conflicts", "See and settle what two devices wrote at once."),
    "check": ("lottisync.cli.checks:check", "Look through the whole home for damage."),
    "verify": ("lottisync.cli.verifications:verify", "Compare with another device, and mend what differs."),
    "doctor": ("lottisync.cli.doctors:doctor", "Look at all that this device needs, and say what to do."),
    "logs": ("lottisync.cli.logs:logs", "Show what the daemon said."),
    "sync": ("lottisync.cli.arrivals:sync", "Wait until another device has everything."),
    "leave": ("lottisync.cli.leaving:leave", "Take this device out, and delete what is on it."),
    "service": ("lottisync.cli.units:service", "Have systemd start the daemon."),
    "relay": ("lottisync.cli.relays:relay", "Meet at a server, if devices are never up together."),
    "config": ("lottisync.cli.configuration:config", "Show and change what the daemon does when it starts."),
    "backup": ("lottisync.cli.backups:backup", "Make a checked copy of this device."),
    "restore": ("lottisync.cli.backups:restore", "Make a home of a backup."),
    "export": ("lottisync.cli.files:export_file", "Write everything to a file, or the tasks as Markdown or CSV."),
    "purge": ("lottisync.cli.purges:purge", "Forget what was deleted long ago."),
    "completion": ("lottisync.cli.completion:completion", "Print what completes calls in your shell."),
    "conformance-adapter": ("lottisync.cli.conformance:conformance_adapter", "Speak the conformance protocol."),
}

FOR_PROGRAMS = ("conformance-adapter",)
"""Commands that no person types: no list has them, and nothing offers them."""
FOR_PEOPLE = {name: text for name, (_, text) in COMMANDS.items() if name not in FOR_PROGRAMS}
"""What each of the others does."""


class LazyGroup(Group):
    """A group that knows its commands by name and imports one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            raise click.exceptions.NoSuchCommand(cmd_name, possibilities=FOR_PEOPLE, ctx=ctx)
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """By name alone: a command is not imported to offer it."""
        from click.shell_completion import CompletionItem

        found = [CompletionItem(name, help=say(text)) for name, text in FOR_PEOPLE.items()]
        return [
            *(each for each in found if each.value.startswith(incomplete)),
            *click.Command.shell_complete(self, ctx, incomplete),
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(FOR_PEOPLE.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lottisync")
@everywhere
def lottisync(home: str | None, as_json: bool) -> None:
    """Your tasks on all your devices; what an agent proposes on one, you confirm on another."""


def main(arguments: list[str] | None = None) -> None:
    given = sys.argv[1:] if arguments is None else arguments
    help_pages.prepare()
    with speaking(language_of_call(given)):
        _run(given)


def _run(given: list[str]) -> None:
    try:
        prepare()
        result: Any = lottisync.main(given, prog_name="lottisync", standalone_mode=False)
        with writing():
            sys.stdout.flush()
        sys.exit(result if isinstance(result, int) else 0)
    except Problem as problem:
        _tell(given, problem.code, with_hint(problem))
        sys.exit(problem.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        if "--json" in given:
            _tell(given, "usage", _one_line(click.UsageError(say("Missing command."), error.ctx)))
        else:
            error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        _tell(given, "usage", _one_line(error))
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:
        drop()
        sys.exit(0)
    except OSError as error:
        # An error of the system that no command expected. It is not a bug of ours, so no traceback is shown.
        _tell(given, "refused-by-system", system_text(error))
        finish()
        sys.exit(1)


def _one_line(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    hint = " " + say("See: {command} --help", command=context.command_path) if context is not None else ""
    return " ".join(error.format_message().split()) + hint


def _tell(given: list[str], code: str, message: str) -> None:
    if "--json" in given:
        with suppress(OSError):
            answer_line(FailedAnswer(Error(code, message)))
        finish()
    with suppress(OSError):
        sys.stderr.write(f"lottisync: {one_line(message)}\n")
