"""Records into plans: what is measured, what is left open, what is refused."""

from decimal import Decimal
from typing import Any

import pytest

from kbtool.errors import KbtoolError, RecordError, UsageError
from kbtool.runner.emit import figures
from kbtool.runner.plan import Plan
from kbtool.runner.plan.cells import cells_of, schedule
from kbtool.runner.plan.check import Known, remarks
from kbtool.runner.plan.workloads import Concurrency, Conversation, Prefill, Rate, SingleStream
from kbtool.runner.reproduce import Reproduction, plan_from, plan_yaml_lines, same_statistics, target_value
from kbtool.runner.reproduce.loads import BELONGS, OURS
from kbtool.runner.target.leg import LegSettings, with_arguments
from kbtool.store.emit import emit
from kbtool.store.yamlio import parse
from tests.runner.reproduce.records import benchmark, corpus, result

URL = "http://127.0.0.1:9000/v1"
WAYS: dict[str, dict[str, Any]] = {"launched": {}, "attached": {"url": "https://far.example:8443/v1"}}


def _at(**at: Any) -> dict[str, Any]:
    return {"at": at}


def _fields(found: Reproduction) -> set[str]:
    return {each.field for each in found.open_points}


def _check(found: Reproduction) -> None:
    """Hold what must be true of every reproduction."""
    text = plan_yaml_lines(found)
    assert Plan.model_validate(parse(emit(text.data).encode())) == found.plan
    assert not [each for each in remarks(found.plan, Known()) if each.severity == "refused"]
    assert schedule(found.plan)
    cells = cells_of(found.plan)
    for aim in found.plan.replicates:
        # The record of a run links the first result whose id begins with the workload's: it must be of one cell.
        assert len([each for each in cells if each.name.startswith(f"{aim.workload}-")]) == 1
    linked = {f"{found.record}#{each.result}" for each in found.covered if each.linked}
    assert linked == {each.target for each in found.plan.replicates}
    for lines in (text.head, *(each.comments for each in text.parts)):
        assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("way", WAYS)
def test_every_record_gives_a_plan_or_a_clear_refusal(way: str) -> None:
    """Each headline, and each record as a whole: nothing is passed over in silence."""
    refusals: list[tuple[str, str]] = []
    for record in corpus().values():
        for wanted in (None, [record.headline, *(each.id for each in record.results)]):
            try:
                found = plan_from(record, results=wanted, **WAYS[way])
            except KbtoolError as error:
                refusals.append((record.id, str(error)))
                continue
            _check(found)
            named = [each.result for each in found.covered] + [name for name, _ in found.refused]
            assert sorted([*named, *found.not_asked]) == sorted(each.id for each in record.results)
            assert all(reason for _, reason in found.refused)
    assert all(name in message and "ask for" in message for name, message in refusals)


def test_most_headlines_of_the_knowledge_base_can_be_measured_again() -> None:
    """A rule that refused them all would pass every other test."""
    covered = 0
    for record in corpus().values():
        try:
            found = plan_from(record)
        except RecordError:
            continue
        covered += record.headline in {each.result for each in found.covered}
    # The rest are shares per accelerator, totals and statistics that a record of a run does not give.
    assert covered >= len(corpus()) * 0.6


def test_linked_metrics_are_those_that_records_of_runs_give() -> None:
    """Each has in the record of a run the statistic that is compared."""
    published = dict(reversed([*figures._CORE, *figures._TAILS]))
    for metric, statistic in OURS.items():
        if metric not in {"power_w", "utilization_ratio"}:
            assert statistic in published[metric]
    assert set(OURS) >= BELONGS


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (result("a", "tok_s_per_user", **_at(concurrency=1, prompt_class="code")), SingleStream),
        (result("a", "output_tok_s", **_at(concurrency=1)), Concurrency),
        (result("a", "total_tok_s", **_at(concurrency=64)), Concurrency),
        (result("a", "prefill_tok_s", **_at(concurrency=1, input_nominal="128K", prefix_cache="cold")), Prefill),
        (result("a", "ttft_ms", **_at(concurrency=1, input_tok=9000, prefix_cache="warm")), Prefill),
        (result("a", "ttft_ms", **_at(concurrency=8, input_tok=9000, prefix_cache="cold")), Concurrency),
        (result("a", "req_s", **_at(request_rate_req_s="2.5")), Rate),
        (
            result("a", "goodput_req_s", **_at(request_rate_req_s=4, slo=[{"metric": "ttft_ms", "limit": 500}])),
            Rate,
        ),
        (result("a", "ttft_ms", **_at(concurrency=4, prompt_class="agent")), Conversation),
        (result("a", "ttft_ms", **_at(concurrency=4, turn=3)), Conversation),
    ],
    ids=[
        "one-user", "output-of-one", "total", "prefill", "warm", "cold-of-many", "rate", "goodput", "agents", "turn",
    ],
)  # fmt: skip
def test_metric_and_conditions_decide_on_the_workload(row: dict[str, Any], kind: type) -> None:
    """Each kind of figure is measured by the load that it is a figure of."""
    found = plan_from(benchmark(row))
    _check(found)
    assert [type(each) for each in found.plan.workloads] == [kind]
    assert [each.metric for each in found.plan.replicates] == [row["metric"]]


