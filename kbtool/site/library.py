"""The records as the site needs them: a card of each, made once a version, and whole records on demand."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kbtool.errors import RecordError
from kbtool.findings import Finding
from kbtool.schema import KINDS, Record, Withdrawn
from kbtool.site.cards import Card, card_of
from kbtool.site.products import key_of
from kbtool.site.search import words_of
from kbtool.site.state import CachedCard, CachedRows
from kbtool.site.views.base import Incoming
from kbtool.store.corpus import Corpus, ReviewState
from kbtool.store.faults import RecordFault
from kbtool.store.files import RecordFile, discover, read
from kbtool.store.read import digest_of, read_file, ref_of
from kbtool.store.references import outgoing

__all__ = ["CardCache", "Files", "Library", "RowCache", "SourceFile", "read_files"]


class SourceFile(NamedTuple):
    """A file below `records/` and a digest of its bytes."""

    file: RecordFile
    ref: str
    """`<kind>s/<id>`, with a folder in front for reviews and stones."""
    digest: str


class Files(NamedTuple):
    """What is below `records/`."""

    found: tuple[SourceFile, ...]
    """By reference; of two files with one id the first counts."""
    findings: tuple[Finding, ...]
    """What is no record file, or cannot be read."""


def read_files(root: Path) -> Files:
    """Return every record file with its digest."""
    found: dict[str, SourceFile] = {}
    findings: list[Finding] = []
    for each in sorted(discover(root), key=_order):
        if isinstance(each, Finding):
            findings.append(each)
            continue
        try:
            digest = digest_of(read(each))
        except RecordFault as fault:
            findings.append(fault.finding(each.relative))
            continue
        ref = ref_of(each)
        found.setdefault(ref, SourceFile(each, ref, digest))
    ordered = tuple([found[ref] for ref in sorted(found)])
    return Files(ordered, tuple(sorted(findings, key=Finding.sort_key)))


class CardCache:
    """Cards by the path of their record: as text, for the state, and as they are used."""

    def __init__(self, stored: Mapping[str, CachedCard]) -> None:
        self._stored = dict(stored)
        self._cards: dict[str, Card] = {}
        self.new: dict[str, CachedCard] = {}
        """What was put in since the cache was saved."""

    def find(self, path: str, key: str) -> Card | None:
        """Return the card that was made from what the key says."""
        stored = self._stored.get(path)
        if stored is None or stored.key != key:
            return None
        card = self._cards.get(path)
        if card is None:
            card = self._cards[path] = Card.from_row(stored.card)
        return card

    def put(self, path: str, key: str, card: Card, words: str) -> None:
        """Keep a card and the words of its record's prose."""
        self._cards[path] = card
        self._stored[path] = self.new[path] = CachedCard(key, card.to_row(), words)

    def stored(self, path: str) -> CachedCard:
        """Return a card as text."""
        return self._stored[path]


class RowCache:
    """What is kept of records by reference, as text for the state: rows, and what the analysis says.

    `kbtool.site.record_rows` and `kbtool.site.analysed` make and read them.
    """

    def __init__(self, stored: Mapping[str, CachedRows]) -> None:
        self._stored = dict(stored)
        self.new: dict[str, CachedRows] = {}
        """What was put in since the cache was saved."""

    def get(self, ref: str) -> CachedRows | None:
        """Return the rows of a record, of whatever version of it."""
        return self._stored.get(ref)

    def put(self, ref: str, rows: CachedRows) -> None:
        """Keep the rows of a record."""
        self._stored[ref] = self.new[ref] = rows


