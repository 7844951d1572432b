"""Points of InferenceX aggregates: typed access, what records they are about, and the keys that become nothing."""

import re
from collections.abc import Container, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from kbtool.ingest.document import parse_document
from kbtool.ingest.fault import IngestError, shown
from kbtool.ingest.model import LeftOut
from kbtool.ingest.published import Catalogue, File, RowRefusedError
from kbtool.ingest.reading import Path, Reading, path_text

__all__ = ["ROUTERS", "STATISTICS", "TIMES", "Point", "points_of"]

_DEVICES: Final = (
    ("gb300", "nvidia-gb300-nvl72"), ("gb200", "nvidia-gb200-nvl72"), ("b300", "nvidia-b300-sxm"), ("b200", "nvidia-b200-sxm"),
    ("h200", "nvidia-h200-sxm"), ("h100", "nvidia-h100-sxm"), ("mi355x", "amd-mi355x"), ("mi325x", "amd-mi325x"),
    ("mi300x", "amd-mi300x"),
)  # fmt: skip
"""Beginning of a runner's name -> record; what follows names the cluster."""
ROUTERS: Final = (
    ("dynamo-", "NVIDIA Dynamo"), ("llmd-", "llm-d"), ("", None),
)  # fmt: skip
_FRAMEWORKS: Final[Mapping[str, str]] = {
    "vllm": "vllm", "sglang": "sglang", "trt": "tensorrt-llm", "trtllm": "tensorrt-llm", "atom": "atom", "tilert": "tilert",
}  # fmt: skip
_MODELS: Final[Mapping[str, str]] = {
    "dsr1": "deepseek-r1", "dsv4": "deepseek-v4-pro", "qwen3.5": "qwen3-5-397b-a17b", "minimaxm3": "minimax-m3",
    "minimaxm2.5": "minimax-m2-5", "glm5": "glm-5", "glm5.1": "glm-5-1", "glm5.2": "glm-5-2", "kimik2.5": "kimi-k2-5",
    "kimik2.6": "kimi-k2-6", "kimik3": "kimi-k3", "gptoss": "gpt-oss-120b", "llama70b": "llama-3-3-70b",
}  # fmt: skip
TIMES: Final[Mapping[str, str]] = {"ttft": "ttft_ms", "tpot": "tpot_ms", "itl": "icl_ms", "e2el": "e2el_ms"}
STATISTICS: Final[Mapping[str, str]] = {
    "mean": "mean", "median": "p50", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99",
}  # fmt: skip
_USED: Final = frozenset(
    {"hw", "conc", "image", "model", "infmax_model_prefix", "framework", "precision", "spec_decoding", "disagg", "isl", "osl",
     "router", "is_multinode", "tp", "pp", "ep", "dcp_size", "pcp_size", "dp_attention", "tput_per_gpu", "output_tput_per_gpu",
     "input_tput_per_gpu", "num_prefill_gpu", "num_decode_gpu", "prefill_hw", "decode_hw", "recipe_fingerprint"}
)  # fmt: skip
_UNMAPPED: Final = {
    "kv_p2p_transfer": "no field holds how caches move between instances",
    "std": "a deviation over requests, where a record holds one over runs",
    "p99.9": "a statistic that the vocabulary has no word for",
}


