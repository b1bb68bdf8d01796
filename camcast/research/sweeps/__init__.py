"""Sweeps: one task over many cells, on several cores, that can be killed and continued."""

from camcast.research.sweeps.progress_bar import ProgressBar
from camcast.research.sweeps.sweep import JSON, Cell, Engine, SweepError, finished, sweep

__all__ = ["JSON", "Cell", "Engine", "ProgressBar", "SweepError", "finished", "sweep"]
