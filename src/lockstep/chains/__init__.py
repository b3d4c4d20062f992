"""Chains on their way: tasks, sessions, adaptation, groups, interruptions."""
