"""The cost of processes that nobody can dial, to those that can be (docs/two-machines.md).

Of the N members of a community nobody can dial u: each of the d others, the *carriers*, holds some
of them, sends them what they get, and takes what they send. With a fan-out k (3.5), and V as the
view of SCAMP, the membership by default:

* Each member is held by V others, or by all; of one that nobody can dial these are carriers. So a
  carrier has A = u min(V, d) / d connections that such processes have made, 64 at most.
* A carrier's fan-out is k max(1, A / (N - A)), since nobody else sends to these (`Gossip`), and no
  larger than its table, which has A entries, and some min(V, d - 1) others.

Where nobody of a community can be dialled, two members of a community above carry it, and take part
in it as two more members.
"""

from __future__ import annotations

from math import ceil
from typing import Final

from attrs import frozen

from camcast.doors.plugs import find_backend
from camcast.engine.carrying import CARRIERS
from camcast.engine.liveness import ATTACHED_MAX
from camcast.vocabulary.errors import CamcastError

EVENT_BYTES: Final = 1000  # chosen: a large message of sensors or chats; shares scale with it
# measured in the virtual network: head, id, topic of one letter and time of an event
RECORD_BYTES: Final = 83


class CarriersError(CamcastError, ValueError):
    """A community that nobody can take part in; the message says what would help."""


@frozen
class Carriers:
    """Those of a community that can be reached, and what each of them pays."""

    carriers: int
    """How many they are."""
    from_above: bool
    """Whether they are members of a community above, since all of this one are undialable."""
    undialable: int
    links: float
    """Connections of undialable processes that each carrier holds, on average."""
    copies: float
    """Copies that each carrier sends of an event, on average."""

    @property
    def event_bytes(self) -> float:
        """The bytes that these take, of an event of `EVENT_BYTES`."""
        return self.copies * (EVENT_BYTES + RECORD_BYTES)


def carriers_of(size: int, fan_out: int, unreachable: float, *, has_above: bool) -> Carriers:
    """Return what carriers pay in a community of which a share is `unreachable`.

    `has_above` says whether there is a community above it. Raises `CarriersError` where nobody can
    be dialled, and nobody is above, and `ValueError` for a share outside [0, 1].
    """
    if not 0 <= unreachable <= 1:
        raise ValueError(f"--unreachable takes a share from 0 to 1, not {unreachable:g}")
    undialable = round(size * unreachable)
    carriers = size - undialable
    if from_above := not carriers:
        if not has_above:
            raise CarriersError(
                f"of {size} processes nobody can be dialled, and there is no community above whose"
                " members could carry: let one be reachable, or start camcast gateway --relay"
            )
        carriers = CARRIERS
        size += carriers
    scamp = find_backend("scamp")
    view = scamp.expected_view(scamp.options(), float(size))
    links = min(float(ATTACHED_MAX), undialable * min(view, carriers) / carriers)
    widened = ceil(fan_out * max(1.0, links / max(1.0, size - links)))
    table = links + min(view, carriers - 1)
    return Carriers(carriers, from_above, undialable, links, min(float(widened), table))
