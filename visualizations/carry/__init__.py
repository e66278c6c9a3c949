"""What a run can be carried away as: a table, a program, a page that needs no server."""

from visualizations.carry.report import report
from visualizations.carry.snippet import reproduces, snippet
from visualizations.carry.table import steps_csv

__all__ = ["report", "reproduces", "snippet", "steps_csv"]
