"""llama-bench, as JSON or JSON lines (`-o json`, `-o jsonl`) and as the Markdown table that it prints by default.

There is no server: prompt processing and generation are timed apart, on an emptied cache. `avg_ts` is the mean of
rates, which a slow run hardly lowers: where the times are known, the speed here is tokens / mean time.
"""

import re
from decimal import Decimal
from typing import Any, Final

from kbtool.ingest.draft import Draft
from kbtool.ingest.fault import IngestError
from kbtool.ingest.model import Imported
from kbtool.ingest.reading import Reading, Reasons
from kbtool.schema.benchmark import At

__all__ = ["TITLE", "TOOL", "detect", "detect_table", "read", "read_table"]

TOOL: Final = "llama-bench"
TITLE: Final = "llama-bench"
_KEYS: Final = frozenset({"n_prompt", "n_gen", "avg_ns", "avg_ts", "model_type"})
_NS: Final = Decimal(1_000_000_000)
_LONE: Final = {
    "concurrency": 1,
    "prompt_class": "random_tokens",
    "prefix_cache": "off",
    "measuring_path": "on_host",
}
"""Conditions of every test: one stream, in the program itself, on an emptied cache."""
_DTYPES: Final = {
    "f32": "fp32", "f16": "fp16", "bf16": "bf16", "q8_0": "gguf_q8", "q5_1": "gguf_q5", "q5_0": "gguf_q5", "q4_1": "gguf_q4", "q4_0": "gguf_q4",
}  # fmt: skip
_ARGUMENTS: Final = (
    "n_batch", "n_ubatch", "n_threads", "n_gpu_layers", "n_cpu_moe", "split_mode", "main_gpu", "no_kv_offload",
    "flash_attn", "use_mmap", "load_mode", "tensor_split",
)  # fmt: skip
_UNMAPPED: Final = ("unmapped", "an argument that no field holds; the file keeps it")
_REASONS: Final[Reasons] = {
    "*/model_filename": ("irrelevant", "a path of the machine"),
    "*/gpu_info": ("unmapped", "the accelerator as the tool names it; the record has its own"),
    "*/backends": ("unmapped", "kernel libraries; no field holds them"),
    "*/samples_ns": ("irrelevant", "times of the runs, whose number and mean were used"),
    "*/samples_ts": ("irrelevant", "rates of the runs"),
    "*/stddev_ns": ("irrelevant", "spread of the times; that of the rates is taken"),
    "*/model_size": ("irrelevant", "bytes of the weights, taken from the first test"),
    "*/model_n_params": ("irrelevant", "a fact about the model; its record has it"),
} | {
    f"*/{key}": _UNMAPPED
    for key in (
        "cpu_mask", "cpu_strict", "poll", "devices", "tensor_buft_overrides", "lazy_mode", "embeddings", "no_op_offload",
        "no_host", "repack", "fit_target", "fit_min_ctx", "use_direct_io", "numa", "prio", "delay", "build_number", *_ARGUMENTS,
    )
}  # fmt: skip


def detect(value: Any) -> bool:
    """Return whether this is the JSON of llama-bench."""
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, dict) and first.keys() >= _KEYS


def detect_table(rows: Any) -> bool:
    """Return whether this is the Markdown table of llama-bench."""
    return bool(rows) and rows[0].keys() >= {"model", "test", "t/s"}


def read(value: Any, data: bytes, name: str) -> Imported:
    """Return what the JSON says.

    Raises:
        IngestError: A value has the wrong type.
    """
    reading = Reading(name, value)
    draft = Draft(reading, TOOL, TITLE)
    for index, test in enumerate(value):
        if not isinstance(test, dict) or not test.keys() >= _KEYS:
            raise IngestError(
                name,
                f"[{index}]",
                "an entry of another kind",
                "a test of llama-bench",
                "name the file that the tool wrote",
            )
        _test(draft, index)
    _setup(draft)
    draft.converted("avg_ts", "", "the mean of rates; the speed here is tokens / mean time, from avg_ns")
    return draft.finish(data, _REASONS)


