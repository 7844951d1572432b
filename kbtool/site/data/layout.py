"""What the data files are called, what each is, and which promise they come with."""

from typing import Final, NamedTuple

__all__ = ["FILES", "LAYOUT", "LICENCE", "LICENCE_NAME", "SUMS", "DataFile"]

LAYOUT: Final = "1.1"
"""Version of the layout: the second number grows with a table, column or file, the first where a reader could break."""
LICENCE: Final = "https://creativecommons.org/licenses/by/4.0/"
LICENCE_NAME: Final = "CC BY 4.0"
SUMS: Final = "data/SHA256SUMS"
"""SHA-256 of every file below `data/`, in the form of `sha256sum`."""


class DataFile(NamedTuple):
    """One data file, or one family of them."""

    path: str
    """From the root of the site; ends in a slash where it is a folder."""
    media_type: str
    table: str
    """The table whose rows it counts; `*` where it holds all, empty where it has none."""
    about: str


FILES: Final = (
    DataFile("data/results.parquet", "application/vnd.apache.parquet", "results",
        "Every result as a row. Numbers are 64-bit floats; value_text, low_text and high_text keep the digits of the source."),
    DataFile("data/results.csv", "text/csv", "results",
        "The same rows. Numbers have the digits of their record: 3.10 stays 3.10. Text that a spreadsheet would run as a formula"
        " starts with an apostrophe."),
    DataFile("data/kb.sqlite", "application/vnd.sqlite3", "*",
        "All tables, with indexes and views; the digits of a figure stand beside it as text."),
    DataFile("data/index.json", "application/json", "records", "Title, status, page and data file of every record."),
    DataFile("data/records/", "application/json", "records",
        "Each record whole, with its derived status and how to cite it, as JSON, and as the YAML that it was written in."),
    DataFile("data/citations.bib", "application/x-bibtex", "records", "Every record as a BibTeX entry."),
    DataFile("data/schema/", "application/schema+json", "", "JSON Schemas of records, reviews and withdrawn records."),
    DataFile("data/croissant.json", "application/ld+json", "", "Croissant 1.1: files, columns and types for machine-learning tools."),
    DataFile("changes.atom", "application/atom+xml", "", "The last hundred changes and the hundred newest records, as a feed."),
    DataFile("CITATION.cff", "application/yaml", "", "How to cite the whole."),
    DataFile("llms.txt", "text/plain", "", "What is here and how to read it, for language models."),
    DataFile(SUMS, "text/plain", "", "SHA-256 of every file below data/; check it there with sha256sum -c SHA256SUMS."),
)  # fmt: skip
"""In the order of the page."""
