"""The verdicts of the audits over answers that are made up: what is shown, what is allowed, what cannot be judged."""

import json
import math
from dataclasses import replace

import pytest

from kbtool.runner.audit.asking import Answer, Question
from kbtool.runner.audit.evidence import Evidence, Loaded, Pair, Recount, ServerSigns
from kbtool.runner.audit.identity import judge_identity, same_beginning
from kbtool.runner.audit.length import judge_length
from kbtool.runner.audit.model import AuditCheck
from kbtool.runner.audit.repeated import Span, Standing, judge_repeated, median_bounds, standing
from kbtool.runner.audit.schema import is_json_beginning, schema_fault
from kbtool.runner.audit.sense import judge_sense
from kbtool.runner.audit.texts import echo_ratio, shared_ratio
from kbtool.runner.prompts import Message, Prompt
from kbtool.runner.trace import ChunkKind, Chunks, Outcome, RequestTrace, Usage

MS = 1_000_000
SIGNS = ServerSigns(fixes_length=True, enforces_schema=True)
PROMPT_TOK = 100


def answer(
    name: str,
    *,
    ttft_ms: float = 100.0,
    step_ms: float = 10.0,
    tok: int = 20,
    asked: int = 20,
    cached: int | None = 0,
    finish: str = "length",
    text: str | None = None,
    fixed: bool = True,
) -> Answer:
    """Return an answer of one token a chunk; all at once where a step takes no time."""
    said = text if text is not None else " ".join(f"word{name}{at}" for at in range(tok))
    times = tuple(round((ttft_ms + at * step_ms) * MS) for at in range(tok))
    trace = RequestTrace(
        id=name, endpoint="server", stream=0, turn=1, asked_model="m", asked_output_tok=asked, output_tok_fixed=fixed,
        prompt_class="prose", prompt_salt=name, due_ns=None, connect_start_ns=0, connected_ns=0, sent_ns=0,
        sent_all_ns=0, first_byte_ns=times[0], done_ns=times[-1], outcome=Outcome.OK,
        chunks=Chunks(times, (ChunkKind.CONTENT,) * tok, (50,) * tok, (5,) * tok, tuple(range(1, tok + 1))),
        usage=Usage(PROMPT_TOK, tok, cached), finish_reason=finish, model="m", system_fingerprint="f", text=said,
    )  # fmt: skip
    prompt = Prompt("prose", name, (Message("user", f"prompt {said[:40]}"),), PROMPT_TOK, 90)
    return Answer(Question(prompt, asked, fixed=fixed), trace)


def pairs(
    n: int = 8, *, again_ttft_ms: float = 100.0, again_step_ms: float = 10.0, cached: int | None = 0
) -> tuple[Pair, ...]:
    """Return pairs whose second answers have other times."""
    return tuple(
        Pair(
            answer(f"{at}"),
            answer(f"{at}b", ttft_ms=again_ttft_ms, step_ms=again_step_ms, cached=cached),
        )
        for at in range(n)
    )


def named(checks: tuple[AuditCheck, ...], name: str) -> AuditCheck:
    """Return one check."""
    return next(each for each in checks if each.name == name)


def test_bounds_of_a_median_are_order_statistics() -> None:
    """With 8 values the bound is the second smallest, with 4 there is none, and an infinite value is no trouble."""
    assert median_bounds([float(each) for each in range(8)]) == (1.0, 6.0)
    assert median_bounds([1.0] * 4) is None
    assert median_bounds([1.0, 2.0, 3.0, 4.0, math.inf]) == (1.0, math.inf)


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        ([1.0, 1.02, 0.98, 1.01, 1.05], Standing.BELOW),
        ([1.2, 1.3, 1.11, math.inf, 1.15], Standing.ABOVE),
        ([1.2, 1.3, 1.05, 1.2, 1.15], Standing.OPEN),
        ([5.0, 5.0, 5.0], Standing.OPEN),
    ],
)
def test_limit_is_broken_or_kept_only_where_the_bounds_show_it(
    ratios: list[float], expected: Standing
) -> None:
    """A median alone shows nothing."""
    assert standing([Span(100.0, 100.0 / ratio) for ratio in ratios]) is expected


def test_time_within_the_noise_of_the_client_shows_nothing() -> None:
    """A millisecond less is half of two, and no cache; an answer that takes no time at all is one."""
    assert standing([Span(2.0, 1.0)] * 8) is Standing.BELOW
    assert standing([Span(10.0, 0.0)] * 8) is Standing.ABOVE


