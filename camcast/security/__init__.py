"""Keys, certificates, revocations and peer records as values: no files, no clock, no randomness."""
