"""The setup of a benchmark as groups of rows, with its gaps in place among them."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final, NamedTuple

from kbtool.analysis.completeness import Account, accounts
from kbtool.analysis.paths import is_given, value_at
from kbtool.schema import Benchmark
from kbtool.schema.benchmark import InterconnectUse
from kbtool.schema.common import Gap, Omission
from kbtool.site.views.base import Citations, Context, Link
from kbtool.site.views.facts import Group, Item
from kbtool.site.views.text import counted, plural, scalar_text, words
from kbtool.vocab.disclosure import DISCLOSURE_FIELDS
from kbtool.vocab.terms import DEFINITIONS

__all__ = [
    "FIELDS",
    "Field",
    "GapRows",
    "field_label",
    "layout_arithmetic",
    "omission_item",
    "setting_value",
    "setup_groups",
]


class Field(NamedTuple):
    """A field of the setup and how it is shown."""

    path: str
    label: str
    unit: str = ""
    published: str = ""
    """Path of the field that holds the source's own words for it."""
    code: bool = False


_GROUPS: Final[tuple[tuple[str, tuple[Field, ...]], ...]] = (
    (
        "System",
        (
            Field("system.accelerator", "Accelerator", published="system.accelerator_as_published"),
            Field("system.accelerator_count", "Accelerators used"),
            Field("system.accelerators_present", "Accelerators present"),
            Field("system.nodes", "Hosts"),
            Field("system.power_limit_w", "Power limit in force", "W", "system.power_limit_as_published"),
            Field("system.clocks", "Clocks"),
            Field("system.interconnects", "Interconnect"),
            Field("system.peer_to_peer", "Direct copies between accelerators"),
            Field("system.host_cpu", "Host processor"),
            Field("system.host_sockets", "Host processors per node"),
            Field("system.host_memory_gib", "Host memory", "GiB", "system.host_memory_as_published"),
            Field("system.numa_nodes", "NUMA nodes"),
            Field("system.os", "Operating system"),
            Field("system.driver", "Driver", code=True),
            Field("system.cuda", "CUDA or ROCm", code=True),
        ),
    ),
    (
        "Engine",
        (
            Field("engine.engine", "Engine"),
            Field("engine.version", "Version", code=True),
            Field("engine.commit", "Commit", code=True),
            Field("engine.image", "Image", code=True),
            Field("engine.image_digest", "Image digest", code=True),
            Field("engine.build", "Build"),
            Field("engine.patches", "Patches"),
            Field("engine.arguments", "Arguments", code=True),
            Field("engine.environment", "Environment", code=True),
        ),
    ),
    (
        "Deployment",
        (
            Field("deployment.instances", "Instances"),
            Field("deployment.tp", "Tensor parallel (TP)"),
            Field("deployment.pp", "Pipeline parallel (PP)"),
            Field("deployment.dp", "Data parallel (DP)"),
            Field("deployment.ep", "Expert parallel (EP)"),
            Field("deployment.attn_dp", "Attention data parallel"),
            Field("deployment.dcp", "Decode context parallel (DCP)"),
            Field("deployment.prefill_accelerators", "Accelerators that only prefill"),
            Field("deployment.decode_accelerators", "Accelerators that only decode"),
            Field("deployment.layout_as_published", "Layout as published"),
            Field("deployment.device_order", "Device order", code=True),
            Field("deployment.router", "Router"),
            Field("deployment.proxy", "Reverse proxy"),
        ),
    ),
    (
        "Model",
        (
            Field("model.model", "Model", published="model.as_published"),
            Field("model.checkpoint", "Checkpoint", code=True),
            Field("model.revision", "Revision", code=True),
            Field("model.weight_dtype", "Weights", published="model.quantization_as_published", code=True),
            Field("model.expert_dtype", "Experts", code=True),
            Field("model.weights_gb", "Size of the weights", "GB", "model.weights_as_published"),
        ),
    ),
    (
        "Serving",
        (
            Field("serving.kv_cache_dtype", "KV cache", code=True),
            Field("serving.context_tok", "Context", "tok"),
            Field("serving.advertised_context_tok", "Context advertised", "tok"),
            Field("serving.max_running_requests", "Running requests at most"),
            Field("serving.max_batched_tok", "Tokens of one step at most", "tok"),
            Field("serving.chunked_prefill_size_tok", "Prefill chunk", "tok"),
            Field("serving.page_size_tok", "Cache page", "tok"),
            Field("serving.memory_fraction", "Share of memory used"),
            Field("serving.prefix_caching", "Prefix caching"),
            Field("serving.kv_persistence", "Cache beyond accelerator memory"),
            Field("serving.cuda_graph_decode", "CUDA graphs for decode"),
            Field("serving.cuda_graph_prefill", "CUDA graphs for prefill"),
            Field("serving.cuda_graph_max_batch", "Largest captured batch"),
            Field("serving.continuous_batching", "Continuous batching"),
            Field("serving.attention_backend", "Attention kernels", code=True),
            Field("serving.prefill_backend", "Prefill kernels", code=True),
            Field("serving.moe_backend", "Expert kernels", code=True),
            Field("serving.allreduce_backend", "All-reduce", code=True),
        ),
    ),
    (
        "Speculation",
        (
            Field("speculation.method", "Method", published="speculation.as_published", code=True),
            Field("speculation.draft_tok", "Draft tokens"),
            Field("speculation.block_size", "Block size"),
            Field("speculation.verify_rows", "Rows verified a step"),
            Field("speculation.acceptance_length", "Acceptance length", "tok/step"),
        ),
    ),
    (
        "Measurement",
        (
            Field("measured.day", "Measured on"),
            Field("measured.period", "Period"),
            Field("measured.valid_until", "System as described until"),
            Field("measured.tool", "Client"),
            Field("measured.method", "Method"),
        ),
    ),
)  # fmt: skip

