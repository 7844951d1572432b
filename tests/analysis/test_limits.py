"""Bounds of hardware: worked by hand, and silent where an input is missing."""

from decimal import Decimal
from typing import Any

import pytest

from kbtool.analysis.limits import Bound, NotChecked, binding, broken, limits
from kbtool.lint.examples import overlaid
from kbtool.schema import Accelerator, Interconnect, Model, Record
from tests.analysis.records import BASE, benchmark, plain_result

ONE_USER = {"metric": "tok_s_per_user", "at": {"concurrency": 1, "input_tok": None, "output_tok": None}}
FOUR = {
    "system": {"accelerator_count": 4, "interconnects": []},
    "deployment": {"instances": 1, "tp": 4, "pp": 1, "dp": 1, "ep": 1},
    "speculation": {"method": "none", "draft_tok": None, "acceptance_length": None},
    "model": {
        "weight_dtype": "fp8_e4m3",
        "expert_dtype": None,
        "weights_gb": None,
        "weights_as_published": None,
    },
}


def things(**over: Any) -> dict[str, Record]:
    """Return accelerator, model and link of the base with something laid over them by kind."""
    models: dict[str, type[Record]] = {
        "accelerator": Accelerator,
        "model": Model,
        "interconnect": Interconnect,
    }
    return {
        f"{kind}s/base-{kind}": model.model_validate(
            overlaid(BASE[f"{kind}s/base-{kind}"], over.get(kind, {}))
        )
        for kind, model in models.items()
    }


def found(
    result: dict[str, Any], over: dict[str, Any] | None = None, **of_things: Any
) -> dict[str, Bound | NotChecked]:
    """Return the bounds of a result on four base accelerators by code."""
    record = benchmark(results=[plain_result(**result)], **overlaid(FOUR, over or {}))
    records = things(**of_things)
    return {each.code: each for each in limits(record, record.results[0], records.get)}


def bound(result: dict[str, Any], code: str, over: dict[str, Any] | None = None, **of_things: Any) -> Bound:
    """Return one bound that could be checked."""
    each = found(result, over, **of_things)[code]
    assert isinstance(each, Bound), each
    return each


def reason(result: dict[str, Any], code: str, over: dict[str, Any] | None = None, **of_things: Any) -> str:
    """Return why a bound could not be checked."""
    each = found(result, over, **of_things)[code]
    assert isinstance(each, NotChecked), each
    return each.reason


def test_one_user_reads_all_weights_for_each_token() -> None:
    """4 x 1,792 GB/s over 8 GB of weights is 896 tok/s; 448 is half of it."""
    each = bound({**ONE_USER, "value": "448", "as_published": "448"}, "bandwidth")
    assert each.bound.to("tok/s") == 896
    assert each.share == Decimal("0.5")
    assert each.hard
    assert not each.broken
    assert {one.name for one in each.inputs} == {
        "memory bandwidth",
        "active parameters",
        "bits a weight, at least",
        "accelerators",
    }


def test_a_batch_reads_them_once() -> None:
    """64 users share one reading of the weights."""
    each = bound(
        {
            "metric": "output_tok_s",
            "value": "100",
            "as_published": "100",
            "at": {"concurrency": 64, "input_tok": None},
        },
        "bandwidth",
    )
    assert each.bound.to("tok/s") == 896 * 64


def test_drafts_multiply_the_bound_by_all_that_a_step_can_give() -> None:
    """Three draft tokens give at most four tokens a step."""
    each = bound(ONE_USER, "bandwidth", {"speculation": {"method": "mtp", "draft_tok": 3}})
    assert each.bound.to("tok/s") == 896 * 4


def test_a_changed_setting_changes_the_bound() -> None:
    """A sweep over data types has a bound for each."""
    four_bits = {**ONE_USER, "with": [{"field": "model.weight_dtype", "value": "int4_awq"}]}
    assert bound(four_bits, "bandwidth").bound.to("tok/s") == 896 * 2


def test_the_files_may_be_smaller_than_their_type() -> None:
    """The least bytes count: 4 GB of files for 8 billion parameters are four bits each."""
    smaller = {"model": {"weights_gb": "4", "weights_as_published": "4 GB"}}
    assert bound(ONE_USER, "bandwidth", smaller).bound.to("tok/s") == 896 * 2


def test_plain_attention_reads_the_context_too() -> None:
    """100,000 tokens of 131,072 bytes at 16 bits are 13.1 GB beside 8 GB of weights."""
    model = {
        "attention": {"kind": {"value": "GQA"}},
        "kv_cache": [{"layout": "bf16, grouped-query attention", "bytes_per_tok": {"value": 131072}}],
    }
    long = {"metric": "tok_s_per_user", "at": {"concurrency": 1, "input_tok": 100_000, "output_tok": None}}
    each = bound(long, "bandwidth", {"serving": {"kv_cache_dtype": "bf16"}}, model=model)
    assert round(each.bound.to("tok/s"), 1) == round(
        Decimal(4 * 1792 * 10**9) / (8 * 10**9 + 131072 * 100_000), 1
    )
    sparse = {**model, "attention": {"kind": {"value": "MLA with sparse attention"}}}
    assert (
        bound(long, "bandwidth", {"serving": {"kv_cache_dtype": "bf16"}}, model=sparse).bound.to("tok/s")
        == 896
    )


