"""The model behind OpenAI or any server that is compatible with it, asked through the `openai` package.

There are two dialects. Every server of this kind understands Chat Completions, also servers at home (Ollama, llama.cpp,
vLLM). OpenAI itself develops Responses; servers at home often do not have it, or only in part. So OpenAI is asked by
Responses and every other address by Chat Completions, unless LOTTISYNC_MODEL_API is set. Both are used without state
on the server: the whole conversation is sent with every question. Responses has `store` off and no
`previous_response_id`, because a killed wake goes on from our record. A dialect (`chat_completions`, `responses`)
writes questions and reads answers; everything else is here.

The package does the difficult parts: connections, retries with backoff that respect Retry-After (up to two minutes),
server-sent events. Two things it does not do, and most of this file is about them.

*It does not report a stream that stops early.* The iteration just ends. So an answer counts only when its finish
reason has arrived. Before that, everything collected, also tool calls, is dropped.

*It does not check the events.* Its typed chunks are built without validation. So we post the request, take each event
as plain JSON, and `msgspec` checks it against the dialect.

Every call has a client of its own. A client that is kept between calls belongs to one event loop, and must be closed
by somebody. A handshake per turn is short compared with the seconds that a model takes. And when a call ends in any
way, also by cancellation, its connection is closed.

The package takes more than a second to import, so that happens in a thread, in the first call.
"""

import ipaddress
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import msgspec

from lottisync.agents import chat_completions, responses
from lottisync.agents.answer import StreamedAnswer
from lottisync.agents.model import Api, Message, ModelError, ModelRequest, ToolSchema, Turn

if TYPE_CHECKING:
    import ssl

    import openai

OPENAI_URL = "https://api.openai.com/v1"

DEFAULT_MODEL = "gpt-5.4-mini"
"""Calls tools reliably and costs little; a wake is a handful of short turns."""

CONNECT_SECONDS = 10.0
"""Long enough for a sleepy home server on Wi-Fi, short enough to notice a wrong address."""

SILENCE_SECONDS = 180.0
"""Without a single byte. A server at home loads the model's weights before it says anything."""

CALL_SECONDS = 600.0
"""One turn with all its retries. Past this the wake has waited enough and backs off."""

KEYRING = "lottisync"
"""The name of the service under which a keyring keeps our keys; the user is the server's address."""

MAX_RETRIES = 2
"""Extra attempts, made only before the answer begins; a broken answer is reported, not asked for again."""

_QUOTED_CHARACTERS = 200
"""How much of a server's own words fits into a one-line message."""


class Names(NamedTuple):
    """What the person has set the server with: a hint says it. `key` '' : the server has no variable for a key yet."""

    url: str
    model: str
    key: str


OPENAI = Names("LOTTISYNC_MODEL_URL", "LOTTISYNC_MODEL", "OPENAI_API_KEY")
ENVIRONMENT = OPENAI._replace(key="LOTTISYNC_MODEL_KEY")


