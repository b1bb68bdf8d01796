"""The closed forms of the percolation paper (003)."""
