"""Rules about identity: what a record is called, and that it is one thing and there once."""

import re
from collections.abc import Iterator
from typing import Final

from kbtool.lint.facts import Facts, RecordFacts
from kbtool.lint.lookup import FileView
from kbtool.lint.rule import CorpusProblem, Problem, corpus_rule, rule
from kbtool.schema import Benchmark, Record
from kbtool.store.suggest import nearest

_WINDOWS_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul"} | {f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)}
)
_OBJECT_PROTOTYPE: Final = frozenset(
    {
        "constructor", "proto", "prototype", "hasownproperty", "isprototypeof", "propertyisenumerable",
        "tolocalestring", "tosource", "tostring", "valueof", "define-getter", "define-setter",
    }
)  # fmt: skip
_SITE_ROUTES: Final = frozenset(
    {
        "about", "assets", "changes", "compare", "conflicts", "contribute", "cost", "coverage", "data", "explore",
        "feed", "gaps", "glossary", "index", "latest", "limits", "methodology", "metrics", "new", "records",
        "robots", "rules", "schema", "search", "sitemap", "tags",
    }
)  # fmt: skip
_RESERVED: Final = {
    **dict.fromkeys(_WINDOWS_DEVICES, "the name of a Windows device"),
    **dict.fromkeys(_OBJECT_PROTOTYPE, "a property that every JavaScript object has"),
    **dict.fromkeys(_SITE_ROUTES, "a page of the site"),
}
_NOT_A_WORD: Final = re.compile(r"[^0-9a-z]+")


@rule("I001", "reserved-id")
def reserved_id(record: Record) -> Iterator[Problem]:
    """Flag an id that is a file, a property or a page already.

    A record becomes a file name, a key in the explorer's tables and an address. `con.yaml` cannot be checked
    out on Windows, `constructor` exists in every JavaScript object, and `index` is the page of the whole
    folder.

    Bad:
        id: constructor

    Good:
        id: constructor-of-graphs
    """
    what = _RESERVED.get(record.id)
    if what is not None:
        yield Problem(
            "/id", f"`{record.id}` is {what}; expected a name of its own: say what the record is about"
        )


@rule("I002", "id-not-file-name")
def id_not_file_name(record: Record, view: FileView) -> Iterator[Problem]:
    """Flag a record whose id is not the name of its file.

    References, pages and reviews find a record by its file name. With two names, a link leads to one record
    and the page says another.

    Bad:
        engines/other: {id: another, title: Other}

    Good:
        engines/other: {id: other, title: Other}
    """
    stem = view.path.rpartition("/")[2].removesuffix(".yaml")
    if stem != record.id:
        yield Problem(
            "/id",
            f"id is `{record.id}`, but the file is {stem}.yaml: rename the file, or keep the id that it had",
        )


@corpus_rule("I003", "id-in-two-files", partial=True)
def id_in_two_files(facts: Facts) -> Iterator[CorpusProblem]:
    """Flag an id that two files of one kind have, in whatever folders.

    Groups below the kind's folder are for readers of the repository; the address of a page holds the id
    alone. Two branches can each add the id and both be green, so that only the merged tree shows it.

    Bad:
        engines/fast/other: {title: Other, maintainer: One}
        engines/slow/other: {title: Another, maintainer: Two}

    Good:
        engines/fast/other: {title: Other, maintainer: One}
        engines/slow/another: {title: Another, maintainer: Two}
    """
    first: dict[str, str] = {}
    for file in facts.files:
        other = first.setdefault(file.ref, file.path)
        if other != file.path:
            message = f"{other} has this id too: rename one of the two, and what refers to it"
            yield CorpusProblem(file.ref, "/id", message, path=file.path)


@rule("I004", "anchor-used-twice")
def anchor_used_twice(record: Record) -> Iterator[Problem]:
    """Flag results or claims of one record that share an id.

    Each has an anchor on the record's page and is referred to by it (`benchmarks/x#decode`): a second one can
    never be reached, and joins of the data files would multiply rows.

    Bad:
        claims:
          - {id: decode-prose-1, statement: It decodes faster than it reads., verdict: unresolved}

    Good:
        claims:
          - {id: decode-beats-prefill, statement: It decodes faster than it reads., verdict: unresolved}
    """
    seen: set[str] = set()
    places = [("results", each.id) for each in record.results] if isinstance(record, Benchmark) else []
    places += [("claims", each.id) for each in record.claims]
    if len(places) == len({anchor for _, anchor in places}):
        return
    results = len(places) - len(record.claims)
    for index, (part, anchor) in enumerate(places):
        if anchor in seen:
            at = f"/{part}/{index if part == 'results' else index - results}/id"
            yield Problem(
                at, f"`{anchor}` is already the id of another result or claim: give this one its own"
            )
        seen.add(anchor)


