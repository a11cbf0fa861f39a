"""What a person is told when something cannot be done: one line that says what was wrong, with which
value, and what to do. The command line prints it and exits with `exit_code`; nothing was changed.
Any other exception that reaches a person is a bug of ours."""


class Problem(Exception):
    """An error that a person can act on. `code` is for programs, the text is for people."""

    exit_code = 1

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class LocalError(RuntimeError):
    """Our own code tried what it may not: a bug of ours, of which nothing has been stored or said."""


class Usage(Problem):
    """The call itself was wrong: exit code 2."""

    exit_code = 2
