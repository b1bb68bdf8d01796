"""The percolation paper (003), computed again."""
