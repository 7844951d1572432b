"""Rules about source records: a reader can open what was read, in the state in which it was read."""

from collections.abc import Iterator
from typing import Final

from kbtool.lint.rule import Problem, rule
from kbtool.schema import Source

_PINNED: Final = frozenset({"repository_file", "measured_run", "package"})
"""Kinds of source that a commit, a version or a hash holds fast without a stored copy."""


@rule("P011", "source-without-address", draft="warning")
def source_without_address(record: Source) -> Iterator[Problem]:
    """Flag a source that says neither where it is nor how it was read.

    Bad:
        sources/other: {title: Other, url: null, archive_url: null, content_sha256: null}

    Good:
        sources/other: {title: Other, url: null, archive_url: null, content_sha256: null, read_via: Handed over as text.}
    """
    if (
        record.url is None
        and record.archive_url is None
        and record.read_via is None
        and record.repository is None
    ):
        yield Problem(
            "/url", "no address; expected `url`, or `read_via` where there is none: say how it was read"
        )


@rule("P012", "file-without-commit")
def file_without_commit(record: Source) -> Iterator[Problem]:
    """Flag a file of a repository without its commit.

    A branch moves: tomorrow the same address shows another file, and the quote is gone.

    Bad:
        source_kind: repository_file
        repository: example/base-bench
        path: docs/results.md

    Good:
        source_kind: repository_file
        repository: example/base-bench
        commit: 9fceb02d0ae598e95dc970b74767f19372d61af8
        path: docs/results.md
    """
    if record.source_kind == "repository_file" and record.commit is None:
        yield Problem("/commit", "a repository file without commit: add the commit that was read")


@rule("P013", "read-before-published")
def read_before_published(record: Source) -> Iterator[Problem]:
    """Flag a source that was read before it was published.

    One of the two days is wrong, and with it what the source can have known.

    Bad:
        sources/other: {title: Other, url: https://example.org/o, content_sha256: null, published: "2026-09-16"}

    Good:
        sources/other: {title: Other, url: https://example.org/o, content_sha256: null, published: "2026-09-15"}
    """
    if record.published is not None and record.accessed < record.published:
        message = f"read on {record.accessed}, published on {record.published}: correct the day that is wrong"
        yield Problem("/accessed", message)


@rule("P014", "no-stored-copy", severity="info")
def no_stored_copy(record: Source) -> Iterator[Problem]:
    """Flag a source of which neither a stored copy nor a hash is known.

    Pages vanish and change. With an archive's address the words can be read again; with a hash at least a
    change is seen.

    Bad:
        sources/other: {title: Other, url: https://example.org/o, archive_url: null, content_sha256: null}

    Good:
        sources/other: {title: Other, url: https://example.org/o, archive_url: "https://web.archive.org/web/2026/o",
          content_sha256: null}
    """
    stored = record.archive_url is not None or record.content_sha256 is not None or record.commit is not None
    if record.url is not None and not stored and record.source_kind not in _PINNED:
        yield Problem(
            "/archive_url", "no stored copy is known: have the page archived, and add `archive_url`"
        )
