"""The log of failures: each is counted, and one a second is logged with the number so far."""

import logging

import pytest

from camcast.observe.failure_log import FailureLog


def test_a_thousand_failures_a_second_are_a_line_a_second(caplog: pytest.LogCaptureFixture) -> None:
    log = FailureLog()
    for number in range(5000):
        log.take("the callback f in .x raised", ValueError(number), 100 + number / 1000)
    assert log.count == 5000
    said = [record.getMessage() for record in caplog.records]
    counts = [f"the callback f in .x raised ({1 + 1000 * n} times so far)" for n in range(5)]
    assert said == counts
    assert all(record.exc_info is not None for record in caplog.records)


def test_a_handler_that_raises_does_not_stop_who_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    class Raises(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise OSError("the log is full")

    monkeypatch.setattr(logging.getLogger("camcast"), "handlers", [Raises()])
    log = FailureLog()
    log.take("it", ValueError(), 0.0)
    assert log.count == 1
