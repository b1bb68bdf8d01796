"""Section 6.1 of the CAMCAST paper (000), computed again."""