def _setup(draft: Draft) -> None:
    reading = draft.reading
    commit = reading.text(0, "build_commit")
    if commit and commit != "unknown":
        draft.fact("engine.commit", commit, 0, "build_commit")
        build = reading.count(0, "build_number")
        draft.tool_version = f"b{build} ({commit})" if build else commit
    draft.model = reading.text(0, "model_type")
    draft.day = draft.iso_day(reading.text(0, "test_time"))
    draft.fact("system.host_cpu", reading.text(0, "cpu_info"), 0, "cpu_info")
    key, value = (reading.text(0, f"type_{part}") for part in "kv")
    if key is not None and key == value and key in _DTYPES:
        draft.fact("serving.kv_cache_dtype", _DTYPES[key], 0, "type_k")
    elif key or value:
        draft.flagged("type_k", "", f"keys are stored as {key}, values as {value}: no one word says that")
    for name in _ARGUMENTS:
        if (argument := reading.peek(0, name)) not in (None, "") and isinstance(argument, bool | int | str):
            draft.fact(
                f"engine.arguments.{name}",
                argument if isinstance(argument, bool | int) else argument[:100],
                0,
                name,
            )
            reading.use(0, name)
    draft.fact("engine.arguments_basis", "as_launched", 0)
    draft.fact("speculation.method", "none", 0)
    for index in range(len(reading.sequence())):
        for name in (
            *_ARGUMENTS,
            "build_commit",
            "cpu_info",
            "model_type",
            "type_k",
            "type_v",
            "test_time",
            "build_number",
        ):
            if reading.peek(index, name) is not None:
                reading.use(index, name)
        _differs(draft, index)


def _differs(draft: Draft, index: int) -> None:
    """Flag a test with other settings than the first: the record's setup is that of the first."""
    first, this = draft.reading.mapping(0), draft.reading.mapping(index)
    other = sorted(
        name for name in (*_ARGUMENTS, "type_k", "type_v", "model_type") if first.get(name) != this.get(name)
    )
    if other:
        raise IngestError(
            draft.reading.name, f"[{index}]", f"other settings than the first test ({', '.join(other)})", "one setup a file",
            "import the tests of each setup from a file of their own",
        )  # fmt: skip


def _test(draft: Draft, index: int) -> None:
    reading = draft.reading
    prompt, answer, depth = (reading.count(index, key) or 0 for key in ("n_prompt", "n_gen", "n_depth"))
    mean_ns, runs = reading.number(index, "avg_ns"), len(reading.numbers(index, "samples_ns")) or None
    spread = reading.number(index, "stddev_ts")
    mean_of_rates = reading.number(index, "avg_ts")
    tokens = prompt + answer
    if not mean_ns or not tokens:
        draft.refused(f"[{index}]", "no time or no tokens")
        return
    speed = Decimal(f"{tokens * _NS / mean_ns:.6g}")
    notes: tuple[str, ...] = ()
    if mean_of_rates and abs(mean_of_rates - speed) > speed * Decimal("0.02"):
        notes = (f"the tool prints {mean_of_rates:.6g} tok/s, the mean of rates; runs differ a lot",)
    words = {"n_prompt": prompt, "n_gen": answer}
    formula = f"{' + '.join(key for key, count in words.items() if count)} x 1e9 / avg_ns"
    metric, at = _meaning(draft, f"[{index}]", prompt, answer, depth)
    if metric:
        draft.derived(
            metric, "mean", speed, formula=formula, inputs=(f"[{index}].avg_ns", *(f"[{index}].{key}" for key, count in words.items() if count)),
            at=at, repeats=runs, stdev=spread if runs and runs > 1 else None, notes=notes,
        )  # fmt: skip


