"""How much text makes a prompt of so many tokens: calibrated from what the server counted, then checked.

The runner has no tokenizer of the model, and needs none: text of one class has a steady number of tokens a piece
(`kbtool.runner.prompts.pieces`) under one vocabulary, and the server says with every answer how many tokens the prompt
had.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kbtool.errors import UsageError
from kbtool.runner.trace import Usage

__all__ = [
    "DEFAULT_LENGTHS",
    "LENGTH_TOLERANCE_RATIO",
    "LengthCheck",
    "LengthError",
    "LengthModel",
    "calibrate_ratio",
    "length_check",
]

LENGTH_TOLERANCE_RATIO: Final = 0.02
"""How far a prompt may be from the length asked for."""

_LEAST_RATIO: Final = 0.2
_MOST_RATIO: Final = 12.0
_LEAST_STRETCH: Final = 1.5
"""A fixed part can be told from the rest only where lengths differ by this factor."""


class LengthError(UsageError):
    """A length that cannot be reached, or counts that no tokenizer gives."""


@dataclass(frozen=True, slots=True)
class LengthModel:
    """Tokens of a prompt as a straight line over its pieces."""

    tok_per_piece: float
    fixed_tok: float = 0.0
    """What the chat template adds, and what the fixed texts have beyond the rest; below 0 where they have fewer."""

    def expected_tok(self, n_pieces: int) -> int:
        """Return the tokens that a prompt of so many pieces should have."""
        return max(1, round(self.fixed_tok + n_pieces * self.tok_per_piece))

    def pieces_for(self, target_tok: int) -> int:
        """Return the pieces that should give so many tokens; below 1 where the fixed part alone is more."""
        return round((target_tok - self.fixed_tok) / self.tok_per_piece)


DEFAULT_LENGTHS: Final = LengthModel(1.0, 16.0)
"""For first probes alone: within a tenth for every class with one public vocabulary of 131,072 entries, within a fifth
with one of 32,000."""


@dataclass(frozen=True, slots=True)
class LengthCheck:
    """Whether a prompt had the length asked for."""

    asked_tok: int
    prompt_tok: int
    off_ratio: float
    """(counted - asked) / asked."""
    held: bool


def calibrate_ratio(pairs: Sequence[tuple[int, int]]) -> LengthModel:
    """Return the line through what the server counted.

    With lengths that differ by half or more, slope and fixed part are fitted by least squares over relative errors,
    so that a long probe does not drown a short one.  With lengths that are alike, the fixed part is taken as 0.

    Args:
        pairs: Pieces and `usage.prompt_tokens` of each probe; one prompt class, one endpoint, one API.

    Raises:
        LengthError: There is no pair, or counts that no tokenizer gives.
    """
    if not pairs:
        raise LengthError(
            "length calibration: no probe was answered with a token count; ask the server for usage"
        )
    for n_pieces, prompt_tok in pairs:
        if n_pieces < 1 or prompt_tok < 1:
            raise LengthError(
                f"length calibration: a probe of {n_pieces} pieces had {prompt_tok} tokens; expected both above 0: "
                "check that the server counts prompt tokens"
            )
    lengths = [n_pieces for n_pieces, _ in pairs]
    fitted = _line(pairs) if max(lengths) >= _LEAST_STRETCH * min(lengths) else _share(pairs)
    if not _LEAST_RATIO <= fitted.tok_per_piece <= _MOST_RATIO:
        raise LengthError(
            f"length calibration: {fitted.tok_per_piece:.4f} tokens a piece from {len(pairs)} probes; expected "
            f"{_LEAST_RATIO} to {_MOST_RATIO}: the server's prompt_tokens do not count the prompt that was sent"
        )
    return fitted


def _share(pairs: Sequence[tuple[int, int]]) -> LengthModel:
    return LengthModel(sum(tok for _, tok in pairs) / sum(pieces for pieces, _ in pairs))


def _line(pairs: Sequence[tuple[int, int]]) -> LengthModel:
    """Fit by least squares with weights 1 / tokens**2."""
    weights = [1.0 / tok**2 for _, tok in pairs]
    total = sum(weights)
    mean_pieces = sum(w * pieces for w, (pieces, _) in zip(weights, pairs, strict=True)) / total
    mean_tok = sum(w * tok for w, (_, tok) in zip(weights, pairs, strict=True)) / total
    spread = sum(w * (pieces - mean_pieces) ** 2 for w, (pieces, _) in zip(weights, pairs, strict=True))
    together = sum(
        w * (pieces - mean_pieces) * (tok - mean_tok) for w, (pieces, tok) in zip(weights, pairs, strict=True)
    )
    slope = together / spread
    return LengthModel(slope, mean_tok - slope * mean_pieces)


def length_check(
    asked_tok: int, usage: Usage, tolerance_ratio: float = LENGTH_TOLERANCE_RATIO
) -> LengthCheck:
    """Return whether the server counted the prompt length that was asked for."""
    off_ratio = (usage.prompt_tok - asked_tok) / asked_tok
    return LengthCheck(asked_tok, usage.prompt_tok, off_ratio, abs(off_ratio) <= tolerance_ratio)
