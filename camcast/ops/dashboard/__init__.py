"""The dashboard: running processes, looked at in a browser."""