@pytest.mark.parametrize(("again_step_ms", "passed"), [(10.0, True), (9.5, True), (8.5, False), (0.0, False)])
def test_decode_of_repeated_prompts(again_step_ms: float, passed: bool) -> None:
    """A repeat may decode up to a tenth faster; one that comes in one piece was not decoded at all."""
    check = named(
        judge_repeated(Evidence("m", SIGNS, pairs(again_step_ms=again_step_ms))), "decode of repeated prompts"
    )
    assert check.passed is passed
    assert "n = 8" in check.found


def test_decode_that_nobody_can_see_has_not_passed() -> None:
    """Behind a proxy that holds answers back, and with decodes too short to be timed, nothing is shown."""
    held = tuple(Pair(answer(f"{at}", step_ms=0), answer(f"{at}b", step_ms=0)) for at in range(8))
    short = tuple(Pair(answer(f"{at}", step_ms=0.1), answer(f"{at}b", step_ms=0.1)) for at in range(8))
    for each in (held, short):
        check = named(judge_repeated(Evidence("m", SIGNS, each)), "decode of repeated prompts")
        assert not check.passed
        assert check.found.startswith("the decode of 0 of 8 prompts could be timed")


@pytest.mark.parametrize(
    ("again_ttft_ms", "cached", "hits_tok", "passed"),
    [
        (100.0, 0, None, True),
        (20.0, 90, None, True),  # the cache saves nine tenths, four fifths of the time are gone
        (20.0, 0, None, False),
        (20.0, None, None, False),
        (20.0, 16, None, False),  # 16 of 100 tokens do not explain it
        (20.0, None, 8 * 90, True),  # usage is silent, and the server's counters tell
        (99.0, None, None, True),
    ],
)
def test_first_token_may_come_sooner_by_the_reported_share(
    again_ttft_ms: float, cached: int | None, hits_tok: int | None, passed: bool
) -> None:
    """A prefix cache is allowed as far as usage or counters tell of it."""
    signs = replace(SIGNS, repeat_hits_tok=hits_tok)
    evidence = Evidence("m", signs, pairs(again_ttft_ms=again_ttft_ms, cached=cached))
    assert named(judge_repeated(evidence), "first token of repeated prompts").passed is passed


def loaded(n: int, alone_tok: int, loaded_tok: list[int]) -> tuple[Loaded, ...]:
    """Return free answers whose lengths change under load."""
    return tuple(
        Loaded(
            answer(f"a{at}", tok=alone_tok, asked=200, finish="stop", fixed=False),
            (answer(f"l{at}", tok=loaded_tok[at % len(loaded_tok)], asked=200, finish="stop", fixed=False),),
        )
        for at in range(n)
    )


@pytest.mark.parametrize(
    ("loaded_tok", "passed"),
    [([50], True), ([46], True), ([30], False), ([70], False), ([20, 85, 25, 90], True)],
)
def test_mean_length_under_load(loaded_tok: list[int], passed: bool) -> None:
    """A tenth is allowed; answers that part ways to both sides are chance, not truncation."""
    evidence = Evidence("m", SIGNS, (), free=loaded(8, 50, loaded_tok))
    assert named(judge_length(evidence), "mean length").passed is passed


def test_cut_answers_are_found_among_whole_ones() -> None:
    """Two answers in eight that end in the middle of what was said alone are no chance, one may be."""
    whole = [answer(f"{at}", text=f"the answer number {at} is a rather long one") for at in range(8)]
    for n_cut, passed in ((1, True), (2, False)):
        fixed = tuple(
            Loaded(each, (answer(f"l{at}", text=each.said[:20] if at < n_cut else each.said),))
            for at, each in enumerate(whole)
        )
        assert named(judge_length(Evidence("m", SIGNS, (), fixed=fixed)), "whole answers").passed is passed


@pytest.mark.parametrize(("recounted", "passed"), [(20, True), (18, True), (10, False), (30, False)])
def test_token_counts_are_checked_by_the_server_itself(recounted: int, passed: bool) -> None:
    """The same text has to have as many tokens in a prompt as it had in an answer."""
    recounts = tuple(Recount(each.fresh, recounted) for each in pairs(4))
    check = named(judge_length(Evidence("m", SIGNS, pairs(4), recounts=recounts)), "token counts")
    assert check.passed is passed
    assert f"80 tokens said, {4 * recounted} counted again in 4 answers" in check.found


def test_length_that_cannot_be_fixed_is_no_fault() -> None:
    """A server without such an option may end by itself; one that has it may not."""
    short = (Pair(answer("a", tok=9, finish="stop"), answer("b", tok=9, finish="stop")),)
    for fixes, passed in ((True, False), (False, True)):
        evidence = Evidence("m", replace(SIGNS, fixes_length=fixes), short)
        assert named(judge_length(evidence), "length asked for").passed is passed


