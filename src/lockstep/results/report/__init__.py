"""The HTML report of a run: one page with everything in it, and nothing to load."""

from lockstep.results.report.write import write_report

__all__ = ["write_report"]
