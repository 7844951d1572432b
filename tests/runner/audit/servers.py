"""Servers to audit: honest ones of many kinds, and ones that cache, truncate, swap the model or answer nonsense."""

import hashlib
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from kbtool.runner.audit import AuditReport, AuditSpec, audit
from kbtool.runner.client.outgoing import Limits
from kbtool.runner.engines import adapter_for
from kbtool.runner.target.instances import Attached
from kbtool.runner.target.running import Running
from kbtool.runner.target.secrets import Secrets
from tests.fakes.engine import Engine
from tests.fakes.generation import Generation, plan_generation, prompt_tokens, stream
from tests.fakes.script import Script, tokens_of
from tests.fakes.state import Served
from tests.fakes.wire import Request, Wire

__all__ = ["SPEC", "Audited", "Call", "Cheat", "audited", "honest_script", "serving"]

OTHER_WORDS: Final = (
    "sun",
    "rain",
    "wind",
    "road",
    "tree",
    "door",
    "lamp",
    "book",
    "ship",
    "bell",
    "gate",
    "hill",
)
ENFORCING: Final = frozenset({"vllm", "sglang", "llama_cpp"})
SPEC: Final = AuditSpec(
    prompts=5,
    batches=2,
    input_tok=160,
    output_tok=20,
    answer_tok=40,
    schema_prompts=2,
    schema_tok=300,
    users=5,
    salt="s",
    limits=Limits(connect_s=20, first_byte_s=30, progress_s=30, total_s=60),
)
"""Small enough to be quick: 5 prompts are the fewest that show anything."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request as the server sees it."""

    body: dict[str, Any]
    text: str
    """All messages as one text."""
    before: int
    """How often the same request came before."""
    measured: bool
    """Whether two requests were ever in flight at once, from which a server may guess that it is being measured."""
    number: int

    @property
    def fixed(self) -> bool:
        """Return whether the length is fixed."""
        return self.body.get("ignore_eos") is True


Cheat = Callable[["Audited", Call, Generation], Generation]


class Audited(Engine):
    """A scripted engine whose answers have the words of their prompt, with a cheat or without."""

    def __init__(self, script: Script, cheat: Cheat | None = None, jitter_ratio: float = 0.0) -> None:
        self._cheat = cheat
        self._jitter_ratio = jitter_ratio
        self._measured = False
        self._seen: Counter[bytes] = Counter()
        super().__init__(script)

    def _generate(self, request: Request, wire: Wire, script: Script) -> None:
        read_ns = time.monotonic_ns()
        body = json.loads(request.body)
        prompt = prompt_tokens(body)
        served = Served(request.path, body, read_ns, begun_ns=read_ns)
        number = self.state.take_number()
        self._measured = self.state.move(1, 0) > 1 or self._measured
        key = hashlib.sha256(request.body).digest()
        call = Call(body, _text_of(body), self._seen[key], self._measured, number)
        self._seen[key] += 1
        try:
            self.state.begin(served, prompt, script, use_cache=True)
            plain = plan_generation(
                script, served, number, body, chat=request.path.endswith("chat/completions")
            )
            answer = self._timed(written(plain, call, words_of(call)))
            if self._cheat is not None:
                answer = self._cheat(self, call, answer)
            stream(wire, answer, self.state, self._closing)
        finally:
            self.state.leave(served, script)

    def _timed(self, answer: Generation) -> Generation:
        """Return the answer on its schedule: cached tokens need no time, and each step has its own."""
        served, script = answer.served, answer.script
        ttft_ms = script.ttft_ms * (1 - served.cached_tok / served.prompt_tok)
        draws = random.Random(answer.number)
        times_ms = [ttft_ms]
        for _ in answer.sizes()[1:]:
            stretch = draws.uniform(1 - self._jitter_ratio, 1 + self._jitter_ratio)
            times_ms.append(times_ms[-1] + script.step_ms * stretch)
        return scheduled(answer, times_ms)


def scheduled(answer: Generation, times_ms: Sequence[float]) -> Generation:
    """Return the answer with other times of its chunks, in ms after the request."""
    return replace(answer, script=replace(answer.script, schedule_ms=tuple(times_ms)))


