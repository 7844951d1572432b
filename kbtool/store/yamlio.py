"""Records as strict YAML: bytes to plain data, with the place of every key and value on demand.

The dialect is what every reader of YAML 1.1, YAML 1.2 and JSON understands alike: one document of
mappings with text keys, lists, quoted or unambiguous values and comments, in UTF-8 with LF. All
else is refused: `kbtool.store.faults` lists it, with reasons.

libyaml reads, and one class builds the data from its events. `parse` keeps no places;
`parse_with_positions` runs the same code and keeps them, so that the two cannot disagree.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NoReturn, TypeAlias, cast

from yaml import YAMLError
from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from kbtool.findings import Edit
from kbtool.store.diagnosis import explain_syntax_error, first_key_line, refuse_disguised_tokens
from kbtool.store.faults import FaultKind, YamlFault, quoted
from kbtool.store.limits import MAX_BYTES, MAX_CHARACTERS, MAX_DEPTH, MAX_NODES
from kbtool.store.positions import Node, collection_node, end_mark, scalar_node, start_mark
from kbtool.store.scalars import AmbiguousScalarError, Scalar, TypographicQuoteError, read_plain
from kbtool.store.text_checks import first_flaw

__all__ = ["Node", "Value", "YamlFault", "parse", "parse_with_positions"]

Value: TypeAlias = Scalar | list["Value"] | dict[str, "Value"]


def parse(data: bytes) -> Value:
    """Return what the bytes of a record say.

    Whole numbers become `int`, numbers with a fraction `Decimal` with all their digits, `true` and
    `false` booleans, `null`, `~` and nothing at all None. Dates and everything quoted stay text.

    Raises:
        YamlFault: The bytes are not in the dialect; nothing else is raised, whatever they are.
    """
    return _Reader(data, keep_positions=False).read()


def parse_with_positions(data: bytes) -> tuple[Value, Node]:
    """Return what `parse` returns, and where each key and value stands.

    Raises:
        YamlFault: Exactly when `parse` raises it, and the same.
    """
    reader = _Reader(data, keep_positions=True)
    value = reader.read()
    assert reader.node is not None
    return value, reader.node


def _decoded(data: bytes) -> str:
    """Return the text of a file that is small enough, UTF-8, and free of what deceives a reader."""
    if len(data) > MAX_BYTES:
        raise YamlFault(
            FaultKind.FILE_TOO_LARGE,
            f"a file of {len(data):,} bytes; expected at most {MAX_BYTES:,}: split the record",
        )
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        message = (
            f"the byte 0x{data[error.start]:02x} is not UTF-8; expected UTF-8: save the file in that encoding"
        )
        raise _text_fault(FaultKind.NOT_UTF8, message, before, len(before)) from None
    if text.startswith("\ufeff"):
        message = "a byte order mark; expected UTF-8 without one: run `kbtool fmt`"
        raise YamlFault(FaultKind.BYTE_ORDER_MARK, message, edits=(Edit(0, 1, ""),))
    flaw = first_flaw(text)
    if flaw is not None:
        raise _text_fault(flaw.kind, flaw.message, text, flaw.offset, flaw.edits)
    return text


def _text_fault(
    kind: FaultKind, message: str, text: str, offset: int, edits: tuple[Edit, ...] = ()
) -> YamlFault:
    """Return a fault at the code point `offset` of `text`."""
    line = text.count("\n", 0, offset) + 1
    return YamlFault(kind, message, line, offset - text.rfind("\n", 0, offset), edits)


# Up to this size, a file has no text and no number of values beyond the limits.
_SMALL: Final = min(MAX_NODES, MAX_CHARACTERS) - 1
_BLANKS_BEFORE_COMMENT: Final = re.compile(" +(?=#)")
_BEFORE_TOKEN: Final = frozenset(" \n[{,:?")
# The same keys and words stand in every record: sharing them saves time and memory.
_LONGEST_SHARED: Final = 48
_read_shared: Final = lru_cache(maxsize=4096)(read_plain)


class _Reader:
    """Builds the data of one file from libyaml's events."""

    def __init__(self, data: bytes, *, keep_positions: bool) -> None:
        text = _decoded(data)
        self._data = data
        self._text = text
        self._next = cast("Callable[[], Event]", CParser(data).get_event)  # None comes only after the end
        self._keep_positions = keep_positions
        # Most files have none of these, and then a scalar needs no look at more than its value.
        self._has_properties = _may_begin_token(text, "&!")
        self._has_escapes = "\\" in text
        self._has_comments = "#" in text[1:] and " #" in text
        self._is_large = len(data) > _SMALL
        self._is_odd = self._has_properties or self._has_escapes or self._is_large
        self._nodes = 0
        self.node: Node | None = None
        """Of the value that was read last, where positions are kept."""

    def read(self) -> Value:
        """Return the value of the only document."""
        try:
            value = self._document()
        except YAMLError as error:
            raise explain_syntax_error(error, self._data, self._text) from None
        if _may_begin_token(self._text, "!?"):  # libyaml's events may hide one
            refuse_disguised_tokens(self._data)
        return value

    def _document(self) -> Value:
        self._next()  # the stream
        event = self._next()
        if isinstance(event, DocumentStartEvent):
            if event.version or event.tags:
                message = "a directive; expected none: delete the lines that begin with `%`"
                _refuse(event, FaultKind.DIRECTIVE, message)
            event = self._next()
        value = None if isinstance(event, StreamEndEvent) else self._value(event, 0)
        if value is None:
            message = "no content; expected a record: fill in the file, or delete it"
            raise YamlFault(FaultKind.EMPTY_DOCUMENT, message)
        self._next()  # the end of the document
        event = self._next()
        if not isinstance(event, StreamEndEvent):
            message = "a second document; expected one record a file: move it to a file of its own"
            _refuse(event, FaultKind.SEVERAL_DOCUMENTS, message)
        return value

    def _value(self, event: Event, depth: int) -> Value:
        """Return the value that begins with `event`, inside `depth` collections."""
        if isinstance(event, ScalarEvent):
            if self._is_odd:
                self._check_scalar(event)
            value: Scalar = _plain_value(event) if event.implicit[0] else event.value
            if self._has_comments and event.implicit[0] and isinstance(value, str):
                self._refuse_inline_comment(event)
            if self._keep_positions:
                self.node = scalar_node(event, self._text)
            return value
        if not isinstance(event, CollectionStartEvent) or event.anchor is not None or event.tag is not None:
            _refuse_property(event)
        if depth >= MAX_DEPTH:
            message = f"more than {MAX_DEPTH} lists and mappings inside each other; expected a flat record: flatten it"
            _refuse(event, FaultKind.NESTING_TOO_DEEP, message)
        if self._is_large:
            self._count(event)
        if isinstance(event, MappingStartEvent):
            return self._mapping(event, depth + 1)
        return self._list(event, depth + 1)

    def _mapping(self, start: MappingStartEvent, depth: int) -> dict[str, Value]:
        if start.flow_style and start_mark(start).index == end_mark(start).index:
            message = "a `key: value` straight inside `[ ]`; expected a list of values: write `{key: value}`"
            _refuse(start, FaultKind.UNBRACED_PAIR, message)
        mapping: dict[str, Value] = {}
        children: dict[str, Node] = {}
        while not isinstance(event := self._next(), MappingEndEvent):
            key = self._key(event)
            if key in mapping:
                line = first_key_line(self._data, start_mark(start).index, key)
                message = f"the key {quoted(key)} stands already on line {line}; expected it once: keep one of the two"
                _refuse(event, FaultKind.DUPLICATE_KEY, message)
            mapping[key] = self._value(self._next(), depth)
            if self._keep_positions:
                assert self.node is not None
                self.node.set_key(event)
                children[key] = self.node
        if self._keep_positions:
            self.node = collection_node(start, event, children)
        return mapping

    def _list(self, start: CollectionStartEvent, depth: int) -> list[Value]:
        items: list[Value] = []
        children: list[Node] = []
        while not isinstance(event := self._next(), SequenceEndEvent):
            items.append(self._value(event, depth))
            if self._keep_positions:
                assert self.node is not None
                children.append(self.node)
        if self._keep_positions:
            self.node = collection_node(start, event, children)
        return items

    def _key(self, event: Event) -> str:
        """Return the key that `event` is."""
        if not isinstance(event, ScalarEvent):
            _refuse_key(event)
        if self._is_odd:
            self._check_scalar(event)
        if not event.implicit[0]:
            return event.value
        if event.value == "<<":
            message = "the merge key `<<`; expected a name: write the merged keys out"
            _refuse(event, FaultKind.MERGE_KEY, message)
        key = _plain_value(event)
        if not isinstance(key, str):
            message = f"the key {quoted(event.value)} is not text; expected a name: quote it"
            _refuse(event, FaultKind.KEY_NOT_TEXT, message)
        return key

    def _check_scalar(self, event: ScalarEvent) -> None:
        """Refuse what only odd files have: properties, deceptive escapes, lost text, values beyond the limits."""
        if self._has_properties and (event.anchor is not None or event.tag is not None):
            _refuse_property(event)
        if self._is_large:
            self._count(event)
            self._check_length(event)
        if self._has_escapes and event.style == '"':
            self._refuse_escaped_flaw(event)

    def _count(self, event: Event) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            message = f"more than {MAX_NODES:,} keys and values; expected a record: split it"
            _refuse(event, FaultKind.TOO_MANY_NODES, message)

    def _check_length(self, event: ScalarEvent) -> None:
        length = len(event.value)
        if length > MAX_CHARACTERS:
            message = f"a text of {length:,} characters; expected at most {MAX_CHARACTERS:,}: shorten it"
            _refuse(event, FaultKind.SCALAR_TOO_LONG, message)

    def _refuse_escaped_flaw(self, event: ScalarEvent) -> None:
        """Refuse text that only its escapes make deceptive."""
        if self._text.find("\\", start_mark(event).index, end_mark(event).index) < 0:
            return
        flaw = first_flaw(event.value)
        if flaw is not None:
            _refuse(event, flaw.kind, f"an escape makes {flaw.message}")

    def _refuse_inline_comment(self, event: ScalarEvent) -> None:
        """Refuse a comment right behind unquoted text: it may be a part of the text that YAML drops."""
        end = end_mark(event)
        blanks = _BLANKS_BEFORE_COMMENT.match(self._text, end.index)
        if blanks is not None:
            message = (
                f"a comment behind the unquoted text {quoted(event.value)}; expected a line of its own for it:"
                " move it there, or quote the text if `#` belongs to it"
            )
            column = end.column + len(blanks[0]) + 1
            raise YamlFault(FaultKind.COMMENT_AFTER_PLAIN_TEXT, message, end.line + 1, column)


