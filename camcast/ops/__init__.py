"""For operators: metrics, the check-up of a process, and the dashboard."""
