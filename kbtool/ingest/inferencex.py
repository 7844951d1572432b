"""InferenceX aggregates (`agg_*.json`): one measured point a file or entry, made of a `benchmark_serving` result.

Times are seconds. Throughputs are per GPU with denominators that differ: `tput_per_gpu` counts input and output tokens
over all GPUs, `output_tput_per_gpu` divides by the decode GPUs alone where prefill runs elsewhere.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final

from kbtool.ingest.draft import fit, plain_digits
from kbtool.ingest.inferencex_points import ROUTERS, STATISTICS, TIMES, Point, points_of
from kbtool.ingest.plain import validated
from kbtool.ingest.published import (
    Catalogue,
    Drafts,
    File,
    Origin,
    Refused,
    RowRefusedError,
    complete,
    line,
    slug,
)
from kbtool.ingest.reading import path_text
from kbtool.schema import Benchmark, Source

__all__ = ["ID", "TITLE", "drafts", "wanted"]

ID: Final = "inferencex"
TITLE: Final = "InferenceX"
_REPOSITORY: Final = "https://github.com/SemiAnalysisAI/InferenceX"
_MOST_POINTS: Final = 120
_MS: Final = 3
_ITL: Final = "One sample an event of the stream: chunks are counted, of which each can hold several tokens."
_DTYPES: Final = frozenset({"fp4", "fp8", "bf16", "int4", "int8"})


def wanted(path: str) -> bool:
    """Return whether a file of a folder is an aggregate."""
    return re.search(r"(?:^|/)agg_[^/]*\.json$", path) is not None


def drafts(files: Sequence[File], catalogue: Catalogue, origin: Origin) -> Drafts:
    """Return drafts of aggregates: one record for each setup, one set of results for each point.

    Raises:
        IngestError: A file is no aggregate, or holds what none holds.
    """
    points = [point for file in files for point in points_of(file)]
    groups: dict[tuple[Any, ...], list[Point]] = {}
    refused: list[Refused] = []
    for point in points:
        try:
            groups.setdefault(point.setup(catalogue), []).append(point)
        except RowRefusedError as reason:
            refused.append(Refused(point.name, str(reason)))
    source = _source(files, origin)
    benchmarks, taken = [], 0
    for group in groups.values():
        try:
            benchmarks.append(_benchmark(group, catalogue, source, origin))
            taken += len(group)
        except RowRefusedError as reason:
            refused += [Refused(each.name, str(reason)) for each in group]
    left = {each.place: each for point in points for each in point.left_out()}
    return Drafts(
        tuple(sorted(benchmarks, key=lambda each: each.id)), (source,) if benchmarks else (), len(points), taken,
        tuple(refused), tuple(left.values()),
    )  # fmt: skip


def _benchmark(group: Sequence[Point], catalogue: Catalogue, source: Source, origin: Origin) -> Benchmark:
    first = group[0]
    if len(group) > _MOST_POINTS:
        raise RowRefusedError(f"{len(group)} points of one setup: more than a record holds")
    device, engine, model, *_ = first.setup(catalogue)
    ref = f"sources/{source.id}"
    framework = first.text("framework")
    router = next(name for prefix, name in ROUTERS if framework.startswith(prefix))
    precision = first.text("precision")
    speculation = first.text("spec_decoding")
    results = [each for point in group for each in _results(point, ref)]
    names = [each["id"] for each in results]
    if len(set(names)) < len(names):
        raise RowRefusedError("one point twice in a setup")
    key = sha256("|".join(map(str, first.setup(catalogue))).encode()).hexdigest()[:8]
    data: dict[str, Any] = {
        "schema_version": 1,
        "id": slug(f"inferencex {model} {device} {framework} {precision} {key}"),
        "title": f"InferenceX: {model} on {first.gpus} x {line(first.text('hw'))}, {line(framework)}, {line(precision)}"[:200],
        "status": "draft",
        "updated": origin.accessed,
        "sources": [{"source": ref, "role": "primary", "group": source.group}],
        "measured": {"by": "third_party", "tool": "benchmark_serving of InferenceX"},
        "reproducible": {},
        "system": {
            "accelerator": f"accelerators/{device}", "accelerator_as_published": line(first.text("hw")),
            "accelerator_count": first.gpus,
        },
        "engine": {"engine": f"engines/{engine}", "image": line(first.text("image")) if first.text("image") else None},
        "deployment": _deployment(first) | ({"router": {"name": router}} if router else {}),
        "model": {
            "model": f"models/{model}", "as_published": line(first.text("model")),
            "weight_dtype": precision if precision in _DTYPES else None, "quantization_as_published": line(precision),
        },
        "serving": {},
        "speculation": {
            "method": speculation if speculation in ("none", "mtp", "eagle", "eagle3") else "other" if speculation else None,
            "as_published": line(speculation) if speculation else None,
        },
        "headline": names[0],
        "results": results,
        "tags": ["inferencex"],
    }  # fmt: skip
    return complete(data, ref, first.name)


def _deployment(point: Point) -> dict[str, Any]:
    """Return the layout: of one group of ranks, or the GPUs of each side where prefill runs apart."""
    if point.flag("is_multinode"):
        sides = [
            f"{side} {point.count(f'{side}_num_workers')} x TP{point.count(f'{side}_tp')} EP{point.count(f'{side}_ep')}"
            f"{' DP attention' if point.flag(f'{side}_dp_attention') else ''}"
            for side in ("prefill", "decode")
        ]
        return {
            "prefill_accelerators": point.count("num_prefill_gpu") or None,
            "decode_accelerators": point.count("num_decode_gpu") or None,
            "layout_as_published": ", ".join(sides),
        }
    tp, dcp = max(1, point.count("tp")), point.count("dcp_size")
    return {
        "tp": tp,
        "pp": max(1, point.count("pp")),
        "ep": point.count("ep") or None,
        "attn_dp": tp if point.flag("dp_attention") else None,
        "dcp": dcp if dcp > 1 else None,
    }


def _results(point: Point, source: str) -> Iterator[dict[str, Any]]:
    at = {
        "concurrency": point.count("conc"),
        "input_nominal": str(point.count("isl")),
        "prompt_class": "random_tokens",
        "prompt_as_published": f"random tokens, {point.count('isl')} in and {point.count('osl')} out",
    }
    if point.apart:
        at["accelerators"] = (
            point.gpus
        )  # both pools: what a share is of has to be said where one alone may be meant
    mark = f"c{point.count('conc')}-in{point.count('isl')}-out{point.count('osl')}"
    for each in (*_throughputs(point), *_times(point)):
        name = "-".join(part for part in (slug(each["metric"]), each.get("statistic"), mark) if part)
        place = f"{point.file.name}{path_text(point.at)}".rpartition("/")[2]
        key = each.pop("key")
        yield {"id": name, "at": at, "evidence": [{"source": source, "locator": f"{place}, {key}"}]} | each


def _throughputs(point: Point) -> Iterator[dict[str, Any]]:
    """Yield throughputs per accelerator, over prefill and decode GPUs both, and those of the system."""
    total, output = point.number("tput_per_gpu"), point.number("output_tput_per_gpu")
    if total is not None and total > 0:
        yield _stated(
            "total_tok_s_per_accelerator", total, "tput_per_gpu", "Input and output tokens, over all GPUs."
        )
    if output is None or output <= 0:
        return
    gpus, decode = point.gpus, point.count("num_decode_gpu")
    denominator = decode if point.apart else gpus
    if denominator == gpus:
        yield _stated("tok_s_per_accelerator", output, "output_tput_per_gpu", None)
    else:
        yield _derived(
            "tok_s_per_accelerator", output * denominator / gpus, "output_tput_per_gpu x decode GPUs / all GPUs",
            ("output_tput_per_gpu", "num_decode_gpu", "num_prefill_gpu"),
            f"The file prints {plain_digits(output)} tok/s per decode GPU; its {gpus - decode} prefill GPUs serve too.",
        )  # fmt: skip
    yield _derived(
        "output_tok_s", output * denominator, "output_tput_per_gpu x the GPUs that it was divided by",
        ("output_tput_per_gpu", "num_decode_gpu" if point.apart else "system.accelerator_count"), None,
    )  # fmt: skip


def _times(point: Point) -> Iterator[dict[str, Any]]:
    for key in point.names():
        prefix, _, word = key.partition("_")
        statistic, metric = STATISTICS.get(prefix), TIMES.get(word)
        seconds = point.number(key) if statistic and metric else None
        if metric is None or seconds is None or seconds <= 0:
            continue
        found = fit(seconds.scaleb(_MS))
        if found is None or not found:
            continue
        exact = found == seconds.scaleb(_MS)
        made = {
            "key": key, "metric": metric, "statistic": statistic, "value": found, "as_published": f"{plain_digits(seconds)} s",
            "note": _ITL if metric == "icl_ms" else None,
        }  # fmt: skip
        yield (
            made
            if exact
            else made
            | _basis("the figure of the file in ms, rounded to the digits that a record holds", (key,))
        )
    median = point.number("median_intvty")
    if median is not None and median > 0:
        yield _stated("tok_s_per_user", median, "median_intvty", "1000 / median TPOT in ms.") | {
            "statistic": "p50"
        }


def _stated(metric: str, value: Decimal, key: str, note: str | None) -> dict[str, Any]:
    found = _held(value)
    made = {
        "key": key,
        "metric": metric,
        "value": found,
        "as_published": f"{plain_digits(value)} tok/s",
        "note": note,
    }
    return (
        made
        if found == value
        else made | _basis("the figure of the file, rounded to the digits that a record holds", (key,))
    )


def _derived(
    metric: str, value: Decimal, formula: str, inputs: Sequence[str], note: str | None
) -> dict[str, Any]:
    found = _held(Decimal(f"{value:.8g}"))
    return {
        "key": inputs[0], "metric": metric, "value": found, "as_published": f"{plain_digits(found)} tok/s", "note": note,
    } | _basis(formula, inputs)  # fmt: skip


def _basis(formula: str, inputs: Sequence[str]) -> dict[str, Any]:
    return {"basis": "derived", "derivation": {"formula": formula, "inputs": list(inputs)}}


def _held(value: Decimal) -> Decimal:
    found = fit(value)
    if found is None or found <= 0:
        raise RowRefusedError(f"figure {value:.6g}: more than a record holds, or less")
    return found


def _source(files: Sequence[File], origin: Origin) -> Source:
    digest = sha256(b"".join(each.data for each in files)).hexdigest()
    source_id = f"inferencex-{digest[:10]}"
    where = f"{len(files)} files agg_*.json" if len(files) > 1 else files[0].name.rpartition("/")[2]
    data = {
        "schema_version": 1,
        "id": source_id,
        "title": f"InferenceX aggregated results, {line(where)}"[:200],
        "status": "draft",
        "source_kind": "result_database",
        "url": origin.url,
        "publisher": "SemiAnalysis",
        "interest": "none_stated",
        **origin.reading(),
        "read_via": None if origin.url else f"the files themselves: {line(where)}",
        "content_sha256": digest,
        "repository": _REPOSITORY,
        "commit": origin.commit,
        "path": origin.path,
        "group": source_id,
    }
    return validated(Source, data, files[0].name)