class OpenAIModel:
    """A `Model` at `base_url` (None: OpenAI itself), such as "http://127.0.0.1:11434/v1".

    `api_key` None sends the word "none", which servers without keys ignore. The time limits are seconds: to
    connect, without a byte, and for the whole of one `complete`. Raises `ModelError` ("model-not-configured",
    "model-unauthorized") for an address or a key that cannot be one.
    """

    def __init__(
        self,
        base_url: str | None,
        api_key: str | None,
        model: str,
        *,
        api: Api = "chat",
        names: Names | None = None,
        connect_seconds: float = CONNECT_SECONDS,
        silence_seconds: float = SILENCE_SECONDS,
        call_seconds: float = CALL_SECONDS,
        max_retries: int = MAX_RETRIES,
    ) -> None:
        self.model = model
        self.api: Api = api
        self._names = names or (OPENAI if base_url is None else ENVIRONMENT)
        self._dialect = responses if api == "responses" else chat_completions
        self._base_url = base_url or OPENAI_URL
        self._address, self._is_loopback = _checked_address(self._base_url, self._names.url)
        if api_key is not None and not (api_key.isascii() and api_key.isprintable() and " " not in api_key):
            # Sent as it is, it would fail inside the HTTP library, in an error that quotes the header.
            raise ModelError("model-unauthorized", "the API key has characters that no key has: copy it again")
        self._api_key = api_key
        self._connect_seconds = connect_seconds
        self._silence_seconds = silence_seconds
        self._call_seconds = call_seconds
        self._max_retries = max_retries

    @property
    def address(self) -> str:
        """The server as messages may show it, without user, password and query."""
        return self._address

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine."""
        return self._is_loopback

    @property
    def endpoint(self) -> tuple[str, int]:
        """Host and port of the server."""
        parts = urlsplit(self._base_url)
        return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)

    def __repr__(self) -> str:
        return f"OpenAIModel({self._address!r}, model={self.model!r}, api={self.api!r})"

    def request(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> ModelRequest:
        """See `Model.request`."""
        return ModelRequest(self._address, msgspec.json.encode(self._dialect.request(self.model, messages, tools)))

    async def complete(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Turn:
        """See `Model.complete`."""
        await anyio.to_thread.run_sync(_import_openai)
        answer: StreamedAnswer = self._dialect.Answer(id_prefix=f"call-{len(messages)}")
        failure = ModelError(
            "model-timed-out",
            "{address} did not finish its answer within {call_seconds:g} s: try again, or use a smaller or "
            "faster model",
            address=self._address,
            call_seconds=self._call_seconds,
        )
        with anyio.move_on_after(self._call_seconds):
            failure = await self._ask(messages, tools, answer)
        # A connection that breaks after the finish reason has taken nothing but the token count with it.
        if not answer.is_whole:
            raise failure
        return self._checked_turn(answer)

    async def _ask(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], answer: StreamedAnswer
    ) -> ModelError:
        """Stream one answer into `answer`; return what to report should it not be whole by then.

        Returned, not raised, so that the library's exception is gone by the time ours is: it holds the request,
        and the request holds the key.
        """
        import openai

        try:
            async with self._client() as client:
                stream = await client.post(
                    self._dialect.PATH,
                    content=self.request(messages, tools).body,
                    options={"headers": {"Content-Type": "application/json"}},
                    cast_to=object,
                    stream=True,
                    stream_cls=openai.AsyncStream[object],
                )
                async with stream:
                    media_type = stream.response.headers.get("content-type", "nothing")
                    if not media_type.startswith("text/event-stream"):
                        return ModelError(
                            "model-malformed",
                            "{address} answered with {quoted} and not with a stream: is it an OpenAI-compatible "
                            "server, and does its address end in /v1?",
                            address=self._address,
                            quoted=self._quoted(media_type),
                        )
                    async for event in stream:
                        answer.add(event)
        except openai.APIError as error:
            return self._explained(error, begun=answer.has_begun)
        except (json.JSONDecodeError, UnicodeDecodeError, msgspec.ValidationError):
            return ModelError(
                "model-malformed",
                "{address} sent something that is not an answer of a model: is it an OpenAI-compatible server?",
                address=self._address,
            )
        if answer.failure is not None:
            return ModelError(
                "model-server-error",
                "{address} broke off: {quoted}",
                address=self._address,
                quoted=self._quoted(answer.failure),
            )
        return self._truncated()

    def _client(self) -> "openai.AsyncOpenAI":
        import openai

        return openai.AsyncOpenAI(
            base_url=self._base_url,
            api_key="none" if self._api_key is None else self._api_key,
            max_retries=self._max_retries,
            timeout=openai.Timeout(self._silence_seconds, connect=self._connect_seconds),
            # A proxy from the environment cannot reach this machine's own loopback, and would be asked to.
            http_client=openai.DefaultAsyncHttpx2Client(trust_env=False, verify=self._trusted())
            if self._is_loopback
            else None,
        )

    def _trusted(self) -> "ssl.SSLContext | bool":
        """Whose certificates count. Without TLS nobody's do: to read those of this machine takes 30 ms."""
        import ssl

        return urlsplit(self._base_url).scheme == "https" or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    def _checked_turn(self, answer: StreamedAnswer) -> Turn:
        turn = answer.turn()
        if turn.finish_reason == "length":
            raise ModelError(
                "model-output-limit",
                "{model} stopped at the length it may write, in the middle of its answer: nothing of it was "
                "used; use a model with a larger limit",
                model=self.model,
            )
        if turn.finish_reason == "content_filter":
            raise ModelError(
                "model-refused", "a content filter of {address} withheld the answer", address=self._address
            )
        if answer.refusal:
            raise ModelError(
                "model-refused",
                "{model} declined to answer: {quoted}",
                model=self.model,
                quoted=self._quoted(answer.refusal),
            )
        return turn

    def _explained(self, error: "openai.APIError", *, begun: bool) -> ModelError:
        import openai

        if isinstance(error, openai.APITimeoutError):
            return ModelError(
                "model-timed-out",
                "{address} was silent for too long (limits: {connect_seconds:g} s to connect, "
                "{silence_seconds:g} s without a byte): is it overloaded, or still loading the model?",
                address=self._address,
                connect_seconds=self._connect_seconds,
                silence_seconds=self._silence_seconds,
            )
        if isinstance(error, openai.APIConnectionError):
            if begun:
                return self._truncated()
            return ModelError(
                "model-unreachable",
                "cannot reach {address} ({quoted}): is the server running, and is the address right?",
                address=self._address,
                quoted=self._quoted(_first_cause(error)),
            )
        if not isinstance(error, openai.APIStatusError):
            return ModelError(
                "model-server-error",
                "{address} broke off with an error: {quoted}",
                address=self._address,
                quoted=self._quoted(_server_words(error)),
            )
        status = error.status_code
        words = self._quoted(_server_words(error))
        if status in (401, 403):
            # The server's text is left out: it may repeat the key, or a part of it.
            return self._refused(status)
        if status == 429 and error.code == "insufficient_quota":
            return ModelError(
                "model-rate-limited",
                "the account at {address} has nothing left: check its plan and billing",
                address=self._address,
            )
        if status == 429:
            return ModelError(
                "model-rate-limited",
                "{address} asks to slow down: try again later ({words})",
                address=self._address,
                words=words,
            )
        if status == 404:
            return ModelError(
                "model-rejected",
                "{address} knows no model {model!r}, or nothing at this address (HTTP 404): check "
                "{model_setting}, and that {url_setting} ends in /v1",
                address=self._address,
                model=self.model,
                model_setting=self._names.model,
                url_setting=self._names.url,
            )
        if status == 408 or status >= 500:
            return ModelError(
                "model-server-error",
                "{address} failed (HTTP {status}): try again later ({words})",
                address=self._address,
                status=status,
                words=words,
            )
        return ModelError(
            "model-rejected",
            "{address} rejected the request (HTTP {status}): {words}",
            address=self._address,
            status=status,
            words=words,
        )

    def _refused(self, status: int) -> ModelError:
        if not self._names.key:
            return ModelError(
                "model-unauthorized",
                "{address} did not accept the key (HTTP {status}): put a valid one into your keyring, or name "
                "the variable that has it in config.toml, as {key_setting}",
                address=self._address,
                status=status,
                key_setting=self._names.url.removesuffix("url") + "key_env",
            )
        return ModelError(
            "model-unauthorized",
            "{address} did not accept the key (HTTP {status}): set a valid one in {key_name}, or in your keyring",
            address=self._address,
            status=status,
            key_name=self._names.key,
        )

    def _truncated(self) -> ModelError:
        return ModelError(
            "model-truncated",
            "the stream from {address} ended before the answer did: nothing of it was used, so asking again is safe",
            address=self._address,
        )

    def _quoted(self, words: str) -> str:
        """Another's words, fit for one line of a terminal: no key, no control characters, not too many."""
        if self._api_key:
            words = words.replace(self._api_key, "[key]")
        line = " ".join("".join(c if c.isprintable() else " " for c in words).split())
        return line if len(line) <= _QUOTED_CHARACTERS else line[: _QUOTED_CHARACTERS - 1] + "\u2026"


