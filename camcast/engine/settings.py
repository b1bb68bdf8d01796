"""The settings and parts of the node of one process: values, and live objects that it is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any, Literal

from attrs import field, frozen

from camcast.doors.admission import Admission
from camcast.doors.archive import Archive
from camcast.doors.contained import PlugError
from camcast.doors.discovery import DiscoveryFactory, Waiting
from camcast.doors.membership import Backend
from camcast.doors.protocol import Protocol
from camcast.doors.signatures import Signatures
from camcast.engine.open_guard import Audit
from camcast.engine.publisher import ReserveNumbers, by_clock
from camcast.engine.repair.hold_back import HOLD_SECONDS, RoomForTopics, default_room
from camcast.engine.store import Store
from camcast.vocabulary.extensions import EXTENSIONS, Extension, Speaks, speaks_none
from camcast.vocabulary.parameters import CommunitySettings, settings_of
from camcast.vocabulary.penalties import Penalties
from camcast.vocabulary.topics import Topic

Order = Literal["fifo", "arrival"]
"""The order in which subscribers get the events of one publisher on one topic: that of their
publication, or that of their arrival."""


@frozen
class Settings:
    """The values that a node goes by; the same for every community of the process."""

    backend: Backend
    discovery: DiscoveryFactory
    options: Any = None
    """The backend's options; None for its defaults."""
    discovery_options: Any = None
    """The discovery's options; None for one without options."""
    gateways: Mapping[Topic, tuple[str, ...]] = field(factory=dict)
    keys: Mapping[str, str] = field(factory=dict)
    """The public keys of the gateways that are given with one."""
    peers: tuple[str, ...] = ()
    """The addresses of explicit peers, which the process keeps in its topic tables."""
    remember: Path | None = None
    """Where the discovery keeps contacts from one run to the next, if it can."""
    port_required: bool = False
    """Whether the discovery must have the port that was asked for, or fail."""
    every_interface: bool = False
    """Whether the process listens at ``[::]``."""
    parameters: CommunitySettings = field(factory=CommunitySettings, converter=settings_of)
    """The defaults of a community that is joined without parameters of its own."""
    protocol: Protocol = field(kw_only=True)
    order: Order = "arrival"
    """The order of deliveries where events are repaired; without repair they come as they arrive.
    The papers have none, and no run in the virtual network unless it says so."""
    hold_seconds: float = HOLD_SECONDS
    """With the order ``fifo``, for how long an event waits for a missing one before it."""
    system: str = ""
    """The name of the system, which datagrams bear; connections are the transport's."""
    extensions: tuple[Extension, ...] = EXTENSIONS
    """The extensions that the process understands, as its connections name them."""
    relay: bool = False
    """Whether the process carries communities of processes that nobody can dial if asked to."""
    topics: tuple[Topic, ...] = ()
    """All topics that exist, for protocols that must know them beforehand."""


@frozen
class Parts:
    """The live objects that a node works with; by default it signs, keeps and judges nothing."""

    store: Store | None = None
    """Where batches are kept for others, by all nodes of a loop; None: nothing is repaired."""
    archive: Archive | None = None
    """Where they are kept on disk as well, beyond the life of the process; None: nowhere."""
    signatures: Signatures | None = None
    """Signs this process's events and verifies those of others; None: no event is signed."""
    reserve_numbers: ReserveNumbers = by_clock
    """Reserves numbers of streams; `by_clock` will not do where an identity outlives its
    process."""
    admission: Admission | None = None
    """Knows the other processes and their rights; None: everybody may do everything."""
    penalties: Penalties | None = None
    """The scores of the processes at the other ends of links; None where links do not prove who
    that is."""
    audit: Audit | None = None
    """Takes what is refused, and of whom; None: nobody looks."""
    discovery_rng: Random | None = None
    """The random stream of the discovery; None: that of the protocols. Live, it is the operating
    system's: an attacker who sees the ids of an overlay's calls must not be able to predict
    other draws."""
    waiting: Waiting | None = None
    """Runs the coroutines of the discovery; None where it has none."""
    speaks: Speaks = speaks_none
    """Says which processes have named an extension."""
    room: RoomForTopics = default_room
    """Says how much of the events of topics may be held back."""
    plug_failed: Callable[[PlugError], None] | None = None
    """Takes the errors of plugs, which are contained; None: they are raised, for tests."""
