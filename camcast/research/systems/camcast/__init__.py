"""The closed forms of the CAMCAST paper (000, sections 4.3 to 4.6 and 6.1)."""
