"""The one hash function of the data layer: SHA-256."""


def sha256(data: bytes) -> bytes:
    """32 bytes."""
    import hashlib  # here: it loads OpenSSL, and a command that only reads hashes nothing

    return hashlib.sha256(data).digest()
