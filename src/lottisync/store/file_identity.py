"""Which file a store lies in, so that a copy of it is noticed at once (docs/specs/13-copies.md, section 4).

A copy that is opened gets a new host before its first write, so that there is no fork to repair later. This is a
convenience and not the proof: a file system may use a number twice, and a backup may be written into the same file.
The chains find what it misses.

The number of the disk is left out: many systems number their disks again at every start.
"""

from pathlib import Path

COPY = "copy"
"""What a copy has that a store made of itself: no file has this identity."""
MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))


def file_identity(file: Path, machine_ids: tuple[Path, ...] = MACHINE_IDS) -> str:
    """The machine and the file's number on its disk; without a machine's id, the number alone."""
    machine = ""
    for path in machine_ids:
        try:
            machine = path.read_text().strip()
        except (OSError, UnicodeDecodeError):
            continue
        break
    return f"{machine}/{file.stat().st_ino}"
