"""What a headline may stand beside, and its place."""

from kbtool.analysis.peers import Place, family_of, standing_of
from tests.analysis.sides import LOAD, facts, speed


def test_the_best_is_first() -> None:
    """Of three throughputs the middle one is second; of latencies the shortest is best."""
    found = standing_of(facts(), [[facts("b", speed("200"))], [facts("c", speed("50"))]])
    assert found.place == Place(2, 3, 0)
    ttft = {"metric": "ttft_ms", "at": {**LOAD, "prefix_cache": "cold"}}
    found = standing_of(facts(result={**speed("90"), **ttft}), [[facts("b", {**speed("200"), **ttft})]])
    assert found.place == Place(1, 2, 0)


def test_a_record_has_one_place() -> None:
    """Of a sweep the result nearest in load counts, whichever is fastest."""
    sweep = [
        facts("b", speed(value, id=f"c{users}", at={**LOAD, "concurrency": users}))
        for users, value in ((1, "10"), (48, "90"), (512, "500"))
    ]
    found = standing_of(facts(), [sweep])
    assert [each.side.result for each in found.peers] == ["c48"]


def test_what_is_refused_is_no_peer() -> None:
    """Another length, another model, another scope: nothing of that has a place."""
    others = [
        [facts("b", speed("200", at={**LOAD, "input_tok": 32768}))],
        [facts("c", speed("200"), model={"model": "models/other"})],
        [facts("d", speed("200", metric="tok_s_per_user"))],
        [facts("e", speed("200"), comparison_class="mlperf-inference-v6.1/x/closed/offline")],
    ]
    found = standing_of(facts(), others)
    assert (found.peers, found.place) == ((), None)


def test_those_with_fewest_reservations_come_first() -> None:
    """What a source leaves out is counted, and said of the place."""
    silent = facts("b", speed("200", at={**LOAD, "input_tok": None}))
    found = standing_of(facts(), [[silent], [facts("c", speed("50"))]])
    assert [each.side.ref for each in found.peers] == ["benchmarks/c", "benchmarks/b"]
    assert found.place == Place(2, 3, 1)


def test_a_share_and_a_whole_are_one_family() -> None:
    """They are compared per accelerator; the speed of one user is a family of its own."""
    share = facts(result=speed("9", metric="tok_s_per_accelerator"))
    assert family_of(share) == family_of(facts())
    assert family_of(facts(result=speed("9", metric="tok_s_per_user"))) != family_of(facts())
    assert family_of(facts(result={"value": None, "low": "1", "high": "2"})) == ""
