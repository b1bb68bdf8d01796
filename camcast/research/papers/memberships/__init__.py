"""Section 6.2 of the CAMCAST paper (000): the three memberships side by side."""
