"""The rubric gives each record its score, with reasons."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kbtool.analysis.confidence import CONFIG_FIELDS, FACTORS, assess, label_of, would_raise
from kbtool.analysis.paths import benchmark_paths
from kbtool.schema import Benchmark
from kbtool.store.yamlio import parse
from kbtool.vocab.terms import Interest
from tests.analysis.records import benchmark, plain_result

RECORDS = Path(__file__).parents[2] / "records" / "benchmarks"
BARE: dict[str, Any] = {"reproducible": {"artifacts": []}, "serving": {"max_running_requests": None}}
"""Takes from the base what the rubric rewards."""


def codes(*, interest: Interest | None = None, **over: Any) -> set[str]:
    """Return the codes that hold for the base benchmark with something laid over it."""
    return set(assess(benchmark(**over), interest).codes)


@pytest.mark.parametrize(
    ("record_id", "score"),
    [
        ("ev-sglang-dsv41-production-decode-tok-s-per-user", "0.75"),
        ("ev-sglang-dsv41-production-128k-prefill-tps", "0.80"),
    ],
)
def test_the_first_two_records_keep_their_scores(record_id: str, score: str) -> None:
    """Both came with a stated confidence; the rubric was made to give the same."""
    record = Benchmark.model_validate(parse((RECORDS / f"{record_id}.yaml").read_bytes()))
    rubric = assess(record)
    assert record.confidence is not None
    assert rubric.score == record.confidence.score == Decimal(score)
    assert rubric.label == record.confidence.label == "medium"
    assert set(rubric.codes) == set(record.confidence.reasons)


@pytest.mark.parametrize(
    ("by", "code", "points"),
    [
        ("auditor", "base-audited", 85),
        ("self", "base-self-measured", 85),
        ("operator", "base-operator-report", 60),
        ("third_party", "base-third-party", 60),
        ("vendor", "base-vendor", 45),
        ("unknown", "base-anonymous", 30),
    ],
)
def test_exactly_one_base(by: str, code: str, points: int) -> None:
    """Who measured decides where the score starts."""
    rubric = assess(benchmark(measured={"by": by}, **BARE))
    assert rubric.codes == (code,)
    assert rubric.score == Decimal(points) / 100


def test_review_under_rules_raises_a_vendors_figure_above_an_unreviewed_one() -> None:
    """Those who review an MLPerf result did not measure it: it starts as its submitter's, and review is a reason of its own."""
    submitted = {"comparison_class": "mlperf-inference-v6.0/llama2-70b-99/closed/datacenter/offline"}
    reviewed, other, third = (
        assess(benchmark(measured={"by": by}, **over, **BARE))
        for by, over in (
            ("vendor", submitted),
            ("vendor", {"comparison_class": "other-round/x"}),
            ("third_party", {}),
        )
    )
    assert reviewed.codes == ("base-vendor", "reviewed-under-rules")
    assert other.codes == ("base-vendor",)
    assert other.score < third.score < reviewed.score == Decimal("0.70")
    assert "reviewed-under-rules" not in {each.code for each in would_raise(third)}


def test_artifacts_and_settings_raise() -> None:
    """Scripts that are named, and the settings that move speed most."""
    assert codes() == {"base-third-party", "artifacts", "config-complete"}
    assert codes(serving={"cuda_graph_decode": False}) >= {"config-complete"}
    assert "config-complete" not in codes(deployment={"tp": None})


def test_a_repeat_within_two_per_cent() -> None:
    """By a result that repeats the headline, or by a stated spread."""
    near = [plain_result(value="6853"), plain_result(id="again", value="6765", repeat_of="decode-prose-1")]
    far = [plain_result(value="6853"), plain_result(id="again", value="6012", repeat_of="decode-prose-1")]
    assert "repeat-within-2pct" in codes(results=near)
    assert "repeat-within-2pct" not in codes(results=far)
    spread = {"kind": "relative_difference", "value": "-0.013"}
    assert "repeat-within-2pct" in codes(results=[plain_result(repeats=2, spread=spread)])
    assert "repeat-within-2pct" in codes(results=[plain_result(spread={"kind": "stdev", "value": "1.0"})])


