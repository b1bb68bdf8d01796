"""Scenarios: all that determines a run, live or in the virtual network, and their files."""
