"""Rules about secrets: keys and tokens that came in with a pasted log.

A finding names the kind of secret and its first four characters and no more: reports are public.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import log2
from typing import Final

from kbtool.lint.lookup import FileView
from kbtool.lint.rule import Problem, rule
from kbtool.schema import Record

_SHOWN: Final = 4
_LEAST_ENTROPY_BITS: Final = 3.2
"""Per character. English words have about 2.5 to 3, random letters and digits from 3.5."""
_LONG: Final = 16
"""Characters that a word with capitals has at least where it holds one of `_DENSE`."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """One kind of secret: how it begins, which is cheap to look for, and what it looks like."""

    title: str
    begins: tuple[str, ...]
    pattern: re.Pattern[str]


def _kind(title: str, begins: str, pattern: str) -> _Kind:
    return _Kind(title, tuple(begins.split()), re.compile(pattern))


_DENSE: Final = (
    _kind("an AWS access key id", "AKIA ASIA", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    _kind("an API key", "sk-", r"\bsk-(?=[A-Za-z_-]*\d)(?:[a-z]+-)?[A-Za-z0-9_-]{20,}"),
    _kind("a payment key", "_live_", r"\b[rs]k_live_[0-9A-Za-z]{16,}"),
    _kind("a Hugging Face token", "hf_", r"\bhf_[A-Za-z0-9]{30,}\b"),
    _kind("a GitHub token", "ghp_ gho_ ghs_ ghu_ ghr_", r"\bgh[pousr]_[A-Za-z0-9]{30,}\b"),
    _kind("a GitHub token", "github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{30,}\b"),
    _kind("a GitLab token", "glpat-", r"\bglpat-[A-Za-z0-9_-]{16,}"),
    _kind("a Slack webhook", "hooks.slack.com/", r"hooks\.slack\.com/services/[A-Za-z0-9/]{20,}"),
    _kind("a JSON web token", "eyJ", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    _kind("a Google API key", "AIza", r"\bAIza[0-9A-Za-z_-]{30,}"),
    _kind("a Google access token", "ya29.", r"\bya29\.[0-9A-Za-z_-]{20,}"),
    _kind("an NVIDIA API key", "nvapi-", r"\bnvapi-[A-Za-z0-9_-]{20,}"),
    _kind("an API key", "gsk_ xai- r8_", r"\b(?:gsk_|xai-|r8_)(?=[A-Za-z]*\d)[A-Za-z0-9]{30,}"),
    _kind("a package registry token", "npm_ pypi-", r"\b(?:npm_|pypi-)(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{30,}"),
    _kind("a container registry token", "dckr_pat_", r"\bdckr_pat_[A-Za-z0-9_-]{20,}"),
    _kind("a Vault token", "hvs.", r"\bhvs\.[A-Za-z0-9_-]{24,}"),
    _kind("a key of a private network", "tskey-", r"\btskey-[a-z]+-[A-Za-z0-9-]{16,}"),
    _kind("a storage key", "AccountKey=", r"AccountKey=([A-Za-z0-9+/]{40,}=*)"),
)
"""Long words with capitals, which records hardly have otherwise."""
_OTHERS: Final = (
    _kind("a Slack token", "xox", r"\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    _kind("a private key", "-----BEGIN", r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY"),
    _kind("a bearer token", "earer", r"(?i:bearer)\s+(?=[A-Za-z._~+/-]*\d)[A-Za-z0-9._~+/-]{16,}=*"),
    _kind("basic credentials", "asic", r"(?i:authorization)\W{1,4}[Bb]asic\s+[A-Za-z0-9+/]{8,}=*"),
    _kind(
        "a password on a command line",
        "-u --user",
        r"(?<!\S)(?:-u|--user)[ =][\"']?[^\s:\"'$]+:((?=[^\s\"']*[0-9])(?=[^\s\"']*[A-Za-z])[^\s\"'$]{6,})",
    ),
    _kind("credentials in an address", "://", r"(?:://)([^\s/@:?#\"']+:[^\s/@?#\"']+)@"),
)
_NAMED: Final = tuple(
    re.compile(rf"{name}[\"']?\s{{0,3}}[:=]") for name in ("token", "secret", "passw(?:or)?d", "key")
)
"""One pattern a name, as a search for fixed letters is many times faster than one for alternatives."""
_ASSIGNMENT: Final = re.compile(
    r"(?i)(?:token|secret|passw(?:or)?d|(?:api|access|auth)[_-]?key)[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
    r"([A-Za-z0-9+/_.~-]{12,}=*)"
)


@rule("W001", "secret")
def secret(record: Record, view: FileView) -> Iterator[Problem]:
    """Flag a key, a token or a password.

    Whatever is in a pull request is public from then on, whether it is merged or not: the secret has to be
    revoked, and only then removed. Hashes, commits and image digests are no secrets and are not flagged.

    Bad:
        notes: "curl -H 'Authorization: Bearer n0t-a-r3al-t0ken-0123'"

    Good:
        notes: "curl -H 'Authorization: Bearer $TOKEN'"
    """
    del record
    seen: set[str] = set()
    # What escapes hide from a look at the file stands in the values.
    text = (
        view.text if "\\" not in view.text else "\n".join([view.text, *(value for _, value in view.strings)])
    )
    lowered = view.lowered_text if text is view.text else text.lower()
    for title, found in _secrets(text, lowered):
        if found not in seen:
            seen.add(found)
            at = next((pointer for pointer, value in view.strings if found in value), "")
            shown = found[:_SHOWN]
            yield Problem(
                at,
                f"{title} ({shown}...): revoke it where it was issued, then take it out and redact the log",
            )


def _secrets(text: str, lowered: str) -> Iterator[tuple[str, str]]:
    """Yield what each secret in a text is, and the secret."""
    dense = " ".join([word for word in text.split() if len(word) >= _LONG and not word.islower()])
    for where, kinds in ((dense, _DENSE), (text, _OTHERS)) if dense else ((text, _OTHERS),):
        for kind in kinds:
            for begin in kind.begins:
                if begin in where:
                    yield from (
                        (kind.title, found[found.lastindex or 0]) for found in kind.pattern.finditer(where)
                    )
                    break
    if any(name.search(lowered) for name in _NAMED):
        for found in _ASSIGNMENT.finditer(text):
            if _looks_random(found[1]):
                yield "a secret by its name", found[1]


def _looks_random(value: str) -> bool:
    """Return whether a value is random rather than a word, a path, a version or a reference."""
    has_digit = any(each.isdigit() for each in value)
    has_letter = any(each.isalpha() for each in value)
    if not has_digit or not has_letter or value.count("/") > 2:
        return False
    counts = [value.count(each) for each in set(value)]
    entropy = -sum(count / len(value) * log2(count / len(value)) for count in counts)
    return entropy >= _LEAST_ENTROPY_BITS
