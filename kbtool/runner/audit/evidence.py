"""What the verdicts look at: answers, by what they were asked for."""

from dataclasses import dataclass

from kbtool.runner.audit.asking import Answer

__all__ = ["Evidence", "Loaded", "Pair", "Recount", "ServerSigns"]


@dataclass(frozen=True, slots=True)
class Pair:
    """One prompt sent alone twice: new to the server, and again a little later."""

    fresh: Answer
    again: Answer

    @property
    def usable(self) -> bool:
        """Return whether both were answered."""
        return self.fresh.usable and self.again.usable


@dataclass(frozen=True, slots=True)
class Loaded:
    """One prompt alone, and as often as it was sent under load."""

    alone: Answer
    loaded: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Recount:
    """An answer that was sent back as part of a prompt, so that the server counts its tokens again."""

    answer: Answer
    recounted_tok: int


@dataclass(frozen=True, slots=True)
class ServerSigns:
    """What the server itself shows beside its answers."""

    fixes_length: bool
    """Whether this kind of server can be told to generate exactly so many tokens."""
    enforces_schema: bool
    """Whether this kind of server keeps answers to a schema."""
    faults: tuple[str, ...] = ()
    """What of the server is not as it was when the audit began."""
    repeat_hits_tok: int | None = None
    """Prompt tokens that its counters say came from the cache while prompts were repeated; None without counters."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that was asked and answered."""

    model: str
    signs: ServerSigns
    pairs: tuple[Pair, ...]
    fixed: tuple[Loaded, ...] = ()
    """Answers of a fixed length, alone and under load."""
    free: tuple[Loaded, ...] = ()
    """Answers that end by themselves."""
    recounts: tuple[Recount, ...] = ()
    structured: tuple[Answer, ...] = ()
    others: tuple[Answer, ...] = ()
    """What is in none of these, such as the requests of the recount."""

    @property
    def answers(self) -> tuple[Answer, ...]:
        """Return every answer once."""
        found = [each for pair in self.pairs for each in (pair.fresh, pair.again)]
        for several in (*self.fixed, *self.free):
            found += [several.alone, *several.loaded]
        found += [*self.structured, *self.others]
        return tuple({each.trace.id: each for each in found}.values())
