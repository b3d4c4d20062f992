"""Processes that work for a run: pools, the lines to their workers, updates that they make ahead."""
