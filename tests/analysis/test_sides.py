"""What a comparison looks at in one result."""

import json
from typing import Any

import pytest

from kbtool.analysis.sides import SideFacts, packed
from tests.analysis.sides import LOAD, facts, side, speed


def test_facts_survive_json() -> None:
    """The cache and the browser hold what Python works with."""
    made = facts()
    assert SideFacts.of_plain(json.loads(json.dumps(made.plain()))) == made


def test_equal_values_have_equal_texts() -> None:
    """300 W and 300.0 W are one limit; what is not stated is left out."""
    limit = {"power_limit_w": "300.0", "power_limit_as_published": "300 W"}
    assert facts(system=limit).settings["Power limit, W"] == "300"
    assert (
        "Power limit, W"
        not in facts(system={"power_limit_w": None, "power_limit_as_published": None}).settings
    )
    assert facts().told["input_tok"] == "2,048"


def test_a_figure_has_its_sign_and_unit() -> None:
    """An approximate figure says so; a range stands as published."""
    assert facts(result=speed("653", qualifier="approx")).figure == "\N{ALMOST EQUAL TO} 653 tok/s"
    ranged = facts(result={"value": None, "low": "90", "high": "95", "as_published": "90 to 95"})
    assert (ranged.figure, ranged.value, ranged.why_not) == (
        "90 to 95", "", "it has no single value of a known metric",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("system", "deployment", "at", "share", "formula"),
    [
        ({"accelerator_count": 8}, {}, {}, "75", "600 tok/s / 8 accelerators"),
        # A node of eight cards in a system of two nodes: the count is that of the system, never of the node.
        ({"accelerator_count": 16, "nodes": 2}, {}, {}, "37.5", "600 tok/s / 16 accelerators"),
        ({"accelerator_count": 16, "nodes": 2}, {}, {"accelerators": 8}, "75", "600 tok/s / 8 accelerators"),
        # Dividing by those that decode alone gave 37.5 where 25 is right.
        (
            {"accelerator_count": 24}, {"prefill_accelerators": 8, "decode_accelerators": 16}, {}, "25",
            "600 tok/s / 24 accelerators",
        ),
    ],
)  # fmt: skip
def test_every_accelerator_that_serves_is_counted(
    system: dict[str, Any], deployment: dict[str, Any], at: dict[str, Any], share: str, formula: str
) -> None:
    """Per accelerator is per each that prefills or decodes; a number of nodes is no number of accelerators."""
    made = facts(result=speed("600", at={**LOAD, **at}), system=system, deployment=deployment)
    assert (made.per_accelerator, made.formula) == (share, formula)


def test_what_all_results_share_stands_once() -> None:
    """Packed for the data file and unpacked again, every result is as it was."""
    one, other = side(result=speed("600")), side(result=speed("700", id="second"), system={"driver": "1"})
    sides = [one.facts, other.facts]
    data = packed(sides)
    assert data["all"]["model"] == "models/base-model"
    assert "model" not in data["each"][0]
    unpacked = [
        SideFacts.of_plain(
            {
                **data["all"],
                **each,
                **{name: {**data["all"][name], **each.get(name, {})} for name in ("told", "settings")},
            }
        )
        for each in data["each"]
    ]
    assert unpacked == sides
