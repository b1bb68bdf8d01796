"""What happened to events and processes, as values: moments, accounts, and traces that are read."""
