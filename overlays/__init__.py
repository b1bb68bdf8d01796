"""Discoveries: how strangers are found. Found by entry point, not imported by name."""
