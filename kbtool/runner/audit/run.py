"""Carrying an audit out: what is sent in which order, and the verdicts over it."""

import random
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from kbtool.errors import UsageError
from kbtool.runner.audit.asking import Answer, Asker, Question, with_messages
from kbtool.runner.audit.evidence import Evidence, Loaded, Pair, Recount, ServerSigns
from kbtool.runner.audit.identity import judge_identity
from kbtool.runner.audit.length import generated_tok, judge_length
from kbtool.runner.audit.model import Audit, AuditCheck, AuditReport, AuditSpec
from kbtool.runner.audit.repeated import Standing, decode_spans, judge_repeated, standing
from kbtool.runner.audit.sense import judge_sense
from kbtool.runner.client.control import ControlError
from kbtool.runner.client.outgoing import Endpoint
from kbtool.runner.engines import Counters, EngineAdapter
from kbtool.runner.load import Api
from kbtool.runner.prompts import Message, Prompt, PromptClass, PromptSpec, make_prompt
from kbtool.runner.target.running import Running

__all__ = ["audit", "judge"]

_WARM_UPS: Final = 2
"""Requests before anything is timed: the first ones compile and allocate."""
_CLASSES: Final[tuple[PromptClass, ...]] = ("prose", "code")
_LEAST_SCHEMA_TOK: Final = 384
_FREE: Final = (
    "\n\nDo this instead: say in two or three sentences what the text above is about, and stop there."
)
_GO_ON: Final = "Thank you."
_LOADED_TIMES: Final = 2
_RECOUNTED: Final = 4
_COUNTED_RATIO: Final = 0.8
"""Share of our tokens that the server's totals must have grown by: less than all, for totals may lag."""
_ENFORCING: Final = frozenset({"vllm", "sglang", "llama_cpp"})
"""Kinds of server that keep answers to a JSON Schema; of others it is not known."""


def audit(running: Running, adapter: EngineAdapter, spec: AuditSpec | None = None) -> AuditReport:
    """Audit a server: one to two hundred small greedy requests, alone and some at once.

    Args:
        running: The server, up and ready; its model is known. Whether it stays the same is judged by what was noted
            when it was ready (`Running.note_ready`).
        adapter: Its kind.
        spec: How much is asked.

    Raises:
        UsageError: the model is not known, or fewer prompts are asked for than show anything.
    """
    spec = spec or AuditSpec()
    if running.model is None or spec.prompts < 1 or spec.users < 1 or not spec.audits:
        raise UsageError(
            f"audit of the model {running.model!r} with {spec.prompts} prompts and {spec.users} users; expected a model "
            "and at least one of each: name the model, and correct the numbers"
        )
    spec = replace(spec, salt=spec.salt or secrets.token_hex(8))
    return _Auditing(running, running.model, adapter, spec).report()


def judge(evidence: Evidence, audits: Iterable[Audit]) -> tuple[AuditCheck, ...]:
    """Return the verdicts of some audits over what was asked and answered; pure."""
    verdicts = {
        Audit.REPEATED: judge_repeated,
        Audit.LENGTH: judge_length,
        Audit.IDENTITY: judge_identity,
        Audit.SENSE: judge_sense,
    }
    wanted = set(audits)
    return tuple(check for each, verdict in verdicts.items() if each in wanted for check in verdict(evidence))


