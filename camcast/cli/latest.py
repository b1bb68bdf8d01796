"""``camcast latest``: the last value of each key of a topic, as JSON lines on stdout."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated, Final

import typer

from camcast.app.community import JOIN_SECONDS
from camcast.app.manager import make_manager
from camcast.app.settings import ProcessSettings
from camcast.cli import options
from camcast.cli.configured import configured
from camcast.cli.event_lines import json_of
from camcast.cli.failure import EXIT_TOO_FEW, clear_failures, remark
from camcast.cli.option_group import grouped
from camcast.cli.output import print_json
from camcast.cli.until_signalled import run_until_signalled
from camcast.vocabulary.topics import Topic

WAIT_SECONDS: Final = 5.0  # chosen: newcomers have all last values in two, also of slow networks
_LOOK_SECONDS: Final = 0.05  # chosen: a person sees no difference
_PROCESS: Final = ProcessSettings()


@configured
@grouped
def latest(
    topic: Annotated[str, typer.Argument(help="The topic, e.g. .plant; '.' is the root.")],
    wait: Annotated[
        float, typer.Option(min=0.0, help="Seconds to wait for the last values of the members.")
    ] = WAIT_SECONDS,
    settings: ProcessSettings = _PROCESS,
    retry: options.Retry = False,
) -> None:
    """Print the last value of each key of a topic and its subtopics, one JSON object a line.

    Joins for as long as it takes to get them from the members, and leaves again. A line is that of
    subscribe: the event that was published last with its key. Deleted keys are left out. Exit code
    3: nobody has any.
    """
    with clear_failures():
        work = _latest(settings, Topic.parse(topic), wait, retry=retry)
        if run_until_signalled(work) is False:
            raise typer.Exit(EXIT_TOO_FEW)


async def _latest(
    settings: ProcessSettings, topic: Topic, wait_seconds: float, *, retry: bool
) -> bool:
    """Print the last values, once a member says that these are all, or the time is over."""
    async with make_manager(settings) as manager:
        community = manager.community(topic)
        await community.join(timeout=None if retry else JOIN_SECONDS, retry=retry)
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_seconds):
                while not community.latest.complete:
                    await asyncio.sleep(_LOOK_SECONDS)
        values = [event for of in community.latest.by_topic.values() for event in of.values()]
        if values and not community.latest.complete:
            remark(f"no member has said within {wait_seconds:g} s that these are all")
        with suppress(BrokenPipeError):  # e.g. `| head`
            for event in values:
                print_json(json_of(event), "latest/1")
    if not values:
        remark(f"no last values of {topic} came within {wait_seconds:g} s")
    return bool(values)
