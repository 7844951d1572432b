"""What was measured on what, and what was not."""

from kbtool.analysis.coverage import Cell, Empty, Measured, Missing, coverage, missing

VENDORS = {"a/one": "Acme", "a/two": "Acme", "a/three": "Acme", "a/else": "Other"}


def one(
    record: str, accelerator: str, engine: str, model: str, *, results: int = 1, closed: bool = False
) -> Measured:
    """Return what a record measured."""
    return Measured(record, f"a/{accelerator}", f"e/{engine}", f"m/{model}", results, closed)


def many(count: int, accelerator: str, engine: str, model: str) -> list[Measured]:
    """Return as many records of one setup."""
    return [
        one(f"{accelerator}-{engine}-{model}-{number}", accelerator, engine, model) for number in range(count)
    ]


def test_cells_count_records_and_results() -> None:
    """Closed classes count in the cell and not in the order; a record of two models counts once."""
    found = coverage(
        [
            one("r-1", "one", "x", "p", results=3),
            one("r-1", "one", "x", "q", results=2),
            one("r-2", "one", "x", "q", results=2),
            one("r-3", "two", "x", "p"),
            one("r-4", "two", "y", "p", results=5, closed=True),
            one("r-5", "two", "y", "p", results=5, closed=True),
        ],
        "engine",
        VENDORS,
    )
    assert (found.accelerators, found.others) == (("a/one", "a/two"), ("e/x", "e/y"))
    assert found.cells == ((Cell(2, 7, 0), Cell(0, 0, 0)), (Cell(1, 1, 0), Cell(2, 10, 2)))


def test_columns_are_those_that_most_rows_have() -> None:
    """An engine of many records on one accelerator compares nothing along its column."""
    found = coverage(
        [*many(9, "one", "narrow", "p"), *many(2, "one", "wide", "p"), *many(2, "two", "wide", "p")],
        "engine",
        VENDORS,
    )
    assert found.others == ("e/wide", "e/narrow")


def test_a_column_of_one_row_is_left_out_where_there_are_enough() -> None:
    """It compares nothing; of few columns all are shown."""
    shared = [entry for name in "pqrs" for row in ("one", "two") for entry in many(1, row, name, "m")]
    alone = many(9, "one", "alone", "m")
    assert coverage([*shared, *alone], "engine", VENDORS).others == ("e/p", "e/q", "e/r", "e/s")
    assert coverage([*shared[:-2], *alone], "engine", VENDORS).others == ("e/p", "e/q", "e/r", "e/alone")
    assert "e/alone" in coverage([*shared, *alone], "engine", VENDORS, shown=None).others


def test_what_both_sides_miss_most_comes_first() -> None:
    """The weight of an empty cell is the smaller of its two sides: one engine alone makes no pair wanted."""
    often = [*many(5, "one", "x", "p"), *many(4, "two", "y", "p")]
    found = coverage([*often, one("r", "three", "x", "p")], "engine", VENDORS)
    assert found.empty[:2] == (
        Empty("a/one", "e/y", 5, 4, ("a/two",)),
        Empty("a/two", "e/x", 4, 6, ("a/one", "a/three")),
    )
    assert (found.empty[-1].accelerator, found.empty[-1].weight) == ("a/three", 1)


def test_an_engine_is_proposed_on_hardware_of_a_vendor_it_ran_on() -> None:
    """An engine that no record runs on anything of a vendor may not run there at all."""
    entries = [*many(5, "one", "x", "p"), *many(4, "else", "y", "p")]
    assert coverage(entries, "engine", VENDORS).empty == ()
    assert coverage([*entries, one("r", "two", "y", "p")], "engine", VENDORS).empty == (
        Empty("a/one", "e/y", 5, 5, ("a/two",)),
        Empty("a/two", "e/x", 1, 5, ("a/one",)),
    )


def test_a_model_is_proposed_where_an_engine_runs_that_serves_it() -> None:
    """The engine is the reason; without one the cell is empty and on no list."""
    entries = [*many(3, "one", "x", "p"), *many(2, "two", "x", "q"), *many(2, "else", "y", "r")]
    assert coverage(entries, "model", VENDORS).empty == (
        Empty("a/one", "m/q", 3, 2, ("e/x",)),
        Empty("a/two", "m/p", 2, 3, ("e/x",)),
    )


def test_a_combination_is_missing_where_each_two_were_measured() -> None:
    """The three counts say why it is proposed; one that a closed class has is not missing."""
    entries = [*many(3, "one", "x", "p"), *many(2, "one", "y", "q"), *many(4, "two", "y", "p")]
    # On one, y was run with q and x with p; y serves p on two: p with y on one is missing.
    assert missing(entries) == (Missing("a/one", "e/y", "m/p", 2, 3, 4),)
    assert missing(entries)[0].weight == 2
    assert missing([*entries, one("r", "one", "y", "p", closed=True)]) == ()


def test_the_table_is_cut_and_says_of_how_many() -> None:
    """The most used are shown; the rest is counted; None shows all."""
    entries = [one(f"r-{number}", f"{number}", "x", f"{number}") for number in range(9)]
    found = coverage(entries, "model", {}, shown=2)
    assert (found.accelerators, found.all_accelerators, found.all_others) == (("a/0", "a/1"), 9, 9)
    assert len(coverage(entries, "model", {}, shown=None).accelerators) == 9