class _Auditing:
    """One audit on its way."""

    def __init__(self, running: Running, model: str, adapter: EngineAdapter, spec: AuditSpec) -> None:
        self._running = running
        self._model = model
        self._adapter = adapter
        self._spec = spec
        self._options = adapter.options()
        self._asker = Asker(running.measured, model, self._options, spec)

    def report(self) -> AuditReport:
        """Send everything that the audits need, and judge."""
        spec = self._spec
        before = self._counters()
        pairs, free, structured = self._alone()
        hits = _hits(before, self._counters())
        fixed, free_loaded = self._under_load(pairs, free)
        recounts, others = self._recounts(pairs) if Audit.LENGTH in spec.audits else ((), ())
        received_tok = sum(
            each.trace.usage.completion_tok for each in self._asker.answers if each.trace.usage
        )
        evidence = Evidence(
            model=self._model,
            signs=ServerSigns(
                fixes_length=bool(self._options.fixed_length),
                enforces_schema=self._adapter.kind in _ENFORCING,
                faults=tuple(self._faults(before, received_tok)),
                repeat_hits_tok=hits,
            ),
            pairs=pairs,
            fixed=fixed,
            free=free_loaded,
            recounts=recounts,
            structured=structured,
            others=others,
        )
        return AuditReport(judge(evidence, spec.audits), len(self._asker.answers), self._model)

    def _prompt(self, what: str, at: int, prompt_class: PromptClass | None = None) -> Prompt:
        spec = self._spec
        chosen = prompt_class or _CLASSES[at % len(_CLASSES)]
        tok = max(spec.input_tok, _LEAST_SCHEMA_TOK) if chosen == "structured" else spec.input_tok
        return make_prompt(PromptSpec(chosen, tok, at, f"audit/{spec.salt}/{what}/{at}"))

    def _timed(self, prompt: Prompt) -> Question:
        return Question(prompt, self._spec.output_tok, fixed=True)

    def _alone(self) -> tuple[tuple[Pair, ...], tuple[Answer, ...], tuple[Answer, ...]]:
        """Send one request at a time: pairs, answers that end by themselves, and answers to a schema.

        Each prompt of a pair is sent again after the next new one.  While it is open which time is faster, further
        pairs follow.
        """
        spec = self._spec
        free: list[Question] = []
        if Audit.LENGTH in spec.audits:
            free = [self._free(self._prompt("free", at, "prose")) for at in range(spec.prompts)]
        structured = self._structured()
        questions = self._batch(0)
        warm = [self._timed(self._prompt("warm", at)) for at in range(_WARM_UPS)]
        spec.tell(
            f"{spec.prompts} prompts, each twice, and {len(free) + len(structured)} others, one at a time"
        )
        answers = self._asker.ask([*warm, *_interleaved(questions), *free, *structured])
        pairs = _paired(questions, answers)
        for batch in range(1, spec.batches if Audit.REPEATED in spec.audits else 1):
            if not pairs or standing(decode_spans(pairs)) is not Standing.OPEN:
                break
            spec.tell(f"it is open whether repeated prompts are faster: {spec.prompts} more, each twice")
            questions = self._batch(batch)
            pairs += _paired(questions, self._asker.ask(_interleaved(questions)))
        return tuple(pairs), _answers_to(free, answers), _answers_to(structured, answers)

    def _batch(self, number: int) -> list[Question]:
        first = number * self._spec.prompts
        return [self._timed(self._prompt("text", at)) for at in range(first, first + self._spec.prompts)]

    def _structured(self) -> list[Question]:
        """Return questions with a schema, for servers that are known to keep to one."""
        spec = self._spec
        known = self._adapter.kind in _ENFORCING and spec.api is Api.CHAT
        prompts = spec.schema_prompts if known and Audit.SENSE in spec.audits else 0
        return [
            Question(self._prompt("schema", at, "structured"), spec.schema_tok, schema=True)
            for at in range(prompts)
        ]

    def _under_load(
        self, pairs: Sequence[Pair], free: Sequence[Answer]
    ) -> tuple[tuple[Loaded, ...], tuple[Loaded, ...]]:
        """Send what was answered alone again, many at once; return both kinds of answers with those alone."""
        spec = self._spec
        if not spec.audits & {Audit.LENGTH, Audit.IDENTITY}:
            return (), ()
        fixed = [pair.fresh for pair in pairs[: spec.prompts]]
        questions = [each.question for each in (*fixed * _LOADED_TIMES, *free)]
        random.Random(spec.salt).shuffle(questions)
        spec.tell(f"the same prompts, {spec.users} at once")
        loaded = self._asker.ask(questions, users=spec.users)
        return _loaded(fixed, loaded), _loaded(free, loaded)

    def _free(self, prompt: Prompt) -> Question:
        message = prompt.messages[-1]
        changed = with_messages(prompt, replace(message, content=message.content + _FREE))
        return Question(changed, self._spec.answer_tok)

    def _recounts(self, pairs: Sequence[Pair]) -> tuple[tuple[Recount, ...], tuple[Answer, ...]]:
        """Send some answers back as parts of prompts; what a template adds is counted with a known word in their place."""
        usable = [pair.fresh for pair in pairs if pair.fresh.usable and pair.fresh.said.strip()][:_RECOUNTED]
        if not usable:
            return (), ()
        self._spec.tell("some answers again, as part of prompts, to have their tokens counted")
        known = usable[0]
        asked = [self._with_answer(known, "A"), *(self._with_answer(each, each.said) for each in usable)]
        found = self._asker.ask(asked)
        counted = {each.question: each.trace.usage for each in found}
        usages = [counted.get(question) for question in asked]
        base, known_usage = usages[0], known.trace.usage
        if base is None or known_usage is None:
            return (), found
        added_tok = base.prompt_tok - known_usage.prompt_tok - 1
        recounts = [
            Recount(each, usage.prompt_tok - each.trace.usage.prompt_tok - added_tok)
            for each, usage in zip(usable, usages[1:], strict=True)
            if usage is not None and each.trace.usage is not None and generated_tok(each)
        ]
        return tuple(recounts), found

    def _with_answer(self, answer: Answer, text: str) -> Question:
        prompt = answer.question.prompt
        if self._spec.api is Api.CHAT:
            messages = (*prompt.messages, Message("assistant", text), Message("user", _GO_ON))
        else:
            messages = (Message("user", f"{prompt.text}{text}"),)
        return Question(with_messages(prompt, *messages), 1)

    def _counters(self) -> dict[str, Counters]:
        """Return the totals of each instance that has some."""
        found = ((each.name, self._counted(each)) for each in self._running.endpoints)
        return {name: counters for name, counters in found if counters is not None}

    def _counted(self, endpoint: Endpoint) -> Counters | None:
        try:
            return self._adapter.counters(endpoint)
        except ControlError:
            return None

    def _faults(self, before: dict[str, Counters], received_tok: int) -> Iterator[str]:
        """Yield what is not as it was: processes, models, start times, and totals that lost what we were sent."""
        for fault in self._running.alive(self._adapter.identity):
            yield f"{fault.instance}: {fault.kind.value.replace('_', ' ')}: {fault.detail}"
        now = self._counters()
        for name in before.keys() - now.keys():
            yield f"{name}: its totals can no longer be read"
        grown = [_grown(before[name], now[name]) for name in before.keys() & now.keys()]
        known = [each for each in grown if each is not None]
        if (
            known
            and len(known) == len(self._running.endpoints)
            and sum(known) < _COUNTED_RATIO * received_tok
        ):
            yield f"its totals grew by {sum(known)} tokens while {received_tok} came, as after a restart"


