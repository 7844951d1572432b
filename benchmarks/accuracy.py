"""How exactly findings point: faults of known place, code and correction are planted in valid records.

Bars: line and column right in every case, exactly one finding in 99 %, the right suggestion in 95 %.

Usage: python -m benchmarks.accuracy [PLACES]
"""

import random
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.faults import DEAD_REFERENCE, KINDS, Planted, internationalised, plant
from benchmarks.generate import project
from kbtool.findings import Finding
from kbtool.lint import run
from kbtool.store.files import RecordFile
from kbtool.store.read import load_bytes

__all__ = ["Score", "score_of"]

_RECORDS: Final = 30
_MOST_TRIES: Final = 400
"""A place, before a kind of fault is taken to have none."""


@dataclass(slots=True)
class Score:
    """How the findings of one kind of fault did."""

    kind: str
    places: int = 0
    placed: int = 0
    """Line, column and code were right for one of the findings."""
    single: int = 0
    """There was one finding."""
    suggestions: int = 0
    """Places for which there is a right suggestion."""
    suggested: int = 0

    def count(self, planted: Planted, findings: tuple[Finding, ...]) -> None:
        """Count one planted fault and what was found."""
        wanted = (planted.line, planted.column, planted.code)
        hits = [each for each in findings if (each.line, each.column, each.code) == wanted]
        self.places += 1
        self.placed += bool(hits)
        self.single += len(findings) == 1
        if planted.suggestion is not None:
            self.suggestions += 1
            self.suggested += any(each.suggestion == planted.suggestion for each in hits)


def score_of(kind: str, places: int, seed: int = 1) -> Score:
    """Return the score of one kind of fault, planted in so many places."""
    if kind == DEAD_REFERENCE:
        return _dead_references(places, seed)
    score = Score(kind)
    records = _records(seed)
    chance = random.Random(f"{seed} {kind}")
    for _ in range(places * _MOST_TRIES):
        if score.places == places:
            break
        path, text = chance.choice(records)
        if chance.random() < 0.5:
            text = internationalised(text)
        file = RecordFile(Path(path), path, path.split("/")[1].removesuffix("s"), Path(path).stem, "")
        planted = plant(kind, text, file.kind, chance)
        if planted is not None:
            score.count(planted, load_bytes(file, planted.text.encode()).findings)
    return score


@cache
def _records(seed: int) -> list[tuple[str, str]]:
    return list(project(_RECORDS, seed))


def _dead_references(places: int, seed: int) -> Score:
    """Return the score of references that lead nowhere: a rule over all records finds them."""
    chance = random.Random(seed)
    score = Score(DEAD_REFERENCE)
    texts = dict(_records(seed))
    benchmarks = sorted(path for path in texts if "/benchmarks/" in path)
    with TemporaryDirectory() as folder:
        root = Path(folder)
        for path, text in texts.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        while score.places < places:
            path = chance.choice(benchmarks)
            planted = plant(DEAD_REFERENCE, internationalised(texts[path]), "benchmark", chance)
            if planted is not None:
                (root / path).write_text(planted.text, encoding="utf-8")
                score.count(planted, run(root, paths=[root / path]).findings)
    return score


def main() -> None:
    """Print the table."""
    places = int(sys.argv[1]) if len(sys.argv) > 1 else 120
    table = [score_of(kind, places) for kind in (*KINDS, DEAD_REFERENCE)]
    print(f"{'fault':34} {'places':>6} {'placed':>7} {'single':>7} {'suggested':>9}")
    for each in [*table, _total(table)]:
        suggested = f"{each.suggested / each.suggestions:9.1%}" if each.suggestions else f"{'-':>9}"
        shares = f"{each.placed / each.places:7.1%} {each.single / each.places:7.1%}"
        print(f"{each.kind:34} {each.places:6} {shares} {suggested}")


def _total(table: list[Score]) -> Score:
    columns = ("places", "placed", "single", "suggestions", "suggested")
    return Score(f"{len(table)} kinds", *(sum(getattr(each, name) for each in table) for name in columns))


if __name__ == "__main__":
    main()
