"""Errands: a helper finds out for other processes whether a peer of theirs is alive.

A helper that has heard of the peer lately says so at once. Else it sends the peer a heartbeat, and
tells all who asked when a sign of life comes, or that none came in time. A `Probe` draws one
heartbeat and one verdict, which are smaller. At most `PROBES_ASKER_MAX` probes of one asker, and
`PROBES_MAX` of all, are read in a second. Of as many that are under way, the asker with most gives
its latest to an asker with fewer.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import inf
from typing import Final

from attrs import define, field

from camcast.engine.liveness_messages import Heartbeat, Probe, Verdict
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.outbox import ControlOutlet
from camcast.vocabulary.share import Places

# chosen: units that a helper tries for. At 30 % loss two connections, with SYNs after 0, 1 and 3 s,
# take longer in one of four cases; three helpers all fail in one of 60. A crash is confirmed after
# 3 + 5.
PROBE_UNITS: Final = 5
PROBE_SECONDS_MAX: Final = 30.0  # chosen: bounds how long a probe is kept, whatever is asked for
PROBES_MAX: Final = 256  # chosen: probes read in a second, and under way; 50 kB
PROBES_ASKER_MAX: Final = 32  # chosen: of one asker; more than the peers of one process
ASKERS_MAX: Final = 32  # chosen: askers of one probe; three of a community's neighbours ask


@define(eq=False)
class Errand:
    """One peer about which this process, as a helper, finds out whether it is alive."""

    began: float
    seconds: float
    askers: dict[PeerId, Contact] = field(factory=dict)
    reported: bool = False
    """Whether the askers were told that the peer cannot be reached."""


class Errands:
    """The errands of one process."""

    def __init__(self, outlet: ControlOutlet) -> None:
        self._outlet = outlet
        self.under_way: dict[PeerId, Errand] = {}
        """The errands, by the peer that others ask about."""
        self._places: Places[PeerId, PeerId] = Places(PROBES_MAX)
        """Whoever asked for each of them first."""
        self._read: dict[PeerId, int] = {}  # probes read of each asker since `_read_since`
        self._read_since = -inf

    def take(
        self, asker: Contact, probe: Probe, now: float, heard: float, *, watched: bool
    ) -> None:
        """Take up an errand, or answer at once if this process knows.

        `heard` is when it heard of the peer last, and `watched` whether it sends the peer
        heartbeats.
        """
        if now - self._read_since >= 1.0:
            self._read.clear()
            self._read_since = now
        read = self._read.get(asker.peer, 0)
        if read >= PROBES_ASKER_MAX or sum(self._read.values()) >= PROBES_MAX:
            return
        self._read[asker.peer] = read + 1
        contact, seconds = probe.contact, min(probe.seconds, PROBE_SECONDS_MAX)
        if not seconds > 0 or contact.peer == asker.peer:
            return
        unheard = now - heard
        if unheard <= seconds / PROBE_UNITS:
            self._outlet.send([asker], Verdict(contact.peer, alive=True))
            return
        errand = self.under_way.get(contact.peer)
        # Then the verdict was lost on its way, or this asker came later than the others.
        reported = errand is not None and errand.reported
        if (watched and unheard >= seconds) or reported:
            self._outlet.send([asker], Verdict(contact.peer, alive=False))
            return
        if errand is None:
            lost = self._places.take(asker.peer, contact.peer)
            if lost == contact.peer:
                return
            if lost is not None:
                del self.under_way[lost]
            errand = self.under_way[contact.peer] = Errand(now, seconds)
            self._outlet.wake(seconds, "errand", contact.peer, now)
        if asker.peer in errand.askers or len(errand.askers) < ASKERS_MAX:
            errand.askers[asker.peer] = asker
            self._outlet.send([contact], Heartbeat(()))

    def end(self, peer: PeerId, began: Hashable, now: float, heard: float) -> None:
        """Report that a peer was not heard of, unless this process itself did not run meanwhile."""
        errand = self.under_way.get(peer)
        if errand is None or errand.began != began:
            return  # the peer was heard of
        overdue = now - errand.began - errand.seconds
        if errand.reported or overdue > errand.seconds / PROBE_UNITS:
            self._leave(peer)
        elif heard > errand.began:
            self.heard(peer)
        else:
            errand.reported = True
            self._outlet.send(list(errand.askers.values()), Verdict(peer, alive=False))
            self._outlet.wake(errand.seconds, "errand", peer, began)

    def heard(self, peer: PeerId) -> None:
        """End an errand, also one of which the opposite was reported: the askers may still wait."""
        errand = self._leave(peer)
        if errand is not None:
            self._outlet.send(list(errand.askers.values()), Verdict(peer, alive=True))

    def _leave(self, peer: PeerId) -> Errand | None:
        self._places.leave(peer)
        return self.under_way.pop(peer, None)
