"""The systems that are simulated, predicted and compared, one folder each."""