def test_a_prefill_is_bound_by_operations() -> None:
    """4 x 1,000 TFLOPS over 2 x 8 billion operations a token are 250,000 tok/s."""
    cold = {"metric": "prefill_tok_s", "value": "25000", "as_published": "25,000",
            "at": {"concurrency": 1, "input_tok": 8192, "prefix_cache": "cold", "cache_proof": ["unique_prompt"]}}  # fmt: skip
    each = bound(cold, "compute")
    assert each.bound.to("tok/s") == 250_000
    assert each.share == Decimal("0.1")
    warm = {**cold, "at": {**cold["at"], "prefix_cache": "warm"}}  # type: ignore[dict-item]
    assert "prefix cache" in reason(warm, "compute")


def test_sparse_and_measured_peaks_bound_nothing() -> None:
    """The dense peak of the datasheet counts, at the weights' width or wider."""
    dense = BASE["accelerators/base-accelerator"]["compute"][0]
    compute = [dense, {**dense, "sparsity": "sparse", "tflops": {"value": 2000}}, {**dense, "measured": True, "tflops": {"value": 3000}},
               {**dense, "dtype": "nvfp4", "tflops": {"value": 2000}}]  # fmt: skip
    output = {
        "metric": "output_tok_s",
        "value": "100",
        "as_published": "100",
        "at": {"concurrency": 64, "input_tok": None},
    }
    assert bound(output, "compute", accelerator={"compute": compute}).bound.to("tok/s") == 250_000
    four = {"model": {"weight_dtype": "nvfp4"}}
    assert bound(output, "compute", four, accelerator={"compute": compute}).bound.to("tok/s") == 500_000


@pytest.mark.parametrize(
    ("over", "of_things", "said"),
    [
        ({"speculation": {"method": None}}, {}, "whether drafts are used is not stated"),
        ({"speculation": {"method": "mtp"}}, {}, "the number of draft tokens is not stated"),
        ({"system": {"accelerator_count": None}}, {}, "the number of accelerators is not stated"),
        ({"model": {"weight_dtype": None}}, {}, "the data type of the weights is not stated"),
        (
            {"model": {"weight_dtype": None, "quantization_as_published": "FP8"}},
            {},
            "what the source calls the weights names no data type that is certain",
        ),
        ({}, {"accelerator": {"memory": {"bandwidth_gb_s": None}}}, "accelerators/base-accelerator does not give memory bandwidth"),
        ({}, {"model": {"active_parameters": None}}, "models/base-model does not give active parameters"),
    ],
)  # fmt: skip
def test_what_is_missing_is_not_checked(over: dict[str, Any], of_things: dict[str, Any], said: str) -> None:
    """Each missing input is named, and nothing passes for checked."""
    assert reason(ONE_USER, "bandwidth", over, **of_things) == said
    record = benchmark(
        results=[plain_result(**{**ONE_USER, "value": "15000", "as_published": "15000"})],
        **overlaid(FOUR, over),
    )
    assert broken(record, record.results[0], things(**of_things).get) is None


def test_a_narrower_peak_bounds_a_wider_type_by_its_share() -> None:
    """8 bits at 1,000 TFLOPS bound 16 bits at 500, where the datasheet gives 250 with the slower accumulation."""
    dense = BASE["accelerators/base-accelerator"]["compute"][0]
    compute = [dense, {**dense, "dtype": "bf16", "tflops": {"value": 250}}]
    output = {
        "metric": "output_tok_s",
        "value": "100",
        "as_published": "100",
        "at": {"concurrency": 64, "input_tok": None},
    }
    wide = {"model": {"weight_dtype": "bf16"}}
    assert bound(output, "compute", wide, accelerator={"compute": compute}).bound.to("tok/s") == 125_000


def test_bits_of_files_are_multiplied_at_a_native_width() -> None:
    """4.45 bits a weight are multiplied as 4 at the best."""
    dense = BASE["accelerators/base-accelerator"]["compute"][0]
    compute = [dense, {**dense, "dtype": "nvfp4", "tflops": {"value": 4000}}]
    output = {
        "metric": "output_tok_s",
        "value": "100",
        "as_published": "100",
        "at": {"concurrency": 64, "input_tok": None},
    }
    files = {"model": {"weight_dtype": "fp8_e4m3", "weights_gb": "4.45", "weights_as_published": "4.45 GB"}}
    assert bound(output, "compute", files, accelerator={"compute": compute}).bound.to("tok/s") == 1_000_000


