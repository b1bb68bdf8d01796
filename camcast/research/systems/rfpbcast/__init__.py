"""rfpbcast, reliable fan-out broadcast in one group (002, 2.1)."""
