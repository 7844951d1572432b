"""Figures that disagree, and mentions that count once."""

from typing import Any

from kbtool.analysis.conflicts import Conflict, Stated, by_record, conflicts, stated_by
from tests.analysis.records import benchmark, plain_result
from tests.analysis.sides import LOAD, SYSTEM


def stated(
    name: str, value: str, group: str | None = None, at: dict[str, Any] | None = None, **over: Any
) -> list[Stated]:
    """Return a throughput of the base benchmark as a record of this name states it."""
    result = plain_result(**{**SYSTEM, "value": value, "as_published": value, "at": {**LOAD, **(at or {})}})
    sources = [{"source": "sources/base-source", "role": "primary", "group": group or name}]
    status = over.pop("derived", "draft")
    record = benchmark(results=[result], sources=sources, **over)
    return list(stated_by(f"benchmarks/{name}", record, status, group or name))


def found(*several: list[Stated]) -> tuple[Conflict, ...]:
    """Return the conflicts between all of these."""
    return conflicts(each for one in several for each in one)


def names(conflict: Conflict) -> tuple[str, str]:
    """Return the two records, the larger figure first."""
    return conflict.one.first.side.ref, conflict.other.first.side.ref


def test_more_than_five_per_cent_is_a_conflict() -> None:
    """100 against 110 disagree by 10 %; 100 against 104 are one thing measured twice."""
    conflict = found(stated("a", "100"), stated("b", "110"))[0]
    assert names(conflict) == ("benchmarks/b", "benchmarks/a")
    assert f"{conflict.difference:.2f}" == "0.10"
    assert conflict.explained_by == ()
    assert found(stated("a", "100"), stated("b", "104")) == ()


def test_three_mentions_of_one_run_count_once() -> None:
    """Cross-posts of one group with one figure are one finding; the other side disagrees with it once."""
    made = found(
        stated("a", "100", "run"), stated("b", "100", "run"), stated("c", "100", "run"), stated("z", "150")
    )
    assert len(made) == 1
    assert [each.side.ref for each in made[0].other.mentions] == [
        "benchmarks/a",
        "benchmarks/b",
        "benchmarks/c",
    ]
    assert set(by_record(made)) == {"benchmarks/a", "benchmarks/b", "benchmarks/c", "benchmarks/z"}


def test_one_group_is_no_second_witness() -> None:
    """Two figures of one source do not disagree with one another, unless a link says so."""
    link = [{"relation": "contradicts", "target": "benchmarks/b", "note": "The page has both."}]
    assert found(stated("a", "100", "run"), stated("b", "150", "run")) == ()
    told = found(stated("a", "100", "run", links=link), stated("b", "150", "run"))
    assert [each.link for each in told] == ["contradicts"]


def test_linked_pairs_say_so() -> None:
    """A replication that failed is a conflict that is told; a record of the same run, or a later version, is none."""

    def linked(relation: str) -> list[Stated]:
        ratio = {"ratio": "1.5"} if relation == "replicates" else {}
        return stated("a", "150", links=[{"relation": relation, "target": "benchmarks/b", **ratio}])

    assert found(linked("replicates"), stated("b", "100"))[0].link == "replicates"
    assert found(linked("same_run_as"), stated("b", "100")) == ()
    assert found(linked("supersedes"), stated("b", "100")) == ()


def _swept(name: str, *values: tuple[int, str]) -> list[Stated]:
    """Return a record with a figure a length."""
    results = [
        plain_result(
            **{
                **SYSTEM,
                "id": f"in{length}",
                "value": value,
                "as_published": value,
                "at": {**LOAD, "input_tok": length},
            }
        )
        for length, value in values
    ]
    sources = [{"source": "sources/base-source", "role": "primary", "group": name}]
    record = benchmark(results=results, sources=sources, headline=f"in{values[0][0]}")
    return list(stated_by(f"benchmarks/{name}", record, "draft", name))


def test_a_length_left_out_is_not_taken_for_the_worst_one() -> None:
    """87.97 of no stated length beside 84.10, 60 and 40 at 512, 8,192 and 32,768 tokens: the first agrees, and that is that."""
    sweep = _swept("sweep", (512, "84.10"), (8192, "60"), (32768, "40"))
    unsaid = {"input_tok": None}
    assert found(stated("a", "87.97", at=unsaid), sweep) == ()
    assert found(stated("a", "70", at=unsaid), sweep) == ()
    above = found(stated("a", "120", at=unsaid), sweep)
    assert [each.other.first.side.result for each in above] == ["in512"]
    assert [
        each.other.first.side.result for each in found(stated("a", "90", at={"input_tok": 32768}), sweep)
    ] == ["in32768"]


def test_what_neither_states_is_told() -> None:
    """Silence of both leaves a difference as open as silence of one."""
    engine = {"version": None}
    conflict = found(stated("a", "100", engine=engine), stated("b", "150", engine=engine))[0]
    assert "Engine version" in conflict.told_by_neither
    assert "Engine version" not in found(stated("a", "100"), stated("b", "150"))[0].told_by_neither


def test_what_both_state_may_explain_it() -> None:
    """Another engine version is named; whoever measured explains nothing."""
    conflict = found(
        stated("a", "100"), stated("b", "150", engine={"version": "9.9"}, measured={"by": "vendor"})
    )[0]
    assert [each.what for each in conflict.explained_by] == ["Engine version"]


def test_another_load_is_no_conflict() -> None:
    """A throughput may choose its load; lengths that differ are refused; a closed class stands apart."""
    assert found(stated("a", "100"), stated("b", "150", at={"concurrency": 96})) == ()
    assert found(stated("a", "100"), stated("b", "150", at={"input_tok": 3072})) == ()
    closed: dict[str, Any] = {"comparison_class": "mlperf-inference-v6.1/llama2-70b-99/closed/offline"}
    assert stated("b", "150", **closed) == []


def test_a_corrected_value_that_comes_back_is_told_first() -> None:
    """One record corrected 150 to 100; another still states 150, as a later copy of an old table does."""
    change = {
        "date": "2026-09-19",
        "fields": ["results.decode-prose-1"],
        "old": 150,
        "new": 100,
        "why": "Misread.",
    }
    made = found(stated("a", "100", changes=[change]), stated("b", "150"), stated("c", "900"))
    assert made[0].came_back
    assert names(made[0]) == ("benchmarks/b", "benchmarks/a")
    assert [each.came_back for each in made[1:]] == [False, False]


def test_an_impossible_outlier_does_not_hide_among_its_siblings() -> None:
    """Each sibling disagrees with the outlier, and none with another: it stands out by name."""
    made = found(stated("a", "100"), stated("b", "101"), stated("c", "102"), stated("outlier", "9000"))
    assert {names(each)[0] for each in made} == {"benchmarks/outlier"}
    assert len(made) == 3


def test_what_no_longer_stands_disagrees_with_nothing() -> None:
    """Retracted and superseded records have left."""
    assert found(stated("a", "100"), stated("b", "150", derived="retracted")) == ()
