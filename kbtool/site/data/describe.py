"""What the data set is, for machines that look for data: Croissant, schema.org, and llms.txt.

All of it is ours: no text of a record stands in it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kbtool.analysis.tables import TABLES, Column, Type
from kbtool.site.data.layout import FILES, LAYOUT, LICENCE, LICENCE_NAME, DataFile
from kbtool.site.state import Written
from kbtool.vocab import METRICS
from kbtool.vocab.closed import FAMILIES

__all__ = ["Described", "croissant_bytes", "dataset_json_ld", "llms_bytes"]

_ABOUT: Final = (
    "Measured LLM inference performance as evidence: each result with its metric, scope, conditions, source and status, and"
    " what its source leaves out."
)
_KEYWORDS: Final = (
    "LLM inference", "benchmark", "throughput", "latency", "GPU", "accelerator", "time to first token", "tokens per second",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Described:
    """What is described: the site, the state of its records, and the files as they were written."""

    site_name: str
    site_url: str
    newest: str
    """Day of the newest record; empty where there is none."""
    counts: Mapping[str, int]
    """Table -> rows."""
    written: Mapping[str, Written]
    """Path of a file -> its size and hash."""

    @property
    def name(self) -> str:
        """Name of the data set."""
        return f"{self.site_name}: LLM inference performance"

    @property
    def version(self) -> str:
        """Layout and state, as a semantic version that grows with both."""
        return f"{LAYOUT}.{self.newest.replace('-', '') or '0'}"

    @property
    def citation(self) -> str:
        """How to cite the whole."""
        state = f", records of {self.newest}" if self.newest else ""
        address = f" {self.site_url}" if self.site_url else ""
        return f"{self.site_name} contributors. {self.name}. Layout {LAYOUT}{state}. {LICENCE_NAME}.{address}"

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The single files that were written and can be downloaded."""
        return tuple([each for each in FILES if each.path in self.written])


# --- schema.org -------------------------------------------------------------------------------


def dataset_json_ld(about: Described) -> dict[str, Any]:
    """Return a schema.org `Dataset`; addresses are given where the site has one."""
    data: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": "Dataset",
        "name": about.name,
        "description": _ABOUT,
        "license": LICENCE,
        "isAccessibleForFree": True,
        "creator": {"@type": "Organization", "name": f"{about.site_name} contributors"},
        "version": about.version,
        "citation": about.citation,
        "keywords": list(_KEYWORDS),
        "variableMeasured": [
            {"@type": "PropertyValue", "name": each.title, "propertyID": each.id, "unitText": each.unit}
            for each in METRICS.values()
        ],
    }
    if about.newest:
        data["dateModified"] = about.newest
    if about.site_url:
        data["url"] = f"{about.site_url}data.html"
        data["distribution"] = [
            {
                "@type": "DataDownload",
                "name": each.path.rpartition("/")[2],
                "description": each.about,
                "encodingFormat": each.media_type,
                "contentUrl": about.site_url + each.path,
                "contentSize": f"{about.written[each.path].size} B",
                "sha256": about.written[each.path].sha256,
            }
            for each in about.files
            if each.table
        ]
    return data


# --- Croissant --------------------------------------------------------------------------------

_CONTEXT: Final[dict[str, Any]] = {
    "@language": "en", "@vocab": "https://schema.org/", "citeAs": "cr:citeAs", "column": "cr:column",
    "conformsTo": "dct:conformsTo", "containedIn": "cr:containedIn", "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"}, "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/", "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"}, "extract": "cr:extract", "field": "cr:field",
    "fileObject": "cr:fileObject", "fileProperty": "cr:fileProperty", "fileSet": "cr:fileSet", "format": "cr:format",
    "includes": "cr:includes", "isLiveDataset": "cr:isLiveDataset", "jsonPath": "cr:jsonPath", "key": "cr:key", "md5": "cr:md5",
    "parentField": "cr:parentField", "path": "cr:path", "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet", "references": "cr:references", "regex": "cr:regex", "repeated": "cr:repeated",
    "replace": "cr:replace", "samplingRate": "cr:samplingRate", "sc": "https://schema.org/", "separator": "cr:separator",
    "source": "cr:source", "subField": "cr:subField", "transform": "cr:transform",
}  # fmt: skip
"""As the specification gives it."""
_TYPES: Final[dict[Type, str]] = {
    "text": "sc:Text",
    "integer": "sc:Integer",
    "number": "sc:Float",
    "date": "sc:Date",
}
_OF_INDEX: Final = (
    Column("ref", "text", "The record: kind and id."),
    Column("title", "text", "Title of the record."),
    Column("status", "text", "Derived status of the record."),
    Column("updated", "date", "Last change of the record's content by a person."),
    Column("page", "text", "Its page."),
    Column("json", "text", "Its data file."),
)


