"""The faults that keep a file from being read as a record, each with a code, a name and a reason.

`Y1..` are faults of the text, `Y2..` faults of the file that holds it. A code is never reused.
"""

from enum import Enum
from typing import Final

from kbtool.errors import RecordError
from kbtool.findings import Edit, Finding

__all__ = ["CodedKind", "FaultKind", "FileFault", "RecordFault", "YamlFault", "quoted"]

_LONGEST_QUOTE: Final = 60


class CodedKind(Enum):
    """One kind of fault that no rule checks: its code, and why it is refused."""

    def __init__(self, code: str, why: str) -> None:
        self.code = code
        self.why = why

    @property
    def slug(self) -> str:
        """The thing flagged, such as `duplicate-key`."""
        return self.name.lower().replace("_", "-")


class FaultKind(CodedKind):
    """One kind of fault: its code, and why it is refused."""

    FILE_TOO_LARGE = "Y101", "A record is read whole by people and programs; a huge file serves neither."
    NOT_UTF8 = "Y102", "Readers guess differently what bytes in another encoding say."
    BYTE_ORDER_MARK = "Y103", "Some readers take the mark for a part of the first key."
    AMBIGUOUS_SCALAR = "Y104", "Unquoted, it is a number or a boolean to some readers and text to others."
    EMPTY_DOCUMENT = "Y105", "A file without content holds no evidence."
    DIRECTIVE = "Y106", "Directives change how the rest of the file is read."
    DUPLICATE_KEY = "Y107", "Most readers keep one of the two values and do not say which."
    ANCHOR_OR_ALIAS = (
        "Y108",
        "A value that stands elsewhere cannot be reviewed where it is used, and can grow without bound.",
    )
    TAG = "Y109", "A tag makes some readers build objects or run code."
    SEVERAL_DOCUMENTS = "Y110", "Many readers see only the first document, so that the others hide."
    MERGE_KEY = "Y111", "Readers disagree whether `<<` merges or is a key."
    KEY_NOT_TEXT = "Y112", "A key is a name; other kinds of keys have no counterpart in JSON."
    NESTING_TOO_DEEP = "Y113", "No record needs such depth, and it exhausts recursive readers."
    TOO_MANY_NODES = "Y114", "No record needs so many values, and each costs every reader time and memory."
    SCALAR_TOO_LONG = "Y115", "A text of such length is a document of its own, not a field."
    NUMBER_TOO_LONG = "Y116", "Readers that know only 64-bit floats change digits beyond the limit."
    BROKEN_SYNTAX = "Y117", "It is not YAML."
    UNCLOSED_QUOTE = "Y118", "Without the closing quote the rest of the file is part of the text."
    COMMENT_AFTER_PLAIN_TEXT = (
        "Y119",
        "In `8x RTX #4` YAML silently drops ` #4`; nobody can tell whether that was meant.",
    )
    CONTROL_CHARACTER = "Y120", "Invisible, and it steers terminals and file formats."
    CARRIAGE_RETURN_LINE_END = "Y121", "Line ends are LF, so that equal records are equal bytes."
    TAB = "Y122", "Its width depends on the viewer, and YAML forbids it in indentation."
    FOREIGN_LINE_BREAK = (
        "Y123",
        "A line break to YAML but not to an editor or a diff: it hides keys from reviewers.",
    )
    RUN_OF_BLANKS = "Y124", "It pushes what follows out of the reviewer's sight."
    BIDI_CONTROL = "Y125", "It makes text read in another order than it is stored."
    INVISIBLE_CHARACTER = "Y126", "Two texts that look alike would differ, or carry a hidden message."
    PILE_OF_COMBINING_MARKS = "Y127", "Stacked marks cover the lines around them."
    MIXED_SCRIPT_WORD = "Y128", "A letter of another alphabet makes a name that looks like a known one."
    TEXT_NOT_NFC = (
        "Y129",
        "The same text in another composition is another id, another file name, another search term.",
    )
    CONFLICT_MARKER = "Y130", "An unresolved merge: two versions stand side by side."
    INVALID_ESCAPE = "Y131", "The escape names no character, such as half of a surrogate pair."
    CHARACTER_WITHOUT_MEANING = (
        "Y132",
        "A private-use character, a noncharacter or the sign of a lost character: each viewer shows something else.",
    )
    UNBRACED_PAIR = "Y133", "`[a: b]` is a list of one mapping, which hardly any reader of it knows."
    TYPOGRAPHIC_QUOTE = (
        "Y134",
        "YAML knows straight quotes alone: those that a word processor makes become a part of the text.",
    )

    SYMBOLIC_LINK = "Y201", "It may point out of the repository, or change what a path means."
    SPECIAL_FILE = "Y202", "Reading a pipe, socket or device may block or have effects."
    EXECUTABLE_FILE = "Y203", "A record is data; nothing under records/ is to be run."
    NESTED_REPOSITORY = "Y204", "Its content is not part of this repository and can change by itself."
    FOREIGN_FILE = "Y205", "Only records, `README.md` and `LICENSE` belong under records/."
    UNSAFE_FILE_NAME = "Y206", "Names are used in URLs, shells and on file systems that fold case."
    MISPLACED_FILE = "Y207", "The folder says of which kind a record is."
    UNREADABLE_FILE = "Y208", "What cannot be read cannot be checked."
    EMPTY_FOLDER = (
        "Y209",
        "git keeps no empty folder: it is a leftover, or a submodule that is not checked out.",
    )
    UNFINISHED_WRITE = "Y210", "A writing program was interrupted and left its temporary file."


class RecordFault(RecordError):
    """A file cannot be read as a record: what is wrong, and where."""

    def __init__(
        self,
        kind: FaultKind,
        message: str,
        line: int = 1,
        column: int = 1,
        edits: tuple[Edit, ...] = (),
    ) -> None:
        super().__init__(kind, message, line, column, edits)  # all, so that it can be pickled
        self.kind = kind
        self.message = message
        self.line = line
        self.column = column
        self.edits = edits
        self.suggestion: str | None = None

    @property
    def code(self) -> str:
        """Stable code, such as `Y107`."""
        return self.kind.code

    @property
    def name(self) -> str:
        """The thing flagged, such as `duplicate-key`."""
        return self.kind.slug

    def __str__(self) -> str:
        return f"{self.line}:{self.column} {self.code} {self.name}: {self.message}"

    def finding(self, path: str) -> Finding:
        """Return the fault as a finding about the file at `path`."""
        return Finding(
            path=path,
            line=self.line,
            column=self.column,
            code=self.code,
            name=self.name,
            severity="error",
            message=self.message,
            suggestion=self.suggestion,
            edits=self.edits,
        )


class YamlFault(RecordFault):
    """The bytes are not a record in our dialect of YAML."""


class FileFault(RecordFault):
    """The file itself is not what a record may be."""

    def __init__(self, kind: FaultKind, message: str, suggestion: str | None = None) -> None:
        super().__init__(kind, message)
        self.args = (kind, message, suggestion)
        self.suggestion = suggestion


def quoted(text: str) -> str:
    """Return `text` in backquotes for a message, shortened where it is long."""
    return f"`{text}`" if len(text) <= _LONGEST_QUOTE else f"`{text[:_LONGEST_QUOTE]}...`"
