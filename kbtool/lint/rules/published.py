"""Rules about figures and their sources' words: the number here is the number there, digit for digit."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from kbtool.analysis.parts import parts
from kbtool.analysis.published import in_unit, numbers_in, states
from kbtool.lint.rule import Problem, rule
from kbtool.schema import Accelerator, Benchmark, Engine, Interconnect, Model
from kbtool.schema.common import Figure
from kbtool.vocab.metrics import METRICS
from kbtool.vocab.units import unit_in_name

_ABOUT: Final = (
    "~",
    "\u2248",
    "about ",
    "approx",
    "ca. ",
    "circa ",
    "roughly ",
    "around ",
    "nearly ",
    "almost ",
)
_AT_LEAST: Final = (">", "\u2265", "over ", "more than ", "at least ")
_AT_MOST: Final = ("<", "\u2264", "under ", "less than ", "up to ", "at most ")


@rule("P101", "value-not-as-published")
def value_not_as_published(record: Benchmark) -> Iterator[Problem]:
    """Flag a stated figure that is not among the numbers that its source prints.

    Digits change places when they are typed, and a factor of 1000 is lost with a unit. Thousands separators,
    `~`, ranges, per cent and units such as K, KiB or s are read as what they mean in the metric's own unit: 0.25 s
    is a `ttft_ms` of 250.

    Bad:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 93.9, as_published: 99.3 tok/s, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: output_tok_s, value: 1093.9, as_published: "1,093.9 tok/s", repeats: 3,
             at: {concurrency: 8, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        if result.basis != "stated":
            continue
        metric = METRICS.get(result.metric)
        unit = metric.unit if metric else ""
        for name, value in (("value", result.value), ("low", result.low), ("high", result.high)):
            if unit == "ratio" and value is not None and value > 1:
                unit = ""  # 73 for 73 % is the finding of another rule
            if value is not None and not states(result.as_published, value, unit):
                yield _not_printed(f"/results/{index}/{name}", value, result.as_published, unit)


@rule("P102", "figure-not-as-published")
def figure_not_as_published(record: Accelerator | Interconnect | Engine | Model) -> Iterator[Problem]:
    """Flag a stated figure about a thing that is not among the numbers that its source prints.

    Every bound is computed from these figures; one slip here makes a hundred findings elsewhere.

    Bad:
        accelerators/other: {title: Other, memory: {capacity_gb: {value: 69}}}

    Good:
        accelerators/other: {title: Other, memory: {capacity_gb: {value: 0.096, as_published: 96 MB}}}
    """
    for pointer, figure in parts(record, Figure):
        if figure.basis != "stated" or figure.as_published is None:
            continue
        unit = unit_in_name(pointer.rpartition("/")[2])
        for name, value in (("value", figure.value), ("low", figure.low), ("high", figure.high)):
            if value is not None and not states(figure.as_published, value, unit):
                yield _not_printed(f"{pointer}/{name}", value, figure.as_published, unit)


@rule("P103", "digits-not-as-published", severity="warning")
def digits_not_as_published(record: Benchmark) -> Iterator[Problem]:
    """Flag a figure with more or fewer digits than its source prints.

    The digits tell how exactly it was measured: 6,853.0 was read to a tenth, 6,853 was not.

    Bad:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 93.90, as_published: 93.9 tok/s, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 93.90, as_published: 93.90 tok/s, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        value = result.value
        if value is None or result.basis != "stated" or result.as_published.startswith(f"{value} "):
            continue
        same = [each.value for each in numbers_in(result.as_published) if each.value == abs(value)]
        if same and all(f"{each:f}" != f"{abs(value):f}" for each in same):
            message = (
                f"value is {value:f}, but the source prints {same[0]:f}: write the digits that it prints"
            )
            yield Problem(f"/results/{index}/value", message)


@rule("P104", "qualifier-dropped", severity="warning")
def qualifier_dropped(record: Benchmark) -> Iterator[Problem]:
    """Flag a figure that its source calls approximate or a bound, while the record does not.

    "~200" compared as 200 gives differences that nobody measured.

    Bad:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 93.9, as_published: "~93.9 tok/s", repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3}]}

    Good:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 93.9, as_published: "~93.9 tok/s", qualifier: approx,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             repeats: 3, evidence: [{source: sources/base-source, locator: Table 3}]}
    """
    for index, result in enumerate(record.results):
        text = result.as_published
        if result.qualifier is not None or result.value is None or text[0].isdigit():
            continue
        lowered = text.casefold()
        for words, qualifier in ((_ABOUT, "approx"), (_AT_LEAST, "at_least"), (_AT_MOST, "at_most")):
            if lowered.startswith(words):
                message = f"the source prints {text!r}; expected `qualifier: {qualifier}`: add it"
                yield Problem(f"/results/{index}", message, suggestion=qualifier)
                break


@rule("P105", "quote-without-the-figure", severity="warning")
def quote_without_the_figure(record: Benchmark) -> Iterator[Problem]:
    """Flag a figure whose quotes all lack it.

    The quote is there so that a reader, or a scheduled check, finds the number in the source again.

    Bad:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 93.9, as_published: 93.9 tok/s, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3, quote: It is very fast.}]}

    Good:
        results:
          - {id: decode-prose-1, metric: tok_s_per_user, value: 93.9, as_published: 93.9 tok/s, repeats: 3,
             at: {concurrency: 1, input_tok: 1024, output_tok: 512, prompt_class: prose, measuring_path: on_host},
             evidence: [{source: sources/base-source, locator: Table 3, quote: 93.9 tok/s on prose}]}
    """
    for index, result in enumerate(record.results):
        quotes = [each.quote for each in result.evidence if each.quote is not None]
        if not quotes or result.basis != "stated" or any(result.as_published in quote for quote in quotes):
            continue
        printed = {each.value for each in numbers_in(result.as_published)}
        if printed and all(printed.isdisjoint(each.value for each in numbers_in(quote)) for quote in quotes):
            message = f"no quote holds the figure ({result.as_published}): quote the words or the cell with the number"
            yield Problem(f"/results/{index}/evidence", message)


@rule("P106", "limit-not-as-published")
def limit_not_as_published(record: Benchmark) -> Iterator[Problem]:
    """Flag a power limit or a memory size that is not the number its source prints.

    Bad:
        system: {power_limit_w: 450}

    Good:
        system: {power_limit_w: 450, power_limit_as_published: 450 W}
    """
    system, model = record.system, record.model
    for at, value, text in (
        ("/system/power_limit_w", system.power_limit_w, system.power_limit_as_published),
        ("/system/host_memory_gib", system.host_memory_gib, system.host_memory_as_published),
        ("/model/weights_gb", model.weights_gb, model.weights_as_published),
    ):
        unit = unit_in_name(at)
        if value is not None and text is not None and not states(text, value, unit):
            yield _not_printed(at, value, text, unit)


def _not_printed(at: str, value: Decimal, text: str, unit: str) -> Problem:
    """Say that a value is not what its source prints, and whether that is for its unit alone."""
    printed = in_unit(text, value, unit)
    if printed is not None:
        name = {"ratio": "a share of 1", "count": "the number in full"}.get(unit, unit)
        message = (
            f"{value:f} is in {printed[0]}, as {text!r} prints it; expected {name}: write {printed[1]:f}"
        )
        return Problem(at, message, suggestion=f"{printed[1]:f}")
    message = f"{value:f} is not a number of {text!r}: correct the one that differs from the source, or say `basis: derived`"
    return Problem(at, message)
