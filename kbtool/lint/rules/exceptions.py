"""Rules about exceptions: findings that a record accepts for a while."""

from collections.abc import Iterator, Sequence

from kbtool.lint.rule import CorpusProblem, ExceptionUse, exception_rule


@exception_rule("X001", "exception-without-finding")
def exception_without_finding(uses: Sequence[ExceptionUse]) -> Iterator[CorpusProblem]:
    """Flag an exception that silences nothing.

    What it was made for is mended, or its rule is misspelt; left there, it would silence the next fault of the
    kind, which nobody has looked at.

    Bad:
        exceptions: [{rule: headline-not-a-result, reason: The result follows., until: "2027-01-31"}]

    Good:
        exceptions: [{rule: headline-not-a-result, reason: The result follows., until: "2027-01-31"}]
        headline: decode-code-1
    """
    for use in uses:
        if not use.known:
            hint = f"did you mean `{use.suggestion}`?" if use.suggestion else "`kbtool explain` lists them"
            yield CorpusProblem(
                use.ref, f"{use.at}/rule", f"there is no rule `{use.rule}`; {hint}", use.suggestion
            )
        elif use.could_fire and not use.silenced and not use.expired:
            yield CorpusProblem(use.ref, use.at, f"the exception for {use.rule} silences nothing: remove it")


@exception_rule("X002", "exception-expired")
def exception_expired(uses: Sequence[ExceptionUse]) -> Iterator[CorpusProblem]:
    """Flag an exception whose last day has passed.

    It silences nothing any more.  Only a run that is given a day reports it (`--as-of`), so that what was green
    stays green until somebody asks.
    """
    for use in uses:
        if use.expired:
            message = f"the exception for {use.rule} ended on {use.until}: mend the finding, or give the exception a new day"
            yield CorpusProblem(use.ref, f"{use.at}/until", message)
