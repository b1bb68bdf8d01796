"""Settings: what is simulated and predicted, system by system."""
