"""The baselines of the CAMCAST paper: broadcast, multicast, hierarchical (000, 4.2)."""
