"""hpmcast: gossip level by level in a hierarchy of delegates (002, sections 3 to 6)."""