def test_only_a_stated_single_run_lowers() -> None:
    """A number of runs that nobody states is a gap and no reason; a repeat beside it takes the reason away."""
    assert "single-run" in codes(results=[plain_result(repeats=1)])
    assert "single-run" not in codes(results=[plain_result()])
    repeated = [plain_result(repeats=1), plain_result(id="again", repeat_of="decode-prose-1")]
    assert "single-run" not in codes(results=repeated)


def test_a_replication_raises_when_it_came_near() -> None:
    """Within 5 % of the other record's figure."""
    link = {"relation": "replicates", "target": "benchmarks/other", "result": "decode-prose-1"}
    assert "independent-repeat" in codes(links=[{**link, "ratio": "1.04"}])
    assert "independent-repeat" not in codes(links=[{**link, "ratio": "1.20"}])


def test_an_engine_that_nobody_can_name_lowers() -> None:
    """A commit is enough."""
    assert "version-omitted" in codes(engine={"version": None, "commit": None})
    assert "version-omitted" not in codes(engine={"version": None})


def test_the_publishers_interest_lowers_once() -> None:
    """A vendor's own figures start lower for the same reason, and are not lowered twice."""
    assert "vendor-interest" in codes(interest="vendor")
    assert "vendor-interest" not in codes(interest="vendor", measured={"by": "vendor"})
    assert "vendor-interest" not in codes(interest="sells_service")


@pytest.mark.parametrize(
    ("over", "code"),
    [
        (
            {
                "results": [
                    plain_result(evidence=[{"source": "sources/s", "locator": "x", "second_hand": True}])
                ]
            },
            "second-hand-only",
        ),
        ({"system": {"accelerator_basis": "inferred"}}, "edition-ambiguous"),
        ({"results": [plain_result(value="93900")]}, "implausible"),
        ({"results": [plain_result(warnings=["garbage_output"])]}, "garbage-output"),
        ({"results": [plain_result(warnings=["synthetic_acceptance"])]}, "synthetic-acceptance"),
        ({"speculation": {"acceptance_length": "9"}}, "implausible"),
        ({"status": "disputed"}, "disputed"),
        ({"results": [plain_result(standing="disputed", standing_reason="x")]}, "disputed"),
    ],
)
def test_what_lowers(over: dict[str, Any], code: str) -> None:
    """Hearsay, a guessed edition, impossible figures, broken answers, and evidence against it."""
    assert code in codes(**over)


def test_the_score_stays_between_0_and_1() -> None:
    """Reasons add up beyond either end."""
    worst = assess(
        benchmark(
            measured={"by": "unknown"},
            status="disputed",
            system={"accelerator_basis": "inferred"},
            engine={"version": None, "commit": None},
            results=[plain_result(value="93900")],
            **BARE,
        )
    )
    assert worst.score == 0
    best = assess(
        benchmark(
            measured={"by": "auditor"},
            links=[{"relation": "replicates", "target": "benchmarks/other", "ratio": "1"}],
        )
    )
    assert best.score == 1
    assert best.label == "high"


def test_labels_begin_where_the_definitions_say() -> None:
    """Low < 0.60 <= medium < 0.85 <= high."""
    assert [label_of(Decimal(each)) for each in ("0.59", "0.60", "0.84", "0.85")] == [
        "low",
        "medium",
        "medium",
        "high",
    ]


def test_the_rubric_is_ready_to_publish() -> None:
    """Codes are unique slugs, every reason is a sentence, and the config fields exist."""
    assert len({each.code for each in FACTORS}) == len(FACTORS)
    assert all(each.reason.endswith(".") and each.points for each in FACTORS)
    assert set(CONFIG_FIELDS) <= benchmark_paths()
