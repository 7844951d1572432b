"""Rows, system descriptions and summaries as MLPerf publishes them, made small, and the records that they refer to."""

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final

from kbtool.ingest import Catalogue, Drafts, File, Origin
from kbtool.ingest.mlperf import drafts
from kbtool.schema import Accelerator, Engine, Model
from kbtool.store.dump import record_text

__all__ = [
    "COMMIT",
    "FIXTURES",
    "ORIGIN",
    "catalogue",
    "import_of",
    "row",
    "summary",
    "system",
    "things",
    "write_things",
]

FIXTURES: Final = Path(__file__).parent.parent / "fixtures" / "mlperf"
COMMIT: Final = "a" * 40
ORIGIN: Final = Origin(date(2026, 11, 30), COMMIT)
DESCRIPTION: Final = File(
    "closed/AMD/systems/87xMI355X_22xEPYC_9575F.json",
    json.dumps(
        {
            "submitter": "AMD",
            "accelerator_model_name": "AMD Instinct MI355X 288GB HBM3e (x87)",
            "framework": "PyTorch 2.9.1+git8907517, ROCm 7.0.0",
            "other_software_stack": "hipblaslt-1.0.0.70000-38~22.04, vllm-11b6af52, aiter-6af8b687",
        }
    ).encode(),
)
"""The engine of the rows of v6.0 stands there and not in the table."""
_HEAD: Final = {"schema_version": 1, "status": "draft", "updated": "2026-11-30"}
_WITHOUT_LINK: Final = [{"interconnect": None, "role": "scale_up"}]
_NVLINK: Final = [{"interconnect": "interconnects/nvlink-5", "role": "scale_up"}]


def _accelerator(name: str, watts: int, links: list[dict[str, Any]] | None = None) -> Accelerator:
    return Accelerator.model_validate(
        _HEAD
        | {
            "id": name,
            "title": name,
            "vendor": "Vendor",
            "form": "module",
            "memory": {},
            "power": {"default_w": {"value": watts}},
            "interconnects": links or [],
        }
    )


def things() -> tuple[Accelerator | Engine | Model, ...]:
    """Return the records that the rows of the tests refer to."""
    accelerators = (
        _accelerator("nvidia-b200-sxm", 1000, _NVLINK),
        _accelerator("nvidia-rtx-pro-6000-blackwell-server", 600, _WITHOUT_LINK),
        _accelerator("nvidia-rtx-pro-4500-blackwell-server", 165),
        _accelerator("nvidia-h100-sxm", 700),
        _accelerator("nvidia-h100-nvl", 400),
        _accelerator("amd-mi300x", 750),
        _accelerator("amd-mi355x", 1400),
        _accelerator("maxsun-arc-pro-b60-dual", 400),
    )
    engines = (
        Engine.model_validate(_HEAD | {"id": name, "title": name})
        for name in ("llmboost", "tensorrt-edge-llm", "tensorrt-llm", "vllm")
    )
    models = (
        Model.model_validate(
            _HEAD | {"id": name, "title": name, "organisation": "Lab", "architecture": "dense"}
        )
        for name in ("llama-2-70b", "llama-3-1-8b", "llama-3-1-70b")
    )
    return (*accelerators, *engines, *models)


def catalogue() -> Catalogue:
    """Return the catalogue of those records."""
    found = things()
    return Catalogue(
        {each.id: each for each in found if isinstance(each, Accelerator)},
        frozenset(each.id for each in found if isinstance(each, Engine)),
        frozenset(each.id for each in found if isinstance(each, Model)),
    )


def write_things(root: Path) -> None:
    """Write those records into a project, without the links, which are records of their own."""
    for each in things():
        kind = type(each).__name__.lower()
        relative = f"records/{kind}s/{each.id}.yaml"
        plain = each.model_copy(update={"interconnects": ()}) if isinstance(each, Accelerator) else each
        (root / relative).parent.mkdir(parents=True, exist_ok=True)
        (root / relative).write_text(record_text(plain, kind, relative), encoding="utf-8")


def row(**changes: Any) -> dict[str, Any]:
    """Return one row of `summary_results.json` of v6.0, with some cells changed."""
    cells = {
        "ID": "6.0-0500", "Submitter": "Dell", "Availability": "available", "Category": "closed", "Suite": "datacenter",
        "System": "Box", "Platform": "box_B200x8_TRT", "UsedModel": "llama2-70b-99", "Model": "llama2-70b-99",
        "Scenario": "Offline", "Nodes": 1, "Processor": "CPU 9", "host_processors_per_node": 2,
        "Accelerator": "NVIDIA B200-SXM-180GB", "a#": 8, "Total Accelerators": 8,
        "Software": "TensorRT 10.14, CUDA 13.1", "operating_system": "Ubuntu 24.04", "Notes": "", "version": "v6.0",
        "inferred": 0, "has_power": False, "weight_data_types": "fp4", "Performance_Result": 100000.5,
        "Performance_Units": "Tokens/s",
    }  # fmt: skip
    cells |= changes
    folder = f"{cells['Platform']}/{cells['Model']}/{cells['Scenario']}"
    cells.setdefault("Location", f"{cells['Category']}/{cells['Submitter']}/results/{folder}")
    return cells


def system(link: str = "", other: str = "", *, platform: str = "box_B200x8_TRT", **more: Any) -> File:
    """Return the description of a system."""
    cells = {
        "submitter": "Dell", "division": "closed", "framework": "TensorRT 10.14, CUDA 13.1",
        "accelerator_model_name": "NVIDIA B200-SXM-180GB", "accelerator_interconnect": link,
        "other_software_stack": other, "host_memory_capacity": "2 TB",
    }  # fmt: skip
    return File(f"repository/closed/Dell/systems/{platform}.json", json.dumps(cells | more).encode())


def summary(
    cells: Mapping[str, Any], lines: Mapping[str, Any] | None = None, *, result: str = "VALID"
) -> File:
    """Return LoadGen's summary of a row's run."""
    text = "\n".join(f"{key} : {value}" for key, value in (lines or {}).items())
    body = (
        f"====\nMLPerf Results Summary\n====\nScenario : {cells['Scenario']}\nResult is : {result}\n{text}\n"
    )
    return File(f"/somewhere/{cells['Location']}/performance/run_1/mlperf_log_summary.txt", body.encode())


def import_of(*rows: Mapping[str, Any], beside: tuple[File, ...] = ()) -> Drafts:
    """Return the drafts of a table with these rows, and files beside it."""
    return drafts((File("summary_results.json", json.dumps(rows).encode()), *beside), catalogue(), ORIGIN)
