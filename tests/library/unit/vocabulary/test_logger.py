"""A line of a log that others' code handles."""

import inspect
import logging

import pytest

from camcast.vocabulary.logger import Logger

LOG = Logger("camcast.tests")


def test_a_record_names_the_line_that_logged_it(caplog: pytest.LogCaptureFixture) -> None:
    LOG.warning("%d of %d", 1, 2, extra={"camcast": 3})
    frame = inspect.currentframe()
    assert frame is not None
    [record] = caplog.records
    assert (record.name, record.getMessage()) == ("camcast.tests", "1 of 2")
    assert (record.pathname, record.funcName) == (__file__, frame.f_code.co_name)
    assert vars(record)["camcast"] == 3


@pytest.mark.parametrize("printed", [True, False])
def test_what_a_filter_raises_is_printed_as_python_prints_what_a_handler_raises(
    printed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: logging.LogRecord) -> bool:
        raise ValueError("of a filter")

    monkeypatch.setattr(logging, "raiseExceptions", printed)
    monkeypatch.setattr(LOG.logger, "filters", [fail])
    LOG.error("x")
    assert ("of a filter" in capsys.readouterr().err) is printed


def test_ctrl_c_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: logging.LogRecord) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(LOG.logger, "filters", [interrupt])
    with pytest.raises(KeyboardInterrupt):
        LOG.error("x")
