"""Workloads: the publications of real systems, with times, topics and publishers; and made ones."""

from camcast.workloads.earthquakes import load_earthquakes
from camcast.workloads.flights import load_departures
from camcast.workloads.publication import Publication, WorkloadError
from camcast.workloads.synthetic import synthetic
from camcast.workloads.usenet import load_usenet

__all__ = [
    "Publication",
    "WorkloadError",
    "load_departures",
    "load_earthquakes",
    "load_usenet",
    "synthetic",
]
