"""The page of a rule, read from its docstring, and its examples as whole projects to lint.

A page is a summary line, paragraphs, and sections `Bad:` and `Good:`, each a YAML fragment that is laid
over valid records: mappings merge, lists and single values replace, `null` sets a key to null.  A key of
the fragment's top that contains a slash names another file below `records/` (`engines/other: {...}`,
`reviews/benchmarks/base-benchmark: {}`); `null` there removes the file.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from kbtool.schema import KINDS
from kbtool.schema.refs import FOLDERS
from kbtool.store.emit import emit
from kbtool.store.fmt import modeline
from kbtool.store.yamlio import parse

__all__ = ["Example", "Page", "overlaid", "parse_page", "project_files", "read_base"]

_SECTION: Final = re.compile(r"(Bad|Good):")
_INDENT: Final = "    "


@dataclass(frozen=True, slots=True)
class Example:
    """One fragment of a page."""

    is_bad: bool
    fragment: str
    """YAML, without the indentation that it has in the docstring."""


@dataclass(frozen=True, slots=True)
class Page:
    """A docstring, taken apart."""

    summary: str
    paragraphs: tuple[str, ...]
    examples: tuple[Example, ...]


def parse_page(docstring: str) -> Page:
    """Take a docstring apart."""
    prose: list[list[str]] = [[]]
    sections: list[tuple[bool, list[str]]] = []
    in_section = False
    for line in inspect.cleandoc(docstring).splitlines():
        heading = _SECTION.fullmatch(line)
        if heading:
            sections.append((heading[1] == "Bad", []))
            in_section = True
        elif in_section and (not line or line.startswith(_INDENT)):
            sections[-1][1].append(line.removeprefix(_INDENT))
        elif line:
            in_section = False
            prose[-1].append(line)
        else:
            prose.append([])
    summary, *paragraphs = (" ".join(lines) for lines in prose if lines)
    examples = (Example(is_bad, "\n".join(lines).strip("\n")) for is_bad, lines in sections)
    return Page(summary, tuple(paragraphs), tuple(examples))


# --- Examples as projects ---------------------------------------------------------------------

Records = Mapping[str, Mapping[str, Any]]

_HOMES: Final[dict[str, str]] = {
    **{kind: f"{kind}s/base-{kind}" for kind in KINDS},
    "review": "reviews/benchmarks/base-benchmark",
    "withdrawn": "withdrawn/benchmarks/base-withdrawn",
}
"""Kind of a rule -> the base record that its fragments are laid over."""


def read_base(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the valid records that fragments are laid over, by their path below `folder` without `.yaml`."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.rglob("*.yaml")):
        value = parse(path.read_bytes())
        assert isinstance(value, dict), path
        found[path.relative_to(folder).as_posix().removesuffix(".yaml")] = value
    return found


def project_files(base: Records, kinds: frozenset[str], fragment: str) -> dict[str, bytes]:
    """Return the files of a project in which an example stands: path below the root -> content.

    Args:
        base: What `read_base` returned.
        kinds: Kinds that the rule is run on; empty for a rule over the corpus.
        fragment: The example.
    """
    laid = parse(fragment.encode())
    assert isinstance(laid, dict), fragment
    own = {key: value for key, value in laid.items() if "/" not in key}
    records = {key: value for key, value in base.items() if not key.startswith("reviews/")}
    key = next(_HOMES[kind] for kind in _HOMES if not kinds or kind in kinds)
    if own:
        records.pop(key, None)
        home = f"{key.rpartition('/')[0]}/{own['id']}" if "id" in own else key
        records[home] = overlaid(base[key], own)
    for key, value in laid.items():
        if "/" in key:
            records.pop(key, None)
            if value is not None:
                records[key] = overlaid(_template(base, key), value)
    return dict(_files(records))


def overlaid(under: Any, over: Any) -> Any:
    """Return `over` laid over `under`: mappings merge, everything else replaces."""
    if not isinstance(under, Mapping) or not isinstance(over, Mapping):
        return over
    return {**under, **{key: overlaid(under.get(key), value) for key, value in over.items()}}


def _template(base: Records, key: str) -> Mapping[str, Any]:
    """Return the record that a file named in a fragment starts from."""
    if key in base:
        return base[key]
    head, _, rest = key.partition("/")
    record_id = key.rpartition("/")[2]
    if head == "reviews":
        return {**base["reviews/benchmarks/base-benchmark"], "record": rest}
    if head == "withdrawn":
        kind = FOLDERS[rest.partition("/")[0]]
        return {**base["withdrawn/benchmarks/base-withdrawn"], "id": record_id, "kind": kind}
    return {**base[f"{head}/base-{FOLDERS[head]}"], "id": record_id}


def _files(records: Records) -> Iterator[tuple[str, bytes]]:
    """Yield the records as files, the reviews last and bound to what they review."""
    contents: dict[str, bytes] = {}
    for key in sorted(records, key=lambda key: (key.startswith("reviews/"), key)):
        value = dict(records[key])
        path = f"records/{key}.yaml"
        if key.startswith("reviews/"):
            kind = "review"
            reviewed = contents.get(f"records/{value['record']}.yaml", b"")
            if set(value["record_sha256"]) == {"0"}:
                value["record_sha256"] = sha256(reviewed).hexdigest()
        else:
            kind = "withdrawn" if key.startswith("withdrawn/") else FOLDERS[key.partition("/")[0]]
        contents[path] = f"{modeline(kind, path)}\n{emit(value)}".encode()
    yield from contents.items()
