"""Models from other tools."""
