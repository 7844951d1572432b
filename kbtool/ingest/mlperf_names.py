"""Which record an MLPerf row is about: tables of names with the reason for each, and a refusal for every other name.

A row that names two kinds of accelerator, no engine, or changed weights belongs to no record, and says so.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from kbtool.ingest.mlperf_files import SystemFile
from kbtool.ingest.mlperf_rows import Row
from kbtool.ingest.published import Catalogue, RowRefusedError

__all__ = ["Device", "EngineFound", "ModelFound", "benchmark_of", "device_of", "engine_of", "model_of"]


@dataclass(frozen=True, slots=True)
class _Name:
    """One accelerator as submitters write it."""

    pattern: re.Pattern[str]
    ids: tuple[str, ...]
    """Ids of the record, the first that exists."""
    reason: str
    gpus: int = 1
    """Devices to software in what the table counts as one."""
    inferred: bool = False
    """Whether the name leaves the edition out, and it is told from the machine around it."""


def _name(pattern: str, ids: Sequence[str], reason: str, gpus: int = 1, *, inferred: bool = False) -> _Name:
    return _Name(re.compile(pattern, re.IGNORECASE), tuple(ids), reason, gpus, inferred)


_SAME: Final = "the name states form and memory"
_ONE_EDITION: Final = "sold in one edition"
_ACCELERATORS: Final = (
    _name(r"NVIDIA H100-SXM-80GB", ["nvidia-h100-sxm"], _SAME),
    _name(r"NVIDIA H100-PCIe-80GB", ["nvidia-h100-pcie"], _SAME),
    _name(r"NVIDIA H100-NVL-94GB", ["nvidia-h100-nvl"], _SAME),
    _name(r"NVIDIA H200-SXM-141GB", ["nvidia-h200-sxm", "nvidia-h200"], _SAME),
    _name(
        r"Virtualized NVIDIA H200-SXM-141GB",
        ["nvidia-h200-sxm", "nvidia-h200"],
        "the same module, given to a virtual machine",
    ),
    _name(r"NVIDIA H200-NVL-141GB", ["nvidia-h200-nvl"], _SAME),
    _name(r"NVIDIA B200-SXM-180GB", ["nvidia-b200-sxm", "nvidia-b200"], _SAME),
    _name(r"NVIDIA B300-SXM-270GB", ["nvidia-b300-sxm", "nvidia-b300"], _ONE_EDITION),
    _name(
        r"NVIDIA GB200",
        ["nvidia-gb200-nvl72", "nvidia-gb200"],
        "one GPU of the superchip: four a node, 72 a rack",
    ),
    _name(
        r"NVIDIA GB300",
        ["nvidia-gb300-nvl72", "nvidia-gb300"],
        "one GPU of the superchip: four a node, 72 a rack",
    ),
    _name(r"NVIDIA GH200 Grace Hopper Superchip 144GB", ["nvidia-gh200-144gb"], _SAME),
    _name(r"NVIDIA GH200 Grace Hopper Superchip 96GB", ["nvidia-gh200-96gb"], _SAME),
    _name(r"NVIDIA L40S", ["nvidia-l40s"], _ONE_EDITION),
    _name(r"NVIDIA GeForce RTX 4090", ["nvidia-geforce-rtx-4090", "nvidia-rtx-4090"], _ONE_EDITION),
    _name(
        r"NVIDIA RTX PRO 6000 Blackwell Server Edition",
        ["nvidia-rtx-pro-6000-blackwell-server"],
        "the name states it",
    ),
    _name(
        r"NVIDIA RTX PRO 4500 Blackwell",
        ["nvidia-rtx-pro-4500-blackwell-server", "nvidia-rtx-pro-4500-blackwell"],
        "a PCIe card of 32 GB in a rack server: the passive edition",
        inferred=True,
    ),
    _name(
        r"NVIDIA Jetson AGX Orin 64G",
        ["nvidia-jetson-agx-orin-64gb", "nvidia-jetson-agx-orin"],
        "the name states it",
    ),
    _name(
        r"NVIDIA Jetson AGX Thor 128G",
        ["nvidia-jetson-agx-thor", "nvidia-jetson-agx-thor-128gb"],
        _ONE_EDITION,
    ),
    _name(
        r"AMD (?:Instinct )?MI300X(?:-NPS1-SPX-192GB-750W| 192GB HBM3)",
        ["amd-mi300x", "amd-instinct-mi300x"],
        _SAME,
    ),
    _name(r"AMD Instinct MI325X 256GB HBM3e", ["amd-mi325x", "amd-instinct-mi325x"], _SAME),
    _name(r"AMD Instinct MI350X(?: 288GB HBM3e)?", ["amd-mi350x", "amd-instinct-mi350x"], _ONE_EDITION),
    _name(
        r"AMD Instinct MI355X 288GB HBM3e(?: \(x\d+\)| \(Power Cap \d+ W\))?",
        ["amd-mi355x", "amd-instinct-mi355x"],
        "what stands in brackets counts them or caps their power",
    ),
    _name(r"Intel\(R\) Arc Pro\(R\) B50", ["intel-arc-pro-b50"], _ONE_EDITION),
    _name(r"Intel\(R\) Arc Pro\(R\) B60", ["intel-arc-pro-b60"], _ONE_EDITION),
    _name(r"Intel\(R\) Arc Pro\(R\) B70", ["intel-arc-pro-b70"], _ONE_EDITION),
    _name(
        r"(?:\[MAXSUN\] )?MS-Intel Arc Pro B60 Dual 48G Turbo",
        ["maxsun-arc-pro-b60-dual"],
        "a board with two GPUs, in a record of its own",
        gpus=2,
    ),
)
_SEVERAL: Final = re.compile(r"\)\s*(?:,|and)\s+\S")
"""Two kinds in one cell: `A (x32), B (x16)`."""
_OTHER_EDITIONS: Final = {
    "NVIDIA H200-SXM-141GB-CTS": "an H200 with another cooler at 1000 W: another edition than the 700 W module",
}


@dataclass(frozen=True, slots=True)
class Device:
    """The accelerators of a row."""

    id: str
    reason: str
    count: int
    present: int | None
    """Accelerators in the machine, where the row says that fewer take part."""
    shared: bool
    """Whether a share per accelerator can be told: not where one counts boards and another GPUs."""
    remark: str | None
    """What a reader must know of the count."""
    inferred: bool = False
    """Whether the edition is told from the machine and not from the name."""


def device_of(row: Row, catalogue: Catalogue) -> Device:
    """Return the accelerators of a row.

    Raises:
        RowRefusedError: It names none, several kinds, or one that has no record; or its counts contradict each other.
    """
    text = row.accelerator
    if not text or text.casefold() in ("n/a", "na", "none"):
        raise RowRefusedError("no accelerator: the processors compute")
    if _SEVERAL.search(text):
        raise RowRefusedError("two kinds of accelerator in one system: a record names one")
    if text in _OTHER_EDITIONS:
        raise RowRefusedError(f"{text}: {_OTHER_EDITIONS[text]}")
    entry = next((each for each in _ACCELERATORS if each.pattern.fullmatch(text)), None)
    if entry is None:
        raise RowRefusedError(f"accelerator {text!r} is not in the table of names")
    found = next((each for each in entry.ids if each in catalogue.accelerators), None)
    if found is None:
        raise RowRefusedError(f"no record accelerators/{entry.ids[0]}")
    count = _total(row)
    return Device(
        found, entry.reason, count, _present(row), entry.gpus == 1, _count_remark(row, count, entry), entry.inferred
    )  # fmt: skip


def _total(row: Row) -> int:
    """Return the accelerators of the whole system; what the table gives per node is not the total."""
    nodes = row.nodes or 1
    product = row.per_node * nodes if row.per_node else None
    if row.total and product and row.total != product:
        raise RowRefusedError(f"{row.total} accelerators in all, but {row.per_node} a node on {nodes} nodes")
    found = row.total or product
    if not found:
        raise RowRefusedError("no count of accelerators")
    return found


_USED: Final = re.compile(
    r"(\d+)x\s?[A-Z][\w-]* (?:system|instance)?\s*\((\d+) GPUs? used\)|with (\d+)x[\w-]+ \((\d+) GPUs? used\)"
)


def _present(row: Row) -> int | None:
    match = _USED.search(row.notes)
    if match is None:
        return None
    present, used = int(match[1] or match[3]), int(match[2] or match[4])
    return present if used == (row.total or row.per_node) and present > used else None


def _count_remark(row: Row, count: int, entry: _Name) -> str | None:
    if entry.gpus > 1:
        return f"The table counts boards: {count} of them are {count * entry.gpus} GPUs."
    named = re.search(r"\(x(\d+)\)", row.accelerator)
    if named and int(named[1]) != count:
        return f"The name says {named[1]}, the table counts {count}: {row.per_node} on each of {row.nodes} nodes."
    return None


_ACCURACY: Final = re.compile(r"-99(?:\.9)?$")
_ALTERED: Final = re.compile(r"prun|finetun|sparse", re.IGNORECASE)
_MODELS: Final = (
    ("llama3[._]1-405b", ("llama-3-1-405b",)),
    ("llama3[._]1-70b", ("llama-3-1-70b",)),
    ("llama3[._]1-8b", ("llama-3-1-8b",)),
    ("llama2-70b", ("llama-2-70b",)),
    (r"neuralmagic_Llama-2-7b", ("llama-2-7b",)),
    ("gptj", ("gpt-j-6b", "gptj-6b", "gpt-j")),
    ("mixtral-8x7b", ("mixtral-8x7b", "mixtral-8x7b-instruct")),
    ("deepseek-r1", ("deepseek-r1",)),
    ("gpt-oss-120b", ("gpt-oss-120b",)),
    ("qwen3-vl-235b-a22b", ("qwen3-vl-235b-a22b", "qwen3-vl-235b-a22b-instruct")),
)


@dataclass(frozen=True, slots=True)
class ModelFound:
    """The model that ran."""

    id: str
    as_published: str


def benchmark_of(model: str) -> str:
    """Return a benchmark without its accuracy target, which two rows of one measurement differ in."""
    return _ACCURACY.sub("", model)


def model_of(row: Row, catalogue: Catalogue) -> ModelFound:
    """Return the model that ran, which in the open division need not be the benchmark's.

    Raises:
        RowRefusedError: Its weights were changed, or it has no record.
    """
    changed = _ALTERED.search(row.used_model) or _ALTERED.search(row.platform)
    if changed:
        raise RowRefusedError(
            f"the weights were changed ({changed[0].lower()}...): another model than the record's"
        )
    text = row.used_model
    ids = next((ids for pattern, ids in _MODELS if re.match(pattern, text)), None)
    if ids is None:
        raise RowRefusedError(f"model {text!r} is not in the table of names")
    found = next((each for each in ids if each in catalogue.models), None)
    if found is None:
        raise RowRefusedError(f"no record models/{ids[0]}")
    return ModelFound(found, text if text == row.model else f"{text}, in the benchmark {row.model}")


@dataclass(frozen=True, slots=True)
class EngineFound:
    """The engine that served, as far as table and system description say."""

    id: str
    reason: str
    version: str | None = None
    commit: str | None = None


_VLLM: Final = re.compile(r"vllm['\"]?[ :-]*['\"]?v?(?P<version>\d+\.\d+(?:\.\d+)?[\w.+-]*)", re.IGNORECASE)
_VLLM_COMMIT: Final = re.compile(r"vllm-(?:[\d.]+\(g)?(?P<commit>[0-9a-f]{7,12})\b(?!\.)", re.IGNORECASE)
_SGLANG: Final = re.compile(r"SGLang v?(?P<version>\d[\w.]*)", re.IGNORECASE)
_VLLM_BRANCH_FOR: Final = "qwen3-vl"
"""A software list of v6.0 names both TensorRT-LLM and `vLLM ...-q3vl-v6.0`, a branch for this benchmark."""
_TRT_REASON: Final = "the NVIDIA harness of the LLM benchmarks, which the table calls by its TensorRT version, runs TensorRT-LLM"


_PRODUCTS: Final = (
    (
        re.compile(r"llmboost(?:-(?P<version>\d+(?:\.\d+)+))?", re.IGNORECASE),
        EngineFound("llmboost", "Mango LLMBoost is named; what else is listed lies below it"),
    ),
    (
        re.compile(r"tensorrt edge[ -]llm(?:[ -]v?(?P<version>\d+(?:\.\d+)+))?", re.IGNORECASE),
        EngineFound("tensorrt-edge-llm", "the system description names TensorRT Edge LLM"),
    ),
)
"""Products that bring other engines or libraries with them, which are listed beside: they count first."""


def engine_of(row: Row, system: SystemFile | None, catalogue: Catalogue) -> EngineFound:
    """Return the engine of a row.

    Raises:
        RowRefusedError: Neither table nor system description names one, or it has no record.
    """
    software, other = row.software, system.other_software if system else ""
    both = f"{software} | {other} | {row.notes}"
    found = _named_engine(row, software, both)
    if found is None:
        raise RowRefusedError("no engine named in the table, the notes or the system description")
    if found.id not in catalogue.engines:
        raise RowRefusedError(f"no record engines/{found.id}")
    return found


def _named_engine(row: Row, software: str, both: str) -> EngineFound | None:
    lowered = both.casefold()
    for pattern, found in _PRODUCTS:
        if pattern.search(both):
            return replace(found, version=_one_version(pattern, both))
    sglang = _SGLANG.search(software)
    if sglang:
        return EngineFound("sglang", "named with its version", sglang["version"])
    if "TensorRT-LLM" in software and not row.model.startswith(_VLLM_BRANCH_FOR):
        return EngineFound(
            "tensorrt-llm", "the software list names TensorRT-LLM; its vLLM branch is for another benchmark"
        )
    if "vllm" in lowered:
        version, commit = _one_of(_VLLM, "version", software, both), _one_of(_VLLM_COMMIT, "commit", both)
        return EngineFound("vllm", "named in table, notes or system description", version, commit)
    return EngineFound("tensorrt-llm", _TRT_REASON) if "tensorrt" in software.casefold() else None


def _one_version(pattern: re.Pattern[str], text: str) -> str | None:
    """Return the version that stands behind a product's name; None where none does, or two."""
    found = {match["version"] for match in pattern.finditer(text)} - {None}
    return found.pop() if len(found) == 1 else None


def _one_of(pattern: re.Pattern[str], group: str, *texts: str) -> str | None:
    """Return what a pattern finds in the first text that has it; None where that text has two."""
    for text in texts:
        found = {match[group].rstrip(".,-") for match in pattern.finditer(text)}
        if found:
            return found.pop() if len(found) == 1 else None
    return None
