"""Other systems on the same job as CAMCAST's: `python -m peers`, or `make peers`."""
