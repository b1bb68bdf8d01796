"""Data-Aware Multicast (001, of which 004 is another text): CAMCAST, before it had the name."""
