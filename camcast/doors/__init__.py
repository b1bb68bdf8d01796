"""The doors: what may be plugged into the core, and how a plug is found by its name."""
