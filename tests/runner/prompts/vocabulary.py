"""A stand-in for a server's tokenizer: counts by rules of its own, unlike those by which prompts are sized."""

import re

from kbtool.runner.prompts import Prompt

_TOKEN = re.compile(r" ?[A-Za-z]+| ?\d{1,3}| ?[^\sA-Za-z\d]{1,3}|\s+")


def tokens(text: str) -> int:
    """Return the tokens of a text: long words are two or three, three digits one."""
    return sum(
        1 + (len(match.strip()) - 1) // 7 if match.strip().isalpha() else 1 for match in _TOKEN.findall(text)
    )


def prompt_tokens(prompt: Prompt) -> int:
    """Return what a server would report: each message and the whole with their template."""
    return 9 + sum(4 + tokens(message.content) for message in prompt.messages)
