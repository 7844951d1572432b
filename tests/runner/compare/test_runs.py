"""Two runs: equals claim nothing, differences are found, and what is no comparison is refused."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from kbtool.errors import RecordError
from kbtool.runner.compare import Comparison, compare_runs
from kbtool.runner.metrics import CacheVerdict
from kbtool.runner.results import CellResult, Run
from kbtool.runner.trace import ClockSource
from kbtool.vocab.warnings import WarningCode
from tests.runner.compare.made_runs import CELL, cell_result, run, sessions, steady, visit, with_warning

ALTERNATING = "ABBA" * 3
"""Six sessions a side."""
LEVELS = (1, 4, 8, 16)


def _pair(
    generator: random.Random, order: str, *, level: float = 1.0, between: float = 0.017, drift: float = 0.0
) -> tuple[Run, Run]:
    """Return two runs of four loads; B is `level` times as fast, and each session of the box loses a share of speed."""
    made: dict[str, list[CellResult]] = {"A": [], "B": []}
    for side, cells in made.items():
        places = [at for at, letter in enumerate(order) if letter == side]
        for streams in LEVELS:
            base = steady(generator, level=level if side == "B" else 1.0, between=between)

            def speed(session: int, number: int, base: Any = base, places: Any = places) -> float:
                slower: float = (1 - drift) ** places[session]
                return float(base(session, number)) * slower

            cell = replace(CELL, name=f"users-c{streams}", streams=streams)
            cells.append(sessions(speed, order, side, cell=cell))
    return run("one", made["A"]), run("two", made["B"])


def _plain(**changes: Any) -> tuple[CellResult, CellResult]:
    """Return two equal cells, the second with changes of its visits."""
    return cell_result([visit(lambda _: 1.0)]), cell_result([visit(lambda _: 1.0, start_s=100, **changes)])


@pytest.mark.parametrize(
    ("order", "drift"),
    [(ALTERNATING, 0.0), (ALTERNATING, 0.004), ("A" * 6 + "B" * 6, 0.0), ("AB", 0.0)],
)
def test_equal_runs_claim_a_difference_in_at_most_5_percent(order: str, drift: float) -> None:
    """Twelve comparisons of A with A, paired with and without drift, unpaired, and of single starts."""
    generator = random.Random(31)
    wrong = sum(
        bool(compare_runs(*_pair(generator, order, drift=drift), draws=100).differences) for _ in range(100)
    )
    assert wrong <= 5


@pytest.mark.parametrize(("order", "level", "claim"), [
    (ALTERNATING, 1.10, "faster"), (ALTERNATING, 0.90, "slower"), ("A" * 6 + "B" * 6, 1.15, "faster"),
])  # fmt: skip
def test_planted_difference_is_found_with_its_direction(order: str, level: float, claim: str) -> None:
    """A server that is faster has more throughput and less time to the first token, and both are called faster."""
    generator = random.Random(32)
    for _ in range(10):
        found = compare_runs(*_pair(generator, order, level=level), draws=200)
        assert sum(each.claim == claim for each in found.compared if each.metric == "output_tok_s") >= 3
        assert {each.claim for each in found.compared if each.metric == "ttft_ms"} <= {
            claim,
            "no difference shown",
        }
        first = found.compared[0]
        assert first.low is not None
        assert first.high is not None
        assert first.low < first.ratio < first.high


def test_alternating_sessions_are_paired_and_others_are_not() -> None:
    """What a ratio rests on follows from when the sessions ran."""
    generator = random.Random(33)
    expected = {
        ALTERNATING: "paired",
        "A" * 3 + "B" * 3: "unpaired",
        "ABABAB": "unpaired",
        "AB": "these_starts",
    }
    for order, strength in expected.items():
        found = compare_runs(*_pair(generator, order))
        assert (found.order, {each.strength for each in found.compared}) == (order, {strength})


def test_drift_does_not_look_like_a_difference_in_pairs() -> None:
    """A box that loses 1 % a session shows the ratio of 1 that there is."""
    found = compare_runs(*_pair(random.Random(34), ALTERNATING, between=0.0, drift=0.01))
    assert all(abs(each.ratio - 1) < 0.02 for each in found.compared)


def test_single_starts_claim_nothing_below_10_percent() -> None:
    """Rounds agree to a tenth of a percent, and another start could differ by more than 6 %."""
    a = sessions(steady(random.Random(1), between=0, within=0.001), "AB", "A")
    b = sessions(steady(random.Random(2), level=1.06, between=0, within=0.001), "AB", "B")
    found = compare_runs(run("one", [a]), run("two", [b])).compared[0]
    assert (found.strength, found.claim) == ("these_starts", "no difference shown")
    assert "noise" in found.reason


def test_small_difference_takes_eleven_pairs() -> None:
    """Two percent that are certain are not claimed from 6 pairs, and are from 12."""
    claims = []
    for order in (ALTERNATING, ALTERNATING * 2):
        a = sessions(steady(random.Random(1), between=0.001, within=0.001), order, "A")
        b = sessions(steady(random.Random(2), level=1.02, between=0.001, within=0.001), order, "B")
        claims.append(compare_runs(run("one", [a]), run("two", [b])).compared[0].claim)
    assert claims == ["no difference shown", "faster"]


def test_known_noise_of_the_box_is_no_difference() -> None:
    """What equal runs differed by is not claimed of others."""
    pair = _pair(random.Random(35), ALTERNATING, level=1.10)
    assert compare_runs(*pair).differences
    assert not compare_runs(*pair, noise_ratio=0.2).differences


def _warned(code: WarningCode) -> tuple[CellResult, CellResult]:
    one, two = _plain()
    return one, with_warning(two, code)


def _in_cache(state: Any) -> tuple[CellResult, CellResult]:
    one, two = _plain()
    return one, replace(two, summary=replace(two.summary, cache=CacheVerdict(state)))


def _cell(**changes: Any) -> tuple[CellResult, CellResult]:
    return _plain(cell=replace(CELL, **changes))


@pytest.mark.parametrize(
    ("make", "condition"),
    [
        (lambda: _cell(input_tok=1100), "input length"),
        (lambda: _cell(output_tok=512), "output length"),
        (lambda: _plain(totals=(1100, 256)), "input length measured"),
        (lambda: _plain(totals=(1024, 240)), "output length measured"),
        (lambda: _cell(prompt_class="code"), "prompt class"),
        (lambda: _cell(cache="warm"), "cache state"),
        (lambda: _cell(streams=16), "users"),
        (lambda: _cell(temperature=0.7), "temperature"),
        (lambda: _cell(shared_prefix_tok=512), "shared prefix"),
        (lambda: _cell(straight_to="node0"), "way to the server"),
        (lambda: _in_cache("contaminated"), "cache state shown"),
        (lambda: _plain(clock=ClockSource.USER), "clock of the client"),
        (lambda: _warned(WarningCode.CLIENT_BOUND), "warning client_bound"),
        (lambda: _warned(WarningCode.FOREIGN_TRAFFIC), "warning foreign_traffic"),
        (lambda: _warned(WarningCode.CONTAMINATED), "warning contaminated"),
        (lambda: _warned(WarningCode.GARBAGE_OUTPUT), "warning garbage_output"),
        (lambda: _warned(WarningCode.SENT_LATE), "warning sent_late"),
        (lambda: _warned(WarningCode.UNACCOUNTED_TOKENS), "warning unaccounted_tokens"),
    ],
)  # fmt: skip
def test_other_conditions_are_refused_by_name(
    make: Callable[[], tuple[CellResult, CellResult]], condition: str
) -> None:
    """Nothing is compared, and the condition is named with both values and a remedy."""
    one, two = make()
    found = compare_runs(run("one", [one]), run("two", [two]))
    assert found.compared == ()
    refusal = next(each for each in found.refused if each.condition == condition)
    assert refusal.a != refusal.b
    assert refusal.remedy


def test_lengths_within_2_percent_are_equal() -> None:
    """A tokenizer that counts a few tokens more is no other load."""
    one, two = _plain(totals=(1040, 256))
    assert compare_runs(run("one", [one]), run("two", [two])).compared


def test_prompts_some_percent_apart_are_compared_and_readers_told() -> None:
    """Two runs of one plan fit their prompts anew: 3 % is no other plan, and may be a difference of 3 %."""
    one, two = _plain(totals=(1056, 256))
    (first, *_) = compare_runs(run("one", [one]), run("two", [two])).compared
    assert any(
        "input length measured: 1024 and 1056 tok" in each and "3.0%" in each for each in first.caveats
    )


@pytest.mark.parametrize(
    ("facts", "condition"),
    [
        ({"runner_version": "kbtool bench 2"}, "client version"),
        ({"text_version": 2}, "version of the prompt text"),
    ],
)
def test_another_client_or_text_refuses_the_whole_run(facts: dict[str, Any], condition: str) -> None:
    """Other text is other work, and another client another instrument."""
    one, two = _plain()
    found = compare_runs(run("one", [one]), run("two", [two], facts=facts))
    assert (found.compared, [each.condition for each in found.refused]) == ((), [condition])


def test_answers_that_one_side_ends_by_itself_are_refused() -> None:
    """A server that cannot be told a length decodes what the model likes."""
    one, two = _plain()
    found = compare_runs(run("one", [one]), run("two", [two], kind="openai"))
    assert [each.condition for each in found.refused] == ["length of answers"]


def test_metric_of_one_side_alone_is_refused_and_the_others_compared() -> None:
    """A figure that one side lacks is named, and does not hide the rest."""
    one, two = _plain()
    rounds = tuple(
        replace(each, figures=replace(each.figures, samples=each.figures.samples[:1])) for each in two.rounds
    )
    two = replace(two, visits=(replace(two.visits[0], rounds=rounds),))
    found = compare_runs(run("one", [one]), run("two", [two]))
    assert [each.metric for each in found.compared] == ["output_tok_s"]
    assert {(each.metric, each.condition) for each in found.refused} == {
        ("tok_s_per_user", "metric"), ("ttft_ms", "metric"),
    }  # fmt: skip


def test_load_of_one_side_alone_is_named() -> None:
    """Loads without a partner are listed, on either side."""
    other = replace(CELL, name="users-c16", streams=16)
    one, two = _plain()
    found = compare_runs(
        run("one", [one, cell_result([visit(lambda _: 1.0, cell=other)])]), run("two", [two])
    )
    assert [(each.cell, each.b) for each in found.refused] == [("users-c16", "not measured")]
    assert found.compared


def test_equal_loads_are_found_under_other_names() -> None:
    """Two plans may call one load by two names, and two loads by one."""
    small, large = CELL, replace(CELL, streams=16)
    one = run("one", [cell_result([visit(lambda _: 1.0, cell=replace(each, name=name))]) for each, name in ((small, "x"), (large, "y"))])  # fmt: skip
    two = run("two", [cell_result([visit(lambda _: 1.0, cell=replace(each, name=name), start_s=99)]) for each, name in ((small, "y"), (large, "z"))])  # fmt: skip
    found = compare_runs(one, two)
    assert {each.cell for each in found.compared} == {"x", "y"}
    assert found.refused == ()


def test_warnings_that_leave_a_comparison_travel_with_it() -> None:
    """A throttled side is compared, and the reader is told which."""
    one, two = _warned(WarningCode.THROTTLED)
    found = compare_runs(run("one", [one]), run("two", [two]))
    assert any(each.startswith("throttled (B)") for each in found.compared[0].caveats)


def test_settings_that_differ_are_listed() -> None:
    """A difference comes from something: what was read and is not equal stands beside it."""
    one, two = _plain()
    other = run("two", [two])
    leg = {"kind": "vllm", "settings": [{"field": "serving.context_tok", "value": 8192}]}
    other = replace(other, environments={**other.environments, "leg-00-base": leg})
    found = compare_runs(run("one", [one]), other)
    assert [(each.field, each.a, each.b) for each in found.differs] == [
        ("serving.context_tok", "4096", "8192")
    ]


def test_exact_values_of_settings_are_text_in_the_data() -> None:
    """JSON has no exact decimals, and a swept share of memory is one."""
    cells = [cell_result([visit(lambda _: 1.0, setting="serving.memory_fraction", value=Decimal("0.90"))])]
    found = compare_runs(run("one", cells), run("two", cells))
    swept = replace(found, compared=tuple(replace(each, value=Decimal("0.90")) for each in found.compared))
    assert json.loads(json.dumps(swept.data()))["compared"][0]["value"] == "0.90"


def test_one_run_twice_is_refused() -> None:
    """A run is no comparison with itself."""
    one = run("one", [cell_result([visit(lambda _: 1.0)])])
    with pytest.raises(RecordError, match="given twice"):
        compare_runs(one, one)


def _everything() -> Comparison:
    a, b = _pair(random.Random(36), ALTERNATING, level=1.10)
    return compare_runs(a, replace(b, cells=b.cells[1:]))


def test_words_and_data_come_from_one_object() -> None:
    """Every ratio and refusal is in both, and the data is JSON."""
    found = _everything()
    data = json.loads(json.dumps(found.data(), allow_nan=False))
    lines = found.lines()
    assert len(data["compared"]) == len(found.compared)
    for each in found.compared:
        assert any(each.cell in line and f"{each.ratio:.3f}" in line and each.claim in line for line in lines)
    assert any("users-c1: not compared" in line for line in lines)


def test_runs_that_compare_in_nothing_say_so() -> None:
    """A warning on both sides is named once, and no order of sessions is made up."""
    spoiled = _plain()[0]
    spoiled = with_warning(spoiled, WarningCode.GARBAGE_OUTPUT)
    found = compare_runs(run("one", [spoiled]), run("two", [spoiled]))
    lines = found.lines()
    assert "nothing could be compared" in lines
    assert any("warning garbage_output is set in both" in line for line in lines)
    assert not any("order of the sessions" in line for line in lines)
