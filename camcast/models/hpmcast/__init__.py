"""The closed forms and chains of the hpmcast paper (002)."""
