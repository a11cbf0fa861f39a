"""A file of NATS credentials, or of an NKey. It belongs to one device (docs/specs/19-relay.md, section 10).

What is in it is read by nats-py alone. Here it is looked at, so that an error comes early and shows nothing of it, and
so that a person hears when it ends: a server says of what has expired only that it does not accept it."""

import base64
import re
from pathlib import Path
from typing import Any

import msgspec

from lottisync.problem import Problem, Sentence
from lottisync.store.instant import LAST

MAX_BYTES = 64 * 1024
_CREDENTIALS = re.compile(
    r"BEGIN NATS USER JWT-+\r?\n(\S+)\r?\n.*BEGIN USER NKEY SEED-+\r?\nSU[A-Z2-7]{56}\b", re.DOTALL
)
_SEED = re.compile(r"\ASU[A-Z2-7]{56}\s*\Z")


def form_of(file: Path, hint: str = "") -> str:
    """`creds` for a file of a JWT and a seed, `nkey` for one of a seed alone. Raises `Problem` with this `hint`, which
    shows nothing that is in the file."""
    try:
        text = _read(file)
    except OSError as error:
        raise Problem(
            "relay-credentials", "the credentials of the relay cannot be read: {file}: {reason}",
            hint=hint, file=file, reason=error.strerror or Sentence("it is not a file"),
        ) from None  # fmt: skip
    if _CREDENTIALS.search(text):
        return "creds"
    if _SEED.match(text):
        return "nkey"
    raise Problem(
        "relay-credentials",
        "{file} holds neither NATS credentials (a JWT and a seed) nor the seed of an NKey (SU...)",
        hint=hint,
        file=file,
    )


def expires_at(file: Path) -> int | None:
    """When the JWT in a file expires (milliseconds since 1970); None if it does not, or there is none."""
    try:
        found = _CREDENTIALS.search(_read(file))
        claims = found[1].split(".")[1] if found is not None else ""
        said: Any = msgspec.json.decode(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
        seconds = said["exp"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return seconds * 1000 if isinstance(seconds, int) and 0 < seconds <= LAST // 1000 else None


def _read(file: Path) -> str:
    with file.open("rb") as stream:
        return stream.read(MAX_BYTES).decode("ascii", "replace")
