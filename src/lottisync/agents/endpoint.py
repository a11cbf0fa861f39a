"""Which server and which model an agent asks (docs/specs/09-agents.md, section 10).

The environment names one server. This device's `config.toml` may have more of them, each under a name, and the person
chooses one for an agent. A key is never in that file: it names the variable of the environment that has it, or the
person's keyring has it under the server's address.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lottisync.agents.model import Api, ModelError
from lottisync.agents.types import Agent
from lottisync.shown import quoted

if TYPE_CHECKING:
    from lottisync.agents.openai_client import OpenAIModel


class Endpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A server of models. `url` is like http://127.0.0.1:11434/v1, `model` what to ask for if an agent names none,
    `key_env` the variable of the environment with the key. `api`: None for what the address suggests."""

    url: str
    model: str | None = None
    api: Api | None = None
    key_env: str | None = None


class ModelChoice(NamedTuple):
    """What an agent asks: the name of a model, and of an endpoint; None: what the device is set to."""

    model: str | None
    endpoint: str | None


def choice(agent: Agent) -> ModelChoice:
    """What the agent is configured for. Any device may have written it, so what is not text counts as absent."""
    model, endpoint = agent.config.get("model"), agent.config.get("endpoint")
    return ModelChoice(model if isinstance(model, str) else None, endpoint if isinstance(endpoint, str) else None)


def model_named(given: str | None, environ: Mapping[str, str]) -> str:
    """The model that a new agent asks for: the one that was given, else that of the environment, else the usual one."""
    from lottisync.agents.openai_client import DEFAULT_MODEL

    return (given or "").strip() or environ.get("LOTTISYNC_MODEL") or DEFAULT_MODEL


def model_for(chosen: ModelChoice, endpoints: Mapping[str, Endpoint], environ: Mapping[str, str]) -> "OpenAIModel":
    """The model of that choice. Raises `ModelError` if this device has no such endpoint, or none at all. Without an
    endpoint, LOTTISYNC_MODEL overrules the agent's model."""
    from lottisync.agents.openai_client import model_from_environment

    if chosen.endpoint is not None:
        return _at(chosen.endpoint, _known(chosen.endpoint, endpoints), chosen.model, environ)
    named = environ.get("LOTTISYNC_MODEL", "").strip() or chosen.model or ""
    return model_from_environment({**environ, "LOTTISYNC_MODEL": named})


def _known(name: str, endpoints: Mapping[str, Endpoint]) -> Endpoint:
    found = endpoints.get(name)
    if found is None:
        raise ModelError(
            "model-not-configured",
            "this device has no endpoint {name}: write [endpoints.{plain}] with its url into config.toml",
            name=quoted(name),
            plain=name,
        )
    return found


def _at(name: str, endpoint: Endpoint, model: str | None, environ: Mapping[str, str]) -> "OpenAIModel":
    from lottisync.agents.openai_client import DEFAULT_MODEL, OPENAI_URL, Names, OpenAIModel, kept_key

    key = environ.get(endpoint.key_env, "").strip() if endpoint.key_env else ""
    api: Api = endpoint.api or ("responses" if endpoint.url.rstrip("/") == OPENAI_URL else "chat")
    return OpenAIModel(
        endpoint.url,
        key or kept_key(endpoint.url),
        model or endpoint.model or DEFAULT_MODEL,
        api=api,
        names=Names(f"endpoints.{name}.url", f"endpoints.{name}.model", endpoint.key_env or ""),
    )
