"""The report of a run: plain data for a terminal, and one HTML page that needs nothing else.

rows_of(run)                tables, facts and warnings, ready to be printed
html_report(run, folder)    the page, with a plot and its data for everything that was measured
"""

from kbtool.runner.report.model import Column, DataTable, Entry, Fact, Met, RunRows
from kbtool.runner.report.page import html_report
from kbtool.runner.report.rows import rows_of

__all__ = ["Column", "DataTable", "Entry", "Fact", "Met", "RunRows", "html_report", "rows_of"]
