"""Percolation gossip on any overlay (003)."""
