"""Do the answers make sense?  A broken model can be fast, so a speed without these checks is `speed_only`."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from kbtool.runner.trace import Outcome, RequestTrace
from kbtool.vocab.warnings import WarningCode, in_order

__all__ = ["Sanity", "check_outputs", "garbage", "repeatable_ratio", "truncated"]

Garbage = Literal["replacement_characters", "one_character", "tiny_vocabulary"]

_REPLACEMENT_RATIO: Final = 0.02
"""Share of U+FFFD from which a text is broken; a cut at the end of an answer leaves one."""
_LEAST_REPLACEMENTS: Final = 3
_LEAST_CHARS: Final = 40
"""Shorter answers repeat themselves with good reason."""
_ONE_CHARACTER_RATIO: Final = 0.8
_LEAST_WORDS: Final = 30
_TINY_VOCABULARY_RATIO: Final = 0.08
"""Share of distinct words. English prose has 0.4 at a few hundred words; a stuck decoder nearly none."""
_LONGEST_SAMPLE: Final = 400
"""Words that are looked at: the share of distinct words falls with length in any text."""
_CUT_RATIO: Final = 0.9
_GARBAGE_ANSWERS_RATIO: Final = 0.05


@dataclass(frozen=True, slots=True)
class Sanity:
    """What the checks of the outputs of a cell found."""

    n_checked: int
    """Answers looked at; 0 means that nobody looked."""
    garbage: tuple[tuple[str, Garbage], ...]
    """Request id and why, of each broken answer."""
    truncated: tuple[str, ...]
    """Ids of the requests whose answers were cut short."""
    repeatable_ratio: float | None
    """Share of repeated greedy answers that equal the first; None where no prompt was repeated."""

    @property
    def warnings(self) -> tuple[WarningCode, ...]:
        """What to put beside the numbers.

        `speed_only` falls only where answers were looked at and a greedy prompt was repeated: either alone
        lets a broken model through.
        """
        found: set[WarningCode] = set()
        if not self.n_checked or self.repeatable_ratio is None:
            found.add(WarningCode.SPEED_ONLY)
        if len(self.garbage) > self.n_checked * _GARBAGE_ANSWERS_RATIO:
            found.add(WarningCode.GARBAGE_OUTPUT)
        if self.truncated:
            found.add(WarningCode.TRUNCATED_OUTPUT)
        if self.repeatable_ratio is not None and self.repeatable_ratio < 1:
            found.add(WarningCode.NOT_REPEATABLE)
        return in_order(found)


def check_outputs(traces: Iterable[RequestTrace], repeats: Sequence[Sequence[RequestTrace]] = ()) -> Sanity:
    """Return what the answers of a cell look like; failed requests are left out.

    Args:
        traces: Requests of the cell.
        repeats: Groups of requests with equal prompts at temperature 0.
    """
    answered = [each for each in traces if each.outcome is Outcome.OK]
    broken = [
        (each.id, why) for each in answered if (why := garbage(each.reasoning_text + each.text)) is not None
    ]
    return Sanity(
        n_checked=len(answered),
        garbage=tuple(sorted(broken)),
        truncated=tuple(sorted([each.id for each in answered if truncated(each)])),
        repeatable_ratio=repeatable_ratio(
            [
                [each.reasoning_text + each.text for each in group if each.outcome is Outcome.OK]
                for group in repeats
            ]
        ),
    )


def garbage(text: str) -> Garbage | None:
    """Return why a text looks broken, or None.  Short texts pass: `4` is a good answer to some questions."""
    replacements = text.count("\ufffd")
    if replacements >= _LEAST_REPLACEMENTS and replacements >= len(text) * _REPLACEMENT_RATIO:
        return "replacement_characters"
    visible = Counter("".join(text.split()))
    if len(text) >= _LEAST_CHARS:
        most = max(visible.values(), default=0)
        if most >= visible.total() * _ONE_CHARACTER_RATIO:
            return "one_character"
    words = text.split()[:_LONGEST_SAMPLE]
    if len(words) >= _LEAST_WORDS and len(set(words)) <= len(words) * _TINY_VOCABULARY_RATIO:
        return "tiny_vocabulary"
    return None


def truncated(trace: RequestTrace) -> bool:
    """Return whether the answer was cut: it stopped for its length, well before the length asked for."""
    if trace.usage is None or trace.finish_reason != "length":
        return False
    return trace.usage.completion_tok < trace.asked_output_tok * _CUT_RATIO


def repeatable_ratio(groups: Sequence[Sequence[str]]) -> float | None:
    """Return the share of repeated answers that equal the first of their group, or None without repeats."""
    repeats = [(group[0], each) for group in groups for each in group[1:]]
    if not repeats:
        return None
    return sum([first == again for first, again in repeats]) / len(repeats)