def _may_begin_token(text: str, signs: str) -> bool:
    """Return whether one of `signs` stands where YAML might read it as the beginning of a token."""
    for sign in signs:
        place = text.find(sign)
        while place >= 0:
            if place == 0 or text[place - 1] in _BEFORE_TOKEN:
                return True
            place = text.find(sign, place + 1)
    return False


def _plain_value(event: ScalarEvent) -> Scalar:
    """Return what an unquoted scalar means."""
    text = event.value
    try:
        return _read_shared(text) if len(text) <= _LONGEST_SHARED else read_plain(text)
    except AmbiguousScalarError as error:
        is_quote = isinstance(error, TypographicQuoteError)
        kind = FaultKind.TYPOGRAPHIC_QUOTE if is_quote else FaultKind.AMBIGUOUS_SCALAR
        _refuse(event, kind, error.message, error.suggestion)
    except ValueError as error:
        _refuse(event, FaultKind.NUMBER_TOO_LONG, str(error))


def _refuse_key(event: Event) -> NoReturn:
    """Refuse a key that is not a scalar, or has a property."""
    if isinstance(event, CollectionStartEvent) and event.anchor is None and event.tag is None:
        message = "a list or mapping as a key; expected a name: write `name: value`"
        _refuse(event, FaultKind.KEY_NOT_TEXT, message)
    _refuse_property(event)


def _refuse_property(event: Event) -> NoReturn:
    """Refuse an alias, or the anchor or tag of a value."""
    if isinstance(event, AliasEvent):
        message = f"the alias {quoted(f'*{event.anchor}')}; expected a value: write it out, or quote the text"
        _refuse(event, FaultKind.ANCHOR_OR_ALIAS, message)
    assert isinstance(event, NodeEvent)
    if event.anchor is not None:
        message = (
            f"the anchor {quoted(f'&{event.anchor}')}; expected a value: delete the anchor, or quote the text"
        )
        _refuse(event, FaultKind.ANCHOR_OR_ALIAS, message)
    assert isinstance(event, ScalarEvent | CollectionStartEvent)
    tag = f"{event.tag}".replace("tag:yaml.org,2002:", "!!")
    message = f"the tag {quoted(tag)}; expected a value: delete the tag, or quote the text"
    _refuse(event, FaultKind.TAG, message)


def _refuse(event: Event, kind: FaultKind, message: str, suggestion: str | None = None) -> NoReturn:
    """Raise a fault at the start of `event`."""
    mark = start_mark(event)
    fault = YamlFault(kind, message, mark.line + 1, mark.column + 1)
    fault.suggestion = suggestion
    raise fault
