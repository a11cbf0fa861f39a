"""A file of NATS credentials, or of an NKey. It belongs to one device (docs/specs/19-relay.md, section 10).

What is in it is read by nats-py alone. Here it is looked at, so that an error comes early and shows nothing of it."""

import re
from pathlib import Path

from lottisync.problem import Problem

MAX_BYTES = 64 * 1024
_CREDENTIALS = re.compile(r"BEGIN NATS USER JWT-+\r?\n\S+\r?\n.*BEGIN USER NKEY SEED-+\r?\nSU[A-Z2-7]{56}\b", re.DOTALL)
_SEED = re.compile(r"\ASU[A-Z2-7]{56}\s*\Z")


def form_of(file: Path) -> str:
    """`creds` for a file of a JWT and a seed, `nkey` for one of a seed alone. Raises `Problem`, which shows nothing
    that is in the file."""
    try:
        with file.open("rb") as stream:
            text = stream.read(MAX_BYTES).decode("ascii", "replace")
    except OSError as error:
        raise Problem(
            "relay-credentials", "the credentials of the relay cannot be read: {file}: {reason}",
            file=file, reason=error.strerror or "it is not a file",
        ) from None  # fmt: skip
    if _CREDENTIALS.search(text):
        return "creds"
    if _SEED.match(text):
        return "nkey"
    raise Problem(
        "relay-credentials",
        "{file} holds neither NATS credentials (a JWT and a seed) nor the seed of an NKey (SU...)",
        file=file,
    )
