"""Facts of engines and models."""

from collections.abc import Iterator

from kbtool.schema import Engine, Model
from kbtool.schema.things import Checkpoint
from kbtool.site.views.base import Citations, Context, external
from kbtool.site.views.facts import Group, Item, fact_item, features, figure_item, plain_item, present
from kbtool.site.views.text import words

__all__ = ["engine_groups", "model_groups"]


def engine_groups(record: Engine, _context: Context, citations: Citations) -> Iterator[Group]:
    """Yield the facts of an engine."""
    repository = (
        Item("Repository", link=external(record.repository, record.repository)) if record.repository else None
    )
    yield Group(
        "Identity",
        present((
            plain_item("Maintainer", record.maintainer),
            repository,
            fact_item("Licence", record.licence, citations),
            fact_item("First release", record.first_release, citations),
        )),
    )  # fmt: skip
    yield Group("What it can do", present(features(record.features, citations)))
    yield Group(
        "What a client can read from a running server", present(features(record.endpoints, citations))
    )


def model_groups(record: Model, _context: Context, citations: Citations) -> Iterator[Group]:
    """Yield the facts of a model."""
    yield Group(
        "Identity",
        present((
            plain_item("Published by", record.organisation),
            plain_item("Family", record.family),
            plain_item("Architecture", words(record.architecture)),
            plain_item("Takes in", ", ".join(record.modalities)),
            fact_item("Licence", record.licence, citations),
            fact_item("Released", record.released, citations),
        )),
    )  # fmt: skip
    yield Group(
        "Size",
        present((
            figure_item("Parameters", record.total_parameters, "", citations),
            figure_item("Active per token", record.active_parameters, "", citations),
            figure_item("Active in prefill", record.active_parameters_prefill, "", citations),
            figure_item("Active in decode", record.active_parameters_decode, "", citations),
            figure_item("Longest context", record.context_tok, "tok", citations),
        )),
    )  # fmt: skip
    if record.attention is not None:
        attention = record.attention
        yield Group(
            "Attention",
            present((
                fact_item("Kind", attention.kind, citations),
                figure_item("Layers", attention.layers, "", citations),
                figure_item("Hidden size", attention.hidden_size, "", citations),
                figure_item("Query heads", attention.heads, "", citations),
                figure_item("Key/value heads", attention.kv_heads, "", citations),
                figure_item("Head width", attention.head_dim, "", citations),
                figure_item("Sliding window", attention.sliding_window_tok, "tok", citations),
                *features(attention.other, citations),
            )),
        )  # fmt: skip
    if record.experts is not None:
        yield Group(
            "Experts",
            present((
                figure_item("Routed a layer", record.experts.routed, "", citations),
                figure_item("Shared a layer", record.experts.shared, "", citations),
                figure_item("Routed per token", record.experts.per_token, "", citations),
            )),
        )  # fmt: skip
    cache = [figure_item(each.layout, each.bytes_per_tok, "B/tok", citations) for each in record.kv_cache]
    yield Group("Cache per token", present(cache))
    yield Group("Checkpoints", tuple([_checkpoint(each, citations) for each in record.checkpoints]))
    yield Group("Other properties", present(features(record.features, citations)))


def _checkpoint(checkpoint: Checkpoint, citations: Citations) -> Item:
    size = figure_item("size", checkpoint.size_gb, "GB", citations)
    notes = [
        f"revision {checkpoint.revision}" if checkpoint.revision else "",
        f"experts {checkpoint.expert_dtype}" if checkpoint.expert_dtype else "",
        f"draft head: {checkpoint.draft_head}" if checkpoint.draft_head else "",
        checkpoint.caveat or "",
        *(size.notes if size else ()),
    ]
    text = f"weights {checkpoint.weight_dtype}" if checkpoint.weight_dtype else ""
    if size:
        text = ", ".join(filter(None, (text, f"{size.text} {size.unit}")))
    evidence = tuple(dict.fromkeys((*citations.cite(checkpoint.evidence), *(size.evidence if size else ()))))
    others = size.others if size else ()
    return Item(checkpoint.name, text, notes=tuple(filter(None, notes)), evidence=evidence, others=others)
