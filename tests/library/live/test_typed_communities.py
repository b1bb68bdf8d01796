"""What `Community[Reading]` promises to a type checker, and keeps."""

from pathlib import Path
from typing import Any

import attrs
import pytest

from camcast import Community, Received, ReceivedBatch, Sent
from camcast.app import blocking
from tests.library.live.communities import connected, managers
from tests.patience import eventually, live
from tests.python_process import output_of

ROOT = Path(__file__).parents[3]


@attrs.frozen
class Measured:
    celsius: float


def test_mypy_knows_what_is_received_and_refuses_another_class() -> None:
    """Strict mypy also fails for a line of the sample that it should refuse and does not."""
    said = output_of("-m", "mypy", "tests/typed_communities.py", cwd=ROOT)
    assert said.splitlines()[-1:] == ["Success: no issues found in 1 source file"]


@live
async def test_a_stranger_s_events_are_of_the_types_that_are_promised() -> None:
    """An instance, a `Sent` or bytes: whatever somebody who joined by name publishes."""
    async with managers(2) as (first, second):
        measured, named = await first.join(Measured), await second.join(".Measured")
        events = measured.subscribe()
        await eventually(lambda: connected([measured, named]))
        fits = Sent((".Measured",), {"celsius": 21.5})
        misfit = Sent((".Measured",), {"celsius": "warm"})
        for event in (fits, misfit, b"warm"):
            await named.publish(event)
        got = [await anext(events) for _ in range(3)]
        assert all(isinstance(event, Received) for event in got)
        values = [event.value for event in got if isinstance(event, Received)]
        assert sorted(values, key=repr) == sorted([Measured(21.5), misfit, b"warm"], key=repr)


@pytest.mark.parametrize("generic", [Community, blocking.Community, Received, ReceivedBatch])
def test_annotations_with_a_class_are_evaluated_without_an_error(generic: Any) -> None:
    assert generic[Measured].__args__ == (Measured,)
