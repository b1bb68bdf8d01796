"""Simulation: the shipped code on virtual time, in a virtual network."""
