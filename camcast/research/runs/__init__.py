"""Runs: what one leaves in its folder, and the summary that is read off its traces."""
