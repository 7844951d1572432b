"""Rules about prose: what a field can hold stands in the field, and notes stay short and ours."""

import re
from collections.abc import Iterator
from typing import Final

from kbtool.analysis.published import thousands_removed
from kbtool.lint.facts import Facts
from kbtool.lint.lookup import FileView
from kbtool.lint.rule import CorpusProblem, Problem, corpus_rule, rule
from kbtool.schema import Record
from kbtool.store import fields

_MOST_WORDS: Final = 120
_UNIT: Final = r"(?:tok/s|tokens?/s(?:ec)?|t/s|req/s|GB/s|TB/s|GiB|GB|MiB|ms|TFLOPS|W)\b"
_QUANTITY: Final = re.compile(rf"(\d[\d,.]*\d|\d)\s?{_UNIT}")
_SHOUTING: Final = re.compile(r"\b[A-Z][A-Z'-]+(?:[ ,:]+[A-Z][A-Z'-]+){3,}")
_OMISSION: Final = re.compile(
    r"\b(?:omitted|not (?:stated|given|disclosed|published|reported)|left out) by (?:the )?(?:source|author|vendor)"
    r"|\b(?:the )?(?:source|author|vendor) (?:does|do|did) not (?:say|state|disclose|give|mention|specify)",
    re.IGNORECASE,
)
_OMISSION_WORDS: Final = tuple(
    words for who in ("source", "author", "vendor") for words in (f"by {who}", f"by the {who}", f"{who} d")
)
_HISTORY: Final = re.compile(
    r"\b(?:filled|corrected|updated|fixed|added|changed|edited|edit|update)(?: on| at|:)? (?:\d{4}-\d\d-\d\d)",
    re.IGNORECASE,
)
_HISTORY_WORDS: Final = ("filled", "corrected", "update", "fixed", "added", "changed", "edit")
_HOUSEKEEPING: Final = re.compile(
    r"\bin this (?:repo|repository|dataset|data set|knowledge base)\b"
    r"|\b(?:this|the) (?:repo|repository|schema|field)(?:'s)? (?:records|holds|reads|means|convention)"
    r"|\bevery (?:previously[- ]filled )?record in\b",
    re.IGNORECASE,
)
_HOUSEKEEPING_WORDS: Final = (
    "in this ", "repository", "this repo ", "the repo ", "repo's", "this schema", "the schema", "field", "every ",
)  # fmt: skip
_NOT_KNOWN: Final = r"unknown|unspecified|undisclosed|n/?a|not (?:stated|given|available|disclosed|specified)"
_PLACEHOLDER: Final = re.compile(
    rf"\A\W*(?:tbd|todo|fixme|xxx+|changeme|placeholder|to be determined|{_NOT_KNOWN})\W*\Z", re.IGNORECASE
)
_PLACEHOLDER_VALUE: Final = re.compile(
    rf": [\"'<]?(?=[cCfFnNpPtTuUxX])(?i:tbd|todo|fixme|xxx|changeme|placeholder|to be determined|{_NOT_KNOWN})\b"
)
"""The same as a line of the file, which is cheap to look for."""
_LOUD: Final = re.compile(r"\b(?:TBD|TODO|FIXME|XXX+)\b|\b[Ll]orem ipsum\b")
_PLACEHOLDER_WORDS: Final = (
    "tbd", "todo", "fixme", "xxx", "changeme", "placeholder", "to be determined", "unknown", "unspecified",
    "undisclosed", "n/a", ": na", "not stated", "not given", "not available", "not disclosed", "not specified",
)  # fmt: skip
_LOUD_WORDS: Final = ("tbd", "todo", "fixme", "xxx", "lorem")

_BLANK_VALUE: Final = re.compile(
    r"""["'](?:\s|\\[^"'\w]|\\[nNLPt_]|\\[xuU][0-9a-fA-F]+)+["']|[|>][-+1-9]*\n\s*\n"""
)
"""What a text of blanks alone looks like in a file; cheap to look for, and not only that."""
_BLANK_SIGNS: Final = ('" ', "' ", '"\\', ' "\n', " '\n", "\n\n", "\n \n")
"""One of these stands in every such file of ASCII, and in few others; a look for them is cheaper still."""


