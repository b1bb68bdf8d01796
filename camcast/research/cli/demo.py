"""``camcast demo``: a day of departures through more than a hundred live nodes."""

from __future__ import annotations

from typing import Final

from camcast.cli.configured import configured
from camcast.cli.failure import clear_failures
from camcast.cli.option_group import grouped
from camcast.research.cli.experiment import EXPERIMENT, ExperimentOptions, carry_out
from camcast.research.cli.system_options import PROTOCOL, ProtocolOptions
from camcast.research.experiment.demo_flights import departures

RECEPTION_MIN: Final = 0.999  # chosen: in every community, of the deliveries due


@configured
@grouped
def demo(protocol: ProtocolOptions = PROTOCOL, experiment: ExperimentOptions = EXPERIMENT) -> None:
    """Replay 842 departures of New York through 118 live nodes, and show who received them.

    The airports are communities below the root .departures, and the carriers of each airport
    below these; siblings must never receive each other's events. Takes about half a minute.
    Its traces are kept only with --output. Exit code 1: a parasite event, or a reception below
    99.9 % somewhere.
    """
    with clear_failures(ValueError, LookupError):
        scenario = experiment.over(departures(), protocol)
    carry_out(scenario, experiment, keep=False, reception_min=RECEPTION_MIN)
