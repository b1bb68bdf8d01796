"""A live node of an experiment, which may run another system than CAMCAST."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from camcast.app.manager import CAMCAST, CommunityManager, make_manager
from camcast.app.settings import ProcessSettings
from camcast.doors.transport import OutputPipes
from camcast.observe.trace import Sink
from camcast.vocabulary.topics import Topic


def manager_of(
    protocol: str = CAMCAST,
    protocol_options: Mapping[str, object] | None = None,
    topics: Iterable[Topic] = (),
    *,
    trace: Sink | None = None,
    pipes: OutputPipes | None = None,
    rng: Random | None = None,
    **settings: Any,
) -> CommunityManager:
    """Make a manager whose process runs the protocol of this name, with these options.

    `topics` are all topics that exist, for protocols that must know them; `settings` are those of
    `CommunityManager`. Raises as this, and as `find_protocol`.
    """
    chosen = ProcessSettings.of(protocol=protocol, protocol_options=protocol_options, **settings)
    return make_manager(chosen, trace=trace, pipes=pipes, rng=rng, topics=topics)
