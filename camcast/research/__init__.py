"""Research: experiments, simulations, models and comparisons over the library (README.md)."""
