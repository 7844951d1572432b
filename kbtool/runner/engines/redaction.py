"""What must never be stored: names that mean a secret, and values that look like one."""

import re
from typing import Final

__all__ = ["is_secret", "is_secret_name"]

_SECRET_WORDS: Final = frozenset(
    {
        "key", "keys", "apikey", "secret", "secrets", "password", "passwd", "passphrase", "credential",
        "credentials", "auth", "authorization", "cookie", "bearer", "pat",
    }
)  # fmt: skip
_TOKEN_OWNERS: Final = frozenset(
    {
        "hf",
        "hub",
        "api",
        "access",
        "auth",
        "admin",
        "github",
        "gh",
        "ngrok",
        "wandb",
        "huggingface",
        "refresh",
        "id",
    }
)
"""A `token` is a secret after one of these words, or alone; `max_num_batched_tokens` and `pad_token` are none."""
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SECRET_VALUE: Final = re.compile(
    r"""://[^/\s@]+@                          # user or password in an address
    | \b(?:bearer|basic)\s+\S{8}
    | \b(?:hf|sk|pk|ghp|gho|ghs|glpat|nvapi|xox[abp])[-_][A-Za-z0-9_-]{12}
    | \bAKIA[0-9A-Z]{16}\b
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}
    | -----BEGIN[ ]
    | \b(?:api[-_]?key|token|password|secret)["']?\s*[:=]
    """,
    re.VERBOSE | re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    """Return whether an argument, a field or a variable of this name holds a secret."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if _SECRET_WORDS.intersection(words):
        return True
    return any(
        word in {"token", "tokens"} and (len(words) == 1 or (at > 0 and words[at - 1] in _TOKEN_OWNERS))
        for at, word in enumerate(words)
    )


def is_secret(name: str, value: object) -> bool:
    """Return whether the name means a secret or the text of the value looks like one."""
    if isinstance(value, bool | int | float):
        return False
    return is_secret_name(name) or _SECRET_VALUE.search(str(value)) is not None
