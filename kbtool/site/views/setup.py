"""The setup of a benchmark as groups of rows, with its gaps in place among them."""

from collections.abc import Callable
from decimal import Decimal
from operator import attrgetter
from typing import Any, Final

from kbtool.analysis.completeness import Account
from kbtool.analysis.paths import RESULTS, is_given
from kbtool.schema import Benchmark
from kbtool.schema.benchmark import InterconnectUse, Router
from kbtool.schema.common import Gap, Omission
from kbtool.site.views.base import Citations, Context, Link
from kbtool.site.views.facts import Group, Item
from kbtool.site.views.fields import FIELDS, GROUPS, Field, field_label
from kbtool.site.views.text import counted, plural, scalar_text, words
from kbtool.vocab.terms import DEFINITIONS

__all__ = ["GapRows", "layout_arithmetic", "omission_item", "setup_groups"]


_VALUES: Final[dict[str, Callable[[Benchmark], Any]]] = {
    path: attrgetter(path) for field in FIELDS.values() for path in (field.path, field.published) if path
}
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
            link = citations.source_link(omission.resolved_by)
    elif omission.resolved_value:
        text = f"elsewhere: {omission.resolved_value}"
    return Item(
        label, text, link=link, gap="omitted", notes=notes, source=citations.source_link(omission.source)
    )


class GapRows:
    """The gaps of a benchmark, taken out one by one where their place on the page is."""

    def __init__(self, record: Benchmark, context: Context, citations: Citations) -> None:
        self._context = context
        self._citations = citations
        self._results = len(record.results)
        self._listed: dict[str, list[Omission | Gap]] = {}
        listed: tuple[Omission | Gap, ...] = (*record.omitted_by_source, *record.gaps)
        for each in listed:
            self._listed.setdefault(each.field, []).append(each)
        self._accounts = {each.field.path: each for each in context.accounts}

    def take(self, path: str, label: str = "") -> list[Item]:
        """Return the rows of the gaps at `path`, once."""
        account = self._accounts.get(path)
        listed = self._listed.pop(path, None)
        label = label or field_label(path)
        if listed:
            return [self._row(label, each, account) for each in listed]
        if account is not None and account.state == "missing":
            return [Item(label, "nobody has looked yet", gap="missing", notes=self._where(account))]
        return []

    def of_results(self) -> tuple[Item, ...]:
        """Return the rows of what is asked of each result, and of what is listed for them."""
        asked = (path for path in self._accounts if path.startswith(RESULTS))
        listed = (path for path in self._listed if path.startswith(RESULTS))
        paths = dict.fromkeys((*listed, *asked))
        return tuple([row for path in paths for row in self.take(path)])

    def rest(self) -> tuple[Item, ...]:
        """Return the rows that are left."""
        return tuple([row for path in tuple(self._listed) for row in self.take(path)])

    def _row(self, label: str, listed: Omission | Gap, account: Account | None) -> Item:
        if isinstance(listed, Omission):
            return omission_item(label, listed, self._context, self._citations, self._where(account))
        text = f"{words(listed.reason)}: {DEFINITIONS['gap_reason'][listed.reason]}"
        notes = (*self._where(account), *((listed.note,) if listed.note else ()))
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
    rows = _SetupRows(record, context, _Places(record, citations))
    groups = []
    for title, fields in GROUPS:
        items: list[Item] = []
        for field in fields:
            given = rows.of(field)
            # What a source prints may be no value of the field: then the gap is that of the exact one.
            items += given
            items += gaps.take(field.path, "The same, exactly" if given else field.label)
        if items:
            note = layout_arithmetic(record) if title == "Deployment" else ""
            groups.append(Group(title, tuple(items), note))
    return tuple(groups)


class _Places:
    """Where the source states the parts of the setup."""

    def __init__(self, record: Benchmark, citations: Citations) -> None:
        self._stated: dict[str, list[Link]] = {}
        for each in record.setup_evidence:
            (link,) = citations.cite((each.evidence,))
            for path in each.fields:
                # Deeper than the rows of the page: `engine.arguments.NAME` stands beside `engine.arguments`.
                self._stated.setdefault(".".join(path.split(".")[:2]), []).append(link)

    def of(self, path: str) -> tuple[Link, ...]:
        """Return the evidence for a field, or for the whole group that it belongs to."""
        stated = self._stated
        found = (*stated.get(path, ()), *stated.get(path.partition(".")[0], ()))
        return tuple(dict.fromkeys(found)) if found else ()