@rule("N001", "notes-too-long", severity="warning")
def notes_too_long(record: Record) -> Iterator[Problem]:
    """Flag notes of more than one paragraph.

    Facts in notes are found by no search for a field, compared by no view and checked by no rule. A claim, a
    result, a gap, a change or a gotcha holds nearly all of them.

    Bad:
        notes: |-
          The first paragraph.

          The second paragraph.

    Good:
        notes: One paragraph.
    """
    notes = record.notes
    if notes is None:
        return
    words = len(notes.split())
    if "\n\n" in notes.strip() or words > _MOST_WORDS:
        message = (
            f"notes of {words} words; expected one paragraph of at most {_MOST_WORDS}: move facts into fields"
        )
        yield Problem("/notes", message)


@rule("N002", "shouting", severity="warning")
def shouting(record: Record, view: FileView) -> Iterator[Problem]:
    """Flag four words in capitals on end.

    A heading in capitals inside a paragraph marks a fact that wants a field of its own.

    Bad:
        notes: "BASIS AND ITS LIMITS, stated because it is easy to over-read."

    Good:
        notes: "Basis and limits: it is easy to over-read."
    """
    del record
    for pointer, text in view.prose:
        found = _SHOUTING.search(text)
        if found:
            yield Problem(
                pointer,
                f"{found[0]!r} is in capitals: write it as a sentence, or as the field that it asks for",
            )


@rule("N003", "omission-in-prose", severity="warning")
def omission_in_prose(record: Record, view: FileView) -> Iterator[Problem]:
    """Flag notes that say what the source leaves out.

    As a sentence it is counted nowhere. As an entry of `omitted_by_source` it shows on the page, in the
    coverage of gaps, and disappears by itself when somebody finds the value.

    Bad:
        notes: The driver version is OMITTED BY SOURCE.

    Good:
        notes: The tower stands in an office.
    """
    if record.notes is None or not _has(view.lowered_prose, _OMISSION_WORDS):
        return
    found = _OMISSION.search(record.notes)
    if found and view.kind == "benchmark":
        message = f"notes say {found[0]!r}: list the field in `omitted_by_source`, with the source that was searched"
        yield Problem("/notes", message)


@corpus_rule("N004", "paragraph-repeated", severity="warning")
def paragraph_repeated(facts: Facts) -> Iterator[CorpusProblem]:
    """Flag a long paragraph that stands in another record, or twice in this one.

    A convention is explained once, on a page, and linked. Pasted into records it is read as a fact about
    each, and its copies drift apart.

    Bad:
        notes: >-
          A value here names the fabric that the hardware has, and says nothing about whether the traffic of this run
          went over it, which is a question about the layout, which is recorded elsewhere.
        engines/one:
          title: One
          notes: >-
            A value here names the fabric that the hardware has, and says nothing about whether the traffic of this run
            went over it, which is a question about the layout, which is recorded elsewhere.

    Good:
        notes: >-
          A value here names the fabric that the hardware has, and says nothing about whether the traffic of this run
          went over it, which is a question about the layout, which is recorded elsewhere.
    """
    first: dict[str, tuple[str, str]] = {}
    for ref, record in facts.records.items():
        for pointer, words in record.paragraphs:
            other, place = first.setdefault(words, (ref, pointer))
            if (other, place) != (ref, pointer):
                where = "twice in this record" if other == ref else f"in {other} too"
                message = (
                    f"the paragraph stands {where}: say it once, on a page or in a claim, and refer to it"
                )
                yield CorpusProblem(ref, pointer, message)


@rule("N005", "figure-only-in-notes", severity="warning")
def figure_only_in_notes(record: Record, view: FileView) -> Iterator[Problem]:
    """Flag a figure with a unit in the notes that no field of the record carries.

    Two facts packed into a sentence are two results that nobody can plot.

    Bad:
        notes: A second user gets 71.5 tok/s.

    Good:
        notes: The figure of 93.9 tok/s is the first of the table.
    """
    notes = record.notes
    if notes is None:
        return
    found = _QUANTITY.findall(notes)
    if not found:
        return
    elsewhere = thousands_removed("\n".join(text for pointer, text in view.strings if pointer != "/notes"))
    carried = set(re.findall(r"\d+(?:\.\d+)?", elsewhere)) | _plain_numbers(view.value)
    for number in dict.fromkeys(thousands_removed(each).rstrip(".,") for each in found):
        if number not in carried:
            yield Problem(
                "/notes",
                f"notes give {number} with a unit, and no field holds it: make it a result or a field",
            )
            return