def _grown(before: Counters, after: Counters) -> int | None:
    if before.generation_tok is None or after.generation_tok is None:
        return None
    return after.generation_tok - before.generation_tok


def _hits(before: dict[str, Counters], after: dict[str, Counters]) -> int | None:
    """Return the prompt tokens that counters say came from the cache in between."""
    found = [
        new - old
        for name in before.keys() & after.keys()
        if (old := before[name].prefix_hit_tok) is not None
        and (new := after[name].prefix_hit_tok) is not None
    ]
    return max(0, sum(found)) if found else None


def _interleaved(questions: Sequence[Question]) -> list[Question]:
    """Return each question twice, the second time behind the next one's first: a drift of the box falls out."""
    order: list[Question] = []
    for at, question in enumerate(questions):
        order.append(question)
        if at:
            order.append(questions[at - 1])
    return [*order, questions[-1]]


def _paired(questions: Sequence[Question], answers: Sequence[Answer]) -> list[Pair]:
    by_question: dict[Question, list[Answer]] = {}
    for each in answers:
        by_question.setdefault(each.question, []).append(each)
    found = [by_question.get(question, []) for question in questions]
    return [Pair(*several) for several in found if len(several) == 2]


def _answers_to(questions: Sequence[Question], answers: Sequence[Answer]) -> tuple[Answer, ...]:
    wanted = set(questions)
    return tuple([each for each in answers if each.question in wanted])


def _loaded(alone: Sequence[Answer], answers: Sequence[Answer]) -> tuple[Loaded, ...]:
    return tuple(
        [Loaded(one, tuple([each for each in answers if each.question == one.question])) for one in alone]
    )