def model_from_environment(environ: Mapping[str, str]) -> OpenAIModel:
    """The model that the environment names; an empty value counts as absent.

    LOTTISYNC_MODEL_URL   a compatible server; then LOTTISYNC_MODEL_KEY is its key, if it wants one
    OPENAI_API_KEY        else: OpenAI, with this key
    LOTTISYNC_MODEL       the model's name, in either case; `DEFAULT_MODEL` if absent
    LOTTISYNC_MODEL_API   "chat" or "responses", if not what the address suggests

    A key that is not there is looked for in the keyring (`kept_key`).
    OPENAI_API_KEY is never sent to the server of LOTTISYNC_MODEL_URL: it was given for somebody else.
    Raises `ModelError` "model-not-configured" if neither is set.
    """

    def value(name: str) -> str | None:
        return environ.get(name, "").strip() or None

    model = value("LOTTISYNC_MODEL") or DEFAULT_MODEL
    said: Api | None
    match value("LOTTISYNC_MODEL_API"):
        case None | "chat" | "responses" as known:
            said = known
        case other:
            raise ModelError(
                "model-not-configured", "LOTTISYNC_MODEL_API is chat or responses; got {other!r}", other=other
            )
    if url := value("LOTTISYNC_MODEL_URL"):
        return OpenAIModel(url, value("LOTTISYNC_MODEL_KEY") or kept_key(url), model, api=said or "chat")
    if key := value("OPENAI_API_KEY") or kept_key(OPENAI_URL):
        return OpenAIModel(None, key, model, api=said or "responses")
    raise ModelError(
        "model-not-configured",
        "no model is configured: set OPENAI_API_KEY, or LOTTISYNC_MODEL_URL to an OpenAI-compatible server such as "
        "http://127.0.0.1:11434/v1",
    )


def kept_key(url: str) -> str | None:
    """The key for the server at `url` in the person's keyring, put there with `keyring set lottisync URL`; None if it
    has none, cannot be opened (nobody is logged in), or the package `keyring` is not installed."""
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return None
    try:
        kept: str | None = keyring.get_password(KEYRING, url)
    except KeyringError:
        return None
    return (kept or "").strip() or None


def _checked_address(base_url: str, setting: str) -> tuple[str, bool]:
    """The address as messages may show it, without user, password and query; and whether it is this machine."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in ("http", "https"):
        raise ModelError(
            "model-not-configured",
            "the model's address is not a web address: {url_setting} should look like http://127.0.0.1:11434/v1",
            url_setting=setting,
        )
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = host == "localhost"
    shown_host = f"[{host}]" if ":" in host else host
    shown_port = "" if port is None else f":{port}"
    return f"{parts.scheme}://{shown_host}{shown_port}{parts.path}", is_loopback


def _server_words(error: "openai.APIError") -> str:
    match error.body:
        case {"message": str(words)} | {"detail": str(words)} | str(words) if words.strip():
            return words
    return "no reason given"


def _first_cause(error: BaseException) -> str:
    """What the operating system said, from under the layers that each wrapped it as a connection error."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return str(error) or type(error).__name__


def _import_openai() -> None:
    import openai  # noqa: F401