@rule("N006", "history-in-prose", severity="warning")
def history_in_prose(record: Record, view: FileView) -> Iterator[Problem]:
    """Flag a text that tells what was edited when.

    `changes` holds that, with old and new value; feeds and pages read it there.

    Bad:
        notes: INTERCONNECT IDS FILLED 2026-10-04.

    Good:
        updated: "2026-10-04"
        changes: [{date: "2026-10-04", fields: [system.interconnects], why: Filled from the accelerator record.}]
    """
    del record
    if not _has(view.lowered_prose, _HISTORY_WORDS):
        return
    for pointer, text in view.prose:
        found = None if pointer.startswith("/changes/") else _HISTORY.search(text)
        if found:
            yield Problem(
                pointer, f"{found[0]!r} is history: move it to `changes`, with date, fields and reason"
            )


@rule("N007", "convention-in-prose", severity="warning")
def convention_in_prose(record: Record, view: FileView) -> Iterator[Problem]:
    """Flag a text that explains how records here are to be read.

    A convention is explained once, on the page of methodology; what is special to one value goes into its
    `basis`, `convention` or `caveat`.

    Bad:
        notes: It holds the fabric of the hardware, which is how every previously-filled record in this repo reads it.

    Good:
        notes: It holds the fabric of the hardware.
    """
    del record
    if not _has(view.lowered_prose, _HOUSEKEEPING_WORDS):
        return
    for pointer, text in view.prose:
        found = None if pointer.startswith(("/claims/", "/changes/")) else _HOUSEKEEPING.search(text)
        if found:
            yield Problem(
                pointer, f"{found[0]!r} speaks of this knowledge base: explain conventions on a page, once"
            )


@rule("N008", "placeholder", draft="warning")
def placeholder(record: Record, view: FileView) -> Iterator[Problem]:
    """Flag text that stands for text still to be written.

    A gap is `null` and listed; "TBD" is a value, and is charted, indexed and quoted.

    Bad:
        system: {host_cpu: TBD}

    Good:
        system: {host_cpu: EPYC 9554}
    """
    seen = set()
    if _has(view.lowered_text, _PLACEHOLDER_WORDS) and _PLACEHOLDER_VALUE.search(view.text):
        for pointer, text in view.strings:
            if _PLACEHOLDER.fullmatch(text) and not _is_word_of_a_set(record, pointer):
                seen.add(pointer)
                yield Problem(
                    pointer, f"{text!r} stands for a value: leave the field out, and list it as a gap"
                )
    for pointer, text in view.prose if _has(view.lowered_prose, _LOUD_WORDS) else ():
        found = _LOUD.search(text)
        if found and pointer not in seen:
            yield Problem(
                pointer, f"{found[0]!r} stands for text to be written: write it, or leave the field out"
            )


def _is_word_of_a_set(record: Record, pointer: str) -> bool:
    """Return whether the field takes one of some words, of which `unknown` may be one."""
    location = [int(part) if part.isdecimal() else part for part in pointer.split("/")[1:]]
    return bool(fields.words(fields.annotation_at(type(record), location)))


@rule("N009", "figure-in-title", severity="warning")
def figure_in_title(record: Record) -> Iterator[Problem]:
    """Flag a title that holds the figure.

    The page shows the headline beside the title, with its unit, status and conditions. In the title it
    stands bare, and stays when the figure is corrected.

    Bad:
        title: Base Engine serves Base Model 8B at 93.9 tok/s

    Good:
        title: Base Engine serves Base Model 8B, prose, one user
    """
    found = re.search(r"\d\s?(?:tok/s|tokens?/s|req/s|ms\b)", record.title)
    if found:
        yield Problem(
            "/title", "the title holds a figure: say what was measured, and leave the figure to the headline"
        )


@rule("N010", "blank-text")
def blank_text(record: Record, view: FileView) -> Iterator[Problem]:
    """Flag a text of nothing but blanks.

    Programs take it for an answer, readers see a gap. What is not known is `null`, and listed.

    Bad:
        notes: " "

    Good:
        notes: Nothing that no field holds.
    """
    del record
    may_be = not view.text.isascii() or _has(view.text, _BLANK_SIGNS)
    if may_be and _BLANK_VALUE.search(view.text):
        for pointer, text in view.strings:
            if text.isspace():
                yield Problem(
                    pointer, "a text of blanks alone; expected words: write them, or leave the field out"
                )


def _has(text: str, words: tuple[str, ...]) -> bool:
    """Return whether a text in lower case has one of these: only then is a search for the pattern worth its time."""
    return any(word in text for word in words)


def _plain_numbers(value: object) -> set[str]:
    """Return every number of plain data, as text."""
    if isinstance(value, dict):
        return {number for inner in value.values() for number in _plain_numbers(inner)}
    if isinstance(value, list):
        return {number for inner in value for number in _plain_numbers(inner)}
    return set() if isinstance(value, str | bool) or value is None else {str(value)}
