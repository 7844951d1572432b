"""How an engine's own settings become fields of the benchmark record: one table an engine, values strictly typed.

What no rule maps is kept word for word as `engine.arguments.NAME`.  A value that a rule cannot read exactly is
not guessed at: it is kept word for word too.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final

import orjson

from kbtool.runner.engines.base import Observed, Setting, Trust
from kbtool.runner.engines.redaction import is_secret
from kbtool.vocab.terms import Dtype, members

__all__ = [
    "Rule",
    "as_chosen",
    "as_count",
    "as_dtype",
    "as_flag",
    "as_line",
    "as_negated",
    "as_ratio",
    "each_as",
    "observe",
    "observe_environment",
    "plain",
]

MAX_SETTINGS: Final = 1000
"""SGLang lists some 450; a server that lists more than this is not listing settings."""
MAX_TEXT: Final = 300
"""Longest text that a record's line holds."""

_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,9})?")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]{0,99}")
_ENVIRONMENT_PREFIXES: Final = (
    "VLLM_", "SGLANG_", "SGL_", "NCCL_", "CUDA_", "TORCH_", "TORCHINDUCTOR_", "PYTORCH_", "FLASHINFER_", "TRITON_",
    "LLAMA_", "GGML_", "DS4_", "OMP_", "MKL_", "GOMP_", "KMP_", "HIP_", "ROCR_", "HSA_", "RCCL_", "NVIDIA_VISIBLE",
    "DG_", "B12X_", "LMCACHE_", "UCX_", "GLOO_", "NVSHMEM_", "DEEPEP_", "RAY_CGRAPH_", "HF_HUB_OFFLINE",
    "MALLOC_", "TOKENIZERS_PARALLELISM",
)  # fmt: skip
_DTYPES: Final[Mapping[str, str]] = {
    "bfloat16": "bf16", "float16": "fp16", "half": "fp16", "f16": "fp16", "float32": "fp32", "float": "fp32",
    "f32": "fp32", "float8_e4m3fn": "fp8_e4m3", "float8_e4m3": "fp8_e4m3", "float8_e5m2": "fp8_e5m2",
    "q8_0": "gguf_q8", "q4_0": "gguf_q4", "q4_1": "gguf_q4", "iq4_nl": "gguf_q4", "q5_0": "gguf_q5", "q5_1": "gguf_q5",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """Where a setting goes, and how its value is read; a `convert` that returns None could not read it."""

    field: str
    convert: Callable[[object], Setting | None]
    shown: str = ""
    """The server's own name, where the table is entered under a name of ours for what several settings say."""


def each_as(convert: Callable[[object], Setting | None], *pairs: tuple[str, str]) -> dict[str, Rule]:
    """Return a rule for each pair of a setting's name and a field, whose values are all read in one way."""
    return {name: Rule(field, convert) for name, field in pairs}


def as_count(raw: object) -> int | None:
    """Read a whole number of at least 1."""
    if isinstance(raw, bool):
        return None
    if isinstance(raw, float | Decimal) and raw == int(raw):
        raw = int(raw)
    if isinstance(raw, str) and re.fullmatch(r"[0-9]{1,15}", raw):
        raw = int(raw)
    return raw if isinstance(raw, int) and 1 <= raw <= 10**15 else None


def as_ratio(raw: object) -> Decimal | None:
    """Read a number between 0 and 1."""
    value = _decimal(raw)
    return value if value is not None and 0 <= value <= 1 else None


def as_flag(raw: object) -> bool | None:
    """Read a yes or no; `1` and `0` count, as environment variables have them."""
    if isinstance(raw, bool):
        return raw
    word = str(raw).lower()
    if word in {"true", "1", "yes", "on"}:
        return True
    return False if word in {"false", "0", "no", "off"} else None


def as_negated(raw: object) -> bool | None:
    """Read a yes that means no, such as `disable_radix_cache`."""
    value = as_flag(raw)
    return None if value is None else not value


def as_line(raw: object) -> str | None:
    """Read a text of one line."""
    text = raw if isinstance(raw, str) else ""
    return text if 0 < len(text) <= MAX_TEXT and text.isprintable() else None


def as_chosen(raw: object) -> str | None:
    """Read the name of what was chosen; `auto` says that the choice is not told."""
    return None if raw == "auto" else as_line(raw)


def as_dtype(raw: object) -> str | None:
    """Read a data type that the vocabulary has; `auto` is none."""
    word = str(raw).lower().removeprefix("torch.")
    word = _DTYPES.get(word, word)
    return word if word in members(Dtype) else None


def _decimal(raw: object) -> Decimal | None:
    if isinstance(raw, bool) or not isinstance(raw, int | float | Decimal | str):
        return None
    text = format(Decimal(repr(raw)), "f") if isinstance(raw, float) and abs(raw) < 1e15 else str(raw)
    try:
        return Decimal(text) if _NUMBER.fullmatch(text) else None
    except InvalidOperation:
        return None


def plain(raw: object) -> Setting | None:
    """Return any value as a setting: as it is where it is simple, as JSON where it is a list or table.

    Returns:
        None for what is empty, not a number, or longer than a record's line.
    """
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, int | float | Decimal):
        value = _decimal(raw)
        if value is None:
            return None
        return int(value) if value == int(value) and not isinstance(raw, float | Decimal) else value
    if isinstance(raw, list | tuple | dict):
        raw = orjson.dumps(raw, option=orjson.OPT_SORT_KEYS, default=str).decode() if raw else ""
    return as_line(raw)


def observe(
    settings: Iterable[tuple[str, object]], rules: Mapping[str, Rule], *, trust: Trust, where: str
) -> tuple[Observed, ...]:
    """Return what settings say as fields of the record; secrets and what is empty are left out.

    Args:
        settings: Names, as the engine has them, and values; of one name the last counts.
        rules: The engine's table, by name.
        trust: Of the place that they were read in.
        where: That place, such as `GET /server_info`.
    """
    found: dict[str, Observed] = {}
    for name, raw in settings:
        if raw is None or len(found) >= MAX_SETTINGS or not _NAME.fullmatch(name) or is_secret(name, raw):
            continue
        rule = rules.get(name)
        value = None if rule is None else rule.convert(raw)
        field = rule.field if rule is not None and value is not None else f"engine.arguments.{name}"
        if value is None:
            value = plain(raw)
        if value is not None:
            shown = rule.shown if rule is not None and rule.shown else name
            found[field] = Observed(field, value, _published(raw), trust, f"{where}, {shown}")
    return tuple(found.values())


def _published(raw: object) -> str:
    """Return a value as a line, cut where it is longer than a record's."""
    text = raw if isinstance(raw, str) else orjson.dumps(raw, default=str).decode()
    return "".join(letter if letter.isprintable() else " " for letter in text)[:MAX_TEXT]


def observe_environment(environment: Mapping[str, str], *, trust: Trust, where: str) -> tuple[Observed, ...]:
    """Return the variables that change what an engine does, as `engine.environment.NAME`; never secrets."""
    return tuple(
        Observed(f"engine.environment.{name}", value, value, trust, f"{where}, {name}")
        for name, value in sorted(environment.items())
        if name.startswith(_ENVIRONMENT_PREFIXES) and as_line(value) and not is_secret(name, value)
    )[:MAX_SETTINGS]
