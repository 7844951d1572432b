"""What a build makes: files, each with a key that changes when its bytes may."""

import hashlib
from collections.abc import Callable, Iterable
from typing import NamedTuple

__all__ = ["Product", "key_of", "ready"]


class Product(NamedTuple):
    """One file of the site."""

    path: str
    """From the root of the site."""
    key: str
    """Of everything that the file is made from, besides kbtool itself."""
    make: Callable[[], bytes]


def key_of(*parts: str | Iterable[str]) -> str:
    """Return a hash of texts in order; a list counts as one part."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        text = part if isinstance(part, str) else "\x1f".join(part)
        digest.update(f"{len(text)}:".encode() + text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def ready(path: str, data: bytes, key: str = "") -> Product:
    """Return a file whose bytes are known already; without a key, they are their own."""
    return Product(path, key or hashlib.sha256(data).hexdigest(), lambda: data)