def test_answers_of_one_model_part_late_and_those_of_another_early() -> None:
    """Eight words are the beginning; shorter answers have to be the same."""
    text = "one two three four five six seven eight nine"
    assert same_beginning(text, text.replace("nine", "ten"))
    assert not same_beginning(text, text.replace("three", "tree"))
    assert same_beginning("yes.", "Yes.")
    assert not same_beginning("", "")


def test_half_of_the_answers_may_part_under_load() -> None:
    """Rounding under load is allowed, another model for most requests is not."""
    for n_other, passed in ((0, True), (4, True), (5, False)):
        fixed = tuple(
            Loaded(
                answer(f"{at}"),
                (answer(f"l{at}", text="another answer" if at < n_other else answer(f"{at}").said),),
            )
            for at in range(8)
        )
        assert (
            named(
                judge_identity(Evidence("m", SIGNS, pairs(), fixed=fixed)), "same answers under load"
            ).passed
            is passed
        )


def test_two_fingerprints_and_faults_are_told() -> None:
    """Another build in one answer of many, and a restart, fail."""
    other = answer("x")
    odd = Answer(other.question, replace(other.trace, system_fingerprint=None))
    evidence = Evidence(
        "m", replace(SIGNS, faults=("server: restarted: it began anew",)), pairs(), others=(odd,)
    )
    assert named(judge_identity(evidence), "fingerprint").found == "'None', 'f' in 17 answers"
    assert not named(judge_identity(evidence), "fingerprint").passed
    assert named(judge_identity(evidence), "no restart").found == "server: restarted: it began anew"


def test_nothing_answered_is_nothing_passed() -> None:
    """Where no request succeeds, every audit fails, and none of them breaks."""
    failed = answer("f")
    lost = Answer(
        failed.question, replace(failed.trace, outcome=Outcome.HTTP_ERROR, usage=None, chunks=Chunks())
    )
    for pair in ((Pair(lost, lost),), ()):
        evidence = Evidence("m", SIGNS, pair)
        for verdict in (judge_repeated, judge_length, judge_identity, judge_sense):
            assert any(not each.passed for each in verdict(evidence))


def test_echo_and_shared_words() -> None:
    """Passages of eight words tell an echo from an answer on the same subject."""
    prompt = "the old bridge over the river was closed in spring because the water rose too high"
    assert echo_ratio(prompt, prompt[4:]) == 1.0
    assert echo_ratio(prompt, "in spring the river rose and the old bridge over the water was closed") == 0.0
    assert shared_ratio(prompt, "the river rose") == 1.0
    assert shared_ratio(prompt, "qxzv jkwp the") == pytest.approx(1 / 3)
    assert shared_ratio(prompt, "123 !") == 0.0


SCHEMA = {
    "type": "object",
    "properties": {
        "rows": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
        "state": {"type": "string", "enum": ["new", "old"]},
    },
    "required": ["rows", "state"],
    "additionalProperties": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"rows": [{"n": 1}, {"n": 2.0}], "state": "new"}, None),
        ({"rows": [{"n": True}], "state": "new"}, "the answer, rows, item 0, n is no integer"),
        ({"rows": [{}], "state": "new"}, "the answer, rows, item 0 lacks n"),
        ({"rows": [], "state": "odd"}, "the answer, state is none of the values allowed"),
        ({"rows": [], "state": "new", "x": 1}, "the answer has members that the schema does not allow"),
        ([], "the answer is no object"),
    ],
)
def test_answer_is_held_against_its_schema(value: object, fault: str | None) -> None:
    """The first thing that is wrong is named with its place."""
    assert schema_fault(json.dumps(value), SCHEMA) == fault


def test_every_beginning_of_an_object_is_known_as_one() -> None:
    """An answer that was cut anywhere is a beginning; other text is none, and depth is no trouble."""
    text = json.dumps({"rows": [{"n": -12.5e3, "a": 'x "y" \u00e9', "b": None}], "state": [True, False]})
    assert all(is_json_beginning(text[:end]) for end in range(1, len(text) + 1))
    for other in ("", "Sure! Here is", '{"rows": oh no, this is not JSON', '{"rows": 1]] and so on and on'):
        assert not is_json_beginning(other)
    deep = '{"a":' * 100_000
    assert not is_json_beginning(deep)
    assert "no JSON" in (schema_fault(deep, SCHEMA) or "")
