"""The context of a process: each part of a node is made with the same one."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from attrs import frozen

from camcast.doors.contained import Containment, PlugError
from camcast.engine.groups import Groups
from camcast.engine.liveness import LivenessService
from camcast.engine.open_guard import Guard
from camcast.observe.recorder import Recorder
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.hierarchy import Hierarchy
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.outbox import ControlOutlet, Outbox
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import Kind


@frozen
class ProcessContext:
    """The process that a part belongs to, and the parts that all others use."""

    outbox: Outbox
    recorder: Recorder
    groups: Groups
    """The groups that the process is in."""
    rng: Random
    """The random stream of its protocols."""
    liveness: LivenessService
    guard: Guard
    """Judges what other processes send."""
    clock: Clock
    """The wall clock, by the time of inputs."""
    hierarchy: Hierarchy
    """The super-topics of topics, as the process knows them."""
    plug_failed: Callable[[PlugError], None]
    """Takes each error of a plug of this process."""

    @property
    def me(self) -> Contact:
        """The process, under the address that it announces, which may change."""
        return self.outbox.me

    def containment(self, plug: str, topic: Topic | None = None) -> Containment:
        """Return what contains a plug of this process, in one group or for all."""
        return Containment(plug, topic, self.plug_failed)

    def outlet(self, kind: Kind, group: GroupId, *scope: object) -> ControlOutlet:
        """Return an outlet for a part of this process."""
        return ControlOutlet(self.outbox, kind, group, *scope)
