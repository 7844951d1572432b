"""TensorRT-LLM's performance overview: pages of tables, one figure for each pair of input and output length.

Older pages print the output throughput of the whole configuration, newer ones that of one GPU, in tables that look
alike. Which of the two a page prints stands in sentences of it; a page without one is refused, and so is a page whose
sentences contradict each other: for a time the tables were those per GPU below a sentence that still said the total.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from math import prod
from typing import Any, Final

from kbtool.ingest.document import parse_document
from kbtool.ingest.fault import IngestError, shown
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
from kbtool.ingest.tensorrt_llm_runs import Options, Runs, runs_of
from kbtool.schema import Benchmark, Source

__all__ = ["ID", "TITLE", "drafts", "wanted"]

ID: Final = "tensorrt-llm"
TITLE: Final = "TensorRT-LLM performance overview"
_REPOSITORY: Final = "https://github.com/NVIDIA/TensorRT-LLM"
_MOST_BYTES: Final = 4 * 1024 * 1024
_SENTENCE: Final = re.compile(
    r"(?:reported metric is|values are measured in|\bunit:|\bbased on)\s*[`*]*([^`*\n]{1,80})", re.IGNORECASE
)
_SCOPES: Final = (
    (
        re.compile(r"throughput per gpu|output tokens/s/gpu|output tokens per second per gpu", re.IGNORECASE),
        "tok_s_per_accelerator",
    ),
    (re.compile(r"total output throughput|output tokens/s \(total\)", re.IGNORECASE), "output_tok_s"),
)
"""What a page calls its metric -> ours."""
_HEADING: Final = re.compile(r"#{1,6}\s+(.+?)\s*")
_LENGTHS: Final = re.compile(r"(\d{1,7})\s*/\s*(\d{1,7})")
_COLUMN: Final = re.compile(
    r"(?P<device>.+?)\s*<br\s*/?>\s*(?P<layout>[A-Z]+\d+(?:,\s*[A-Z]+\d+)*)\s*\((?P<type>[A-Z]+\d+)\)"
)
_LAYOUT: Final = re.compile(r"(DEP|TEP|TP|PP|EP)(\d{1,4})")
_GPU_COUNT: Final = re.compile(r"[0-9]{1,4}")
_DIGITS: Final = 14
_GPUS: Final = re.compile(r"(\d{1,4}) GPUs?")
_RTX: Final = "RTX 6000 Pro Blackwell Server Edition"
_DEVICES: Final[Mapping[str, tuple[str, str]]] = {
    "H100": ("nvidia-h100-sxm", "the page's list of hardware says SXM, 80 GB"),
    "H200": ("nvidia-h200-sxm", "the page's list of hardware says SXM, 141 GB"),
    "B200": ("nvidia-b200-sxm", "the page's list of hardware says DGX B200, 180 GB"),
    "GB200": ("nvidia-gb200-nvl72", "the page's list of hardware says GB200 NVL72"),
    _RTX: ("nvidia-rtx-pro-6000-blackwell-server", "the same card by another order of words"),
    "RTX-PRO-6000-SE": ("nvidia-rtx-pro-6000-blackwell-server", "the same card, shortened"),
}
_MODELS: Final[Mapping[str, str]] = {
    "deepseek-r1-0528": "deepseek-r1", "gpt-oss-120b": "gpt-oss-120b", "gpt-oss-20b": "gpt-oss-20b",
    "llama-3-3-70b": "llama-3-3-70b", "llama-v3-3-70b": "llama-3-3-70b", "llama-3-1-405b": "llama-3-1-405b",
    "llama-3-1-8b": "llama-3-1-8b", "llama-4-maverick": "llama-4-maverick", "llama-v4-maverick": "llama-4-maverick",
    "llama-4-scout": "llama-4-scout", "qwen3-235b-a22b": "qwen3-235b-a22b", "qwen3-30b-a3b": "qwen3-30b-a3b",
}  # fmt: skip
_STORED_AS_FP4: Final = frozenset({"gpt-oss-120b", "gpt-oss-20b"})
"""Models whose published checkpoint is FP4: a column that says FP8 of them need not mean another file."""
_NOT_THE_CHECKPOINTS: Final = "The column says {}, which may be that of the arithmetic: the page lists no checkpoint of this model, and the published one is FP4."
_HOPPER: Final = ("nvidia-h100", "nvidia-h200")


@dataclass(frozen=True, slots=True)
class _Cell:
    """One figure of a page."""

    model: str
    device: str
    gpus: int | None
    """GPUs as the column's head counts them, where it does."""
    layout: str
    dtype: str
    isl: int
    osl: int
    printed: str
    metric: str
    locator: str

    @property
    def setup(self) -> tuple[Any, ...]:
        """What cells of one record share."""
        return (self.model, self.device, self.gpus, self.layout, self.dtype, self.metric)


