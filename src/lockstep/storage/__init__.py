"""Run directories: immutable segments, what they are a function of, and who may write."""
