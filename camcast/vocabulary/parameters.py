"""The parameters of the CAMCAST algorithm, with the paper's names and defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil, floor, log
from numbers import Integral, Real
from types import NoneType
from typing import Any, Final, Literal, Self, TypedDict, get_args

from attrs import Attribute, asdict, define, evolve, field, fields_dict, frozen, validators

from camcast.vocabulary.arguments import built_in, check_finite, check_type
from camcast.vocabulary.batches import EVENTS_MAX
from camcast.vocabulary.wire import EVENT_BYTES_MAX, PAYLOAD_BYTES_MAX

RETENTION_SECONDS_MAX: Final = (
    600  # chosen: a batch tells its age up to 655 s (docs/wire-format.md)
)


GATHER_SECONDS_MAX: Final = 1.0  # chosen: whoever waits for longer publishes batches of its own


SpreadKind = Literal["auto", "infect", "tree"]
"""The values of `CommunitySettings.spread`."""

_KINDS: Final[Mapping[str, tuple[Any, str]]] = {
    "float": (Real, "a number"),
    "float | None": ((Real, NoneType), "a number or None"),
    "int": (Integral, "a whole number"),
    "bool": (bool, "True or False"),
}
"""By the annotation of a field: the classes of its values, and their name for error messages."""


def _typed(_class: type, fields: list[Attribute[Any]]) -> list[Attribute[Any]]:
    """Return the fields with validators that refuse values of other types, and inf and nan."""
    return [
        one.evolve(
            converter=built_in,
            validator=validators.and_(
                _of_kind(*_KINDS[str(one.type)]), *filter(None, [one.validator])
            ),
        )
        if str(one.type) in _KINDS and not getattr(one, "inherited", False)
        else one
        for one in fields
    ]


def _of_kind(kinds: Any, meant: str) -> Callable[[object, Attribute[Any], object], None]:
    def check(_instance: object, attribute: Attribute[Any], value: object) -> None:
        check_type(attribute.name, value, kinds, meant)
        if isinstance(value, Real):
            check_finite(attribute.name, value)

    return check


def _check_spread(_settings: object, _field: object, spread: object) -> None:
    if spread not in get_args(SpreadKind):
        there = ", ".join(get_args(SpreadKind))
        raise ValueError(f"there is no spread {spread!r}; there is: {there}")


@frozen(kw_only=True, field_transformer=_typed)
class Parameters:
    """How a community spreads its events and keeps its links (paper 000, sections 3 and 6.1.1).

    Raises `ValueError` for a value outside its range, and `TypeError` for one of another type.

    Args:
        c: The fan-out beyond ln N. More: an event reaches everybody more surely, at a copy a
            process for each 1. Less: fewer copies.
        g: How many processes of a community send an event upward. More: it climbs more surely.
            Less: fewer upward messages.
        a: To how many super-processes each of these sends. More: as with `g`. Less: as with `g`.
        z: The size of a super-topic table. More: links outlive more crashes. Less: less upkeep.
        tau: With this many live super-processes or fewer, more are asked for. More: tables are full
            earlier. Less: fewer messages. Without it, z - 1.
        p_sel: Fixes the probability to send an event upward. More: as with `g`. None: g/N.
        as_printed: Whether p_a and the fan-out are to the letter what the paper prints.

    Example:
        >>> Parameters(c=2).fan_out(1000)
        9
    """

    c: float = field(default=5.0, validator=[validators.ge(-10), validators.le(100)])
    """Fan-out beyond ln N_t; with tables to match, all are reached with probability
    e^(-e^-c) (2.2). [CAMCAST 6.1.1]"""

    g: float = field(default=5.0, validator=validators.gt(0))
    """How many processes of the community send an event upward, on average (3.5):
    p_sel = min(1, g/N_t). [CAMCAST 6.1.1]"""

    a: float = field(default=1.0, validator=validators.gt(0))
    """How many processes of the super-topic table such a process sends to, on average (3.5):
    p_a = min(1, a/z), more in a community of fewer than g. [CAMCAST 6.1.1]"""

    z: int = field(default=3, validator=[validators.ge(1), validators.le(1000)])
    """Size of a super-topic table (3.2.1). [CAMCAST 6.1.1]"""

    tau: int = field(validator=validators.ge(0))
    """τ: with this many live super-processes or fewer, ask the live ones for more (3.4)."""

    p_sel: float | None = field(
        default=None, validator=validators.optional([validators.ge(0), validators.le(1)])
    )
    """Fixes p_sel for every event, as the measurements of section 6.2 do; None: g/N_t."""

    as_printed: bool = False
    """Whether the algorithm is as the paper prints it: p_a = a/z, however few there are in the
    community or in the super-topic table; floor(ln N_t + c) + 1 copies, as the loop of Figure 8
    sends; and z - τ super-processes asked for, only where no more than τ are alive.
    [CAMCAST 3.5, Figures 6 and 8]"""

    @tau.default
    def _tau_default(self) -> int:
        check_type("z", self.z, *_KINDS["int"])  # before its validator does
        return self.z - 1  # chosen: a single failed link is replaced at the next check

    def __attrs_post_init__(self) -> None:
        if self.tau > self.z:
            raise ValueError(f"tau={self.tau} is larger than z={self.z}: 0 <= τ <= z (paper, 3.4)")

    def fan_out(self, size: float) -> int:
        """Return ceil(ln N_t + c), at least 1 (3.5).

        The loop of Figure 8, with `as_printed`, sends one more only if ln N_t + c is whole, and
        none if it is negative.
        """
        wanted = log(max(size, 1.0)) + self.c
        return max(0, floor(wanted) + 1) if self.as_printed else max(1, ceil(wanted))

    def selection_probability(self, size: float) -> float:
        """Return p_sel = min(1, g/N_t): certainty in a community of fewer than g (3.5, 4.5.1)."""
        if self.p_sel is not None:
            return self.p_sel
        return min(1.0, self.g / max(size, 1.0))

    def link_probability(self, size: float, links: int) -> float:
        """Return p_a = min(1, a/z), the probability of one upward message (3.5).

        The number of `links` that there are stands for z, so that a table that is not full (yet)
        sends a messages, too. In a community of fewer than g processes p_sel would have to exceed
        1; there p_a grows instead, which keeps the mean at g·a upward messages an event. With
        the paper's p_a, one event in three of a lone publisher would go no further (4.5.1: "if
        the number of processes becomes very small, we make all processes propagate"). If p_sel
        is fixed, p_a does not grow. With `as_printed` it is min(1, a/z) always.
        """
        if self.as_printed:
            return min(1.0, self.a / self.z)
        scarcity = 1.0 if self.p_sel is not None else max(1.0, self.g / max(size, 1.0))
        return min(1.0, self.a * scarcity / max(links, 1))

    def with_changes(self, changes: Mapping[str, Any]) -> Self:
        """Return these parameters with some of them changed, by name; the rest stays.

        τ follows z while it is z - 1, as it is by default. Raises `TypeError` for a name that is no
        parameter of the paper, and as `Parameters` for a value.
        """
        if not changes:
            return self
        known = fields_dict(Parameters)
        if unknown := [name for name in changes if name not in known]:
            raise TypeError(f"there is no parameter {unknown[0]!r}; there is: {', '.join(known)}")
        changed = dict(changes)
        if "z" in changes and "tau" not in changes and self.tau == self.z - 1:
            changed["tau"] = Parameters(z=changes["z"]).tau
        return evolve(self, **changed)


class ParameterChanges(TypedDict, total=False):
    """Some of the fields of `Parameters`, by name."""

    c: float
    g: float
    a: float
    z: int
    tau: int
    p_sel: float | None
    as_printed: bool


@frozen(kw_only=True, field_transformer=_typed)
class CommunitySettings(Parameters):
    """The parameters of the paper, and what this implementation settles beside them.

    It stands wherever `Parameters` do. Raises as these.

    Args:
        search_seconds: The pause of a search for super-processes. More: links to super-topics come
            later. Less: messages to ancestors that the next answer would have spared.
        search_seconds_max: The longest such pause, where no super-topic has any process. More:
            a super-community that is founded later is found later. Less: more messages till then.
        check_seconds: The period in which links to super-topics are looked at. More: dead links
            stay longer, and upward messages to them are lost. Less: more messages for upkeep.
        refresh_probability: How often a check draws the table again without need. More: the load
            of upward messages is spread better. Less: fewer messages for upkeep.
        batch_events_max: How many events of one instant travel together. More: less CPU and fewer
            bytes an event. Less: the fates of events depend less on each other.
        spread: ``"auto"``: events of a busy publisher go along a tree, a copy a process, and all
            others as with ``"infect"``: from each process to ceil(ln N + c) random ones, the
            paper's way; ``"tree"``: all events go along trees.
        retention_seconds: How long events are kept for processes that have missed them. More:
            longer interruptions are made good. Less: less memory; 0: none is kept.
        offer_bytes: From this size on, an event is offered to the processes that it would be sent
            to, and each asks for it once. More: large events are there sooner, in as many copies
            as others. Less: fewer bytes, and two messages more an event.
        gather_seconds: For how long an own event waits for others, to leave in one batch with them.
            More: fewer batches, and where events are signed as many signatures less to make and to
            verify. Less: events leave sooner; 0: at the end of the instant.
        event_bytes_max: The longest payload that this process publishes and takes, 16 MiB at most;
            all members should allow the same. Above 1 MiB an event travels in pieces. More: nobody
            has to split what is large. Less: less memory, four times as much at most.

    Example:
        ``manager.community(".logs", parameters=CommunitySettings(c=3, retention_seconds=10))``
    """

    search_seconds: float = field(default=1.0, validator=validators.gt(0))
    """How long a search waits before it widens by one ancestor (3.3). chosen: ten times a
    round trip across the world."""

    search_seconds_max: float = field(default=15.0, validator=validators.gt(0))
    """A search that has reached the root doubles its pause up to this. chosen: a new
    super-community is found within a quarter of a minute, at 4 messages a minute."""

    check_seconds: float = field(default=5.0, validator=validators.gt(0))
    """Period of the super-topic table's upkeep (3.4). chosen: g of N_t check in a period, so
    a community of 1,000 looks at its links once a second."""

    refresh_probability: float = field(default=0.1, validator=[validators.ge(0), validators.le(1)])
    """How often a check draws the table again although enough are alive, to spread load (3.4;
    001, 4.2 "even if available"). After a change the table is drawn again some times whatever this
    is. chosen: one check in ten."""

    batch_events_max: int = field(
        default=EVENTS_MAX, validator=[validators.ge(1), validators.le(EVENTS_MAX)]
    )
    """How many events that a process publishes in one instant travel as one batch, and share their
    draws. With 1 each event has its own draw at each process, as in the papers. chosen: as many as
    the wire allows; the events of a batch cost one draw."""

    spread: SpreadKind = field(default="auto", validator=_check_spread)
    """How events spread inside a community whose protocol leaves that open (CAMCAST, multicast).
    Trees (`camcast.protocols.tree`) need repair: without it all events infect and die. chosen: a
    busy stream costs one copy a process in place of ceil(ln N + c), at the same reception; a lone
    event is sooner there without a tree."""

    retention_seconds: float = field(
        default=120.0,
        validator=[validators.ge(0), validators.le(RETENTION_SECONDS_MAX)],
    )
    """For how long after its publication an event is kept for those that have missed it, where
    events are repaired; with 0 the community repairs none. chosen: a minute of being cut off, and
    another to be asked."""

    offer_bytes: int = field(default=1 << 16, validator=validators.ge(1))
    """From how many bytes on a batch of events is offered in place of being pushed, where events
    are repaired (`camcast.engine.repair.offers`). chosen: above it a body costs more than two
    messages and a round trip; batches of small events, of 32 KiB at most, are pushed."""

    gather_seconds: float = field(
        default=0.0, validator=[validators.ge(0), validators.le(GATHER_SECONDS_MAX)]
    )
    """For how long an event of this process waits for others of it, live, to share a batch and its
    signature (`batch_events_max`). chosen: latency is asked for more often; where events are signed
    and come every few milliseconds, 0.005 lets four of them a batch cost what one does."""

    event_bytes_max: int = field(
        default=PAYLOAD_BYTES_MAX,
        validator=[validators.ge(PAYLOAD_BYTES_MAX), validators.le(EVENT_BYTES_MAX)],
    )
    """The longest payload of an event that this process publishes, and that it takes from others,
    where events are repaired. chosen: what goes into one record, the default limit of NATS; more
    is for applications that have settled it for all members."""

    def with_parameters(self, parameters: Parameters) -> CommunitySettings:
        """Return these settings with the paper's parameters from elsewhere.

        `CommunitySettings` replace all of them.
        """
        if isinstance(parameters, CommunitySettings):
            return parameters
        return evolve(self, **asdict(parameters))


_DEFAULT: Final = CommunitySettings()


@define(eq=False)
class Tuning:
    """The settings of one community of a process, which may change while the process is in it.

    All parts of the community share the object, and read `settings` each time they need them. A
    part that keeps what it has computed from settings compares them by identity.
    """

    settings: CommunitySettings


def settings_of(parameters: Parameters | None) -> CommunitySettings:
    """Return the settings that a community with these parameters, or none, has by default."""
    return _DEFAULT if parameters is None else _DEFAULT.with_parameters(parameters)


PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {"paper": {"as_printed": True}}
"""`Parameters` by the name of a preset. ``paper``: what the paper's sections 3 and 6.1 print."""

SETTINGS_PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {
    "paper": {
        **PRESETS["paper"],
        "batch_events_max": 1,
        "spread": "infect",
        "retention_seconds": 0.0,
    }
}
"""`CommunitySettings` by the name of a preset. ``paper``: the paper's parameters as printed, and
nothing that this project has added."""
