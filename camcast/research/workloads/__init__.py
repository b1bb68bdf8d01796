"""Workloads: the publications of real systems, with times, topics and publishers; and made ones."""

from camcast.research.workloads.earthquakes import load_earthquakes
from camcast.research.workloads.flights import load_departures
from camcast.research.workloads.publication import Publication, WorkloadError
from camcast.research.workloads.synthetic import synthetic
from camcast.research.workloads.usenet import load_usenet

__all__ = [
    "Publication",
    "WorkloadError",
    "load_departures",
    "load_earthquakes",
    "load_usenet",
    "synthetic",
]
