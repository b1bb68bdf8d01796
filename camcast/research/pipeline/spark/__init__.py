"""Spark itself: its JVM, its session, and sweeps on its executors."""
