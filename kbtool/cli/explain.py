"""`kbtool explain`: the page of a rule, a metric, a term or a field, in the terminal."""

from typing import Annotated

import typer

from kbtool.cli.console import console
from kbtool.errors import UsageError

__all__ = ["explain"]


def explain(
    name: Annotated[
        str,
        typer.Argument(help="Rule code or name, metric id, term, or field.", show_default=False),
    ],
) -> None:
    """Explain a rule (`T001`), a metric (`tpot_ms`), a term (`cold`) or a field (`engine.version`, `form`)."""
    lines = _rule(name) or _metric(name) or _disclosure(name) or [*_terms(name), *_fields(name)]
    if not lines:
        near = _nearest(name)
        hint = (
            f"; did you mean `{near}`?"
            if near
            else "; `kbtool explain` knows rules, metrics, terms and fields"
        )
        raise UsageError(f"nothing is called `{name}`{hint}")
    out = console()
    for text, style in lines:
        out.print(text, style=style, markup=False)


Lines = list[tuple[str, str | None]]


def _rule(name: str) -> Lines:
    from kbtool.lint.pages import rule_pages

    for page in rule_pages():
        if name in {page.code, page.code.lower(), page.name}:
            head = f"{page.code} {page.name} ({page.severity_text})"
            examples: Lines = []
            for title, fragments in (("Bad", page.bad), ("Good", page.good)):
                for fragment in fragments:
                    examples += [(f"\n{title}:", "bold"), (fragment, None)]
            return [
                (head, "bold"),
                (page.summary, None),
                *((f"\n{each}", None) for each in page.paragraphs),
                *examples,
            ]
    return []


def _metric(name: str) -> Lines:
    from kbtool.vocab import METRICS

    metric = METRICS.get(name)
    if metric is None:
        return []
    facts = [
        f"unit        {metric.unit}",
        f"scope       {metric.scope}",
        f"tokens      {metric.tokens.replace('_', ' ')}",
        f"better      {metric.direction}",
        f"formula     {metric.formula}",
        f"defined by  {metric.definition}",
        f"stands with {', '.join(metric.conditions) or 'nothing in particular'}",
    ]
    trap: Lines = [(f"\nTrap: {metric.trap}", None)] if metric.trap else []
    return [(f"{metric.id}: {metric.title}", "bold"), ("\n".join(facts), None), *trap]


def _disclosure(name: str) -> Lines:
    from kbtool.vocab.disclosure import DISCLOSURE_FIELDS

    for each in DISCLOSURE_FIELDS:
        if each.path == name:
            return [(f"{each.path}: {each.title}", "bold"), (each.why, None)]
    return []


def _terms(name: str) -> Lines:
    from kbtool.vocab.terms import DEFINITIONS

    lines: Lines = []
    for subject, words in DEFINITIONS.items():
        if name in words:
            lines += [(f"{name} ({subject.replace('_', ' ')})", "bold"), (words[name], None)]
    return lines


def _fields(name: str) -> Lines:
    from kbtool.cli.fieldnames import field_texts

    lines: Lines = []
    field = name.rpartition(".")[2]
    for places, said in field_texts(field):
        lines += [(f"{field} (field: {places})", "bold"), (said, None)]
    return lines


def _nearest(name: str) -> str | None:
    from kbtool.cli.fieldnames import field_names
    from kbtool.lint.pages import rule_pages
    from kbtool.store.suggest import nearest
    from kbtool.vocab import METRICS
    from kbtool.vocab.disclosure import DISCLOSURE_FIELDS
    from kbtool.vocab.terms import DEFINITIONS

    names = (
        field_names()
        | {page.code for page in rule_pages()}
        | {page.name for page in rule_pages()}
        | set(METRICS)
    )
    names |= {each.path for each in DISCLOSURE_FIELDS} | {
        word for words in DEFINITIONS.values() for word in words
    }
    return nearest(name, sorted(names))
