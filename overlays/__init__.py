"""Discoveries: how a process finds members of a community. The core finds them by entry point."""