class Point:
    """One entry of an aggregate."""

    def __init__(self, file: File, reading: Reading, at: Path) -> None:
        self.file = file
        self.reading = reading
        self.at = at
        self.name = f"{file.name} {path_text(at)}".strip()

    def text(self, key: str) -> str:
        """Return a text; empty where there is none."""
        return self.reading.text(*self.at, key) or ""

    def count(self, key: str) -> int:
        """Return a count; 0 where there is none."""
        return self.reading.count(*self.at, key) or 0

    def number(self, key: str) -> Decimal | None:
        """Return a figure."""
        return self.reading.number(*self.at, key)

    def names(self) -> tuple[str, ...]:
        """Return the keys of the entry."""
        return tuple(self.reading.mapping(*self.at))

    def flag(self, key: str) -> bool:
        """Return a flag, which the script writes as text or as `true`."""
        value = self.reading.value(*self.at, key)
        return value is True or (isinstance(value, str) and value.casefold() == "true")

    @property
    def apart(self) -> bool:
        """Whether prefill and decode run on GPUs of their own."""
        return self.flag("is_multinode") and self.count("num_decode_gpu") > 0

    @property
    def gpus(self) -> int:
        """All GPUs, prefill and decode both."""
        if self.flag("is_multinode"):
            return self.count("num_prefill_gpu") + self.count("num_decode_gpu")
        return max(1, self.count("tp")) * max(1, self.count("pp")) * max(1, self.count("pcp_size"))

    def setup(self, catalogue: Catalogue) -> tuple[Any, ...]:
        """Return what points of one record share.

        Raises:
            RowRefusedError: A record that it needs does not exist, or it names two kinds of accelerator.
        """
        if self.text("prefill_hw") != self.text("decode_hw"):
            raise RowRefusedError("prefill and decode on two kinds of accelerator: a record names one")
        layout = tuple(
            (key, str(self.reading.peek(*self.at, key))) for key in sorted(self.names()) if _is_layout(key)
        )
        return (
            _device(self.text("hw"), catalogue), _engine(self.text("framework"), catalogue), _model(self, catalogue),
            self.text("hw"), self.text("framework"), self.text("precision"), self.text("spec_decoding"),
            self.text("image"), self.text("recipe_fingerprint"), layout,
        )  # fmt: skip

    def left_out(self) -> Iterator[LeftOut]:
        """Yield the keys that became nothing, with the reason."""
        for key in self.names():
            prefix, _, word = key.partition("_")
            if (
                key in _USED
                or _is_layout(key)
                or (prefix in STATISTICS and word in TIMES)
                or key == "median_intvty"
            ):
                continue
            if word == "intvty":
                reason = "1000 / a statistic of TPOT is not that statistic of the speed; only the median turns over"
            else:
                reason = _UNMAPPED.get(key) or _UNMAPPED.get(prefix) or ""
            yield LeftOut(
                key, "unmapped" if reason else "unknown", reason or "a key that this reader does not know"
            )


def _is_layout(key: str) -> bool:
    return key in (
        "tp",
        "pp",
        "ep",
        "dcp_size",
        "pcp_size",
        "dp_attention",
        "disagg",
        "is_multinode",
    ) or key.startswith(("prefill_", "decode_", "num_"))


def points_of(file: File) -> Iterator[Point]:
    """Yield the points of a file: one object, or a list of them.

    Raises:
        IngestError: It holds something else.
    """
    document = parse_document(file.data, file.name)
    reading = Reading(file.name, document.value)
    entries = document.value if isinstance(document.value, list) else [document.value]
    for index, entry in enumerate(entries):
        if not isinstance(entry, dict) or not {"conc", "framework", "tput_per_gpu"} <= set(entry):
            raise IngestError(
                file.name, f"entry {index}", "no point with conc, framework and tput_per_gpu", "what process_result.py writes",
                "give the agg_*.json files; results without hardware are for `kbtool bench import`",
            )  # fmt: skip
        yield Point(file, reading, (index,) if isinstance(document.value, list) else ())


def _device(hardware: str, catalogue: Catalogue) -> str:
    name = hardware.removeprefix("cluster:")
    found = next((record for prefix, record in _DEVICES if re.match(rf"{prefix}(?:-|$)", name)), None)
    return _known(f"hardware {shown(hardware)}", "accelerators", found, catalogue.accelerators)


def _engine(framework: str, catalogue: Catalogue) -> str:
    plain = framework.removesuffix("-disagg")
    plain = next(plain.removeprefix(prefix) for prefix, _ in ROUTERS if plain.startswith(prefix))
    return _known(f"framework {shown(framework)}", "engines", _FRAMEWORKS.get(plain), catalogue.engines)


def _model(point: Point, catalogue: Catalogue) -> str:
    prefix = point.text("infmax_model_prefix")
    return _known(f"model {shown(prefix)}", "models", _MODELS.get(prefix), catalogue.models)


def _known(name: str, folder: str, found: str | None, held: Container[str]) -> str:
    """Return the id of the record that a name stands for.

    Raises:
        RowRefusedError: The name is not in its table, or what it stands for has no record.
    """
    if found is None:
        raise RowRefusedError(f"{name} is not in the table of names")
    if found not in held:
        raise RowRefusedError(f"no record {folder}/{found}")
    return found
