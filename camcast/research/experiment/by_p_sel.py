"""One run whose events have different p_sel, read as if there were a run for each p_sel.

Starting a hundred nodes takes longer than publishing, and a process forwards an event with the
p_sel that the publisher gave it (`Community.publish`). One run measures all values of p_sel
among the same nodes, with the same tables, in the same seconds.
"""

from __future__ import annotations

from camcast.observe.trace_reading import Reading, records_of, take
from camcast.research.runs.run_folder import OutputFolder
from camcast.research.scenarios.live import Scenario
from camcast.research.scenarios.schedule import Plan, due


def read_apart(scenario: Scenario, folder: OutputFolder) -> dict[float, Reading]:
    """Read the traces of a run without kills, by the scenario's `upward_probabilities`.

    Memberships and tables, which belong to no event, are in every reading. A trace does not name
    the p_sel of an event, but a worker publishes its events in the order of the plan. Raises
    `ValueError` if the run ended before all were published.
    """
    plan = Plan.of(scenario)
    includes = scenario.super_topics.includes
    whole = Reading(includes=includes)
    records = {
        worker: list(records_of(folder.trace(worker), whole)) for worker in range(scenario.workers)
    }
    p_sel: dict[str, float] = {}
    for worker, its_records in records.items():
        published = [record.event for record in its_records if record.kind == "publish"]
        planned = [event for event in due(plan) if plan.worker(event.node) == worker]
        if len(published) < len(planned):
            raise ValueError(
                f"worker {worker} had published {len(published)} of {len(planned)} events when the"
                " run ended, as on a machine that is too busy; try again"
            )
        for event, due_event in zip(published, planned, strict=True):
            assert due_event.upward_probability is not None
            p_sel[event] = due_event.upward_probability
    apart = {
        value: Reading(members=whole.members, table_changes=whole.table_changes, includes=includes)
        for value in scenario.upward_probabilities
    }
    for its_records in records.values():
        for record in its_records:
            take(record, apart[p_sel[record.event]] if record.event else whole)
    whole.table_changes.sort(key=lambda change: change[0])
    return apart
