"""The law of the view: how large a membership's topic tables should be on average."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from camcast.doors.membership import Backend, MembershipContext
from camcast.vocabulary.identity import PEER_ID_BYTES, Contact, PeerId
from camcast.vocabulary.outbox import Outbox, Outlet
from camcast.vocabulary.topics import ROOT
from camcast.vocabulary.wire import Kind


def view_law(backend: Backend, options: Mapping[str, object]) -> Callable[[float], float]:
    """Return the backend's own law, from the size of a community to the mean view."""
    nobody = Contact(PeerId(bytes(PEER_ID_BYTES)), "tcp://127.0.0.1:1")  # it never acts
    keeper = backend.keeper(
        MembershipContext(
            me=nobody,
            topic=ROOT,
            rng=Random(0),
            outlet=Outlet(Outbox(), nobody, Kind.MEMBERSHIP, ROOT.group),
        ),
        backend.parse_options(options),
    )
    return keeper.expected_view
