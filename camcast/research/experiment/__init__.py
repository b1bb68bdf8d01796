"""Experiments: many live nodes in several OS processes, from a scenario to a summary."""
