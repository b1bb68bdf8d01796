"""Repair: what a community has missed is found out and asked for again."""