def test_a_lone_user_stays_one() -> None:
    """A speed of answers on a cold cache is one of a user, and so is what was timed beside it."""
    at = {"concurrency": 1, "input_tok": 512, "output_tok": 128, "prefix_cache": "cold"}
    rows = [
        result("speed", "tok_s_per_user", statistic="p50", at=at),
        result("first", "ttft_ms", statistic="p50", at=at),
        result("reading", "prefill_tok_s", statistic="mean", at=at),
        result("gap", "step_gap_ms", statistic="p99", at=at),
    ]
    found = plan_from(benchmark(*rows))
    assert [type(each) for each in found.plan.workloads] == [SingleStream]
    assert [each.result for each in found.covered] == ["speed", "first", "reading", "gap"]
    assert "results.statistic" not in _fields(found)


def test_prompts_are_enough_for_a_median() -> None:
    """Three rounds of three give none, and what a link compares would be missing."""
    at = {"concurrency": 1, "input_tok": 8192, "prefix_cache": "cold"}
    (load,) = plan_from(benchmark(result("a", "ttft_ms", statistic="p50", at=at))).plan.workloads
    assert isinstance(load, Prefill)
    assert 3 * load.requests >= 20
    (load,) = plan_from(benchmark(result("a", "ttft_ms", statistic="mean", at=at))).plan.workloads
    assert isinstance(load, Prefill)
    assert load.requests == 3


@pytest.mark.parametrize(
    ("metric", "theirs", "ours"),
    [
        ("output_tok_s", None, ("median", "single")),
        ("output_tok_s", "single", ("median", "single")),
        ("output_tok_s", "max", ()),
        ("ttft_ms", None, ("p50", "mean")),
        ("ttft_ms", "mean", ("mean",)),
        ("ttft_ms", "median", ("p50",)),
        ("prefill_tok_s", "p50", ("p50",)),
        ("prefill_tok_s", "mean", ("mean",)),
        ("step_gap_ms", "p99", ("p99",)),
        ("error_ratio", "single", ("single",)),
        ("kv_capacity_tok", "single", ()),
    ],
)
def test_a_link_compares_one_statistic(metric: str, theirs: Any, ours: tuple[str, ...]) -> None:
    """A mean is held against a mean; what names no statistic, against what records of runs give."""
    assert same_statistics(metric, theirs) == ours


def test_conditions_that_are_given_are_taken_as_they_are() -> None:
    """Nothing that the record states is replaced by a default."""
    at = {
        "concurrency": 12, "input_tok": 777, "output_tok": 333, "prompt_class": "structured", "temperature": "0.6"
    }  # fmt: skip
    load = plan_from(benchmark(result(at=at))).plan.workloads[0]
    assert isinstance(load, Concurrency)
    assert (load.levels, load.input_tok, load.output_tok) == ((12,), 777, 333)
    assert (load.prompt_class, load.temperature) == ("structured", Decimal("0.6"))