def words_of(call: Call) -> list[str]:
    """Return words for an honest answer: short ones of the prompt, so that each is one token."""
    short = [word for word in call.text.split() if word.isalpha() and len(word) <= 4]
    return [*short, *OTHER_WORDS]


def written(plain: Generation, call: Call, words: Sequence[str], key: str = "") -> Generation:
    """Return the answer with other words; the same ones for the same prompt and key."""
    if "response_format" in call.body and plain.script.kind in ENFORCING:
        return _structured(plain, call)
    draws = random.Random(f"{call.text}{key}")
    text = tuple([f" {draws.choice(words)}" for _ in range(plain.output_tok)])
    return replace(plain, text=text)


def lengthened(answer: Generation, text: Sequence[str], finish_reason: str | None = None) -> Generation:
    """Return the answer with another text, one token each."""
    return replace(
        answer, text=tuple(text), output_tok=len(text), finish_reason=finish_reason or answer.finish_reason
    )


def fingerprinted(answer: Generation, fingerprint: str) -> Generation:
    """Return the answer with another fingerprint."""

    class Other(Generation):
        def envelope(self, choices: list[dict[str, object]]) -> dict[str, object]:
            return Generation.envelope(self, choices) | {"system_fingerprint": fingerprint}

    return Other(**{each.name: getattr(answer, each.name) for each in fields(answer)})


def _structured(plain: Generation, call: Call) -> Generation:
    schema = call.body["response_format"]["json_schema"]["schema"]
    text = tokens_of(json.dumps(_instance(schema, random.Random(call.text))))
    most = call.body["max_tokens"]
    return lengthened(plain, text[:most], "length" if len(text) >= most else "stop")


def _instance(schema: dict[str, Any], draws: random.Random) -> Any:
    if "enum" in schema:
        return draws.choice(schema["enum"])
    match schema["type"]:
        case "object":
            return {name: _instance(each, draws) for name, each in schema["properties"].items()}
        case "array":
            return [_instance(schema["items"], draws) for _ in range(2)]
        case "string":
            return draws.choice(OTHER_WORDS)
        case "boolean":
            return draws.random() < 0.5
        case _:
            return draws.randrange(1000)


def _text_of(body: dict[str, Any]) -> str:
    messages = body.get("messages")
    return "\n".join(each["content"] for each in messages) if messages else str(body["prompt"])


def honest_script(seed: int, **changes: Any) -> Script:
    """Return an honest server: its kind, speed, chunks and prefix cache follow from the seed."""
    draws = random.Random(seed)
    kind = ("vllm", "sglang", "llama_cpp", "ds4", "openai")[seed % 5]
    cached = draws.random() < 0.5 or kind in {"sglang", "llama_cpp", "ds4", "openai"}
    chosen: dict[str, Any] = {
        "kind": kind,
        "ttft_ms": draws.choice((0.0, 3.0, 6.0)),
        "step_ms": draws.uniform(0.9, 1.5),
        "chunk_tok": draws.choice(((1,), (1,), (2,), (1, 2), (3, 1))),
        "natural_tok": draws.randrange(14, 30),
        "prefix_cache": seed % 2 == 0,
        # Without it the server's counters have to show what was cached: vLLM's do.
        "cached_tokens": cached,
        "fixed_length": kind not in {"ds4", "openai"},
        "usage": draws.choice(("each", "end")),
    }
    return Script(**{**chosen, **changes})


@contextmanager
def serving(script: Script, cheat: Cheat | None = None, jitter_ratio: float = 0.0) -> Iterator[Audited]:
    """Run a server until the block ends."""
    engine = Audited(script, cheat, jitter_ratio)
    try:
        yield engine
    finally:
        engine.stop()


def audited(engine: Engine, spec: AuditSpec = SPEC) -> AuditReport:
    """Return what an audit of a server finds; its process is not looked at, for it is the test's own."""
    adapter = adapter_for(engine.script.kind)
    part = Attached(engine.endpoint, is_local=False, secrets=Secrets())
    running = Running((part,), engine.endpoint, engine.script.model, stop_s=0.0)
    running.note_ready(adapter.identity)
    return audit(running, adapter, spec)
