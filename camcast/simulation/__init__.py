"""Simulation: the shipped code on virtual time, and models of it for any number of processes."""
