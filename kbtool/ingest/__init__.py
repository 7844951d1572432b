"""Other tools' result files in our words, as drafts of records, and beside our own measurements.

`read` gives everything that a file says, nothing dropped; `to_records` makes a benchmark and its source of it;
`peers` builds the command of an installed load tool and `compare` puts its figures beside ours. `SETS` are published
sets of results, each of which becomes many drafts.
"""

from kbtool.ingest.compare import Compared, compare
from kbtool.ingest.fault import IngestError
from kbtool.ingest.llmd_write import Report, report_json, report_yaml, write_reports
from kbtool.ingest.model import Bias, Conversion, Fact, Imported, LeftOut, Measurement
from kbtool.ingest.peers import PEERS, Command, Job, Peer, command, crosscheck, installed
from kbtool.ingest.published import Catalogue, Drafts, File, Origin, Refused
from kbtool.ingest.records import Given, record_text, to_records
from kbtool.ingest.sets import SETS, PublishedSet, set_ids
from kbtool.ingest.tools import READERS, detect, read, tool_ids

__all__ = [
    "PEERS",
    "READERS",
    "SETS",
    "Bias",
    "Catalogue",
    "Command",
    "Compared",
    "Conversion",
    "Drafts",
    "Fact",
    "File",
    "Given",
    "Imported",
    "IngestError",
    "Job",
    "LeftOut",
    "Measurement",
    "Origin",
    "Peer",
    "PublishedSet",
    "Refused",
    "Report",
    "command",
    "compare",
    "crosscheck",
    "detect",
    "installed",
    "read",
    "record_text",
    "report_json",
    "report_yaml",
    "set_ids",
    "to_records",
    "tool_ids",
    "write_reports",
]
