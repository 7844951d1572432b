"""The pages of what no rule checks: faults of files, of YAML, of a record's shape, and of a change as a whole.

A rule's page is its docstring.  These faults have no function of their own each, so that their pages stand here.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from kbtool.lint.rules.base_commit import DiffKind
from kbtool.store.faults import CodedKind
from kbtool.store.faults import FaultKind as F
from kbtool.store.shape import ShapeKind as S

__all__ = ["FAULT_PAGES", "FaultPage"]


class FaultPage(NamedTuple):
    """What there is to say about one kind of fault, beside the reason that it carries itself."""

    summary: str
    bad: str = ""
    """Lines that it flags: of a record, or laid over one; empty where a file, and not its text, is at fault."""
    good: str = ""
    """The same, mended."""


_YAML: Final[dict[CodedKind, FaultPage]] = {
    F.FILE_TOO_LARGE: FaultPage("Flag a file larger than any record needs to be."),
    F.NOT_UTF8: FaultPage("Flag a file in another encoding than UTF-8: save it as UTF-8."),
    F.BYTE_ORDER_MARK: FaultPage(
        "Flag a byte order mark at the beginning of a file; `kbtool fmt` takes it out."
    ),
    F.AMBIGUOUS_SCALAR: FaultPage(
        "Flag an unquoted value that readers of YAML take for different things.",
        "value: 6,853\nclaimed: yes\nprefix_cache: off",
        'value: 6853\nclaimed: true\nprefix_cache: "off"',
    ),
    F.EMPTY_DOCUMENT: FaultPage("Flag a file without content.", "# nothing yet", "id: fresh-record"),
    F.DIRECTIVE: FaultPage(
        "Flag a line that begins with `%` before the record.", "%YAML 1.2\n---\nid: x", "id: x"
    ),
    F.DUPLICATE_KEY: FaultPage(
        "Flag a key that stands twice in one mapping.", "value: 6853\nvalue: 6765", "value: 6853"
    ),
    F.ANCHOR_OR_ALIAS: FaultPage(
        "Flag an anchor (`&name`) or an alias (`*name`).",
        "first: &setup {tp: 8}\nsecond: *setup",
        'first: {tp: 8}\nsecond: {tp: 8}\nnotes: "*emphasis* at the start of a text takes quotes"',
    ),
    F.TAG: FaultPage("Flag a tag (`!name`).", "notes: !important read this", 'notes: "!important read this"'),
    F.SEVERAL_DOCUMENTS: FaultPage("Flag a second record in one file.", "id: one\n---\nid: two", "id: one"),
    F.MERGE_KEY: FaultPage("Flag the merge key `<<`.", "<<: {tp: 8}\npp: 1", "tp: 8\npp: 1"),
    F.KEY_NOT_TEXT: FaultPage("Flag a key that is no name.", "1024: 93.9", '"1024": 93.9'),
    F.NESTING_TOO_DEEP: FaultPage(
        "Flag lists and mappings inside each other beyond any record's depth.",
        "a: [[[[[[[[[[[[1]]]]]]]]]]]]",
        "a: [1]",
    ),
    F.TOO_MANY_NODES: FaultPage("Flag a file of more keys and values than any record needs."),
    F.SCALAR_TOO_LONG: FaultPage("Flag a text longer than any field may be."),
    F.NUMBER_TOO_LONG: FaultPage(
        "Flag a number of more digits than every reader keeps.", "value: 93.90000000001", "value: 93.9"
    ),
    F.BROKEN_SYNTAX: FaultPage(
        "Flag what YAML cannot be read past; the message names the slip where it is a known one.",
        "title: SGLang in production: cold prefill",
        'title: "SGLang in production: cold prefill"',
    ),
    F.UNCLOSED_QUOTE: FaultPage(
        "Flag a quote that is never closed.", 'as_published: "6,853\nid: x', 'as_published: "6,853"\nid: x'
    ),
    F.COMMENT_AFTER_PLAIN_TEXT: FaultPage(
        "Flag a comment behind unquoted text.",
        "title: SGLang, run #4 # the slow one",
        '# the slow one\ntitle: "SGLang, run #4"',
    ),
    F.CONTROL_CHARACTER: FaultPage("Flag a control character.", 'notes: "a\\u0007b"', "notes: a bell rings"),
    F.CARRIAGE_RETURN_LINE_END: FaultPage("Flag line ends of Windows; `kbtool fmt` mends them."),
    F.TAB: FaultPage("Flag a tab, in indentation and anywhere else.", 'notes: "a\\tb"', "notes: a b"),
    F.FOREIGN_LINE_BREAK: FaultPage(
        "Flag a line break that is none to an editor.", 'notes: "a\\u2028b"', 'notes: "a\\nb"'
    ),
    F.RUN_OF_BLANKS: FaultPage(
        "Flag a long run of blanks or blank lines.", f"notes: a{' ' * 40}b", "notes: a b"
    ),
    F.BIDI_CONTROL: FaultPage(
        "Flag a sign that reorders the text around it.", 'title: "a\\u202eb"', "title: a b"
    ),
    F.INVISIBLE_CHARACTER: FaultPage(
        "Flag a character that nobody sees.", 'title: "vL\\u200bLM"', "title: vLLM"
    ),
    F.PILE_OF_COMBINING_MARKS: FaultPage(
        "Flag more marks on one letter than any script has.",
        f'title: "e{chr(92)}u0316{chr(92)}u0316{chr(92)}u0316{chr(92)}u0316{chr(92)}u0316"',
        "title: e",
    ),
    F.MIXED_SCRIPT_WORD: FaultPage(
        "Flag a word with a letter of another alphabet.", 'title: "Fl\\u0430sh"', "title: Flash"
    ),
    F.TEXT_NOT_NFC: FaultPage(
        "Flag letters that are composed in another way than the usual one (NFC); `kbtool fmt` mends them.",
        'title: "cafe\\u0301"',
        'title: "caf\\u00e9"',
    ),
    F.CONFLICT_MARKER: FaultPage(
        "Flag the markers of a merge that is not resolved.",
        "<<<<<<< HEAD\nstatus: draft\n=======\nstatus: disputed\n>>>>>>> other",
        "status: draft",
    ),
    F.INVALID_ESCAPE: FaultPage(
        "Flag an escape in double quotes that names no character.", 'notes: "C:\\data"', "notes: 'C:\\data'"
    ),
    F.CHARACTER_WITHOUT_MEANING: FaultPage(
        "Flag a character that every font shows in its own way.", 'notes: "\\ue000"', "notes: a sign"
    ),
    F.UNBRACED_PAIR: FaultPage("Flag a pair straight inside brackets.", "at: [tp: 8]", "at: [{tp: 8}]"),
    F.TYPOGRAPHIC_QUOTE: FaultPage(
        "Flag an unquoted text that begins with a quote of typography.",
        "as_published: \u201c6,853\u201d",
        'as_published: "6,853"',
    ),
}
_FILES: Final[dict[CodedKind, FaultPage]] = {
    F.SYMBOLIC_LINK: FaultPage("Flag a symbolic link below `records`: put the file there itself."),
    F.SPECIAL_FILE: FaultPage("Flag a pipe, a socket or a device below `records`: delete it."),
    F.EXECUTABLE_FILE: FaultPage("Flag a file that may be run: `chmod 644` takes that away."),
    F.NESTED_REPOSITORY: FaultPage(
        "Flag a git repository, or a submodule, below `records`: delete its `.git`."
    ),
    F.FOREIGN_FILE: FaultPage(
        "Flag a file that is no record: a backup, a picture, another ending than `.yaml`."
    ),
    F.UNSAFE_FILE_NAME: FaultPage("Flag a name with other characters than a-z, 0-9, `-` and `.`: rename it."),
    F.MISPLACED_FILE: FaultPage(
        "Flag a file or folder in the wrong place: a record lies in `records/<kind>s`, or one folder below."
    ),
    F.UNREADABLE_FILE: FaultPage("Flag a file or folder that the system does not let anybody read."),
    F.EMPTY_FOLDER: FaultPage("Flag an empty folder, or a submodule that is not checked out: delete it."),
    F.UNFINISHED_WRITE: FaultPage(
        "Flag the temporary file of a write that was interrupted; `kbtool fmt` takes it away."
    ),
}
_SHAPE: Final[dict[CodedKind, FaultPage]] = {
    S.NOT_A_MAPPING: FaultPage("Flag a file that holds no `key: value` lines.", "- id: x", "id: x"),
    S.UNKNOWN_KEY: FaultPage(
        "Flag a key that a record of the kind does not have.",
        "deployment: {tp_size: 2}",
        "deployment: {tp: 2}",
    ),
    S.MISSING_KEY: FaultPage(
        "Flag a key that every record of the kind has and this one lacks.", "id: x", "id: x\ntitle: A title"
    ),
    S.WRONG_TYPE: FaultPage(
        "Flag a value of another type than its field takes.", "deployment: {tp: two}", "deployment: {tp: 2}"
    ),
    S.UNKNOWN_WORD: FaultPage(
        "Flag a word outside of the closed set that its field takes.",
        "measured: {by: third-party}",
        "measured: {by: third_party}",
    ),
    S.OUT_OF_RANGE: FaultPage(
        "Flag a number below or above what its field can mean.", "deployment: {tp: 0}", "deployment: {tp: 2}"
    ),
    S.MALFORMED_NUMBER: FaultPage(
        "Flag a number that is written as a source prints it.",
        "speculation: {acceptance_length: ~1.7}",
        "speculation: {acceptance_length: 1.7}",
    ),
    S.MALFORMED_DATE: FaultPage(
        "Flag a day that is not written `YYYY-MM-DD`, or that no calendar has.",
        'measured: {day: "12 September 2026"}',
        'measured: {day: "2026-09-12"}',
    ),
    S.MALFORMED_ID: FaultPage(
        "Flag an id that is not lower-case words joined by hyphens.",
        "id: Base_Benchmark",
        "id: base-benchmark",
    ),
    S.MALFORMED_NAME: FaultPage(
        "Flag the name of a result or a claim that is not lower-case words joined by hyphens.",
        "headline: Decode Prose",
        "headline: decode-prose-1",
    ),
    S.MALFORMED_REFERENCE: FaultPage(
        "Flag a reference that does not name folder and id of a record.",
        "engine: {engine: Base Engine}",
        "engine: {engine: engines/base-engine}",
    ),
    S.MALFORMED_HASH: FaultPage(
        "Flag a hash that is no SHA-256.",
        "sources/base-source: {content_sha256: 8f434346}",
        "sources/base-source: {content_sha256: 8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4}",
    ),
    S.MALFORMED_ADDRESS: FaultPage(
        "Flag an address that a browser would not open.",
        "sources/base-source: {url: example.org/report}",
        "sources/base-source: {url: https://example.org/report}",
    ),
    S.TEXT_TOO_LONG: FaultPage("Flag a text longer than its field may be."),
    S.EMPTY_TEXT: FaultPage("Flag an empty text.", 'system: {os: ""}', "system: {os: Debian 12}"),
    S.SEVERAL_LINES: FaultPage(
        "Flag a line break in a field of one line.",
        'title: "Base\\nEngine"',
        "title: Base Engine serves alone",
    ),
    S.TOO_FEW_ENTRIES: FaultPage("Flag a list without the entries that it must have.", "results: []"),
    S.TOO_MANY_ENTRIES: FaultPage("Flag a list of more entries than one record should have."),
    S.UNQUOTED_TEXT: FaultPage(
        "Flag a number or a boolean where text belongs: quoted, it keeps its digits.",
        "system: {os: 12}",
        'system: {os: "12"}',
    ),
    S.UNKNOWN_VERSION: FaultPage(
        "Flag a version of the record model that this kbtool does not know.",
        "schema_version: 2",
        "schema_version: 1",
    ),
    S.NULL_VALUE: FaultPage(
        "Flag a key without a value where nothing depends on a source.",
        "title:",
        "title: Base Engine serves alone",
    ),
    S.NO_SCHEMA_LINE: FaultPage(
        "Flag a file whose first line does not name its schema; `kbtool fmt` adds it.",
        "id: x",
        "# yaml-language-server: $schema=../../schema/benchmark.schema.json\nid: x",
    ),
    S.NO_FINAL_NEWLINE: FaultPage("Flag a last line without a line end; `kbtool fmt` adds it."),
    S.INVALID_VALUE: FaultPage("Flag a value that its field cannot hold, where no other code says more."),
}
_CHANGES: Final[dict[CodedKind, FaultPage]] = {
    DiffKind.FILE_BESIDE_RECORDS: FaultPage(
        "Flag a change of records that also touches programs, settings or workflows: make it two changes."
    ),
    DiffKind.TOO_MANY_FILES: FaultPage("Flag a change of more files than anybody can review: split it."),
    DiffKind.LINK_OR_REPOSITORY: FaultPage("Flag a change that adds a symbolic link or a submodule."),
    DiffKind.EXECUTABLE_DATA: FaultPage("Flag a change that makes a record or a raw file executable."),
}

FAULT_PAGES: Final[Mapping[CodedKind, FaultPage]] = {**_YAML, **_FILES, **_SHAPE, **_CHANGES}
"""Kind of fault -> its page."""
