"""Which records and processes are let in: signatures, certificates, mandates, revocations."""
