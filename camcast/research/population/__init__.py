"""Population simulators: every process of a setting by itself, or counted, over arrays."""
