"""The log of a process, beyond the table of kinds (`test_happenings`)."""

import logging
from typing import Final

import pytest

from camcast.observe.log import HappeningLog
from camcast.testing.lone_process import contact
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.happenings import Happening, HappeningKind
from camcast.vocabulary.topics import ROOT, Topic

GROUP = Topic.parse(".a").group


PARTED: Final[tuple[HappeningKind, ...]] = ("unlinked", "left")


@pytest.mark.parametrize("between", PARTED)
def test_the_first_link_is_for_the_operator_again_after_the_last_was_lost_or_the_topic_left(
    between: HappeningKind, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "camcast")
    log = HappeningLog(lambda: contact(1), Clock())
    linked = Happening("linked", GROUP, ROOT, contact(2))
    parted = Happening(between, GROUP, ROOT)
    for happening in (linked, linked, parted, linked):
        log.take(happening, ".a", 1.0)
    levels = [one.levelno for one in caplog.records if "is linked" in one.getMessage()]
    assert levels == [logging.INFO, logging.DEBUG, logging.INFO]