def _meaning(draft: Draft, place: str, prompt: int, answer: int, depth: int) -> tuple[str, At]:
    """Return the metric of a test, empty where there is none, and its conditions."""
    names = (f"pp{prompt}" if prompt else "", f"tg{answer}" if answer else "")
    word = "+".join(filter(None, names)) + (f" @ d{depth}" if depth else "")
    fields: dict[str, Any] = dict(_LONE) | {"prompt_as_published": word}
    metric = ""
    if prompt and answer and depth:
        reason = "prompt and answer in one time behind a filled cache: no metric says the speed of that"
        draft.refused(f"{place} {word}", reason, "total_tok_s")
    elif prompt and answer:
        metric = "total_tok_s"
        fields |= {"input_tok": prompt, "output_tok": answer}
        draft.converted(
            word, metric, "prompt and answer in one time: input and output tokens of a lone request"
        )
    elif prompt:
        metric = "prefill_tok_s"
        fields |= {"input_tok": prompt} | ({"depth_tok": depth} if depth else {})
        draft.converted(
            word, metric, "ends when the prompt is read: no token is sampled, and no request is sent"
        )
    else:
        metric = "tok_s_per_user"
        fields |= {"output_tok": answer} | (
            {"input_tok": depth} if depth else {"input_nominal": "empty context"}
        )
        draft.converted(
            word, metric, "generation of one stream without a server; tokens are random, and none is sampled"
        )
    return metric, draft.conditions(fields)


_TEST: Final = re.compile(r"(?:pp(?P<pp>\d{1,9}))?\+?(?:tg(?P<tg>\d{1,9}))?(?: *@ *d(?P<depth>\d{1,9}))?")
_SPEED: Final = re.compile(
    r"(?P<mean>\d{1,12}(?:\.\d{1,6})?)(?:\s*(?:\u00b1|\+/-)\s*(?P<spread>\d{1,12}(?:\.\d{1,6})?))?"
)
_TABLE_REASONS: Final[Reasons] = {
    "*": ("unmapped", "a column that no field holds"),
    "*/backend": ("unmapped", "kernel libraries; no field holds them"),
}


def read_table(rows: list[dict[str, str]], data: bytes, name: str) -> Imported:
    """Return what the Markdown table says.

    Raises:
        IngestError: A cell is not what llama-bench prints.
    """
    reading = Reading(name, rows, text_numbers=True)
    draft = Draft(reading, TOOL, TITLE)
    draft.model = reading.text(0, "model")
    for index in range(len(rows)):
        reading.use(index, "model")
        if rows[index].get("model") != rows[0].get("model"):
            raise IngestError(
                name,
                f"row {index + 1}",
                "another model than in row 1",
                "one model a file",
                "import the rows of each model apart",
            )
        _row(draft, index)
    draft.fact("speculation.method", "none", 0)
    draft.flagged(
        "t/s",
        "",
        "the mean of rates, which a slow run hardly lowers; the table has no times to recompute it from",
    )
    if (build := re.search(rb"build: ([0-9a-f]{7,40}) \((\d{1,9})\)", data)) is not None:
        draft.tool_version = f"b{build[2].decode()} ({build[1].decode()})"
        draft.fact("engine.commit", build[1].decode(), "build")
    return draft.finish(data, _TABLE_REASONS)


def _row(draft: Draft, index: int) -> None:
    reading = draft.reading
    test, speed = reading.text(index, "test") or "", reading.text(index, "t/s") or ""
    found, figure = _TEST.fullmatch(test), _SPEED.fullmatch(speed)
    if found is None or not (found["pp"] or found["tg"]):
        raise reading.wrong((index, "test"), test, "a test such as pp512, tg128 or pp512 @ d4096")
    if figure is None:
        raise reading.wrong((index, "t/s"), speed, "a speed such as 1234.56 ± 7.89")
    metric, at = _meaning(draft, f"row {index + 1}", *(int(found[key] or 0) for key in ("pp", "tg", "depth")))
    if metric:
        draft.taken(
            metric,
            "mean",
            Decimal(figure["mean"]),
            f"{figure['mean']} tok/s",
            (index, "t/s"),
            at=at,
            stdev=Decimal(figure["spread"]) if figure["spread"] else None,
        )