class Library:
    """The records of one state of the files. Cards are at hand; whole records are read when asked for."""

    def __init__(
        self,
        root: Path,
        files: Files,
        cache: CardCache,
        rows: RowCache | None = None,
        analyses: RowCache | None = None,
    ) -> None:
        self.root = root
        self._files = {each.ref: each for each in files.found}
        self._cache = cache
        self.cached_rows = rows if rows is not None else RowCache({})
        self.cached_analyses = analyses if analyses is not None else RowCache({})
        self._records: dict[str, Record] = {}
        self.findings: list[Finding] = list(files.findings)
        """What keeps files from being records."""
        self.words: dict[str, str] = {}
        """Reference -> words of the record's prose, joined by blanks."""
        self.cards: dict[str, Card] = {}
        """Reference -> card, in the order of the references."""
        self.withdrawn: dict[str, Withdrawn] = {}
        """Reference that a record had -> what is left of it."""
        self._card_digests: dict[str, str] = {}
        self._row_digests: dict[str, str] = {}
        self._incoming: dict[str, tuple[Incoming, ...]] = {}

    def read(self, step: Callable[[], None]) -> None:
        """Make every card, from the cache where the file is the one that it was made from."""
        for ref, source in self._files.items():
            step()
            if source.file.kind == "withdrawn":
                self._read_stone(ref)
            elif source.file.kind != "review":
                self._read_card(ref, source)
        self._incoming = _incoming(self.cards)

    def find(self, ref: str) -> Card | None:
        """Return the card of a record, or None where there is no such record."""
        return self.cards.get(ref)

    def incoming(self, ref: str) -> tuple[Incoming, ...]:
        """Return who names a record, by reference."""
        return self._incoming.get(ref, ())

    def digest(self, ref: str) -> str:
        """Return the digest of a record's file."""
        return self._files[ref].digest

    def broken(self) -> dict[str, str]:
        """Return the files of the seven kinds that hold no record: reference -> path from the project root."""
        return {
            ref: source.file.relative
            for ref, source in self._files.items()
            if source.file.kind in KINDS and ref not in self.cards
        }

    def review_digest(self, ref: str) -> str:
        """Return the digest of the review of a record; empty where there is none."""
        review = self._files.get(f"reviews/{ref}")
        return review.digest if review else ""

    def neighbour_digests(self, ref: str) -> Iterator[str]:
        """Yield a digest of everything that the page of a record shows of other records."""
        for mention in self.cards[ref].mentions:
            yield self._card_digests.get(mention.target.partition("#")[0], "")
        for each in self.incoming(ref):
            yield self.row_digest(each.card.ref)

    def row_digest(self, ref: str) -> str:
        """Return a digest of a record's row in a table: its card, and the titles that its cells show."""
        found = self._row_digests.get(ref)
        if found is None:
            named = [self.cards.get(cell.ref) for cell in self.cards[ref].cells if cell.ref]
            shown = [f"{card.title}\x1f{card.status}" if card else "" for card in named]
            found = self._row_digests[ref] = key_of(self._card_digests[ref], *shown)
        return found

    def relative(self, ref: str) -> str:
        """Return the path of a record's file from the project root."""
        return self._files[ref].file.relative

    def group(self, ref: str) -> str:
        """Return the folder between the kind's folder and a record's file; empty where there is none."""
        return self._files[ref].file.group

    def data(self, ref: str) -> bytes:
        """Return the bytes of a record's file."""
        return read(self._files[ref].file)

    def record(self, ref: str) -> Record:
        """Return a whole record, and keep it until it is to be forgotten.

        Raises:
            RecordError: The file changed since it was looked at and holds no record any more.
        """
        kept = self._records.get(ref)
        if kept is None:
            found = read_file(self._files[ref].file).record
            if not isinstance(found, Record):
                raise RecordError(f"{self.relative(ref)} changed while the site was built: build it again")
            kept = self._records[ref] = found
        return kept

    def whole(self, ref: str) -> Record | None:
        """Return a whole record as `record` does, or None where there is none of this reference."""
        return self.record(ref) if ref in self.cards else None

    def holds(self, ref: str) -> bool:
        """Return whether a whole record is at hand."""
        return ref in self._records

    def forget(self, ref: str) -> None:
        """Let go of a whole record whose pages are made."""
        self._records.pop(ref, None)

    def review_state(self, ref: str) -> ReviewState | None:
        """Return the review of a record and whether it counts; None where there is none."""
        review = self._files.get(f"reviews/{ref}")
        if review is None:
            return None
        pair = Corpus(self.root, (read_file(self._files[ref].file), read_file(review.file)))
        return pair.review_state(ref) if ref in pair.records else None

    def _read_card(self, ref: str, source: SourceFile) -> None:
        path = source.file.relative
        card = self._cache.find(path, self._key(ref, source.digest))
        if card is None:
            loaded = read_file(source.file)
            if not isinstance(loaded.record, Record):
                self.findings += loaded.findings
                return
            self._records[ref] = loaded.record
            card = self._card(ref, loaded.record)
            words = " ".join(sorted(words_of("\n".join(_texts(loaded.value)))))
            # The digest of what was read now: the file may have changed since it was looked at.
            self._cache.put(path, self._key(ref, loaded.digest), card, words)
        stored = self._cache.stored(path)
        self.cards[ref] = card
        self.words[ref] = stored.words
        self._card_digests[ref] = key_of(stored.card)

    def _key(self, ref: str, digest: str) -> str:
        review = self._files.get(f"reviews/{ref}")
        return f"{ref} {digest} {review.digest if review else '-'}"

    def _card(self, ref: str, record: Record) -> Card:
        state = self.review_state(ref)
        status = state.status if state else record.status
        return card_of(ref, record, status, outgoing(record))

    def _read_stone(self, ref: str) -> None:
        loaded = read_file(self._files[ref].file)
        if isinstance(loaded.record, Withdrawn):
            self.withdrawn[ref.removeprefix("withdrawn/")] = loaded.record
        else:
            self.findings += loaded.findings


def _order(each: RecordFile | Finding) -> tuple[str, str]:
    return (each.path, "") if isinstance(each, Finding) else (each.relative, each.id)


def _incoming(cards: Mapping[str, Card]) -> dict[str, tuple[Incoming, ...]]:
    found: dict[str, list[Incoming]] = {}
    for card in cards.values():
        for mention in card.mentions:
            target = mention.target.partition("#")[0]
            if target != card.ref:
                found.setdefault(target, []).append(Incoming(card, mention))
    return {ref: tuple(each) for ref, each in found.items()}


def _texts(value: object) -> Iterator[str]:
    """Yield every text and every key of plain data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(inner, str):
                yield inner
            else:
                yield str(key)
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