def test_conditions_that_are_missing_are_open_points_of_plan_and_link() -> None:
    """Each choice is told with its field, where the plan and where the link is read."""
    found = plan_from(benchmark(result(statistic=None, at={"concurrency": 8})))
    missing = {
        "results.at.input_tok", "results.at.output_tok", "results.at.prompt_class", "results.at.temperature",
        "results.statistic", "results.at.measuring_path", "serving.kv_cache_dtype", "system.driver", "model.revision",
    }  # fmt: skip
    assert missing <= _fields(found)
    told = " ".join(found.plan.replicates[0].open_points)
    assert all(field in told for field in missing)
    assert "system.power_limit_w" not in _fields(found)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (result("a", "kv_capacity_tok", **_at(concurrency=1)), "no load measures it"),
        (result("a", "throughput_ratio", **_at(concurrency=8, baseline="b")), "ratio of two results"),
        (result("a", "instance_share_ratio", **_at(concurrency=8)), "share of each instance"),
        (result("a", "samples_s", **_at(concurrency=8)), "no plan sends samples"),
        (result("a", "system_power_w", **_at(concurrency=8)), "power of accelerators"),
        (result("a", "ttfb_ms", **_at(concurrency=8)), "nothing to compare"),
        (result("a", "ttft_ms", statistic="p95"), "the p95"),
        (result("a", standing="withdrawn", standing_reason="A slip."), "A slip."),
        (result("a", value=None), "no value"),
        (result("a", **_at(prompt_class="prose")), "how many users"),
        (result("a", "prefill_tok_s", **_at(concurrency=1)), "no length"),
        (result("a", "prefill_tok_s", **_at(concurrency=1, input_nominal="long")), "about little else"),
        (result("a", "prefill_tok_s", **_at(concurrency=4, input_tok=8192)), "lone request"),
        (result("a", "ttft_ms", **_at(concurrency=4, input_tok=8192, prefix_cache="warm")), "several users"),
        (result("a", "ttft_ms", **_at(concurrency=1, prefix_cache="contaminated")), "contaminated"),
        (result("a", "goodput_req_s", **_at(concurrency=4)), "no arrival rate"),
        (result("a", "goodput_req_s", **_at(request_rate_req_s=4)), "without its limits"),
        (result("a", **_at(concurrency=4, prompt_class="multimodal")), "text alone"),
        (result("a", "error_ratio", value=0), "no ratio to 0"),
        (result("a", "power_w", **_at(interval="between requests")), "no load of a plan"),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)  # fmt: skip
def test_result_that_no_plan_measures_is_refused_with_the_reason(row: dict[str, Any], why: str) -> None:
    """Asked for alone it is an error, beside others a reason in the list."""
    record = benchmark(result(), row)
    with pytest.raises(RecordError, match=f"a: .*{why}"):
        plan_from(record, results=["a"])
    found = plan_from(record, results=["output-c8", "a"])
    assert [name for name, _ in found.refused] == ["a"]
    assert why in found.refused[0][1]


def test_acceptance_needs_a_server_with_counters() -> None:
    """The counters of vLLM give an acceptance; SGLang tells a mean of its own."""
    row = result("a", "acceptance_ratio", value="0.5", at={"concurrency": 8})
    assert not plan_from(benchmark(result(), row)).refused
    other = benchmark(result(), row, engine={"engine": "engines/sglang"})
    assert plan_from(other).refused[0][0] == "a"


def test_power_belongs_to_the_load_of_the_headline() -> None:
    """It is read beside a load, and the plan says beside which."""
    found = plan_from(
        benchmark(result(), result("watts", "power_w", at={"concurrency": 8, "interval": "the run"}))
    )
    assert {each.workload for each in found.covered} == {found.plan.workloads[0].id}
    assert "results.at" in _fields(found)


def test_headline_brings_what_shares_its_conditions_and_names_the_rest() -> None:
    """One load, all its figures; other loads are for who asks."""
    record = benchmark(
        result(), result("ttft-c8", "ttft_ms"), result("output-c16", at={**result()["at"], "concurrency": 16})
    )
    found = plan_from(record)
    assert [each.result for each in found.covered] == ["output-c8", "ttft-c8"]
    assert found.not_asked == ("output-c16",)
    every = plan_from(record, results=["output-c8", "output-c16"])
    assert len(every.plan.workloads) == 2


def test_layouts_are_not_mixed() -> None:
    """One instance of two, and both behind a router, are two systems."""
    alone = result("one", at={**result()["at"], "instances": 1})
    record = benchmark(result(), alone, deployment={"instances": 2, "tp": 2})
    found = plan_from(record, results=["output-c8", "one"])
    launch = found.plan.target.launch
    assert launch is not None
    assert [each.accelerators for each in launch.instances] == [(0, 1), (2, 3)]
    assert found.plan.target.router is not None
    assert [name for name, _ in found.refused] == ["one"]
    other = plan_from(record, results=["one"]).plan.target
    assert other.router is None
    assert other.launch is not None
    assert len(other.launch.instances) == 1


def test_range_is_compared_by_its_middle_and_says_so() -> None:
    """A record that gives 90 to 110 is held against 100."""
    record = benchmark(result(value=None, low=90, high=110))
    assert "results.value" in _fields(plan_from(record))
    assert target_value(record.results[0]) == 100
    assert target_value(benchmark(result(value=None)).results[0]) is None