_Notes = tuple[str, ...]
_Refs = tuple[Link, ...]


class _SetupRows:
    """The rows of what a record gives."""

    def __init__(self, record: Benchmark, context: Context, places: _Places) -> None:
        self._record = record
        self._context = context
        self._places = places
        self._special: dict[str, Callable[[Field, Any, _Notes, _Refs], list[Item]]] = {
            "system.accelerator": self._named,
            "engine.engine": self._named,
            "model.model": self._named,
            "system.interconnects": self._interconnects,
            "engine.patches": self._patches,
            "engine.arguments": self._settings,
            "engine.environment": self._settings,
            "deployment.router": self._router,
            "speculation.acceptance_length": self._acceptance,
        }

    def of(self, field: Field) -> list[Item]:
        """Return the rows of one field; none where it is not given."""
        value = _VALUES[field.path](self._record)
        published = _VALUES[field.published](self._record) if field.published else None
        if not is_given(value):
            if not published:
                return []
            return [
                Item(field.label, published, notes=("as published",), evidence=self._places.of(field.path))
            ]
        notes = (f"as published: {published}",) if published else ()
        refs = self._places.of(field.path)
        special = self._special.get(field.path)
        return special(field, value, notes, refs) if special else [_plain(field, value, notes, refs)]

    def _named(self, field: Field, value: str, notes: _Notes, refs: _Refs) -> list[Item]:
        basis = {
            "system.accelerator": self._record.system.accelerator_basis,
            "model.model": self._record.model.basis,
        }.get(field.path, "stated")
        shown = "" if basis == "stated" else basis
        return [Item(field.label, link=self._context.link(value), basis=shown, notes=notes, evidence=refs)]

    def _interconnects(
        self, _field: Field, value: tuple[InterconnectUse, ...], _notes: _Notes, refs: _Refs
    ) -> list[Item]:
        return [_interconnect(use, self._context, refs) for use in value]

    def _patches(self, field: Field, value: tuple[str, ...], _notes: _Notes, refs: _Refs) -> list[Item]:
        return [Item(field.label, plural(len(value), "patch", "patches"), notes=value, evidence=refs)]

    def _settings(self, field: Field, value: dict[str, Any], _notes: _Notes, refs: _Refs) -> list[Item]:
        lines = tuple([f"{name} = {scalar_text(each)}" for name, each in value.items()])
        is_argument = field.path == "engine.arguments"
        said = _ARGUMENTS[self._record.engine.arguments_basis] if is_argument else "variables"
        return [Item(field.label, said, notes=lines, evidence=refs)]

    def _router(self, field: Field, value: Router, _notes: _Notes, refs: _Refs) -> list[Item]:
        policy = (f"policy: {value.policy}",) if value.policy else ()
        affinity = (f"affinity: {value.affinity}",) if value.affinity else ()
        return [Item(field.label, value.name, notes=policy + affinity, evidence=refs)]

    def _acceptance(self, field: Field, value: Decimal, notes: _Notes, refs: _Refs) -> list[Item]:
        sign = _SIGN.get(self._record.speculation.acceptance_qualifier or "", "")
        row = _plain(field, value, notes, refs)
        return [row._replace(text=sign + row.text, raw=scalar_text(value) if sign else "")]


def _plain(field: Field, value: Any, notes: _Notes, refs: _Refs) -> Item:
    if isinstance(value, str):
        return Item(field.label, value, notes=notes, evidence=refs, code=field.code)
    if isinstance(value, bool):
        return Item(field.label, "yes" if value else "no", notes=notes, evidence=refs)
    if isinstance(value, int | Decimal):
        text = counted(value)
        raw = scalar_text(value) if "," in text else ""
        return Item(field.label, text, field.unit, raw, notes=notes, evidence=refs)
    return Item(field.label, scalar_text(value), notes=notes, evidence=refs)


def _interconnect(use: InterconnectUse, context: Context, evidence: tuple[Link, ...]) -> Item:
    crossed = {
        True: "the source shows that traffic crossed it",
        False: "the source does not show whether traffic crossed it",
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
