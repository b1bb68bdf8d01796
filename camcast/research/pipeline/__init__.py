"""The pipeline: runs and benchmarks compared, and sweeps fanned out, with Spark."""
