"""A call of every command, for tests of what each one does when the terminal, the disk or a store is not as it should
be.

`{task}`, `{entry}`, `{proposal}` and so on are filled in from a pair of homes (`tests.support.beside.make`). `SERVES`
are the commands that go on until they are ended; they have tests of their own.
"""

import shlex

from tests.support.beside import Homes
from tests.support.command_line import run_here

SERVES = frozenset({"daemon", "conformance-adapter"})
FIELDS = {
    "init": "--name desk", "init --missing": "", "pair": "ABCDE-FGHIJ --at 127.0.0.1:1", "pair --invitations": "",
    "devices": "", "devices address": "phone 127.0.0.1:4711", "devices acknowledge": "",
    "devices retire": "phone", "devices revoke": "phone --yes --keep-none", "devices rename": "phone pocket",
    "devices renew": "tablet --yes", "status": "", "devices browsers": "", "devices revoke-browser": "phone",
    "open": "", "import": "{file}", "task list": "--all", "task show": "milk", "task add": "Köfte",
    "task done": "milk", "task reopen": "milk", "task status": "milk blocked --reason 'no flour'",
    "task due": "milk 2026-12-24", "task priority": "milk p1", "task estimate": "milk 1h30m",
    "task edit": "milk --title Hafermilch", "task note": "milk 'Ä note'", "task delete": "milk",
    "task undelete": "milk", "task category": "milk household", "task language": "milk de",
    "task link": "milk blocks rye",
    "task label add": "milk ünder", "task label remove": "milk shopping", "task item add": "milk Pfand",
    "task checklist add": "milk Küche", "task checklist rename": "rye Kitchen Oven", "task check": "fridge",
    "task time add": "milk 25 Walked", "task time start": "milk Walking", "task time stop": "",
    "task time edit": "{entry} Ran", "task time remove": "{entry}", "task time list": "milk",
    "task item edit": "fridge Cellar", "task item check": "fridge", "task item remove": "fridge",
    "task item move": "fridge --task rye", "task item archive": "fridge", "search": "shop", "task search": "shop",
    "agent create": "rye", "agent wake": "milk", "agent configure": "milk autoCheck=true", "agent pause": "milk",
    "agent resume": "milk", "agent destroy": "milk --yes", "agent move": "milk", "agent model": "milk small",
    "agent attended": "milk", "agent off": "", "agent on": "", "agent limit": "200000",
    "agent never-send": "--category household", "agent sent": "milk", "agent list": "", "agent show": "milk",
    "agent report": "milk", "agent log": "milk", "review": "", "review list": "", "review show": "{proposal}",
    "review confirm": "{proposal}", "review edit": "{proposal} title=Milch", "review keep": "{proposal}",
    "review reject": "{proposal} --reason nö", "review defer": "{proposal}", "review undo": "{proposal}",
    "review dismiss": "{proposal}", "review ledger": "{task}", "review log": "{task}", "review reindex": "",
    "undo": "", "undo --list": "", "history": "{task}", "conflicts": "", "conflicts show": "{task}",
    "conflicts keep": "{task} title 1", "conflicts combine": "{task} title Milch", "check": "",
    "check --accept": "{task}", "verify": "phone --no-discovery --listen 127.0.0.1:0", "doctor": "",
    "daemon stop": "", "logs": "", "leave": "--untold --yes --wait 0 --no-discovery --listen 127.0.0.1:0",
    "sync": "phone --wait 0", "service install": "", "service remove": "",
    "relay set": "nats://ada:secret@relay.example:4222", "relay off": "", "relay doctor": "",
    "relay credentials": "--none", "relay server-config": "{server} --host nas.home.arpa", "completion": "bash",
    "task remind": "milk 2026-12-24", "task repeat": "milk weekly", "relay status": "", "config list": "",
    "config get": "listen", "config set": "listen 192.168.1.5:22067", "config unset": "listen",
    "backup": "{backups}", "restore": "{backups}", "export": "{export}", "purge": "",
}  # fmt: skip
"""Command (or another use of it) -> its arguments."""


FIRST_BACKUP = "first"


def every_call(homes: Homes) -> list[str]:
    """The calls, filled in. A backup is there, and a file that can be imported."""
    backups, file = homes.folder / "backups", homes.folder / "everything.jsonl"
    assert run_here("backup", str(backups), home=homes.laptop).code == 0
    [made] = backups.iterdir()
    made.rename(backups / FIRST_BACKUP)  # else the call itself, in the same second, would be refused
    assert run_here("export", str(file), home=homes.laptop).code == 0
    entry = run_here("task", "time", "list", "milk", "--json", home=homes.laptop).json["times"][0]["id"]
    item = run_here("review", "--json", home=homes.laptop).json["sets"][0]["items"][0]["name"]
    places = {
        "backups": backups,
        "file": file,
        "server": homes.folder / "server",
        "export": homes.folder / "again.jsonl",
    }
    quoted = {name: shlex.quote(str(path)) for name, path in places.items()}
    return [
        f"{command} {rest.format(task=homes.task, entry=entry, proposal=item, **quoted)}".strip()
        for command, rest in FIELDS.items()
    ]