def test_unknown_results_and_closed_classes_are_errors() -> None:
    """A slip in an id is told with the ids there are."""
    with pytest.raises(UsageError, match="expected one of output-c8"):
        plan_from(benchmark(), results=["output-c9"])
    with pytest.raises(RecordError, match="choose another record"):
        plan_from(benchmark(comparison_class="mlperf"))


def _launched(found: Reproduction) -> tuple[str, ...]:
    launch = found.plan.target.launch
    assert launch is not None
    return launch.instances[0].arguments


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        ("vllm", ["vllm serve /srv/models/Model-1", "--tensor-parallel-size 4", "--max-model-len 4096", "--max-num-seqs 16"]),
        ("sglang", ["sglang.launch_server --model-path", "--tp-size 4", "--context-length 4096", "--max-running-requests 16"]),
        ("llama-cpp", ["llama-server --model", "--ctx-size 65536", "--parallel 16", "--alias {model_name}"]),
    ],
)  # fmt: skip
def test_settings_become_the_arguments_of_each_engine(engine: str, expected: list[str]) -> None:
    """A skeleton to launch: known settings by argument, the record's own arguments as written."""
    engine_said = {"engine": f"engines/{engine}", "arguments": {"--seed": 7, "--port": 1, "a word": "b"}}
    found = plan_from(benchmark(engine=engine_said))
    line = " ".join(_launched(found))
    assert all(each in line for each in [*expected, "--seed 7", "--port {port}"])
    assert "--port 1" not in line
    assert "engine.arguments.a word" in {each.field for each in found.required}


def test_image_of_the_record_is_launched_in_a_container() -> None:
    """The image by its tag, and the digest to hold against what ran."""
    said = {"engine": "engines/vllm", "image": "maker/engine:1", "image_digest": "sha256:abc"}
    found = plan_from(benchmark(engine=said))
    launch = found.plan.target.launch
    assert launch is not None
    container = launch.instances[0].container
    assert container is not None
    assert (container.image, container.entrypoint) == ("maker/engine:1", "vllm")
    assert "engine.image_digest" in _fields(found)


@pytest.mark.parametrize("name", ["HF_TOKEN", "LD_PRELOAD", "lower"])
def test_variables_that_a_plan_must_not_hold_are_left_to_the_reader(name: str) -> None:
    """What looks like a secret or changes what a program loads stays out, and is listed."""
    said = {"engine": "engines/vllm", "environment": {name: "x", "VLLM_MODE": 1}}
    found = plan_from(benchmark(engine=said))
    launch = found.plan.target.launch
    assert launch is not None
    assert launch.instances[0].environment == {"VLLM_MODE": "1"}
    assert f"engine.environment.{name}" in {each.field for each in found.required}


def test_unknown_engine_is_attached_to_with_its_settings_listed() -> None:
    """How it is started is not guessed: what must be in force stands in the plan."""
    found = plan_from(benchmark(engine={"engine": "engines/ds4", "commit": "84cc882"}))
    _check(found)
    assert found.plan.target.launch is None
    assert found.plan.repeats.sessions == 1
    listed = {each.field for each in found.required}
    assert {"serving.context_tok", "engine.commit", "deployment.tp"} <= listed
    comments = " ".join(line for part in plan_yaml_lines(found).parts for line in part.comments)
    assert all(field in comments for field in listed)


def test_address_is_attached_to_and_another_machine_is_listed() -> None:
    """Whoever gives an address means it; a plan still says that it is another machine."""
    assert plan_from(benchmark(), url=URL).plan.target.allow_hosts == ()
    far = plan_from(benchmark(), url="https://far.example:8443").plan.target
    assert (far.endpoints[0].host, far.allow_hosts) == ("far.example", ("far.example",))


def test_what_the_record_ran_on_is_not_said_of_this_machine() -> None:
    """The new record would repeat it as measured."""
    subject = plan_from(benchmark(), url=URL).plan.subject
    assert (subject.engine_version, subject.power_limit_w, subject.accelerator, subject.checkpoint) == (
        None,
    ) * 4


def _with(name: str, *settings: tuple[str, Any], **changes: Any) -> dict[str, Any]:
    changed = [{"field": field, "value": value} for field, value in settings]
    return {**result(name, **changes), "with": changed}


