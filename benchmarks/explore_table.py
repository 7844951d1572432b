"""A made-up table of results for measuring the explorer: columns as the site packs them, six results a record.

Records differ as real ones do: a few engines, models and publishers have most of them, sweeps go over the number of users,
figures have three to five digits, half of the conditions are not stated. Equal numbers and seeds give equal tables.
"""

import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import Final

from kbtool.analysis.rows import COLUMNS, Cell
from kbtool.site.explore.describe import ADDED

__all__ = ["RESULTS_PER_RECORD", "made_up"]

RESULTS_PER_RECORD: Final = 6
_METRICS: Final = (
    "output_tok_s",
    "ttft_ms",
    "tok_s_per_user",
    "tpot_ms",
    "tok_s_per_accelerator",
    "prefill_tok_s",
)
_DTYPES: Final = ("fp8", "fp4", "bf16", "int4", "mixed", None, None)
_PROMPTS: Final = ("random_tokens", "prose", "code", "synthetic", "sharegpt", None, None)
_STATUSES: Final = ("draft",) * 8 + ("reviewed", "disputed")
_WORDS: Final = (
    "Helium",
    "Granite",
    "Falcon",
    "Sequoia",
    "Lumen",
    "Cobalt",
    "Nimbus",
    "Orchid",
    "Quartz",
    "Raven",
)


def made_up(records: int, seed: int = 1) -> dict[str, Sequence[Cell]]:
    """Return the columns of so many records."""
    chance = random.Random(seed)
    columns: dict[str, list[Cell]] = {
        name: [None] * (records * RESULTS_PER_RECORD) for name in (*COLUMNS["benchmark"], *ADDED)
    }
    names = _Names(chance)
    for record in range(records):
        _fill(columns, record, names, chance)
    return dict(columns)


class _Names:
    """What records name, the first of each far more often than the last."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.accelerator = self._skewed([f"accelerators/maker-{n % 7}-model-{n}" for n in range(60)])
        self.engine = self._skewed([f"engines/engine-{n}" for n in range(30)])
        self.model = self._skewed([f"models/{_WORDS[n % 10].lower()}-{n}b" for n in range(150)])
        self.publisher = self._skewed([f"{_WORDS[n % 10]} {_WORDS[n // 10 % 10]} {n}" for n in range(120)])
        self.version = self._skewed([f"0.{n // 12}.{n % 12}" for n in range(200)])

    def _skewed(self, items: Sequence[str]) -> Callable[[], str]:
        weights = list(accumulate(1 / (rank + 1) for rank in range(len(items))))
        return lambda: self._chance.choices(items, cum_weights=weights)[0]


def _fill(columns: dict[str, list[Cell]], record: int, names: _Names, chance: random.Random) -> None:
    accelerator, engine, model = names.accelerator(), names.engine(), names.model()
    count = chance.choice((1, 2, 4, 4, 8, 8, 8, 16))
    year = chance.choice((2024, 2025, 2026, 2026, None))
    shared: dict[str, Cell] = {
        "ref": f"benchmarks/ev-{engine[8:]}-{model[7:]}-{count}x-{record:07}",
        "title": f"{engine[8:]}, {model[7:]} on {count} {accelerator[13:]}, run {record}",
        "accelerator": accelerator, "accelerator_count": count, "accelerators_serving": count, "engine": engine,
        "engine_version": names.version(), "model": model, "weight_dtype": chance.choice(_DTYPES),
        "tp": chance.choice((1, 2, 4, 8, None)), "prompt_class": chance.choice(_PROMPTS),
        "publisher": names.publisher(), "status": chance.choice(_STATUSES), "standing": "stands", "year": year,
        "measured_by": chance.choice(("vendor", "vendor", "third_party", "operator", "self")),
        "confidence": Decimal(chance.randrange(40, 95, 5)) / 100, "confidence_label": chance.choice(("low", "medium")),
        "confidence_by": chance.choice(("curator", "rubric")),
        "speculation": chance.choice(("none", "none", "mtp", "eagle3", None)), "setup": record, "page": 1,
        "input_tok": chance.choice((1024, 2048, 8192, 16384, None)), "output_tok": chance.choice((128, 1024, None)),
        "source": f"sources/source-{record // 10}", "group": f"group-{record // 10}", "updated": "2026-11-30",
    }  # fmt: skip
    speed = chance.lognormvariate(6, 1.5)
    metrics = chance.sample(_METRICS, 2)
    for place in range(RESULTS_PER_RECORD):
        row = record * RESULTS_PER_RECORD + place
        users = 4 ** (place % 3) * chance.choice((1, 1, 1, 2))
        value = _figure(speed * users**0.7 * chance.lognormvariate(0, 0.1))
        share = _figure(chance.random()) if chance.random() < 0.4 else None
        cells = shared | {
            "result": f"c{users}-{metrics[place // 3].replace('_', '-')}", "metric": metrics[place // 3], "value": value,
            "as_published": f"{value:,f}", "concurrency": users, "bound": chance.choice(("bandwidth", "compute")),
            "per_accelerator": _figure(float(value) / count) if metrics[place // 3] == "output_tok_s" else None,
            "bound_share": share, "statistic": chance.choice(("single", "single", "mean", "p99", None)),
            "user_tok_s": _figure(400 / users**0.6) if place == 0 else None, "repeats": chance.choice((1, 3, None)),
        }  # fmt: skip
        for name, cell in cells.items():
            columns[name][row] = cell


def _figure(number: float) -> Decimal:
    return Decimal(format(Decimal(f"{number:.4g}"), "f"))
