"""Keep secrets out of everything that is written: logs, settings, error messages.

A secret is known by its value, taken from the environment by name, and is looked for in all the forms in which
programs print it.  What looks like a secret is taken out as well: an engine may print a key that we never saw.

The keeper imports this module, and starts in a few milliseconds: the standard library only.
"""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.parse import quote, quote_plus

__all__ = ["HIDDEN", "SECRET_WORDS", "Secrets", "looks_secret"]

HIDDEN: Final = "[secret]"
SECRET_WORDS: Final = frozenset(
    [
        "KEY",
        "APIKEY",
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "CREDENTIAL",
        "CREDENTIALS",
        "AUTH",
        "AUTHORIZATION",
        "PAT",
    ]
)
"""Words in the name of a variable or an argument whose value is nobody's business."""
SHORT: Final = 8
"""Characters below which a secret is only hidden where it stands as a word: inside others it would be noise."""

_LOOKS_SECRET: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rb"(?i)(?<=bearer )[A-Za-z0-9._~+/-]{8,}=*",
        rb"(?i)(?<=authorization: )(?!bearer )[^\r\n]{4,400}",
        rb"(?i)(?<=basic )[A-Za-z0-9+/]{12,}=*",
        rb"\bhf_[A-Za-z0-9]{20,}",
        rb"\bsk-[A-Za-z0-9_-]{20,}",
        rb"\bgh[pousr]_[A-Za-z0-9]{30,}",
        rb"\bnvapi-[A-Za-z0-9_-]{20,}",
        rb"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
        rb"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
        rb"(?<=://)[^\s/@:?#\"']+:[^\s/@?#\"']+(?=@)",
        rb"(?i)(?<=api[_-]key[=: ])[\"']?[A-Za-z0-9._~+/-]{8,}=*",
        rb"(?i)(?<=api[_-]key': )'[^']{1,400}'",
    )
)


def looks_secret(name: str) -> bool:
    """Return whether the name of a variable or argument says that its value is a secret.

    `--max-num-batched-tokens` and `tokenizer` are none: words count whole, and `tokens` is a count.
    """
    return not SECRET_WORDS.isdisjoint(re.split(r"[^A-Z0-9]+", name.upper()))


def _base64_forms(value: bytes) -> set[bytes]:
    """Return the base64 of a value at each of the three places it can have in a longer text, without its edges.

    The first and last characters depend on what stands beside the value, so they are left out.
    """
    forms = set()
    for before in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            whole = encode(b"\0" * before + value).rstrip(b"=")
            first = -(-before * 8 // 6)
            last = (before + len(value)) * 8 // 6
            forms.add(whole[first:last])
    return forms


def _forms(value: str) -> set[bytes]:
    """Return every form of a secret that is looked for."""
    raw = value.encode("utf-8", "surrogateescape")
    texts = {quote(raw, safe=""), quote(raw), quote_plus(raw), raw.hex()}
    if raw.decode("utf-8", "replace") == value:
        texts |= {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]}
    forms = {raw} | {text.encode() for text in texts}
    if len(raw) >= SHORT:
        forms |= _base64_forms(raw)
    return {form for form in forms if form}


def _pattern(values: Iterable[str]) -> re.Pattern[bytes] | None:
    """Return one pattern for all forms of all values, the longest first."""
    forms: set[bytes] = set()
    for value in values:
        forms |= _forms(value)
    if not forms:
        return None
    parts = [
        re.escape(form)
        if len(form) >= SHORT
        else rb"(?<![0-9A-Za-z])" + re.escape(form) + rb"(?![0-9A-Za-z])"
        for form in sorted(forms, key=lambda form: (-len(form), form))
    ]
    return re.compile(b"|".join(parts))


@dataclass(frozen=True, slots=True)
class Secrets:
    """The values that must not be written. Shows its names, never its values."""

    names: tuple[str, ...] = ()
    values: tuple[str, ...] = field(default=(), repr=False)
    _known: re.Pattern[bytes] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Self:
        """Return secrets from name and value; empty values are none."""
        kept = {name: value for name, value in sorted(values.items()) if value.strip()}
        return cls(tuple(kept), tuple(kept.values()), _pattern(kept.values()))

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], names: Iterable[str] = ()) -> Self:
        """Return the variables of these names, and all others whose name says that they are secret.

        Of the others only those that are long enough: `SOME_AUTH=1` hides nothing but every 1.
        """
        asked = set(names)
        return cls.of(
            {
                name: value
                for name, value in environment.items()
                if name in asked or (looks_secret(name) and len(value) >= SHORT)
            }
        )

    def with_values(self, more: Mapping[str, str]) -> "Secrets":
        """Return the same with further values, such as the key that an attached server wants."""
        return Secrets.of({**dict(zip(self.names, self.values, strict=True)), **more})

    @property
    def longest_bytes(self) -> int:
        """Length of the longest form of any secret."""
        return max((len(form) for value in self.values for form in _forms(value)), default=0)

    def redact(self, text: str) -> str:
        """Return the text without secrets."""
        return self.redact_bytes(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def redact_bytes(self, data: bytes) -> bytes:
        """Return the bytes without secrets."""
        hidden = HIDDEN.encode()
        if self._known is not None:
            data = self._known.sub(hidden, data)
        for pattern in _LOOKS_SECRET:
            data = pattern.sub(hidden, data)
        return data

    def redact_arguments(self, arguments: Iterable[str]) -> tuple[str, ...]:
        """Return an argument list without secrets: by value, and by the name of the argument before."""
        shown: list[str] = []
        hides = False
        for argument in arguments:
            name, equals, _ = argument.partition("=")
            if hides and not argument.startswith("--"):
                shown.append(HIDDEN)
                continue
            hides = name.startswith("-") and looks_secret(name)
            shown.append(f"{name}={HIDDEN}" if hides and equals else self.redact(argument))
            hides = hides and not equals
        return tuple(shown)
