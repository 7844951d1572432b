"""All rules, one module a family or a part of one."""

from types import ModuleType
from typing import Final

from kbtool.lint.rule import Rule, collect
from kbtool.lint.rules import (
    addresses,
    arithmetic,
    artifacts,
    base_commit,
    chunks,
    claims,
    comparability,
    corrections,
    exceptions,
    gaps,
    hardware,
    identity,
    links,
    nodes,
    prefill,
    privacy,
    prose,
    provenance,
    published,
    secrets,
    siblings,
    sources,
    speculation,
    status,
    topology,
    values,
    wording,
)

__all__ = ["MODULES", "RULES"]

MODULES: Final[tuple[ModuleType, ...]] = (
    addresses,
    arithmetic,
    artifacts,
    base_commit,
    chunks,
    claims,
    comparability,
    corrections,
    exceptions,
    gaps,
    hardware,
    identity,
    links,
    nodes,
    prefill,
    privacy,
    prose,
    provenance,
    published,
    secrets,
    siblings,
    sources,
    speculation,
    status,
    topology,
    values,
    wording,
)

RULES: Final[tuple[Rule, ...]] = collect(MODULES)
"""By code."""
