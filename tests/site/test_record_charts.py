"""Which results of a record stand beside one another in a chart."""

from decimal import Decimal
from typing import Any

from kbtool.schema.benchmark import Result
from kbtool.site.views.sweeps import charts_of
from tests.site.samples import rich


def _result(name: str, users: int, statistic: str, value: int, **at: Any) -> Result:
    base: Result = rich().results[0]
    return base.model_copy(
        update={
            "id": name,
            "metric": "ttft_ms",
            "statistic": statistic,
            "value": Decimal(value),
            "at": base.at.model_copy(update={"concurrency": users, **at}),
        }
    )


def _charts(*results: Result) -> str:
    record = rich(results=results, headline=results[0].id)
    return "".join(str(each.svg) for each in charts_of(record, "ttft_ms", hollow=False, key="k"))


def test_a_mean_does_not_stand_beside_medians() -> None:
    """Of two statistics the headline's is drawn; the table has both."""
    drawn = _charts(_result("b", 4, "p50", 44), _result("c", 2, "p50", 22), _result("a", 1, "mean", 11))
    assert ">11 ms<" not in drawn
    assert drawn.index(">22 ms<") < drawn.index(">44 ms<")


def test_statistics_of_one_load_may_be_what_is_drawn() -> None:
    """Median and tail of one load differ in nothing else."""
    drawn = _charts(_result("a", 1, "p50", 11), _result("b", 1, "p99", 99))
    assert ">11 ms<" in drawn
    assert ">99 ms<" in drawn
