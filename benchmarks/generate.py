"""Realistic records for measuring: as long, as deep and as wordy as curated ones, and clean under all rules.

The records are made up, and equal for equal numbers and seeds.  A benchmark record has 3 to 4 kB and about 90
values, one to three results, and prose; it refers to one of a few accelerators, engines and models, and to a source
that ten or so benchmarks share.

Usage: python -m benchmarks.generate FOLDER RECORDS [SEED]
"""

import random
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

from kbtool.store.emit import emit
from kbtool.store.fmt import modeline

__all__ = ["project", "write_project"]

Value = dict[str, Any]

BENCHMARKS_PER_SOURCE: Final = 10
BENCHMARKS_PER_GROUP: Final = 1_000
CONTEXT_TOK: Final = 131_072


class _AcceleratorFacts(NamedTuple):
    id: str
    title: str
    memory_gb: int
    bandwidth_gb_s: int
    limit_w: int
    fp8_tflops: int


class _ModelFacts(NamedTuple):
    id: str
    title: str
    billions: int
    layers: int
    hidden_size: int


_ACCELERATORS: Final = (
    _AcceleratorFacts("alpha-96", "Alpha 96GB", 96, 1792, 600, 1000),
    _AcceleratorFacts("beta-80", "Beta 80GB", 80, 3350, 700, 1979),
    _AcceleratorFacts("gamma-141", "Gamma 141GB", 141, 4800, 700, 1979),
    _AcceleratorFacts("delta-192", "Delta 192GB", 192, 5300, 750, 2615),
    _AcceleratorFacts("epsilon-288", "Epsilon 288GB", 288, 8000, 1400, 5000),
    _AcceleratorFacts("zeta-48", "Zeta 48GB", 48, 864, 350, 362),
)
_ENGINES: Final = ("aurora", "borealis", "cascade", "drift", "estuary", "fjord", "glacier")
_MODELS: Final = (
    _ModelFacts("small-8b", "Small 8B", 8, 32, 4096),
    _ModelFacts("medium-14b", "Medium 14B", 14, 40, 5120),
    _ModelFacts("large-32b", "Large 32B", 32, 64, 5120),
    _ModelFacts("huge-70b", "Huge 70B", 70, 80, 8192),
)
_SENTENCES: Final = (
    "The operator reports the setup in full and keeps the scripts beside the text.",
    "Excess requests wait in the queue instead of running outside of the captured graphs.",
    "No soak over a whole day was run, so that this is a sample and not a steady state.",
    "The figure was read from the table of the report and not from its chart.",
    "Structured answers come faster than prose here, which fits a higher acceptance of drafts.",
    "The client ran on the same host, so that no network stands between the two.",
    "The author takes the low power draw for a sign that links and not cores are the bound.",
    "A later comment under the report repeats the run and comes out close by.",
    "The first requests after each start were left out as a warm-up.",
    "Fan curves and clocks were left at what the maker ships.",
    "The prompts are articles of a public collection, cut to equal length.",
    "The report names the checkpoint by its hash, so that it can be found again.",
    "Each prompt begins with a line of its own, so that no prefix is shared.",
    "The router was left out, and the client spoke to the engine itself.",
    "What the report calls a step is one pass of the verifier.",
    "A second table of the report holds longer prompts and belongs to another record.",
    "The author has no stake in the hardware and says so.",
    "The operating system was freshly installed for the measurement.",
    "Power was read from the management interface once a second.",
    "The run was repeated on the next morning, and the means agree.",
)
_HEXADECIMAL: Final = "0123456789abcdef"