def test_results_under_one_other_setting_become_a_sweep() -> None:
    """The plan's own settings are the base; what other values show is measured and not linked."""
    field = "serving.max_running_requests"
    record = benchmark(result(), _with("seqs8", (field, 8)), _with("seqs32", (field, 32)))
    found = plan_from(record)
    _check(found)
    (sweep,) = found.plan.sweeps
    assert (sweep.setting, sweep.base, sweep.argument) == (field, 16, "--max-num-seqs")
    assert [each.value for each in sweep.values] == [16, 8, 32]
    assert {each.result: each.linked for each in found.covered} == {
        "output-c8": True, "seqs8": False, "seqs32": False,
    }  # fmt: skip
    alone = plan_from(record, results=["seqs8"])
    assert "--max-num-seqs 8" in " ".join(_launched(alone))
    assert alone.covered[0].linked


def test_settings_that_follow_go_with_the_one_that_leads() -> None:
    """Draft depth, verify rows and captured graphs are one change."""
    row = _with(
        "k7",
        ("speculation.draft_tok", 7),
        ("speculation.verify_rows", 8),
        ("serving.cuda_graph_max_batch", 64),
    )
    record = benchmark(
        result(),
        row,
        speculation={"method": "dspark", "draft_tok": 5, "verify_rows": 6},
        serving={"cuda_graph_max_batch": 48},
    )
    (sweep,) = plan_from(record).plan.sweeps
    arguments = {each.value: each.arguments for each in sweep.values}
    assert arguments[7][-2:] == ("--max-cudagraph-capture-size", "64")
    assert arguments[5][-2:] == ("--max-cudagraph-capture-size", "48")
    assert '"num_speculative_tokens":7' in arguments[7][1]


def test_sweep_by_variable_and_by_power_limit() -> None:
    """A variable that shows in the process, and a limit that a command sets, are swept."""
    record = benchmark(
        result(),
        _with("p2p", ("engine.environment.NCCL_P2P_DISABLE", 1), ("system.peer_to_peer", False)),
        _with("capped", ("system.power_limit_w", 250)),
        engine={"engine": "engines/vllm", "environment": {"NCCL_P2P_DISABLE": 0}},
    )
    by_setting = {each.setting: each for each in plan_from(record).plan.sweeps}
    assert by_setting["engine.environment.NCCL_P2P_DISABLE"].environment == "NCCL_P2P_DISABLE"
    assert by_setting["system.power_limit_w"].command == ("nvidia-smi", "--power-limit={value}")
    attached = plan_from(record, url=URL)
    assert [each.setting for each in attached.plan.sweeps] == ["system.power_limit_w"]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ([("speculation.method", "none")], "no argument is known"),
        ([("serving.prefill_backend", "x")], "does not say what it was otherwise"),
        ([("engine.commit", "abc"), ("engine.build", "b")], "several settings"),
        ([("engine.environment.MODE", "b")], "nothing shows afterwards"),
    ],
    ids=["off", "no-base", "build", "unseen"],
)
def test_settings_that_no_sweep_brings_about_are_refused(settings: list[tuple[str, Any]], why: str) -> None:
    """Each with its reason and the way out: a plan of its own."""
    record = benchmark(
        result(),
        _with("other", *settings),
        speculation={"method": "dspark", "draft_tok": 5},
        engine={"engine": "engines/vllm", "commit": "def", "build": "a", "environment": {"MODE": "a"}},
    )
    ((name, reason),) = plan_from(record).refused
    assert name == "other"
    assert why in reason
    assert "plan of its own" in reason
    _check(plan_from(record, results=["other"]))


def test_swept_arguments_replace_those_of_the_launch() -> None:
    """A swept argument stands once in the skeleton, so that a leg can replace it."""
    found = plan_from(benchmark(result(), _with("seqs8", ("serving.max_running_requests", 8))))
    changed = with_arguments(_launched(found), LegSettings(arguments={"--max-num-seqs": "8"}))
    assert changed[changed.index("--max-num-seqs") + 1] == "8"
    assert len(changed) == len(_launched(found))


def test_text_of_a_plan_explains_itself() -> None:
    """Head and parts name the record, what is open, what was refused and what each load is for."""
    found = plan_from(
        benchmark(result(at={"concurrency": 8}), result("kv", "kv_capacity_tok", at={"concurrency": 8}))
    )
    text = plan_yaml_lines(found)
    head = " ".join(text.head)
    assert "benchmarks/demo" in head
    assert "- kv: " in head
    assert "results.at.output_tok" in head
    assert [each.key for each in text.parts][:5] == ["plan_version", "id", "title", "subject", "target"]
    comments = {each.key: " ".join(each.comments) for each in text.parts}
    assert "output-c8" in comments["workloads"]
    assert "read them before you run" in comments["target"]
    assert "the record has accelerators/a" in comments["subject"]
