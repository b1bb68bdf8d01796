"""Dissemination protocols: one file, one protocol, one paper."""
