"""Errors of a community, in words for the person who runs the process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from camcast.live.wire.probe_port import Reached
from camcast.vocabulary.errors import CommunityError
from camcast.vocabulary.topics import Topic


class NotReady(CommunityError, TimeoutError):  # a state, as users say it
    """A community was not ready in time; the message says what was still missing."""


class GatewayTimeout(CommunityError, TimeoutError):  # a state, as users say it
    """The gateways could not tell who is in a community.

    `addresses` are the gateways that gave no answer, `ignorant` those that answered that they do
    not know, since they keep no register and are in other communities.
    """

    def __init__(
        self,
        topic: Topic,
        addresses: Sequence[str],
        ignorant: Sequence[str] = (),
        reached: Mapping[str, Reached] | None = None,
        me: str = "",
        nobody: Sequence[str] = (),
        *,
        by_udp: bool = False,
        misfits: Sequence[str] = (),
    ) -> None:
        """Say what each gateway did.

        `reached` is how far a connection to each silent gateway gets, `me` who asked them; `nobody`
        are the gateways that keep the register and said that nobody is there. With `by_udp` nodes
        of a DHT were asked in place of gateways. `misfits` are sentences about processes that do
        not fit (`camcast.observe.stats.Stats`).
        """
        self.addresses, self.ignorant = tuple(addresses), tuple(ignorant)
        parts = []
        if addresses:
            not_one = "not every gateway" if ignorant or nobody else "no gateway"
            not_one = "no node of the DHT" if by_udp else not_one
            parts.append(f"{not_one} answered for {topic}; tried {', '.join(addresses)}")
        for reach in Reached:
            such = ", ".join(a for a in addresses if (reached or {}).get(a) is reach)
            says = reach.by_udp if by_udp else reach.value
            parts += [f"{such} {says.format(me=me)}"] if such else []
        if ignorant and by_udp:
            parts.append(f"all that were found in {topic} have another membership or protocol")
        elif ignorant:
            parts.append(
                f"{', '.join(ignorant)} does not know who is in {topic}: name a gateway that keeps"
                " the register, which is `camcast gateway` or a process that names no other gateway"
            )
        if nobody:
            parts.append(
                f"{', '.join(nobody)} knows of nobody there, which all gateways would have to say"
                " for the process to found the community"
            )
        parts += misfits
        if by_udp and not ignorant:
            parts.append(
                "Check that `camcast gateway --overlay` or a member of the same DHT runs there, or"
                " begin a DHT by naming no gateway"
            )
        elif not (by_udp or ignorant or nobody):
            parts.append("Check that one runs there, or found the community by naming no gateway")
        super().__init__(". ".join(parts).replace("?. ", "? "))


class InsecureError(CommunityError):
    """A process would be open to strangers without anybody having asked for it."""