def test_a_zero_is_no_input() -> None:
    """A model without parameters bounds nothing, and divides nothing."""
    assert "active parameters" in reason(ONE_USER, "bandwidth", model={"active_parameters": {"value": 0}})


def test_disaggregated_pools_count_both() -> None:
    """Dividing by decode accelerators alone would double the share that is reached."""
    pools = {
        "deployment": {"tp": None, "prefill_accelerators": 4, "decode_accelerators": 4},
        "system": {"accelerator_count": 8},
    }
    output = {
        "metric": "output_tok_s",
        "value": "100",
        "as_published": "100",
        "at": {"concurrency": 64, "input_tok": None},
    }
    assert bound(output, "compute", pools).bound.to("tok/s") == 500_000


def test_instances_do_not_speed_up_a_user() -> None:
    """One user is served by one instance."""
    two = {"deployment": {"instances": 2, "tp": 2}}
    assert bound(ONE_USER, "bandwidth", two).bound.to("tok/s") == 448


def test_above_the_bound_is_impossible() -> None:
    """A fifth is left for embeddings, clocks and rounding; the soft bounds block nothing."""
    record = benchmark(
        results=[plain_result(**{**ONE_USER, "value": "1076", "as_published": "1076"})], **FOUR
    )
    each = broken(record, record.results[0], things().get)
    assert each is not None
    assert each.code == "bandwidth"
    near = benchmark(results=[plain_result(**{**ONE_USER, "value": "1075", "as_published": "1075"})], **FOUR)
    assert broken(near, near.results[0], things().get) is None


def test_the_binding_bound_is_the_one_most_used() -> None:
    """Of the hard ones."""
    record = benchmark(results=[plain_result(**{**ONE_USER, "value": "448", "as_published": "448"})], **FOUR)
    most = binding(limits(record, record.results[0], things().get))
    assert most is not None
    assert most.code == "bandwidth"


def test_links_are_held_against_one_direction() -> None:
    """Layers x 2 x hidden x 2 B x 2 (n - 1) / n bytes a token, over one direction of one device's link."""
    model = {"attention": {"layers": {"value": 40}, "hidden_size": {"value": 5120}}}
    link = {
        "bandwidth": [
            {"scope": "per_device", "direction": "per_direction", "measured": False, "gb_s": {"value": 64}}
        ]
    }
    over = {
        "system": {
            "interconnects": [
                {"interconnect": "interconnects/base-interconnect", "basis": "stated", "role": "host_link"}
            ]
        }
    }
    each = bound(
        {**ONE_USER, "value": "100", "as_published": "100"},
        "all_reduce",
        over,
        model=model,
        interconnect=link,
    )
    assert not each.hard
    assert each.measured.to("GB/s") == Decimal(100) * 40 * 2 * 5120 * 2 * 2 * 3 / 4 / 10**9
    assert each.bound.to("GB/s") == 64


def test_the_cache_of_all_users_has_to_fit() -> None:
    """64 users of 2,560 tokens at 131,072 bytes need 21.5 GB of what 4 x 96 GiB less 8 GB leave."""
    model = {"kv_cache": [{"layout": "bf16, grouped-query attention", "bytes_per_tok": {"value": 131072}}]}
    output = {"metric": "output_tok_s", "value": "100", "as_published": "100",
              "at": {"concurrency": 64, "input_tok": 2048, "output_tok": 512}}  # fmt: skip
    each = bound(output, "kv_capacity", {"serving": {"kv_cache_dtype": "bf16"}}, model=model)
    assert each.measured.to("GB") == Decimal(64 * 2560 * 131072) / 10**9
    assert each.bound.to("GB") == Decimal(4 * 96 * 2**30) / 10**9 - 8


def test_other_metrics_have_no_bound() -> None:
    """A latency is bounded by nothing here."""
    assert found({"metric": "ttft_ms", "statistic": "p50"}) == {}


def test_dense_and_sparse_peaks_do_not_mix_in_one_roofline() -> None:
    """A record with a sparse peak twice the dense one is bound by the dense one; with a sparse peak alone by none."""
    cold = {"metric": "prefill_tok_s", "value": "25000", "as_published": "25,000",
            "at": {"concurrency": 1, "input_tok": 8192, "prefix_cache": "cold"}}  # fmt: skip
    dense = BASE["accelerators/base-accelerator"]["compute"][0]
    sparse = {**dense, "sparsity": "sparse", "tflops": {"value": 2 * dense["tflops"]["value"]}}
    both = bound(cold, "compute", accelerator={"compute": [sparse, dense]})
    assert both.bound.to("tok/s") == bound(cold, "compute", accelerator={"compute": [dense]}).bound.to(
        "tok/s"
    )
    assert "no dense peak" in reason(cold, "compute", accelerator={"compute": [sparse]})
