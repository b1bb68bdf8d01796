"""The engine: one process of CAMCAST as a synchronous state machine."""
