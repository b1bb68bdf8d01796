"""What Python runs in the midst of a step is told so, and after the step nobody is."""

from __future__ import annotations

import threading

import pytest

from camcast.inbox.step import here, step


@step
def outer(fails: bool) -> list[bool]:
    before = here.steps.in_step
    seen: list[bool] = []
    thread = threading.Thread(target=lambda: seen.append(here.steps.in_step))
    thread.start()
    thread.join()
    inner()
    if fails:
        raise ValueError("no more")
    return [before, *seen, here.steps.in_step]


@step
def inner() -> None:
    pass


def test_a_step_is_one_thread_s_until_the_outermost_has_ended() -> None:
    assert not here.steps.in_step
    assert outer(fails=False) == [True, False, True]
    assert not here.steps.in_step
    with pytest.raises(ValueError, match="no more"):
        outer(fails=True)
    assert not here.steps.in_step
