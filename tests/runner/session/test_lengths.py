"""How long prompts have to be: found anew by every run, and the same for all of them."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from statistics import fmean, pstdev
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kbtool.runner.client import Endpoint
from kbtool.runner.prompts import Prompt, PromptSpec, make_prompt
from kbtool.runner.session.single import Asker, calibrated_lengths

_HERE = cast("Endpoint", None)
_TEMPLATE_TOK = 20


def _counted(prompt: Prompt) -> int:
    """Return the tokens of a small vocabulary: it has whole words among the short ones, and pieces of all others."""
    words = " ".join(each.content for each in prompt.messages).split()
    return _TEMPLATE_TOK + sum(
        1 if len(each) < 4 and zlib.crc32(each.encode()) % 2 else ceil(len(each) / 2) for each in words
    )


@dataclass
class _Server:
    """Counts prompts, and has a context."""

    context_tok: int = 1_000_000
    counted: list[int] = field(default_factory=list)

    def ask(
        self,
        endpoint: Endpoint,
        model: str,
        prompt: Prompt,
        *,
        output_tok: int,
        extra: Mapping[str, Any] | None = None,
    ) -> Any:
        """Answer with a count, or with the word that there is no room."""
        del endpoint, model, extra
        self.counted.append(_counted(prompt))
        if self.counted[-1] + output_tok > self.context_tok:
            return SimpleNamespace(usage=None, outcome="over_context", detail="too long")
        return SimpleNamespace(usage=SimpleNamespace(prompt_tok=self.counted[-1], cached_tok=0), outcome="ok")


def _mean_tok(run: str, target_tok: int) -> float:
    """Return the mean length of the prompts of one run."""
    found = calibrated_lengths(
        cast("Asker", _Server()), _HERE, "m", {"prose": [target_tok]}, salt=run, most_tok=None
    ).by_class["prose"]
    specs = (
        PromptSpec("prose", target_tok, 1, f"{run}/{each}", found.tok_per_piece, found.fixed_tok)
        for each in range(40)
    )
    return fmean(_counted(make_prompt(each)) for each in specs)


@pytest.mark.parametrize("target_tok", [512, 1500])
def test_runs_of_one_plan_send_prompts_of_one_length(target_tok: int) -> None:
    """The words of the probes are new in every run; what comes of them is not."""
    found = [_mean_tok(f"run-{each}", target_tok) for each in range(12)]
    assert pstdev(found) <= 0.012 * target_tok
    assert fmean(found) == pytest.approx(target_tok, rel=0.01)


def test_a_probe_made_by_a_guess_fits_the_context() -> None:
    """A plan that fills half of a context is not refused for a probe that fills all of it."""
    server = _Server(4096)
    found = calibrated_lengths(
        cast("Asker", server), _HERE, "m", {"prose": [2048]}, salt="run", most_tok=4096
    )
    assert max(server.counted) < 4096
    assert found.by_class["prose"].tok_per_piece > 1


def test_a_few_probes_tell_the_length_of_long_prompts() -> None:
    """Time to prefill is not spent twice: long prompts are few, short ones many."""
    few, many = _Server(), _Server()
    for server, length in ((few, 8192), (many, 512)):
        calibrated_lengths(cast("Asker", server), _HERE, "m", {"prose": [length]}, salt="run", most_tok=None)
    assert len(few.counted) < 10 < len(many.counted)
    assert sum(few.counted) < 40_000
