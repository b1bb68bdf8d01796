"""Keys, certificates, revocations and peer records as values, without I/O, clocks or randomness."""
