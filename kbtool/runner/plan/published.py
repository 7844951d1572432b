"""What a plan may not hold, as it is published: secrets among arguments, and variables that change what is run."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

__all__ = ["loads_programs", "looks_secret", "refuse_secrets", "secret_arguments"]

_LOADER_PREFIXES: Final = (
    "LD_", "DYLD_", "PYTHON", "BASH_", "PERL5", "RUBY", "GIT_", "GLIBC_", "GCONV_",
)  # fmt: skip
_LOADER_NAMES: Final = frozenset(
    {
        "CLASSPATH", "CUDA_INJECTION32_PATH", "CUDA_INJECTION64_PATH", "ENV", "IFS", "JAVA_TOOL_OPTIONS",
        "JDK_JAVA_OPTIONS", "LOCPATH", "LUA_PATH", "NODE_OPTIONS", "NODE_PATH", "NVTX_INJECTION32_PATH", "NVTX_INJECTION64_PATH", "OPENSSL_CONF",
        "OPENSSL_ENGINES", "OPENSSL_MODULES", "PATH", "PERLLIB", "PROMPT_COMMAND", "PS4", "SHELLOPTS", "ZDOTDIR",
        "_JAVA_OPTIONS",
    }
)  # fmt: skip
_SECRET_PARTS: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "BEARER")
_SECRET_WORDS: Final = frozenset({"PASS", "PASSPHRASE", "PAT", "PWD"})
_SECRET_FLAG: Final = re.compile(
    r"--?(?:.*[-_])?(?:api[-_]?key|access[-_]key|secret(?:[-_]key)?|password|passwd|passphrase|credentials?)"
    r"|--?(?:.*[-_])?(?:hf|hub|auth|access|api|bearer|admin)[-_]token|--?token",
    re.IGNORECASE,
)
"""Arguments whose value is a secret; `--eos-token` and `--max-num-batched-tokens` have none."""
_SECRET_VALUE: Final = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|nvapi-[A-Za-z0-9_-]{20,}|(?:AKIA|ASIA)[0-9A-Z]{16})"
)


def loads_programs(name: str) -> bool:
    """Return whether a variable changes what a program loads or runs before the engine starts."""
    return name.startswith(_LOADER_PREFIXES) or name in _LOADER_NAMES


def looks_secret(name: str) -> bool:
    """Return whether the name of a variable says that its value is nobody's business."""
    return any(part in name.upper() for part in _SECRET_PARTS) or not _SECRET_WORDS.isdisjoint(
        name.split("_")
    )


def secret_arguments(arguments: Sequence[str]) -> Iterator[str]:
    """Yield how each secret in an argument list is called: by the argument before it, or by what it looks like."""
    for argument, after in pairwise((*arguments, "--")):
        name, equals, value = argument.partition("=")
        has_value = bool(value) if equals else not after.startswith("-")
        if has_value and _SECRET_FLAG.fullmatch(name):
            yield f"the value of `{name}`"
        elif found := _SECRET_VALUE.search(argument):
            yield f"what begins with `{found[0][:4]}`"


def refuse_secrets(arguments: Sequence[str]) -> None:
    """Raise a ValueError, which names no secret, where an argument list holds one."""
    secret = next(secret_arguments(arguments), None)
    if secret is not None:
        raise ValueError(
            f"{secret} is a secret, and a plan is published; expected its name alone: give it by a variable of "
            "`env_from`, or leave it out, as a launched server listens to this machine"
        )