def project(number: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yield path below the project root and text of every file of a project with `number` benchmarks."""
    for path, kind, value in _records(number, seed):
        yield path, f"{modeline(kind, path)}\n{emit(value)}"


def write_project(root: Path, number: int, seed: int = 1) -> None:
    """Write a project of exactly `number` records of all kinds, at least a hundred."""
    others = sum(1 for _ in _records(0, seed))
    # Of eleven records more, ten are benchmarks and one is their source.
    benchmarks = number - others - -(-(number - others) // (BENCHMARKS_PER_SOURCE + 1))
    for path, text in project(benchmarks, seed):
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _records(number: int, seed: int) -> Iterator[tuple[str, str, Value]]:
    yield _file("source", _source("hardware", 0))
    yield _file("interconnect", _interconnect())
    for accelerator in _ACCELERATORS:
        yield _file("accelerator", _accelerator(accelerator))
    for engine in _ENGINES:
        yield _file("engine", _engine(engine))
    for model in _MODELS:
        yield _file("model", _model(model))
    for index in range(-(-number // BENCHMARKS_PER_SOURCE)):
        yield _file("source", _source(f"report-{index:05}", index + 1))
    for index in range(number):
        group = f"/part-{index // BENCHMARKS_PER_GROUP:03}" if number > BENCHMARKS_PER_GROUP else ""
        value = _benchmark(index, random.Random(f"{seed} {index}"))
        yield f"records/benchmarks{group}/{value['id']}.yaml", "benchmark", value


def _file(kind: str, value: Value) -> tuple[str, str, Value]:
    return f"records/{kind}s/{value['id']}.yaml", kind, value


# --- What benchmarks refer to -----------------------------------------------------------------


def _head(record_id: str, title: str) -> Value:
    return {
        "schema_version": 1,
        "id": record_id,
        "title": title,
        "status": "draft",
        "updated": "2026-09-20",
        "last_verified": "2026-09-20",
    }


def _uses(source: str) -> list[Value]:
    return [{"source": f"sources/{source}", "role": "primary", "group": source}]


def _stated(value: int | Decimal, printed: str, locator: str) -> Value:
    evidence = {"source": "sources/hardware", "locator": locator, "quote": printed}
    return {"value": value, "as_published": printed, "evidence": [evidence]}


def _source(record_id: str, number: int) -> Value:
    return {
        **_head(record_id, f"Serving report {number}"),
        "source_kind": "article",
        "url": f"https://example.org/reports/{record_id}",
        "archive_url": f"https://web.archive.org/web/2026/https://example.org/reports/{record_id}",
        "publisher": f"Lab {number}",
        "author": "A. Writer",
        "interest": "independent",
        "published": "2026-09-14",
        "accessed": "2026-09-15",
        "last_checked": {"day": "2026-09-20", "outcome": "reachable"},
        "content_sha256": f"{number:064x}",
        "licence": "CC BY 4.0",
        "group": record_id,
    }


def _interconnect() -> Value:
    figure = _stated(64, "64 GB/s per direction", "Section 2, paragraph 2")
    bandwidth = {"scope": "per_device", "direction": "per_direction", "measured": False, "gb_s": figure}
    return {
        **_head("host-link", "Host Link, generation 5"),
        "sources": _uses("hardware"),
        "vendor": "Example Standards Body",
        "role": "host_link",
        "generation": "5.0",
        "bandwidth": [bandwidth],
    }


def _accelerator(facts: _AcceleratorFacts) -> Value:
    def figure(value: int, unit: str, row: str) -> Value:
        return _stated(value, f"{value:,} {unit}", f"Table 1, {facts.title}, {row}")

    peak = {
        "dtype": "fp8_e4m3",
        "sparsity": "dense",
        "measured": False,
        "tflops": figure(facts.fp8_tflops, "TFLOPS", "FP8 dense"),
    }
    link = {
        "interconnect": "interconnects/host-link",
        "role": "host_link",
        "evidence": [{"source": "sources/hardware", "locator": "Section 2, paragraph 2"}],
    }
    return {
        **_head(facts.id, facts.title),
        "sources": _uses("hardware"),
        "vendor": "Example Maker",
        "form": "pcie_card",
        "memory": {
            "capacity_gb": figure(facts.memory_gb, "GB", "memory"),
            "bandwidth_gb_s": figure(facts.bandwidth_gb_s, "GB/s", "bandwidth"),
        },
        "compute": [peak],
        "power": {"default_w": figure(facts.limit_w, "W", "power")},
        "interconnects": [link],
    }


def _engine(name: str) -> Value:
    return {
        **_head(name, name.capitalize()),
        "sources": _uses("hardware"),
        "maintainer": f"{name.capitalize()} project",
        "repository": f"https://example.org/{name}",
    }


def _model(facts: _ModelFacts) -> Value:
    row = f"Table 2, {facts.title}"
    parameters = _stated(facts.billions * 10**9, f"{facts.billions}B", row)
    return {
        **_head(facts.id, facts.title),
        "sources": _uses("hardware"),
        "organisation": "Example Lab",
        "architecture": "dense",
        "modalities": ["text"],
        "total_parameters": parameters,
        "active_parameters": parameters,
        "attention": {
            "layers": _stated(facts.layers, f"{facts.layers} layers", f"{row}, layers"),
            "hidden_size": _stated(facts.hidden_size, f"{facts.hidden_size:,}", f"{row}, width"),
        },
        "context_tok": _stated(CONTEXT_TOK, f"{CONTEXT_TOK:,} tokens", f"{row}, context"),
    }


# --- Benchmarks -------------------------------------------------------------------------------


def _benchmark(index: int, chance: random.Random) -> Value:
    accelerator = chance.choice(_ACCELERATORS)
    model = chance.choice(_MODELS)
    engine = chance.choice(_ENGINES)
    count = next(each for each in (1, 2, 4, 8) if each * accelerator.memory_gb * 2 > model.billions * 3)
    source = f"report-{index // BENCHMARKS_PER_SOURCE:05}"
    bound_tok_s = Decimal(count * accelerator.bandwidth_gb_s) / model.billions
    results = _results(index, chance, source, bound_tok_s)
    title = f"{engine.capitalize()} serves {model.title} on {count} x {accelerator.title}, run {index}"
    return {
        **_head(f"ev-{engine}-{model.id}-{accelerator.id}-{index:06}", title),
        "sources": _uses(source),
        "measured": {
            "by": "third_party",
            "day": f"2026-0{chance.randint(1, 8)}-{chance.randint(10, 28)}",
            "tool": f"{engine}-bench 1.{chance.randint(0, 30)}.{chance.randint(0, 9)}",
            "method": " ".join([*chance.sample(_SENTENCES, 3), f"The client is called {_word(chance)}."]),
        },
        "reproducible": {"claimed": True, "assessed": "settings_only", "artifacts_found": False},
        "system": _system(chance, accelerator, count),
        "engine": _engine_setup(chance, engine),
        "deployment": {"instances": 1, "tp": count, "pp": 1, "dp": 1, "ep": 1},
        "model": {
            "model": f"models/{model.id}",
            "as_published": f"{model.title} FP8",
            "checkpoint": f"example-lab/{model.id}-fp8",
            "revision": _hexadecimal(chance, 40),
            "weight_dtype": "fp8_e4m3",
        },
        "serving": {
            "kv_cache_dtype": "fp8_e4m3",
            "context_tok": chance.choice((16_384, 32_768, 65_536)),
            "max_running_requests": chance.choice((16, 32, 64)),
            "chunked_prefill_size_tok": chance.choice((1_024, 2_048, 4_096)),
            "prefix_caching": True,
            "cuda_graph_decode": True,
        },
        "speculation": {"method": "mtp", "draft_tok": 1, "acceptance_length": Decimal(f"1.{chance.randint(2, 8)}")},
        "setup_evidence": [
            {
                "fields": ["system", "engine", "deployment", "model", "serving", "speculation"],
                "evidence": {"source": f"sources/{source}", "locator": f"Setup, table {index % 10 + 1}"},
            }
        ],
        "headline": results[0]["id"],
        "results": results,
        "tags": ["generated"],
        "notes": " ".join([*chance.sample(_SENTENCES, 5), f"The log of the run is called {_word(chance)}."]),
    }  # fmt: skip


def _system(chance: random.Random, accelerator: _AcceleratorFacts, count: int) -> Value:
    link = {
        "interconnect": "interconnects/host-link",
        "basis": "stated",
        "role": "host_link",
        "traffic_shown": True,
    }
    return {
        "accelerator": f"accelerators/{accelerator.id}",
        "accelerator_as_published": accelerator.title,
        "accelerator_count": count,
        "nodes": 1,
        "power_limit_w": accelerator.limit_w,
        "power_limit_as_published": f"{accelerator.limit_w} W",
        "host_cpu": f"Example CPU {chance.randint(70, 99)}00",
        "host_memory_gib": chance.choice((256, 512, 1024)),
        "numa_nodes": 1,
        "os": "Debian 12, kernel 6.1",
        "driver": f"580.{chance.randint(10, 99)}",
        "interconnects": [link],
    }


def _engine_setup(chance: random.Random, engine: str) -> Value:
    version = f"0.{chance.randint(1, 9)}.{chance.randint(0, 30)}"
    return {
        "engine": f"engines/{engine}",
        "version": version,
        "commit": _hexadecimal(chance, 40),
        "image": f"example/{engine}:{version}",
        "image_digest": f"sha256:{_hexadecimal(chance, 64)}",
        "arguments": {"schedule-policy": "fcfs", "attention-backend": f"kernels-{chance.randint(1, 9)}"},
        "arguments_basis": "in_force",
    }


def _results(index: int, chance: random.Random, source: str, bound_tok_s: Decimal) -> list[Value]:
    """Return results well below what the memory can stream."""
    speed = Decimal(chance.randint(200, 500)) / 1000 * bound_tok_s
    made = []
    for number, prompt_class in enumerate(
        chance.sample(("prose", "code", "structured"), chance.randint(1, 2))
    ):
        value = (speed * (10 + number) / 10).quantize(Decimal("0.1"))
        made.append(
            {
                "id": f"decode-{prompt_class}-1",
                "metric": "tok_s_per_user",
                "value": value,
                "statistic": "mean",
                "as_published": f"{value:,} tok/s",
                "repeats": 3,
                "at": {
                    "concurrency": 1,
                    "input_tok": 1_024 + index % 512,
                    "output_tok": 512,
                    "prompt_class": prompt_class,
                    "prefix_cache": "cold",
                    "cache_proof": ["unique_prompt"],
                    "measuring_path": "on_host",
                },
                "evidence": [
                    {
                        "source": f"sources/{source}",
                        "locator": f"Results, table {index % 10 + 1}, row {number + 1}",
                        "quote": f"A single user sees {value:,} tok/s on {prompt_class}.",
                    }
                ],
            }
        )
    return made


def _word(chance: random.Random) -> str:
    """Return a name that no other record has, so that no two texts are equal."""
    return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=9))


def _hexadecimal(chance: random.Random, digits: int) -> str:
    """Return digits that nothing can take for a number."""
    return chance.choice("abcdef") + "".join(chance.choices(_HEXADECIMAL, k=digits - 1))


if __name__ == "__main__":
    folder, wanted, *seeds = sys.argv[1:]
    write_project(Path(folder), int(wanted), *map(int, seeds))
