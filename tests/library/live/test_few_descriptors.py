"""What a small limit of open files (``ulimit -n``) allows: a member, or an error that names it."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from camcast import CommunityError, CommunityManager, NotReady
from camcast.app.settings import DESCRIPTORS_MIN
from tests.patience import live


@contextmanager
def limited(most: int) -> Iterator[None]:
    """Limit the open files; those that the process has already, as for its loop, stay open."""
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))


@pytest.mark.parametrize("limit", [20, 40, DESCRIPTORS_MIN - 1])
@live
async def test_too_few_are_refused_at_the_start(limit: int) -> None:
    told = rf"may have {limit} open files.*\(ulimit -n"
    async with CommunityManager():
        pass  # what it imports when it starts is imported without a limit
    manager = CommunityManager()
    with limited(limit), pytest.raises(CommunityError, match=told):
        await manager.start()


@pytest.mark.parametrize(("limit", "logged"), [(DESCRIPTORS_MIN, "4 connections"), (400, "")])
@live
async def test_few_are_told(limit: int, logged: str, caplog: pytest.LogCaptureFixture) -> None:
    with limited(limit):
        async with CommunityManager() as manager:
            assert logged in caplog.text
            assert bool(logged) is bool(caplog.text)
            counters = manager._lifetime.running().input.counters
            counters.connections_refused = 3
            with pytest.raises(NotReady, match=rf"3 connections were refused.* {limit} open files"):
                await manager.community(".a").ready(timeout=0.2)
