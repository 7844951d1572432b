"""What a TensorRT-LLM page says of its runs beside the tables: requests, options by model, checkpoints by data type."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from kbtool.ingest.published import slug

__all__ = ["Options", "Runs", "runs_of"]

_REQUESTS: Final = re.compile(r"\|\s*(\d{1,7})\s*\|\s*(\d{1,7})\s*\|(?:\s*\d{1,8}\s*\|)?\s*(\d{1,8})\s*\|")
_FILE: Final = "`llm_options.yml`"
_PAIR: Final = re.compile(r"(?P<indent> *)(?P<key>[A-Za-z_]\w{0,60}):(?:\s+(?P<value>\S.{0,200}))?")
_ITEM: Final = re.compile(r" *- (\S.{0,60})")
_REMARK: Final = re.compile(r" *# (\S.{0,60})")
_ELSEWHERE: Final = re.compile(r"(?P<value>.+) \(Hopper: use (?P<hopper>\w{1,20})\)")
_CHECKPOINTS: Final = re.compile(r"^#{1,6} (\w{1,10}) Models[ ]*\n+```\w*\n([^`]{1,4000})```", re.MULTILINE)
_DENSE: Final = frozenset({"llama-3-3-70b", "llama-3-1-405b", "llama-3-1-8b"})
_QWEN_AND_MAVERICK: Final = frozenset({"qwen3-235b-a22b", "qwen3-30b-a3b", "llama-4-maverick"})
_KINDS: Final[Mapping[str, frozenset[str]]] = {
    "Llama 3.3": frozenset({"llama-3-3-70b"}),
    "GPT-OSS": frozenset({"gpt-oss-120b", "gpt-oss-20b"}),
    "DeepSeek R1": frozenset({"deepseek-r1"}),
    "Qwen3 MoE, Llama4 Maverick": _QWEN_AND_MAVERICK,
    "For dense / non-MoE models": _DENSE,
    "For MoE models": _QWEN_AND_MAVERICK | {"llama-4-scout"},
}
"""Line above a block of options -> records of the models that it is for."""


@dataclass(frozen=True, slots=True)
class Options:
    """One block of options of the page."""

    label: str
    """The line above it, which says for which models."""
    values: Mapping[str, str]
    """Option, with dots for levels -> value as printed; what another generation takes stands behind it in brackets."""

    def value(self, name: str, *, hopper: bool) -> str | None:
        """Return an option's value on one generation of accelerators; None where the block does not have it."""
        found = self.values.get(name)
        other = _ELSEWHERE.fullmatch(found) if found else None
        return found if other is None else other["hopper" if hopper else "value"]


@dataclass(frozen=True, slots=True)
class Runs:
    """All that a page says of its runs."""

    requests: Mapping[tuple[int, int], int] = field(default_factory=lambda: MappingProxyType({}))
    """Input and output length -> requests that were sent."""
    blocks: tuple[Options, ...] = ()
    checkpoints: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """Data type, as the heads of columns have it -> checkpoints that the page lists for it."""

    def options(self, model: str) -> Options | None:
        """Return the options of a model's runs; None where the page has none for it, or two."""
        found = [each for each in self.blocks if model in _KINDS.get(each.label, ())]
        return found[0] if len(found) == 1 else None

    def checkpoint(self, dtype: str, names: Sequence[str]) -> str | None:
        """Return the checkpoint of a data type and a model, by how its name begins; None where none is listed, or two."""
        listed = self.checkpoints.get(dtype, ())
        found = [each for each in listed if slug(each.rpartition("/")[2]).startswith(tuple(names))]
        return found[0] if len(found) == 1 else None


def runs_of(text: str) -> Runs:
    """Return what a page says of its runs; requests and options stand in the section on reproducing alone."""
    _, _, section = text.partition("\n## Reproducing Benchmarked Results")
    lines = section.splitlines()
    requests = {
        (int(match[1]), int(match[2])): int(match[3])
        for match in map(_REQUESTS.fullmatch, map(str.strip, lines))
        if match
    }
    checkpoints = {match[1]: tuple(match[2].split()) for match in _CHECKPOINTS.finditer(text)}
    return Runs(requests, tuple(_blocks(lines)), checkpoints)


def _blocks(lines: Sequence[str]) -> Iterator[Options]:
    label, code = "", False
    block: list[str] | None = None
    for line in lines:
        if line.startswith("```"):
            if code and block:
                yield Options(label, _flat(block))
                block = None
            code = not code
        elif code:
            if block is not None:
                block.append(line)
        elif line.strip() == _FILE:
            block = []
        elif line.strip():
            label, block = line.strip().rstrip(":"), None


def _flat(lines: Sequence[str]) -> dict[str, str]:
    """Return the options of a block, one a line; lists come as one text."""
    found: dict[str, Any] = {}
    path: list[tuple[int, str]] = []
    last = ""
    for line in lines:
        pair, item, remark = _PAIR.fullmatch(line), _ITEM.fullmatch(line), _REMARK.fullmatch(line)
        if pair:
            indent = len(pair["indent"])
            path = [*(each for each in path if each[0] < indent), (indent, pair["key"])]
            last = ".".join(name for _, name in path)
            if pair["value"]:
                found[last] = pair["value"]
        elif item and last:
            found[last] = f"{found[last]}, {item[1]}" if last in found else item[1]
        elif remark and last in found:
            found[last] = f"{found[last]} ({remark[1]})"
    return found
