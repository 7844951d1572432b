"""What is worked out of a record and kept from build to build, with the other records that it was worked out from.

What a text depends on is found out while it is made: the record's own file, its status, and each record that was asked for on the
way, such as the accelerator whose bandwidth bounds it. The digests of these are its key; it is made again where the key changed.
"""

from collections.abc import Callable, Iterable

from kbtool.analysis.limits import Find
from kbtool.schema import Record
from kbtool.site.library import Library, RowCache
from kbtool.site.products import key_of
from kbtool.site.state import CachedRows

__all__ = ["Memo"]


class Memo:
    """Texts of the records of one library, one kind of text."""

    def __init__(self, library: Library, stored: RowCache, make: Callable[[str, Record, Find], str]) -> None:
        """Take what is known, and what makes the text of a reference and its record from these and from what it finds."""
        self._library = library
        self._stored = stored
        self._make = make
        self._current: dict[str, CachedRows] = {}

    def ensure(self, ref: str) -> CachedRows:
        """Return the text of a record with its key, made now where something behind it changed."""
        known = self._current.get(ref)
        if known is None:
            known = self._stored.get(ref)
            if known is None or known.key != self._key(ref, known.consulted.split()):
                known = self._made(ref)
            self._current[ref] = known
        return known

    def _made(self, ref: str) -> CachedRows:
        library, consulted = self._library, dict[str, None]()

        def find(other: str) -> Record | None:
            consulted[other] = None
            return library.whole(other)

        held = library.holds(ref)
        text = self._make(ref, library.record(ref), find)
        if not held:
            library.forget(ref)
        made = CachedRows(self._key(ref, consulted), " ".join(consulted), text)
        self._stored.put(ref, made)
        return made

    def _key(self, ref: str, consulted: Iterable[str]) -> str:
        library = self._library
        digests = (library.digest(each) if each in library.cards else "" for each in consulted)
        return key_of(library.digest(ref), library.cards[ref].status, digests)
