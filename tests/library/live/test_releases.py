"""This release and the one before in one fleet, each in processes of its own or of this test."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from camcast import CommunityManager
from tests.library.live.communities import CERTAIN, Inbox, free_address
from tests.library.live.running_command import Running
from tests.patience import eventually, live
from tests.python_process import python

REPOSITORY = Path(__file__).parents[3]
BEFORE_THE_FIRST = "2d1191a088f73aa5ef7ea07cc5c112a21e9a44e5"
"""Until there is a release: the commit before unknown records were skipped, and systems named."""


def git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["git", "-C", str(REPOSITORY), *arguments], capture_output=True, check=False
    )


def before() -> str:
    """Return the last release but this one: its tag, or the commit that stands for it."""
    tag = git("describe", "--tags", "--abbrev=0", "HEAD^")
    return tag.stdout.decode().strip() if tag.returncode == 0 else BEFORE_THE_FIRST


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """How Python is started so that it imports the release before."""
    release = before()
    archive = git("archive", release, "camcast", "membership", "overlays")
    if archive.returncode:
        pytest.skip(f"the history does not have {release}: {archive.stderr.decode().strip()}")
    place = tmp_path_factory.mktemp("earlier")
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as packed:
        packed.extractall(place, filter="data")
    found = python("-c", "import camcast; print(camcast.__file__)", cwd=place)
    assert found.stdout.startswith(str(place)), found
    environment = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    return {"cwd": place, "env": environment | {"PYTHONDONTWRITEBYTECODE": "1"}}


async def read(process: Running) -> Any:
    """Read the next line of a command of either release, while this process runs on."""
    return json.loads(await asyncio.to_thread(process.line))


@pytest.mark.slow
@pytest.mark.parametrize("membership", ["scamp", "cyclon", "hyparview", "dht", "hybrid"])
@live
async def test_two_releases_are_one_community(membership: str, earlier: dict[str, Any]) -> None:
    """Either founds, joins through the other, publishes, and hears everything once."""
    chosen = ("--json", "--membership", membership)
    at = free_address()
    with Running("subscribe", ".a", "--bind", at, *chosen, **earlier) as founder:
        assert (await read(founder))["joined"] == ".a"
        async with CommunityManager(membership, gateways=[at], parameters=CERTAIN) as ours:
            inbox = Inbox()
            community = await ours.join(".a")
            await community.ready()
            community.subscribe(inbox)
            through_us = ("--gateway", ours.address, *chosen)
            with Running("subscribe", ".a", *through_us, **earlier) as joiner:
                assert (await read(joiner))["joined"] == ".a"
                await community.publish(b"of this release")
                publisher = Running(
                    "publish",
                    ".a",
                    "of the one before",
                    *through_us[:2],
                    "--membership",
                    membership,
                    **earlier,
                )
                with publisher:
                    await eventually(lambda: publisher.process.poll() is not None)
                    code, err = publisher.end()
                    assert code == 0, err
                both = ["of the one before", "of this release"]
                await eventually(lambda: sorted(inbox.payloads) == [one.encode() for one in both])
                for process in (founder, joiner):
                    payloads = [(await read(process))["payload"] for _ in both]
                    assert sorted(payloads) == both
            assert ours.stats().misfits == ()
            counters = community._lifetime.running().node.counters
            assert (counters.malformed, counters.records_unknown) == (0, 0)
