"""Comparisons of runs: differences, regressions, findings, and the page of them."""
