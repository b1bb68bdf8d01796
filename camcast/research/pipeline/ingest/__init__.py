"""Reading runs and benchmarks into Spark, with a quarantine for what is damaged."""
