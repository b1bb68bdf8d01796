"""What simulated processes warn of is left out, unless somebody has asked for more."""

import logging

import pytest

from camcast.research.simulation.run_context import warnings_unheard

LOG = logging.getLogger("camcast")


@pytest.mark.parametrize(
    ("level", "heard"),
    [(logging.WARNING, ["error", "warning"]), (logging.INFO, ["warning", "error", "warning"])],
)
def test_warnings_are_heard_when_asked_for_and_afterwards(
    level: int, heard: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(level, "camcast"):
        with warnings_unheard():
            LOG.warning("warning")
            LOG.error("error")
        LOG.warning("warning")
    assert caplog.messages == heard


def test_what_was_switched_off_before_stays_so() -> None:
    logging.disable(logging.ERROR)
    try:
        with warnings_unheard():
            assert not LOG.isEnabledFor(logging.ERROR)
        assert not LOG.isEnabledFor(logging.ERROR)
    finally:
        logging.disable(logging.NOTSET)
