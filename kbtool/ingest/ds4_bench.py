"""ds4-bench CSV: one row a context length, walked upwards in one session.

`prefill_tps` is the speed of the interval that the row adds, behind all that was read before. The speed of a whole
prompt is its length over the sum of the times up to there, which this reader computes.
"""

from decimal import Decimal
from typing import Any, Final

from kbtool.ingest.draft import Draft
from kbtool.ingest.fault import IngestError
from kbtool.ingest.model import Imported
from kbtool.ingest.reading import Reading, Reasons

__all__ = ["TITLE", "TOOL", "detect", "read"]

TOOL: Final = "ds4-bench"
TITLE: Final = "ds4-bench"
_KEYS: Final = frozenset({"ctx_tokens", "prefill_tokens", "prefill_tps", "gen_tokens", "gen_tps"})
_REASONS: Final[Reasons] = {
    "*/kvcache_bytes": ("unmapped", "size of the saved state, which is more than the cache of its tokens"),
}


def detect(rows: Any) -> bool:
    """Return whether this is the table of ds4-bench."""
    return bool(rows) and rows[0].keys() >= _KEYS


def read(rows: list[dict[str, str]], data: bytes, name: str) -> Imported:
    """Return what the table says.

    Raises:
        IngestError: A cell is not a number, or the rows do not walk upwards.
    """
    reading = Reading(name, rows, text_numbers=True)
    draft = Draft(reading, TOOL, TITLE)
    seconds, reached, walked = Decimal(0), 0, True
    for index in range(len(rows)):
        length, added = reading.count(index, "ctx_tokens"), reading.count(index, "prefill_tokens")
        speed = reading.number(index, "prefill_tps")
        if not length or not added or length <= reached:
            raise IngestError(
                name,
                f"row {index + 1}",
                f"a context of {length} tokens after one of {reached}",
                "rows that walk upwards",
                "import the rows of one walk",
            )
        walked = walked and length == reached + added and bool(speed)
        reached = length
        if walked and speed:
            seconds += added / speed
            _prefill(draft, index, length, seconds)
        if speed and length > added:
            at = draft.conditions(_LONE | {"input_tok": added, "depth_tok": length - added})
            draft.figure("prefill_tok_s", "single", (index, "prefill_tps"), unit="tok/s", at=at)
        _decode(draft, index, length)
    if not walked:
        draft.refused(
            "prefill_tps",
            "the rows do not add up from an empty context: the time of a whole prompt is not known, that of each interval is",
            "prefill_tok_s",
        )
    draft.converted(
        "prefill_tps",
        "prefill_tok_s",
        "speed of the added interval behind the context before it; and the length over the sum of all times up to it",
    )
    draft.converted(
        "gen_tps", "tok_s_per_user", "greedy decoding of one stream without a server, end of text suppressed"
    )
    return draft.finish(data, _REASONS)


_LONE: Final = {"concurrency": 1, "prefix_cache": "off", "measuring_path": "on_host"}


def _prefill(draft: Draft, index: int, length: int, seconds: Decimal) -> None:
    at = draft.conditions(_LONE | {"input_tok": length})
    if index == 0:
        draft.figure("prefill_tok_s", "single", (0, "prefill_tps"), unit="tok/s", at=at)
        return
    draft.derived(
        "prefill_tok_s",
        "single",
        Decimal(f"{length / seconds:.6g}"),
        at=at,
        formula="ctx_tokens / sum of prefill_tokens / prefill_tps over the rows up to this one",
        inputs=(f"[{index}].ctx_tokens", f"[0..{index}].prefill_tokens", f"[0..{index}].prefill_tps"),
    )


def _decode(draft: Draft, index: int, length: int) -> None:
    count = draft.reading.count(index, "gen_tokens")
    at = draft.conditions(
        _LONE | {"input_tok": length, "output_tok": count or None, "temperature": Decimal(0)}
    )
    draft.figure("tok_s_per_user", "single", (index, "gen_tps"), unit="tok/s", at=at)
