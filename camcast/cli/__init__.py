"""The command line: the only place that puts parts together."""
