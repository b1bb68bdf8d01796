"""pmcast, hpmcast's predecessor without levels (002, 2.2)."""