FIELDS: Final[dict[str, Field]] = {each.path: each for _, fields in _GROUPS for each in fields}
"""Path -> how it is shown."""
_GATHERED: Final = ("engine.arguments.", "engine.environment.")
_TITLES: Final = {each.path: each.title for each in DISCLOSURE_FIELDS}
_BASIS: Final = {"system.accelerator": "system.accelerator_basis", "model.model": "model.basis"}
_SIGN: Final = {
    "approx": "\N{ALMOST EQUAL TO} ",
    "at_least": "\N{GREATER-THAN OR EQUAL TO} ",
    "at_most": "\N{LESS-THAN OR EQUAL TO} ",
}
_ARGUMENTS: Final = {
    "in_force": "read from the running engine",
    "as_launched": "as launched",
    "unstated": "the source does not say whether they were in force",
}


def field_label(path: str) -> str:
    """Return what a field of the record is called on a page."""
    if path in FIELDS:
        return FIELDS[path].label
    for prefix in _GATHERED:
        if path.startswith(prefix):
            return path.removeprefix(prefix)
    return _TITLES.get(path) or words(path.rpartition(".")[2])


def setting_value(path: str, value: object) -> str:
    """Return a setting as it is shown beside its label."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | Decimal):
        field = FIELDS.get(path)
        return f"{counted(value)} {field.unit}" if field and field.unit else counted(value)
    return scalar_text(value)


def layout_arithmetic(record: Benchmark) -> str:
    """Return `2 instances x TP 4 = 8 accelerators`; nothing where TP is not known."""
    deployment = record.deployment
    used = deployment.accelerators()
    if used is None:
        return ""
    factors = [f"{deployment.instances} instances"] if (deployment.instances or 1) > 1 else []
    factors.append(f"TP {deployment.tp}")
    factors += [f"PP {deployment.pp}"] if (deployment.pp or 1) > 1 else []
    factors += [f"DP {deployment.dp}"] if (deployment.dp or 1) > 1 else []
    product = " \N{MULTIPLICATION SIGN} ".join(factors)
    reused = [f"EP {deployment.ep}"] if deployment.ep else []
    reused += [f"attention DP {deployment.attn_dp}"] if deployment.attn_dp else []
    reused += [f"DCP {deployment.dcp}"] if (deployment.dcp or 1) > 1 else []
    over = f"; {', '.join(reused)} over the same" if reused else ""
    return f"{product} = {used} accelerator{'' if used == 1 else 's'}{over}"


def omission_item(
    label: str, omission: Omission, context: Context, citations: Citations, where: tuple[str, ...] = ()
) -> Item:
    """Return the row of a field that a source was searched for in vain, with what another one says."""
    notes = (*where, *((f"searched: {omission.searched}",) if omission.searched else ()))
    text, link = "", None
    if omission.resolved_by:
        text = f"elsewhere: {omission.resolved_value or 'given'}, by"
        folder, _, _ = omission.resolved_by.partition("/")
        link = context.link(omission.resolved_by)
        if folder == "sources":
            link = source_link(citations.source(omission.resolved_by))
    elif omission.resolved_value:
        text = f"elsewhere: {omission.resolved_value}"
    return Item(label, text, link=link, gap="omitted", notes=notes, source=citations.source(omission.source))


def source_link(number: int) -> Link:
    """Return a link to a source on the same page."""
    return Link(f"source {number}", here=f"S{number}")


class GapRows:
    """The gaps of a benchmark, taken out one by one where their place on the page is."""

    def __init__(self, record: Benchmark, context: Context, citations: Citations) -> None:
        self._context = context
        self._citations = citations
        self._results = len(record.results)
        self._omissions = {each.field: each for each in record.omitted_by_source}
        self._gaps = {each.field: each for each in record.gaps}
        self._accounts = {each.field.path: each for each in accounts(record)}

    def take(self, path: str, label: str = "") -> Item | None:
        """Return the row of the gap at `path`, once; None where there is none."""
        account = self._accounts.get(path)
        omission = self._omissions.pop(path, None)
        gap = self._gaps.pop(path, None)
        label = label or field_label(path)
        if omission is not None:
            return self._omitted(label, omission, account)
        if gap is not None:
            return self._typed(label, gap, account)
        if account is not None and account.state == "missing":
            return Item(label, "nobody has looked yet", gap="missing", notes=self._where(account))
        return None

    def rest(self, prefix: str = "") -> Iterator[Item]:
        """Yield the rows that are left, and asked-for fields of results if `prefix` says so."""
        paths = dict.fromkeys((*self._omissions, *self._gaps))
        if prefix:
            paths |= dict.fromkeys(path for path in self._accounts if path.startswith(prefix))
        for path in list(paths):
            if path.startswith(prefix):
                row = self.take(path, _TITLES.get(path) or path)
                if row is not None:
                    yield row

    def _omitted(self, label: str, omission: Omission, account: Account | None) -> Item:
        return omission_item(label, omission, self._context, self._citations, self._where(account))

    def _typed(self, label: str, gap: Gap, account: Account | None) -> Item:
        text = f"{words(gap.reason)}: {DEFINITIONS['gap_reason'][gap.reason]}"
        notes = (*self._where(account), *((gap.note,) if gap.note else ()))
        return Item(label, text, gap="gap", notes=notes)

    def _where(self, account: Account | None) -> tuple[str, ...]:
        """Say how many results lack a field that only some have."""
        if account is None or not account.absent_from or len(account.absent_from) == self._results:
            return ()
        return (f"{len(account.absent_from)} of {self._results} results",)


def setup_groups(
    record: Benchmark, context: Context, citations: Citations, gaps: GapRows
) -> tuple[Group, ...]:
    """Return the setup, group by group, with every gap beside what is known."""
    places = _Places(record, citations)
    groups = []
    for title, fields in _GROUPS:
        items = [row for field in fields for row in _rows(record, field, context, places, gaps)]
        note = layout_arithmetic(record) if title == "Deployment" else ""
        if items:
            groups.append(Group(title, tuple(items), note))
    return tuple(groups)


class _Places:
    """Where the source states the parts of the setup."""

    def __init__(self, record: Benchmark, citations: Citations) -> None:
        self._numbers = [
            (path, citations.cite((each.evidence,))[0])
            for each in record.setup_evidence
            for path in each.fields
        ]

    def of(self, path: str) -> tuple[int, ...]:
        """Return the evidence for a field, for its group, or for a part of it."""
        found = [
            number
            for stated, number in self._numbers
            if path == stated or path.startswith(stated + ".") or stated.startswith(path + ".")
        ]
        return tuple(dict.fromkeys(found))


def _rows(
    record: Benchmark, field: Field, context: Context, places: _Places, gaps: GapRows
) -> Iterator[Item]:
    path = field.path
    value = value_at(record, path)
    published = value_at(record, field.published) if field.published else None
    if is_given(value):
        yield from _given(record, field, value, published, context, places.of(path))
    elif published:
        yield Item(
            field.label,
            f"\N{LEFT DOUBLE QUOTATION MARK}{published}\N{RIGHT DOUBLE QUOTATION MARK}",
            evidence=places.of(path),
            notes=("as published",),
        )
    row = gaps.take(path, field.label)
    if row is not None:
        yield row


def _given(
    record: Benchmark,
    field: Field,
    value: Any,
    published: str | None,
    context: Context,
    evidence: tuple[int, ...],
) -> Iterator[Item]:
    path = field.path
    notes = (f"as published: {published}",) if published else ()
    if path in {"system.accelerator", "engine.engine", "model.model"}:
        basis = value_at(record, _BASIS[path]) if path in _BASIS else "stated"
        yield Item(
            field.label,
            link=context.link(value),
            basis="" if basis == "stated" else basis,
            notes=notes,
            evidence=evidence,
        )
    elif path == "system.interconnects":
        for use in value:
            yield _interconnect(use, context, evidence)
    elif path == "engine.patches":
        yield Item(field.label, plural(len(value), "patch", "patches"), notes=value, evidence=evidence)
    elif path in {"engine.arguments", "engine.environment"}:
        lines = tuple([f"{name} = {scalar_text(each)}" for name, each in value.items()])
        said = _ARGUMENTS[record.engine.arguments_basis] if path == "engine.arguments" else "variables"
        yield Item(field.label, said, notes=lines, evidence=evidence)
    elif path == "deployment.router":
        notes = tuple(
            line
            for line in (
                f"policy: {value.policy}" if value.policy else "",
                f"affinity: {value.affinity}" if value.affinity else "",
            )
            if line
        )
        yield Item(field.label, value.name, notes=notes, evidence=evidence)
    else:
        yield _simple(record, field, value, notes, evidence)


def _simple(
    record: Benchmark, field: Field, value: Any, notes: tuple[str, ...], evidence: tuple[int, ...]
) -> Item:
    if isinstance(value, bool):
        return Item(field.label, "yes" if value else "no", notes=notes, evidence=evidence)
    if isinstance(value, int | Decimal):
        sign = ""
        if field.path == "speculation.acceptance_length":
            sign = _SIGN.get(record.speculation.acceptance_qualifier or "", "")
        return Item(
            field.label, sign + counted(value), field.unit, scalar_text(value), notes=notes, evidence=evidence
        )
    return Item(field.label, scalar_text(value), notes=notes, evidence=evidence, code=field.code)


def _interconnect(use: InterconnectUse, context: Context, evidence: tuple[int, ...]) -> Item:
    crossed = {
        True: "the source shows that traffic crossed it",
        False: "the source shows that no traffic crossed it",
        None: "",
    }[use.traffic_shown]
    basis = "" if use.basis == "stated" else use.basis
    inferred = "present in the hardware; whether traffic crossed it is not said"
    notes = tuple(line for line in (crossed, inferred if basis and use.traffic_shown is None else "") if line)
    return Item(
        words(use.role).capitalize(),
        link=context.link(use.interconnect),
        basis=basis,
        notes=notes,
        evidence=evidence,
    )
