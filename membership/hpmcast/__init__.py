"""hpmcast's membership: a few of everybody else, level by level (002, section 4)."""
