"""The hpmcast paper (002), computed again."""
