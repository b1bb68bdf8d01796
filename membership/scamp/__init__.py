"""SCAMP: partial views that grow with the logarithm of the community (Ganesh et al., 2003)."""
