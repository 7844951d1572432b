"""What was measured on what, and what was not."""

from kbtool.analysis.coverage import Cell, Empty, Measured, coverage


def test_cells_count_records_and_results() -> None:
    """Closed classes count in the cell and not in the order."""
    found = coverage(
        [
            Measured("a/one", "e/x", "m/p", 3, False),
            Measured("a/one", "e/x", "m/q", 2, False),
            Measured("a/two", "e/x", "m/p", 1, False),
            Measured("a/two", "e/y", "m/p", 5, True),
            Measured("a/two", "e/y", "m/p", 5, True),
        ],
        "engine",
    )
    assert (found.accelerators, found.others) == (("a/one", "a/two"), ("e/x", "e/y"))
    assert found.cells == ((Cell(2, 5, 0), Cell(0, 0, 0)), (Cell(1, 1, 0), Cell(2, 10, 2)))


def test_what_both_sides_miss_most_comes_first() -> None:
    """The weight of an empty cell is the smaller of its two sides: one engine alone makes no pair wanted."""
    often = [Measured("a/one", "e/x", "m/p", 1, False)] * 5 + [Measured("a/two", "e/y", "m/p", 1, False)] * 4
    found = coverage([*often, Measured("a/three", "e/x", "m/p", 1, False)], "engine")
    assert found.empty[:2] == (Empty("a/one", "e/y", 4), Empty("a/two", "e/x", 4))
    assert found.empty[-1] == Empty("a/three", "e/y", 1)


def test_the_table_is_cut_and_says_of_how_many() -> None:
    """The most used are shown; the rest is counted."""
    many = [Measured(f"a/{number}", "e/x", f"m/{number}", 1, False) for number in range(9)]
    found = coverage(many, "model", shown=2)
    assert (found.accelerators, found.all_accelerators, found.all_others) == (("a/0", "a/1"), 9, 9)
    assert len(found.empty) == 2
