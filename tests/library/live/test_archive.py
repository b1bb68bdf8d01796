"""Processes with archives: what they have had outlives them all, and one that has none asks."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from camcast import ArchiveError, CommunityManager
from camcast.doors.options import OptionError
from camcast.observe.stats import ArchiveStats
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from tests.library.live.communities import OPTIONS, Inbox, together
from tests.patience import eventually, live

OLD = [b"%d" % number for number in range(20)]


def manager(archive: Path | None = None, *gateways: str, **more: Any) -> CommunityManager:
    return CommunityManager(archive=archive, gateways=gateways, options=OPTIONS, **more)


@live
async def test_all_processes_stop_and_who_starts_again_has_all_and_brings_it_to_others(
    tmp_path: Path,
) -> None:
    names = [tmp_path / "one", tmp_path / "two"]
    first = manager(names[0])
    async with together(first):
        async with manager(names[1], first.address) as second:
            heard = Inbox()
            far = await second.join(".a")
            far.subscribe(heard)
            near = await first.join(".a")
            await near.ready(1)
            for payload in OLD[:10]:
                await near.publish(payload)
            await eventually(lambda: heard.payloads == OLD[:10])
        for payload in OLD[10:]:  # of which the second's archive has none
            await near.publish(payload)
    first = manager(names[0])
    async with together(first), manager(names[1], first.address) as second:
        again, other, nothing = Inbox(), Inbox(), Inbox()
        first.community(".a").subscribe(again, since=3600)
        await first.join(".a")
        await eventually(lambda: again.payloads == OLD)
        far = await second.join(".a")
        far.subscribe(nothing)
        counters = second._lifetime.running().node.counters
        await eventually(lambda: counters.repaired == 10)
        far.subscribe(other, since=3600)
        await eventually(lambda: other.payloads == OLD)
        async with manager(None, first.address) as newcomer:
            asked = Inbox()
            newcomer.community(".a").subscribe(asked, since=3600)
            await eventually(lambda: sorted(asked.payloads) == sorted(OLD))
        assert nothing.payloads == [], "it has not asked for the past"
        assert counters.repaired == 10, "what its archive had was not sent again"
        assert archive_of(second).lost == 0
        assert archive_of(second).state == "writing"


@live
async def test_a_second_process_with_the_same_archive_is_told_and_the_first_goes_on(
    tmp_path: Path,
) -> None:
    async with manager(tmp_path / "one") as first:
        other = manager(tmp_path / "one")
        with pytest.raises(ArchiveError, match="another process writes"):
            await other.start()
        near = await first.join(".a")
        receipt = await near.publish(b"!")
        assert receipt.accepted
        await eventually(lambda: archived_by(first) == 1)


def archive_of(manager: CommunityManager) -> ArchiveStats:
    stats = manager.stats().archive
    assert stats is not None
    return stats


def archived_by(manager: CommunityManager) -> int:
    return archive_of(manager).written


@live
async def test_a_full_disk_is_a_condition_and_events_go_on(tmp_path: Path) -> None:
    async with manager(tmp_path / "one") as first:
        near, heard = await first.join(".a"), Inbox()
        near.subscribe(heard)
        assert first._archive is not None
        writer = first._archive._writer
        writer._database.execute("PRAGMA max_page_count=1")
        large = [payload + bytes(10_000) for payload in OLD]
        for payload in large:
            await near.publish(payload)
        await eventually(lambda: heard.payloads == large)
        await eventually(lambda: writer.state == "full")
        [found] = [one for one in first.stats().conditions if one.name == "archive_full"]
        assert found.stage == "lasting"
        writer._database.execute("PRAGMA max_page_count=1000000")
        writer._enough.set()  # it would look in some seconds
        await eventually(lambda: archived_by(first) > 0)
        later = Inbox()
        near.subscribe(later, since=60.0)
        await eventually(lambda: later.payloads == large)
        assert archive_of(first).lost == 0
        assert not [
            one
            for one in first.stats().conditions
            if one.name == "archive_full" and one.stage != "over"
        ]


def bodies_of(manager: CommunityManager) -> list[bytes]:
    assert manager._archive is not None
    return sorted(manager._archive.history(manager.community(".a").topic, 0))


@live
async def test_archives_of_two_processes_that_were_apart_become_one_while_both_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MEET_SECONDS", "READ_SECONDS"):  # a minute and a second
        monkeypatch.setattr(f"camcast.engine.repair.meeting.{name}", 0.1)
    async with (
        together(manager(tmp_path / "one")) as [first],
        manager(tmp_path / "two", first.address) as second,
    ):
        heard, sent = Inbox(), []
        for number, process in enumerate((first, second), 1):
            community = await process.join(".a")
            community.subscribe(heard)
            await community.ready(number - 1)
        for process in (first, second):  # what a start asks for is here, and asked for no more
            runner = process._lifetime.running()
            [group] = runner.node.local_groups
            await eventually(runner.has_past, group)
        for number, process in enumerate((first, second), 1):
            [group] = process._lifetime.running().node.local_groups
            assert group.archive is not None
            for first_number in range(1, 41):  # of the last hours, from publishers long gone
                batch = make_batch(
                    stream_id(PeerId(bytes([number]) * 16), 1),
                    first_number,
                    [b"%d" % number],
                    group.context.group,
                    published=int(1000 * (time.time() - 7200 - 300 * first_number)),
                )
                group.archive(batch)
                sent.append(batch.body)
        for process in (first, second):
            await eventually(lambda process=process: len(bodies_of(process)) == len(sent))
            assert bodies_of(process) == sorted(sent)
        assert heard.payloads == [], "it is of the time before their own"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 MB."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root mounts a file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", disk], capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


@pytest.mark.slow
@live
async def test_a_file_system_of_64_megabytes_is_filled_and_no_event_is_lost_on_the_way(
    small_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    others = small_disk / "others"
    others.write_bytes(bytes(40_000_000))
    count, size = 1000, 60_000  # 60 MB: 24 fit on the disk, 16 wait, the rest is lost there
    async with together(manager()) as [first]:
        async with manager(small_disk / "events", first.address) as second:
            near, far = await first.join(".a"), await second.join(".a")
            heard: list[int] = []
            missed: list[Any] = []
            far.subscribe(
                lambda event: heard.append(int(event.payload[:8])), on_missed=missed.append
            )
            await near.ready(1)
            for number in range(count):
                await near.publish(b"%08d" % number + bytes(size))
                await eventually(lambda sent=number: len(heard) > sent - 50)
            await eventually(lambda: len(heard) == count)
            assert (heard, missed) == ([*range(count)], [])
            await eventually(lambda: archive_of(second).state == "full")
            lost = archive_of(second).lost
            assert 0 < lost < count / 2
            [found] = [one for one in second.stats().conditions if one.name == "archive_full"]
            assert f"{lost} batches" in found.says
            others.unlink()
            await eventually(lambda: archive_of(second).written == count - lost)
            assert archive_of(second).state == "writing"
            await near.publish(b"%08d" % count)
            await eventually(lambda: archived_by(second) == count - lost + 1)
            assert (heard[count:], archive_of(second).lost) == ([count], lost)
        messages = [record.message for record in caplog.records]
        assert len([one for one in messages if "takes no events" in one]) == 1
        assert len([one for one in messages if "writes again" in one]) == 1
        async with manager(small_disk / "events", first.address) as again:
            await again.join(".a")
            await eventually(lambda: archived_by(again) == lost)  # of the publisher's memory
            assert len(bodies_of(again)) == count + 1


def test_an_archive_goes_with_repair(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="leave repair on"):
        CommunityManager(archive=tmp_path / "one", repair=False)
    wrong_values: list[dict[str, Any]] = [
        {"archive_megabytes": 0},
        {"archive_days": -1.0},
        {"archive_days": float("inf")},
    ]
    for wrong in wrong_values:
        with pytest.raises(ValueError, match="a number above 0"):
            CommunityManager(archive=tmp_path / "one", **wrong)
    with pytest.raises(TypeError, match=r"pathlib\.Path"):
        CommunityManager(archive="one")  # type: ignore[arg-type]  # no path, on purpose
    assert list(tmp_path.iterdir()) == []
