"""The measures of runs without Spark: in this process, for runs that it can hold."""
