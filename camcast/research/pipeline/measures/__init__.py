"""The measures of runs, computed with Spark from their traces."""
