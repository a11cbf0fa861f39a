"""Keys and tokens of a NATS server in operator mode, as `nsc` makes them."""

import base64
import hashlib
import json
from typing import Any

import nkeys


def key(prefix: int, number: int) -> nkeys.KeyPair:
    return nkeys.from_seed(nkeys.encode_seed(bytes([number]) * 32, prefix))


def name(pair: nkeys.KeyPair) -> str:
    return bytes(pair.public_key).decode()


def seed(pair: nkeys.KeyPair) -> str:
    return bytes(pair.seed).decode()


def token(
    issuer: nkeys.KeyPair, subject: nkeys.KeyPair, called: str, nats: dict[str, Any], expires: int | None = None
) -> str:
    """A JWT of the second version: `issuer` says of `subject` what is in `nats`, until it `expires` (seconds)."""
    claims: dict[str, Any] = {"iat": 1, "iss": name(issuer), "name": called, "sub": name(subject)}
    claims |= {"nats": {**nats, "version": 2}} | ({"exp": expires} if expires is not None else {})
    claims["jti"] = base64.b32encode(hashlib.sha256(json.dumps(claims).encode()).digest()).decode().rstrip("=")
    signed = f"{_part({'typ': 'JWT', 'alg': 'ed25519-nkey'})}.{_part(claims)}"
    return f"{signed}.{_text(bytes(issuer.sign(signed.encode())))}"


def _part(value: dict[str, Any]) -> str:
    return _text(json.dumps(value).encode())


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Operator:
    """An operator with one account, and users of it."""

    def __init__(self) -> None:
        self._operator, self._account = key(nkeys.PREFIX_BYTE_OPERATOR, 1), key(nkeys.PREFIX_BYTE_ACCOUNT, 2)

    @property
    def configuration(self) -> str:
        """What the server has to know: nothing secret is in it."""
        limits = {"subs": -1, "data": -1, "payload": -1, "conn": -1, "imports": 0, "exports": 0, "leaf": 0}
        stored = {"mem_storage": 2**24, "disk_storage": 2**28, "streams": 4, "consumer": 32}
        account = token(self._operator, self._account, "ada", {"type": "account", "limits": {**limits, **stored}})
        system = key(nkeys.PREFIX_BYTE_ACCOUNT, 9)
        of_system = token(self._operator, system, "SYS", {"type": "account", "limits": limits})
        operator = token(
            self._operator, self._operator, "household", {"type": "operator", "system_account": name(system)}
        )
        accounts = f"{name(self._account)}: {account}, {name(system)}: {of_system}"
        return f"operator: {operator}\nresolver: MEMORY\nresolver_preload: {{ {accounts} }}\n"

    def credentials(self, number: int, expires: int | None = None) -> str:
        """The file of one device, as `nsc generate creds` writes it."""
        user = key(nkeys.PREFIX_BYTE_USER, number)
        limits = {"subs": -1, "data": -1, "payload": -1}
        signed = token(self._account, user, f"device {number}", {"type": "user", **limits}, expires)
        return (
            f"-----BEGIN NATS USER JWT-----\n{signed}\n------END NATS USER JWT------\n\n"
            f"-----BEGIN USER NKEY SEED-----\n{seed(user)}\n------END USER NKEY SEED------\n"
        )