def wanted(path: str) -> bool:
    """Return whether a file is such a page."""
    return re.search(r"(?:^|/)perf-overview\.md$", path) is not None


def drafts(files: Sequence[File], catalogue: Catalogue, origin: Origin) -> Drafts:
    """Return drafts of one page: a record for each model, device, layout and data type.

    Raises:
        IngestError: It is no such page, or does not say what its figures count; or there is more than one.
    """
    if len(files) != 1:
        raise IngestError(
            TITLE, "", f"{len(files)} files", "one page", "import pages one by one, each with its commit"
        )
    (file,) = files
    cells = list(_cells(file))
    if not cells:
        raise IngestError(
            file.name, "", "no table of figures", "tables by sequence length", "give perf-overview.md"
        )
    if origin.commit is None:
        raise IngestError(
            file.name, "", "no commit", "the commit of the page", "give the commit that was read"
        )
    source = _source(file, origin)
    runs = runs_of(file.data.decode("utf-8", "replace"))
    groups: dict[tuple[Any, ...], list[_Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.setup, []).append(cell)
    benchmarks, refused, taken = [], [], 0
    for group in groups.values():
        try:
            benchmarks.append(_benchmark(group, catalogue, source, origin, runs))
            taken += len(group)
        except RowRefusedError as reason:
            refused += [Refused(each.locator, str(reason)) for each in group]
    return Drafts(tuple(benchmarks), (source,) if benchmarks else (), len(cells), taken, tuple(refused))


def _cells(file: File) -> Iterator[_Cell]:
    if len(file.data) > _MOST_BYTES:
        raise IngestError(
            file.name, "", f"{len(file.data):,} bytes", f"at most {_MOST_BYTES:,}", "give the page alone"
        )
    if re.match(rb"model,gpu,parallelism,", file.data):
        yield from _table_cells(file)
        return
    text = file.data.decode("utf-8", "replace")
    metric = _metric(file.name, _SENTENCE.findall(text))
    heading, above = "", ""
    columns: list[str] = []
    for number, row in enumerate(text.splitlines(), 1):
        head = _HEADING.fullmatch(row)
        if head:
            heading, above, columns = head[1], "", []
        elif not row.startswith("|"):
            above, columns = (row.strip() or above), []
        elif "Sequence Length (ISL/OSL)" in row:
            columns = [each.strip() for each in row.strip().strip("|").split("|")][1:]
        elif columns:
            yield from _row_cells(row, number, columns, (heading, above), metric)


def _metric(name: str, said: Sequence[str]) -> str:
    found = {metric for text in said for pattern, metric in _SCOPES if pattern.search(text)}
    if len(found) != 1:
        what = "two metrics" if found else "no word on what the figures count"
        raise IngestError(
            name, "", what, "`Total Output Throughput` or `Output Throughput per GPU`",
            "read the page, and import a version that says it",
        )  # fmt: skip
    return found.pop()


def _row_cells(
    row: str, number: int, columns: Sequence[str], headed: tuple[str, str], metric: str
) -> Iterator[_Cell]:
    first, *values = (each.strip() for each in row.strip().strip("|").split("|"))
    lengths = _LENGTHS.fullmatch(first)
    if lengths is None:
        return
    heading, above = headed
    model, _, device = heading.partition(" - ")
    for column, printed in zip(columns, values, strict=False):
        match = _COLUMN.fullmatch(column.replace("**", "").strip())
        if not printed or match is None:
            continue
        gpus = _GPUS.fullmatch(match["device"])
        named = (device or above) if gpus else match["device"]
        yield _Cell(
            model, named, int(gpus[1]) if gpus else None, match["layout"].replace(" ", ""), match["type"],
            int(lengths[1]), int(lengths[2]), printed, metric, f"line {number}, {heading}, {first}, {column.replace('**', '')}",
        )  # fmt: skip


_COLUMNS: Final = ("model", "gpu", "parallelism", "precision", "isl", "osl", "value", "unit")


def _table_cells(file: File) -> Iterator[_Cell]:
    """Yield the cells of a table that was typed from a page, which names its unit in each row."""
    for number, row in enumerate(parse_document(file.data, file.name).value, 2):
        absent = [each for each in _COLUMNS if not row.get(each)]
        if absent or not (
            row["isl"].isdigit() and row["osl"].isdigit() and len(row["isl"] + row["osl"]) <= _DIGITS
        ):
            raise IngestError(
                file.name, f"line {number}", f"no {', '.join(absent) or 'lengths'}", "a row of the page", "complete the row"
            )  # fmt: skip
        count = row.get("gpu_count_from_parallelism", "")
        yield _Cell(
            row["model"], row["gpu"], int(count) if _GPU_COUNT.fullmatch(count) else None, row["parallelism"].replace(" ", ""),
            row["precision"], int(row["isl"]), int(row["osl"]), row["value"], _metric(file.name, [row["unit"]]),
            f"{row['model']}, {row['gpu']}, {row['parallelism']}, {row['isl']}/{row['osl']}",
        )  # fmt: skip


def _benchmark(
    group: Sequence[_Cell], catalogue: Catalogue, source: Source, origin: Origin, runs: Runs
) -> Benchmark:
    first = group[0]
    device, model = _things(first, catalogue)
    deployment, count = _deployment(first)
    ref = f"sources/{source.id}"
    results = [_result(each, ref, runs) for each in group]
    names = [each["id"] for each in results]
    if len(set(names)) < len(names):
        raise RowRefusedError("one pair of lengths twice in a column")
    options = runs.options(model)
    arguments = {"--backend": "pytorch"} | dict(options.values) if options else {}
    serving = _serving(options, device)
    checkpoint = runs.checkpoint(first.dtype, [key for key, known in _MODELS.items() if known == model])
    unsure = _unsure_dtype(first.dtype, model, checkpoint)
    data: dict[str, Any] = {
        "schema_version": 1,
        "id": slug(f"trtllm {(origin.commit or '')[:7]} {model} {first.device} {first.layout} {first.dtype}"),
        "title": f"TensorRT-LLM overview {(origin.commit or '')[:7]}: {line(first.model)}, {count} x {line(first.device)}, {first.layout}, {first.dtype}"[:200],
        "status": "draft",
        "updated": origin.accessed,
        "sources": [{"source": ref, "role": "primary", "group": source.group}],
        "measured": {"by": "vendor", "tool": "trtllm-bench", "method": "Requests queued without delay by a client on the same host."},
        "reproducible": {},
        "system": {"accelerator": f"accelerators/{device}", "accelerator_as_published": line(first.device), "accelerator_count": count},
        "engine": {
            "engine": f"engines/{ID}", "build": "PyTorch backend", "arguments": arguments,
            "arguments_basis": "as_launched" if options else "unstated",
        },
        "deployment": deployment,
        "model": {
            "model": f"models/{model}", "as_published": line(first.model), "quantization_as_published": first.dtype,
            "checkpoint": line(checkpoint) if checkpoint else None, "weight_dtype": None if unsure else _weight_dtype(first.dtype, checkpoint),
        },
        "serving": serving,
        "speculation": {},
        "headline": names[0],
        "results": results,
        "tags": ["tensorrt-llm-overview"],
    }  # fmt: skip
    data["setup_evidence"] = list(_setup_evidence(ref, first, checkpoint, options, serving))
    return complete(data, ref, first.locator, {"model.weight_dtype": unsure} if unsure else {})


def _things(cell: _Cell, catalogue: Catalogue) -> tuple[str, str]:
    """Return the records of accelerator and model.

    Raises:
        RowRefusedError: One is not in the tables of names, or has no record.
    """
    device, _ = _DEVICES.get(cell.device, ("", ""))
    model = _MODELS.get(slug(cell.model))
    if not device or model is None:
        what, name = ("model", cell.model) if device else ("device", cell.device)
        raise RowRefusedError(f"{what} {shown(name)} is not in the table of names")
    for folder, record, known in (
        ("accelerators", device, catalogue.accelerators), ("models", model, catalogue.models), ("engines", ID, catalogue.engines),
    ):  # fmt: skip
        if record not in known:
            raise RowRefusedError(f"no record {folder}/{record}")
    return device, model


def _weight_dtype(dtype: str, checkpoint: str | None) -> str:
    """Return the data type of the weights: the column's, or the exact one that the checkpoint's name has."""
    exact = "NV" + dtype
    return exact.lower() if checkpoint and exact == "NVFP4" and exact in checkpoint else dtype.lower()


def _unsure_dtype(dtype: str, model: str, checkpoint: str | None) -> str | None:
    """Return why a column's data type is not taken for that of the weights; None where it is."""
    if model not in _STORED_AS_FP4 or dtype == "FP4" or checkpoint:
        return None
    return _NOT_THE_CHECKPOINTS.format(dtype)


def _serving(options: Options | None, device: str) -> dict[str, Any]:
    """Return the settings that the page's options name and a record has fields for."""
    if options is None:
        return {}
    hopper = device.startswith(_HOPPER)
    cache = options.value("kv_cache_config.dtype", hopper=hopper)
    return {
        "kv_cache_dtype": cache if cache in ("fp8", "bf16") else None,
        "moe_backend": options.value("moe_config.backend", hopper=hopper),
        "cuda_graph_decode": True
        if any(each.startswith("cuda_graph_config.") for each in options.values)
        else None,
    }


def _setup_evidence(
    source: str, cell: _Cell, checkpoint: str | None, options: Options | None, serving: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield where the setup stands: the column's head, the list of checkpoints, and the options of the model's runs."""
    column = cell.locator.partition(", ")[2]
    yield {
        "fields": [
            "system.accelerator_count",
            "deployment.layout_as_published",
            "model.quantization_as_published",
        ],
        "evidence": {"source": source, "locator": line(f"head of the column, {column}")},
    }
    if checkpoint is not None:
        place = f"section '{cell.dtype} Models', {checkpoint}"
        yield {"fields": ["model.checkpoint"], "evidence": {"source": source, "locator": line(place)}}
    if options is not None:
        given = [f"serving.{name}" for name, value in serving.items() if value is not None]
        yield {
            "fields": ["engine.arguments", *given],
            "evidence": {
                "source": source,
                "locator": line(f"section 'Running the Benchmark', {options.label}"),
            },
        }


def _deployment(cell: _Cell) -> tuple[dict[str, Any], int]:
    """Return the layout and how many GPUs it takes; DEP is attention data parallelism over expert parallelism.

    Raises:
        RowRefusedError: It is no layout that is known, or the head of the column counts otherwise.
    """
    parts = [(name, int(size)) for name, size in _LAYOUT.findall(cell.layout)]
    if ",".join(f"{name}{size}" for name, size in parts) != cell.layout:
        raise RowRefusedError(f"layout {shown(cell.layout)} is none that is known")
    fields: dict[str, Any] = {"layout_as_published": cell.layout}
    for name, size in parts:
        if name in ("DEP", "TEP"):
            fields |= {"tp": size, "ep": size} | ({"attn_dp": size} if name == "DEP" else {})
        else:
            fields[name.lower()] = size
    count = prod(fields.get(name, 1) for name in ("tp", "pp"))
    if cell.gpus is not None and cell.gpus != count:
        raise RowRefusedError(f"{cell.gpus} GPUs in the column's head, but {cell.layout} takes {count}")
    return fields, count


def _result(cell: _Cell, source: str, runs: Runs) -> dict[str, Any]:
    digits = cell.printed.replace(",", "")
    if not re.fullmatch(r"\d{1,9}(?:\.\d{1,3})?", digits) or not Decimal(digits):
        raise RowRefusedError(f"figure {shown(cell.printed)} is no throughput")
    unit = "tokens/s/GPU" if cell.metric == "tok_s_per_accelerator" else "tokens/s"
    return {
        "id": f"in{cell.isl}-out{cell.osl}",
        "metric": cell.metric,
        "value": Decimal(digits),
        "as_published": f"{cell.printed} {unit}",
        "samples": runs.requests.get((cell.isl, cell.osl)),
        "at": {
            "input_tok": cell.isl,
            "output_tok": cell.osl,
            "prompt_class": "random_tokens",
            "measuring_path": "on_host",
        },
        "evidence": [{"source": source, "locator": line(cell.locator)}],
    }


def _source(file: File, origin: Origin) -> Source:
    path = origin.path or "docs/source/developer-guide/perf-overview.md"
    source_id = f"tensorrt-llm-overview-{(origin.commit or '')[:7]}"
    data = {
        "schema_version": 1,
        "id": source_id,
        "title": f"TensorRT-LLM performance overview at {(origin.commit or '')[:7]}",
        "status": "draft",
        "source_kind": "repository_file",
        "url": f"{_REPOSITORY}/blob/{origin.commit}/{path}?plain=1",
        "publisher": "NVIDIA",
        "interest": "vendor",
        **origin.reading(),
        "content_sha256": sha256(file.data).hexdigest() if file.name.endswith(".md") else None,
        "repository": _REPOSITORY,
        "commit": origin.commit,
        "path": path,
        "group": source_id,
    }
    return validated(Source, data, file.name)
