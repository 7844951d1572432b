"""Prometheus text of any quality."""

from kbtool.runner.engines.metrics_text import MAX_POSITIONS, read_samples


def test_samples_are_summed_over_labels() -> None:
    """Several engines of one server count apart; together they are the server."""
    found = read_samples('a_total{engine="0"} 3\na_total{engine="1"} 4.0\n', ("a_total",))
    assert found.total("a_total") == 7
    assert found.largest("a_total") == 4


def test_the_first_known_name_counts() -> None:
    """Names change between versions: the first that is there is taken, not their sum."""
    found = read_samples("new 1\nold 2\n", ("new", "old"))
    assert found.count("new", "old") == 1
    assert found.count("missing", "old") == 2
    assert found.count("missing") is None


def test_bad_lines_and_numbers_are_passed_over() -> None:
    """NaN, infinity, huge numbers, broken lines and other exporters do not hide the engine's counters."""
    text = 'a{x="1"} NaN\na +Inf\na 1e300\na{broken 3\na\na 5 extra words\n\x00\na 6\nb 7\n# TYPE a counter\n'
    found = read_samples(text, ("a",))
    assert found.flat() == {"a": 6.0}


def test_names_match_whole() -> None:
    """A histogram's sum is not its counter."""
    assert read_samples('a_total_sum 5\na_total_bucket{le="1"} 2\n', ("a_total",)).values == {}


def test_positions_are_complete_or_absent() -> None:
    """A gap among the positions would shift the others."""
    text = "".join(
        f'p{{engine="{engine}",position="{at}"}} {10 - at}\n' for engine in (0, 1) for at in (1, 0, 2)
    )
    assert read_samples(text, ("p",)).by_position("p") == (20, 18, 16)
    assert read_samples('p{position="0"} 1\np{position="2"} 1\n', ("p",)).by_position("p") == ()
    assert read_samples('p{position="-1"} 1\n', ("p",)).by_position("p") == ()
    many = "".join(f'p{{position="{at}"}} 1\n' for at in range(MAX_POSITIONS + 1))
    assert read_samples(many, ("p",)).by_position("p") == ()


def test_labels_with_quotes_and_commas_are_read() -> None:
    """A model's name may hold anything."""
    found = read_samples('a{model_name="x\\",y=\\"1",engine="0"} 2\n', ("a",))
    assert found.labels("a") == {"model_name": 'x",y="1', "engine": "0"}


def test_floods_are_bounded() -> None:
    """Not more samples are kept than an engine has."""
    found = read_samples('a{x="1"} 1\n' * 60_000, ("a",))
    assert found.total("a") == 50_000