def croissant_bytes(about: Described) -> bytes:
    """Return the description as Croissant 1.1: the files, and two sets of records in them."""
    described = [each for each in about.files if each.path in {_CSV, _PARQUET, _SQLITE, _INDEX}]
    data = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": about.name,
        "description": _ABOUT,
        "license": LICENCE,
        "url": f"{about.site_url or '../'}data.html",
        "version": about.version,
        "datePublished": about.newest or "1970-01-01",
        "citeAs": about.citation,
        "creator": {"@type": "sc:Organization", "name": f"{about.site_name} contributors"},
        "keywords": list(_KEYWORDS),
        "distribution": [_file_object(each, about) for each in described],
        "recordSet": [
            _record_set("results", "One row a result.", TABLES["results"], _CSV),
            _record_set("records", "One row a record of any kind.", _OF_INDEX, _INDEX),
        ],
    }
    return (json.dumps(data, ensure_ascii=False, indent=1) + "\n").encode()


_CSV: Final = "data/results.csv"
_PARQUET: Final = "data/results.parquet"
_SQLITE: Final = "data/kb.sqlite"
_INDEX: Final = "data/index.json"
_PAGE: Final = "data.html"


def _file_object(file: DataFile, about: Described) -> dict[str, Any]:
    name = file.path.rpartition("/")[2]
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "description": file.about,
        "contentUrl": about.site_url + file.path if about.site_url else name,
        "encodingFormat": file.media_type,
        "contentSize": f"{about.written[file.path].size} B",
        "sha256": about.written[file.path].sha256,
    }


def _record_set(name: str, description: str, columns: Sequence[Column], path: str) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": description,
        "field": [_field(name, each, path) for each in columns],
    }


def _field(record_set: str, column: Column, path: str) -> dict[str, Any]:
    extract = {"jsonPath": f"$.records[*].{column.name}"} if path == _INDEX else {"column": column.name}
    return {
        "@type": "cr:Field",
        "@id": f"{record_set}/{column.name}",
        "name": column.name,
        "description": column.meaning,
        "dataType": _TYPES[column.type],
        "source": {"fileObject": {"@id": path.rpartition("/")[2]}, "extract": extract},
    }


# --- llms.txt ---------------------------------------------------------------------------------

_RULES: Final = """\
- Every figure needs its metric, scope and tokens counted beside it: `output_tok_s` is of the whole system, `tok_s_per_user` of one
  user, `tok_s_per_accelerator` of one accelerator.
- Two figures compare where metric, statistic, input and output length, precision, prompt class and cache state agree.
  `kbtool compare A B` says which one does not.
- A result with `comparison_class` compares with its own class alone.
- Leave out results whose `standing` is `withdrawn` and records whose `status` is `retracted` or `superseded`; say `draft` or
  `disputed` where the status is that.
- Null means that the source does not say. It is never 0.
- Name the record and its source with each figure."""
_PAGES: Final = (
    ("benchmarks/index.html", "Benchmarks", "every benchmark record, one page each"),
    ("metrics.html", "Metrics", "what each metric is, counts and is mistaken for"),
    ("glossary.html", "Glossary", "the words that records use"),
    ("methodology.html", "Methodology", "how figures are read, normalised and compared"),
    ("changes.html", "Changes", "what was corrected, when and why"),
    ("data.html", "Data", "files, columns, licence, stability"),
)


def llms_bytes(about: Described) -> bytes:
    """Return `llms.txt`: what is here, how to read it, and where."""
    base, counts = about.site_url, about.counts
    lines = [
        f"# {about.site_name}",
        "",
        f"> {_ABOUT}",
        "",
        f"{counts['results']:,} results of {counts['records']:,} records"
        + (f", newest of {about.newest}" if about.newest else "")
        + f". {LICENCE_NAME}. Cite: {about.citation}",
        "",
        "Rules for reading:",
        "",
        _RULES,
        "",
        *(text for each in FAMILIES for text in (each.line, "")),
        "## Pages",
        "",
        *(f"- [{title}]({base}{path}): {said}" for path, title, said in _PAGES),
        "",
        "## Data",
        "",
        *(
            f"- [{each.path}]({base}{_opens(each)}): {each.about}"
            for each in FILES
            if each.path != "llms.txt"
        ),
    ]
    return ("\n".join(lines) + "\n").encode()


def _opens(file: DataFile) -> str:
    """Return the address behind a file's name; a host may list no folder, and an index names each file of the large one."""
    if not file.path.endswith("/"):
        return file.path
    return _INDEX if file.table else f"{_PAGE}#Files"
