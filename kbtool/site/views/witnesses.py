"""Facts of sources, and the story of a gotcha."""

from collections.abc import Iterator

from kbtool.schema import Gotcha, Source
from kbtool.site.views.base import Citations, Context, external
from kbtool.site.views.facts import Group, Item, plain_item, present
from kbtool.site.views.text import published_text, words

__all__ = ["gotcha_groups", "gotcha_story", "source_groups"]


def source_groups(record: Source, context: Context, _citations: Citations) -> Iterator[Group]:
    """Yield where a source is and who says it."""
    checked = record.last_checked
    yield Group(
        "Where it is",
        present((
            plain_item("What it is", words(record.source_kind)),
            _address(record, context),
            Item("Archived copy", link=external(record.archive_url, record.archive_url)) if record.archive_url else None,
            plain_item("Repository", record.repository),
            plain_item("Commit", record.commit, code=True),
            plain_item("Path", record.path, code=True),
            plain_item("Read through", record.read_via),
            Item("Last checked", f"{checked.day.isoformat()}: {words(checked.outcome)}", notes=(checked.note,) if checked.note else ()) if checked else None,
            plain_item("SHA-256 of what was read", record.content_sha256, code=True),
            plain_item("Licence", record.licence),
        )),
    )  # fmt: skip
    yield Group(
        "Who says it",
        present((
            plain_item("Publisher", record.publisher),
            plain_item("Author", record.author),
            plain_item("Interest", words(record.interest)),
            plain_item("Published", published_text(record)),
            plain_item("Read on", record.accessed.isoformat()),
            plain_item("Independence group", record.group, code=True),
        )),
    )  # fmt: skip
    related = [
        Item(words(each.relation), link=context.link(each.source), notes=(each.note,) if each.note else ())
        for each in record.related
    ]
    yield Group("Related sources", tuple(related))


def _address(record: Source, context: Context) -> Item:
    """Return where a source is; a run measured by the runner is where its record keeps the raw files."""
    if record.url:
        return Item("Address", link=external(record.url, record.url))
    kept_by = next((card.ref for card, _ in context.incoming if card.kind == "benchmark"), None)
    if record.source_kind == "measured_run" and kept_by:
        return Item("Address", "no page: its raw files are listed with", link=context.link(kept_by))
    return Item("Address", "not known", gap="missing")


def gotcha_groups(record: Gotcha, context: Context, _citations: Citations) -> Iterator[Group]:
    """Yield what a trap concerns and which numbers it changed."""
    affected = [
        Item(
            "Engine" if each.engine else "Condition",
            each.condition or "",
            link=context.link(each.engine) if each.engine else None,
            notes=(f"versions: {each.versions}",) if each.versions else (),
        )
        for each in record.affected
    ]
    yield Group("Affected", tuple(affected))
    effects = [Item(each.note, link=context.link(each.target)) for each in record.effects]
    yield Group("Numbers that it changed", tuple(effects))


def gotcha_story(record: Gotcha, citations: Citations) -> tuple[Item, ...]:
    """Return what one sees, why, how to find out, and what prevents it."""
    evidence = citations.cite(record.evidence)
    return (
        Item("What one sees", record.symptom, evidence=evidence),
        Item("Why", record.cause),
        Item("How to find out", record.detect),
        Item("What prevents it", record.avoid),
    )
