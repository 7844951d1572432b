"""The ways in which a file's data can differ from the model of its kind, each with a code and a reason.

`E0..`: a code is never reused.
"""

from kbtool.store.faults import CodedKind

__all__ = ["ShapeKind"]


class ShapeKind(CodedKind):
    """One kind of difference between data and model: its code, and why it is refused."""

    NOT_A_MAPPING = "E001", "A record is a mapping of keys to values."
    UNKNOWN_KEY = "E002", "A misspelt key would silently lose what it says."
    MISSING_KEY = "E003", "Every record of the kind has it, so that readers and programs can count on it."
    WRONG_TYPE = "E004", "Programs that read the record expect one type of value in one place."
    UNKNOWN_WORD = "E005", "A closed set of words keeps one meaning under one name."
    OUT_OF_RANGE = "E006", "The value cannot be what the field measures."
    MALFORMED_NUMBER = (
        "E007",
        "A figure as its source prints it belongs in `as_published`; a value is a bare number.",
    )
    MALFORMED_DATE = "E008", "A day is written `YYYY-MM-DD` everywhere, so that dates sort and compare."
    MALFORMED_ID = "E009", "The id is the name of the file and of the page, and never changes."
    MALFORMED_NAME = "E010", "Anchors and codes are parts of addresses."
    MALFORMED_REFERENCE = (
        "E011",
        "A reference names folder and id of a record, so that a reader can go there.",
    )
    MALFORMED_HASH = "E012", "A hash that is cut or altered proves nothing."
    MALFORMED_ADDRESS = "E013", "A reader must be able to open it."
    TEXT_TOO_LONG = (
        "E014",
        "A field holds one fact; what is longer belongs in several fields, or in the source.",
    )
    EMPTY_TEXT = "E015", "Unknown is `null`, never an empty text."
    SEVERAL_LINES = "E016", "The value is shown in tables and headings, which have one line."
    TOO_FEW_ENTRIES = "E017", "Without an entry the record says nothing here that could be checked."
    TOO_MANY_ENTRIES = "E018", "A record that long is several records."
    UNQUOTED_TEXT = "E019", "Unquoted, it is a number or a boolean to a reader of YAML, and loses its digits."
    UNKNOWN_VERSION = "E020", "Another version of the record model may read the same key differently."
    NULL_VALUE = "E021", "`null` says that the source does not say; this field does not depend on the source."
    NO_SCHEMA_LINE = "E030", "The first line tells an editor which schema completes and checks the record."
    NO_FINAL_NEWLINE = (
        "E031",
        "The last line is a line too: without its end, the next one added changes two lines.",
    )
    INVALID_VALUE = "E099", "The value is not what the field can hold."