@rule("I005", "headline-not-a-result")
def headline_not_a_result(record: Benchmark) -> Iterator[Problem]:
    """Flag a headline that names no result of the record.

    The headline stands for the record in every list; without it the record has no figure there.

    Bad:
        headline: decode-prose-11

    Good:
        headline: decode-prose-1
    """
    ids = [each.id for each in record.results]
    if record.headline not in ids:
        near = nearest(record.headline, ids)
        hint = (
            f": did you mean `{near}`?"
            if near
            else f"; expected one of {', '.join(ids[:5])}: name one of them"
        )
        yield Problem("/headline", f"no result has the id `{record.headline}`{hint}", suggestion=near)


@corpus_rule("I006", "title-used-twice", severity="warning")
def title_used_twice(facts: Facts) -> Iterator[CorpusProblem]:
    """Flag records of one kind whose titles have the same words.

    In lists and search results a reader has the title alone to tell two records apart.

    Bad:
        engines/other: {title: "Base-Engine"}

    Good:
        engines/other: {title: Base Engine for phones}
    """
    first: dict[tuple[str, str], str] = {}
    for ref, record in facts.records.items():
        words = _NOT_A_WORD.sub(" ", record.title.casefold()).strip()
        other = first.setdefault((record.kind, words), ref)
        if words and other != ref:
            yield CorpusProblem(ref, "/title", f"{other} has the same title: add what tells the two apart")


@corpus_rule("I007", "measurement-in-two-records")
def measurement_in_two_records(facts: Facts) -> Iterator[CorpusProblem]:
    """Flag one measurement that two records report as if it were two.

    Same setup, conditions, metric and value, or the same figure at the same place, from sources that count as
    one: it is a copy, and each copy is a row of the data files and a vote in every comparison.

    Bad:
        benchmarks/other:
          title: The same run, told elsewhere

    Good:
        links: [{relation: same_run_as, target: benchmarks/other}]
        benchmarks/other:
          title: The same run, told elsewhere
    """
    by_conditions: dict[str, RecordFacts] = {}
    by_place: dict[str, RecordFacts] = {}
    for record in facts.of_kind("benchmark"):
        for pointer, metric, conditions, place, value, *_ in record.measurements:
            other = by_conditions.setdefault(conditions + value, record)
            if other is record:
                other = by_place.setdefault(place + value, record)
            if other is not record and _one_source_group(record, other) and not facts.settled(record, other):
                message = (
                    f"{other.ref} reports the same {metric} under the same conditions from the same group of sources: "
                    "link the two with same_run_as, or keep one of them"
                )
                yield CorpusProblem(record.ref, pointer, message)
                break


@corpus_rule("I008", "withdrawn-id-reused")
def withdrawn_id_reused(facts: Facts) -> Iterator[CorpusProblem]:
    """Flag a record whose id belonged to a record that was withdrawn.

    Whoever cited the withdrawn record would now find other figures under its name, without knowing.

    Bad:
        engines/other: {title: Other}
        withdrawn/engines/other: {}

    Good:
        engines/another: {title: Other}
        withdrawn/engines/other: {}
    """
    for ref, stone in facts.withdrawn.items():
        if facts.exists(ref):
            yield CorpusProblem(
                ref,
                "/id",
                f"{stone.path} says that this id was withdrawn, and an id never comes back: choose another",
            )


@corpus_rule("I009", "source-in-two-records", severity="warning")
def source_in_two_records(facts: Facts) -> Iterator[CorpusProblem]:
    """Flag two source records with one address or with the same bytes.

    Two records of one page look like two witnesses.

    Bad:
        sources/other: {title: The same page once more}

    Good:
        sources/other:
          title: Another page
          url: https://example.org/blog/another-page
          archive_url: null
          content_sha256: 5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9
    """
    seen: dict[str, str] = {}
    for record in facts.of_kind("source"):
        for key, what in (
            (record.content_sha256, "the same content"),
            (_address(record.url), "the same address"),
        ):
            other = seen.setdefault(key, record.ref) if key else record.ref
            if other != record.ref:
                yield CorpusProblem(
                    record.ref, "/url", f"{other} has {what}: keep one, or say how they differ"
                )
                break


def _one_source_group(one: RecordFacts, other: RecordFacts) -> bool:
    return not {each.group for each in one.sources}.isdisjoint(each.group for each in other.sources)


def _address(url: str) -> str:
    """Return what two spellings of one address share."""
    return url.removeprefix("https://").removeprefix("http://").removeprefix("www.").rstrip("/")
