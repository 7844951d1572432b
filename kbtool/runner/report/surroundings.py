"""What a run ran on, in a few lines: engine, model, cards, host; and the settings in force.

Everything here was told by a server or a driver, and may be any text of any length.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from kbtool.runner.report.checks import client_error
from kbtool.runner.report.model import Column, DataTable, Entry, Fact
from kbtool.runner.report.numbers import NONE, counted, cut, rounds_of
from kbtool.runner.results import Run
from kbtool.vocab.units import unit_in_name

__all__ = ["facts_of", "settings_table"]

MAX_SETTINGS: Final = 120
GIB: Final = 1 << 30


def facts_of(run: Run) -> Iterator[Fact]:
    """Yield what the run ran on."""
    for label, text in _facts(run):
        if text:
            yield Fact(label, cut(text, 400))


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    leg = _first_leg(run)
    yield "Engine", _engine(run, leg)
    yield "Model", _join(leg.get("model"), _of_identity(leg, "model_root"), run.plan.subject.model)
    yield "Context", _tokens(_of_identity(leg, "context_tok"))
    yield "Cards", _cards(run)
    yield "Host", _host(run)
    version = str(run.facts.get("runner_version", "kbtool bench"))
    known = client_error(run.environments.get("calibration"), _streams(run))
    yield "Client", _join(version, known if known.startswith("not") else f"known error {known}")
    yield "Started", str(run.facts.get("started", ""))
    yield "Command", str(run.facts.get("command", ""))
    repeats = run.plan.repeats
    yield (
        "Repeats",
        f"{rounds_of(repeats.rounds, repeats.max_rounds)} in {counted(repeats.sessions, 'session')}, seed {repeats.seed}",
    )


def _streams(run: Run) -> int:
    return max((cell.cell.streams for cell in run.cells if cell.cell.kind != "rate"), default=1)


def _first_leg(run: Run) -> Mapping[str, Any]:
    legs = _legs(run)
    return next(iter(legs.values()), {})


def _legs(run: Run) -> dict[str, Mapping[str, Any]]:
    return {
        name: facts for name, facts in run.environments.items() if isinstance(facts.get("settings"), list)
    }


def _engine(run: Run, leg: Mapping[str, Any]) -> str:
    kind = str(leg.get("kind", "")).replace("_", ".") or None
    subject = run.plan.subject
    version, build, commit = (_of_identity(leg, key) for key in ("version", "build", "commit"))
    if version is None and subject.engine_version is not None:
        # The record takes the plan's word as well: what the server says leads to no release.
        said = f"the server says {build}" if build else "the server does not say"
        version, build = f"{subject.engine_version} by the plan ({said})", None
    return _join(kind, version, build, commit or subject.engine_commit, subject.engine)


def _of_identity(leg: Mapping[str, Any], key: str) -> Any:
    identities = leg.get("identities")
    if not isinstance(identities, Mapping):
        return None
    return next(
        (
            each[key]
            for each in identities.values()
            if isinstance(each, Mapping) and each.get(key) is not None
        ),
        None,
    )


def _tokens(value: Any) -> str:
    return f"{value:,} tok" if isinstance(value, int) else ""


def _cards(run: Run) -> str:
    found = _section(run, "accelerators")
    cards = [each for each in found.get("cards") or () if isinstance(each, Mapping)]
    if not cards:
        gaps = [each for each in found.get("gaps") or () if isinstance(each, Mapping)]
        return _join("none seen", *(str(each.get("reason", "")) for each in gaps[:1]))
    kinds = Counter(_join(each.get("name") or "unnamed", _watts(each)) for each in cards)
    said = "; ".join(f"{count} x {name}" for name, count in kinds.items())
    return _join(said, _prefixed("driver", found.get("driver_version")))


def _watts(card: Mapping[str, Any]) -> str:
    limit = card.get("power_enforced_w")
    return f"{limit:g} W limit" if isinstance(limit, int | float) else ""


def _host(run: Run) -> str:
    host = _section(run, "host")
    memory = host.get("memory_bytes")
    return _join(
        host.get("cpu_model"),
        _prefixed("", host.get("cores"), "cores"),
        f"{memory / GIB:.0f} GiB" if isinstance(memory, int) else "",
        host.get("os_name"),
        _prefixed("kernel", host.get("kernel")),
        _prefixed("in", host.get("virtualisation") if host.get("virtualisation") != "none" else None),
    )


def _section(run: Run, name: str) -> Mapping[str, Any]:
    found = run.environments.get("host", {}).get(name)
    return found if isinstance(found, Mapping) else {}


def _prefixed(word: str, value: Any, unit: str = "") -> str:
    return "" if value is None else " ".join(part for part in (word, str(value), unit) if part)


def _join(*parts: Any) -> str:
    return ", ".join(str(part) for part in parts if part not in {None, ""})


def _in_force(said: Mapping[str, Any]) -> str:
    """Return a setting as it was written; in the unit of its field first, where it was written in another."""
    field, value = str(said.get("field", "")), said.get("value", "")
    written = str(said.get("as_published", value))
    unit = unit_in_name(field)
    try:
        known = Decimal(str(value))
        if unit and not isinstance(value, bool) and known != Decimal(written):
            return f"{known.normalize():f} {unit} (written as {written})"
    except InvalidOperation:
        pass
    return written


def settings_table(run: Run) -> DataTable | None:
    """Return the settings that were in force, and where they were read; the legs after the first where they differ."""
    rows: list[tuple[Entry, ...]] = []
    base: dict[str, str] = {}
    for name, leg in _legs(run).items():
        for each in leg["settings"]:
            if not isinstance(each, Mapping):
                continue
            field, value = str(each.get("field", "")), _in_force(each)
            if base.get(field) == value:
                continue
            base.setdefault(field, value)
            rows.append(
                (
                    Entry(cut(name, 60)),
                    Entry(cut(field)),
                    Entry(cut(value) or NONE),
                    Entry(str(each.get("trust", ""))),
                    Entry(cut(str(each.get("where", "")))),
                )
            )
    if not rows:
        return None
    columns = tuple(
        Column(title, align="left")
        for title in ("Leg", "Field", "Value in force", "Told by", "Where it was read")
    )
    left = f" {len(rows) - MAX_SETTINGS} more are in environment/." if len(rows) > MAX_SETTINGS else ""
    note = f"What the running engine, its process or its container said; later legs only where they differ.{left}"
    return DataTable("settings", "Settings in force", columns, tuple(rows[:MAX_SETTINGS]), note)
