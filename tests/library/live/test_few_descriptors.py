"""What a small limit of open files (``ulimit -n``) allows: a member, or an error that names it."""

import resource
from collections.abc import Iterator

import pytest

from camcast import CommunityError, CommunityManager, NotReady
from camcast.app.settings import DESCRIPTORS_MIN
from tests.patience import live


@pytest.fixture
def limit(request: pytest.FixtureRequest) -> Iterator[int]:
    """The limit while the test runs; what the process has open already stays open."""
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (request.param, hard))
    yield request.param
    resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))


@pytest.mark.parametrize("limit", [20, 40, DESCRIPTORS_MIN - 1], indirect=True)
@live
async def test_too_few_are_refused_at_the_start(limit: int) -> None:
    with pytest.raises(CommunityError, match=rf"may have {limit} open files.*\(ulimit -n"):
        await CommunityManager().start()


@pytest.mark.parametrize(
    ("limit", "logged"), [(DESCRIPTORS_MIN, "4 connections"), (400, "")], indirect=["limit"]
)
@live
async def test_few_are_told(limit: int, logged: str, caplog: pytest.LogCaptureFixture) -> None:
    async with CommunityManager() as manager:
        assert logged in caplog.text
        assert bool(logged) is bool(caplog.text)
        counters = manager._lifetime.running().input.counters
        counters.connections_refused = 3
        with pytest.raises(NotReady, match=rf"3 connections were refused.* {limit} open files"):
            await manager.community(".a").ready(timeout=0.2)
