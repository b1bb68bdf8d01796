"""Membership backends: who is in my community. Found by entry point, not imported by name."""
