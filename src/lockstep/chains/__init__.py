"""Chains on their way: starts, adaptation, groups, executors, interruptions."""
