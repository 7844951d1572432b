"""Rules over all records, where an example cannot show the point."""

from datetime import date

from kbtool.lint.facts import Facts, RecordFacts, ReferenceFact
from kbtool.lint.rules.identity import id_in_two_files
from kbtool.lint.rules.links import reference_not_found, supersedes_in_a_circle, two_successors
from kbtool.lint.rules.values import date_in_the_future


def facts_of(ref: str, *references: tuple[str, str], **more: str) -> RecordFacts:
    """Return the facts of an engine with references by target and relation."""
    return RecordFacts(
        ref=ref,
        kind="engine",
        id=ref.rpartition("/")[2],
        path=more.pop("path", f"records/{ref}.yaml"),
        title=ref,
        status="draft",
        sha256="",
        references=[
            ReferenceFact(f"/links/{i}/target", target, relation)
            for i, (target, relation) in enumerate(references)
        ],
        **more,  # type: ignore[arg-type]  # texts all of them
    )


def test_a_chain_longer_than_the_stack_is_walked() -> None:
    """5,000 records that replace one another in a row are no circle; closed, they are one circle."""
    chain = [facts_of(f"engines/e{n:04}", (f"engines/e{n + 1:04}", "supersedes")) for n in range(5000)]
    assert list(supersedes_in_a_circle(Facts.of(chain))) == []
    closed = [*chain, facts_of("engines/e5000", ("engines/e0000", "supersedes"))]
    assert len(list(supersedes_in_a_circle(Facts.of(closed)))) == 1


def test_a_circle_with_a_tail_is_reported_once() -> None:
    """What leads into a circle is not in it."""
    records = [
        facts_of("engines/a", ("engines/b", "superseded_by")),
        facts_of("engines/b", ("engines/c", "superseded_by")),
        facts_of("engines/c", ("engines/b", "superseded_by")),
    ]
    (problem,) = supersedes_in_a_circle(Facts.of(records))
    assert problem.message.startswith("engines/b -> engines/c -> engines/b")
    assert problem.ref == "engines/c"


def test_the_two_ways_to_say_it_are_one() -> None:
    """`supersedes` here and `superseded_by` there name one successor."""
    records = [
        facts_of("engines/old", ("engines/new", "superseded_by")),
        facts_of("engines/new", ("engines/old", "supersedes")),
    ]
    assert list(two_successors(Facts.of(records))) == []


def test_dates_are_checked_only_when_a_day_is_given() -> None:
    """A green repository is green tomorrow; one day is left for time zones."""
    record = facts_of("engines/a", latest_date="2026-10-05", latest_date_at="/updated")
    assert list(date_in_the_future(Facts.of([record]))) == []
    assert list(date_in_the_future(Facts.of([record], as_of=date(2026, 10, 4)))) == []
    (problem,) = date_in_the_future(Facts.of([record], as_of=date(2026, 10, 3)))
    assert problem.at == "/updated"


def test_a_dead_reference_suggests_the_same_kind() -> None:
    """Of all names, the nearest of that folder; the anchor is kept."""
    records = [facts_of("engines/sglang"), facts_of("engines/x", ("engines/sglan#decode", "engine"))]
    (problem,) = reference_not_found(Facts.of(records))
    assert problem.suggestion == "engines/sglang#decode"


def test_three_files_of_one_id_are_two_findings() -> None:
    """Each points at its own file."""
    records = [facts_of("engines/a", path=f"records/engines/{group}/a.yaml") for group in ("x", "y", "z")]
    assert [each.path for each in id_in_two_files(Facts.of(records))] == [
        "records/engines/y/a.yaml",
        "records/engines/z/a.yaml",
    ]
