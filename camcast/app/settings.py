"""The settings of one process: values, their checks, and their help texts.

`ProcessSettings` nests as the layers do. `CommunityManager` takes the same settings as keywords
(`ProcessSettings.of`); the commands that run a process make their options, and the keys of
``--config``, from the records here (`camcast.cli.option_group`): to add a setting is to add a field
here, and a keyword there.

Live objects (a trace, output pipes, a random stream) are no settings: the manager takes them beside
these.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from math import inf
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import attrs
from attrs import Attribute, field, frozen

from camcast.app.community_errors import InsecureError
from camcast.doors.discovery import DiscoveryFactory
from camcast.doors.options import OptionError
from camcast.doors.transport import InputPipe, OutputPipes
from camcast.engine.repair.hold_back import HOLD_SECONDS, LOOK_SECONDS
from camcast.engine.settings import Order
from camcast.live import transports
from camcast.live.gateway_file import Gateways, check_contact, parse_gateways, read_gateways
from camcast.live.own_address import AUTO, is_found
from camcast.live.wire.pipes import descriptors, peers_allowed
from camcast.security.passphrase import check_passphrase
from camcast.vocabulary.addresses import (
    AddressError,
    check_address,
    is_loopback,
    is_numeric,
    is_wildcard,
)
from camcast.vocabulary.arguments import (
    check_flag,
    check_list,
    check_number,
    check_optional,
    check_type,
)
from camcast.vocabulary.errors import CommunityError
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.parameters import (
    RETENTION_SECONDS_MAX,
    CommunitySettings,
    Parameters,
    SpreadKind,
    settings_of,
)
from camcast.vocabulary.topic_parameters import TopicParameters
from camcast.vocabulary.wire import EVENT_BYTES_MAX, PAYLOAD_BYTES_MAX

if TYPE_CHECKING:
    from camcast.live.archive.archive import FileArchive

_log = Logger(__name__)

_OPTION: Final = "option"
# measured: among 26 processes one with 48, and room for one connection of others, never became a
# member in three tries of 15 s; with 64 and room for four it did, and got and sent every event
DESCRIPTORS_MIN: Final = 64
ARCHIVE_MEGABYTES_MIN: Final = 1  # chosen: a file of some pages, and 4,000 events of 256 bytes
ARCHIVE_DAYS_MIN: Final = 0.001  # chosen: a minute and a half, as memory keeps them anyway
ARCHIVE_DAYS_MAX: Final = 3660  # chosen: ten years; whoever wants more has a database
DAY_SECONDS: Final = 86_400.0
PEERS_FEW: Final = 32  # chosen: the peers of a process in a community of 10,000
Reachable = Literal["yes", "no", "auto"]
"""Whether other processes can connect to this one; ``auto``: it is found out at the start."""
ORDERS: Final = get_args(Order)
HOLD_SECONDS_MIN: Final = LOOK_SECONDS  # what waits is looked at as often

Check = Callable[[str, Any], None]
"""Raises `TypeError` for a value, which it calls by the name."""


@frozen(kw_only=True)
class Option:
    """The option of a setting on a command line: its name, and its help text."""

    help: str
    name: str | None = None
    """The option's name; None: that of the field."""
    short: str | None = None
    """The same option in one letter."""
    metavar: str | None = None
    least: float | None = None
    most: float | None = None

    @classmethod
    def of(cls, one: Attribute[Any]) -> Option:
        """Return the option of a field."""
        option: Option = one.metadata[_OPTION]
        return option


def _setting(default: Any, help: str, check: Check | None = None, **more: Any) -> Any:
    def validate(_record: object, one: Attribute[Any], value: object) -> None:
        if check is not None:
            check(one.name, value)

    return field(default=default, validator=validate, metadata={_OPTION: Option(help=help, **more)})


def _text(name: str, given: object) -> None:
    check_type(name, given, str, "a text")


def _text_or_none(name: str, given: object) -> None:
    check_optional(name, given, str, "a text")


def _texts(name: str, given: object) -> None:
    check_list(name, given, "texts")


def _path(name: str, given: object) -> None:
    check_optional(name, given, Path, "a pathlib.Path")


def _paths(name: str, given: object) -> None:
    if not isinstance(given, Path):
        check_list(name, given, "pathlib.Path")


def _reachable(name: str, given: object) -> None:
    if given not in (allowed := get_args(Reachable)):
        raise ValueError(f"{name} is one of {', '.join(allowed)}, and not {given!r}")


def _order(name: str, given: object) -> None:
    if given not in ORDERS:
        raise ValueError(f"{name} is one of {', '.join(ORDERS)}, and not {given!r}")


def _positive(name: str, given: object) -> None:
    check_number(name, given)
    if not 0 < given < inf:  # type: ignore[operator]  # it is a number
        raise ValueError(f"{name} is a number above 0, and not {given!r}")


def _hold(name: str, given: object) -> None:
    if given is None:
        return
    check_number(name, given)
    if not HOLD_SECONDS_MIN <= given <= RETENTION_SECONDS_MAX:  # type: ignore[operator]  # it is one
        raise ValueError(
            f"{name} is {HOLD_SECONDS_MIN:g} to {RETENTION_SECONDS_MAX:g} seconds, and not"
            f" {given!r}"
        )


def _mapping(name: str, given: object) -> None:
    check_optional(name, given, Mapping, "a mapping")


def _parameters(name: str, given: object) -> None:
    kinds = (Parameters, Path, NoneType)
    check_type(name, given, kinds, "Parameters(…) or the pathlib.Path of a file by topic")


@frozen(kw_only=True)
class Listening:
    """The addresses that a process listens at and announces, and the transport of its frames."""

    bind: str = _setting(
        "tcp://127.0.0.1:0", "Where to listen; port 0 is any free port.", _text, metavar="ADDRESS"
    )
    advertise: str | None = _setting(
        None,
        "What to tell others instead of --bind: an address, auto (that by which this machine"
        " reaches its gateways), an interface, or a host name: looked up again every 15 s.",
        _text_or_none,
        metavar="ADDRESS",
    )
    reachable: Reachable = _setting(
        "yes",
        "yes, or no: no process can connect to this one, as behind a firewall or a NAT; others"
        " then send on the connections that it makes. auto: two gateways are asked to try.",
        _reachable,
        metavar="yes|no|auto",
    )
    insecure: bool = _setting(
        False, "Allow addresses off the loopback although nothing is secured.", check_flag
    )
    zmq_may_abort: bool = _setting(
        False,
        "Allow zmq together with --insecure: who reaches the port can end the process.",
        check_flag,
    )
    transport: str | None = _setting(
        None, "zmtp, tcp or zmq: how frames travel; all understand each other.", _text_or_none
    )

    def addresses(self, *, closed: bool, aborts: bool = False) -> tuple[str, str | None]:
        """Return the addresses to listen at and to tell, as they are written everywhere.

        What is to be looked up (`camcast.live.own_address`) stays as it is. Raises
        `AddressError`, and `InsecureError` as `check_exposed`.
        """
        bind = check_address(self.bind, bind=True)
        advertise = self.advertise
        if advertise is None and is_wildcard(bind) and self.reachable == "auto":
            advertise = AUTO  # others are to try the address by which the gateways are reached
        if advertise is not None and not is_found(advertise):
            advertise = check_address(advertise)
        told = [one for one in (advertise, bind) if one is not None and not is_found(one)]
        for one in told:
            self.check_exposed(one, closed=closed, aborts=aborts)
        if advertise is None and is_wildcard(bind) and self.reachable == "yes":
            raise InsecureError(
                f"{bind} names no host that others could reach; say which address to advertise"
                " (advertise: an address, auto, an interface or a host name)"
            )
        for address in told:
            if not is_numeric(address):
                raise InsecureError(
                    f"{address} is a name; bind takes an IP address, and so does advertise with a"
                    " port (without tcp:// and the port it takes a name)"
                )
        return bind, advertise

    def check_exposed(self, address: str, *, closed: bool, aborts: bool) -> None:
        """Raise `InsecureError` for an address that other machines reach and should not.

        They may if strangers are kept out (`closed`), or if somebody said that strangers may come
        in, and also that these may end a process whose transport `aborts`.
        """
        if closed or is_loopback(address):
            return
        keep_out = (
            "give an identity (--identity, --certificate, --trust) or a passphrase"
            " (--passphrase-file)"
        )
        if not self.insecure:
            raise InsecureError(
                f"{address} can be reached from other machines, and an open node lets anybody read"
                f" and publish; {keep_out}, or say insecure=True (--insecure) if that is what you"
                " want"
            )
        if aborts and not self.zmq_may_abort:
            raise InsecureError(
                f"{address} can be reached from other machines, and whoever reaches an open port of"
                " the transport 'zmq' can end the process with 8 kB; take the transport 'zmtp',"
                f" {keep_out}, or say zmq_may_abort=True (--zmq-may-abort) where every machine that"
                " reaches it is trusted"
            )


@frozen(kw_only=True)
class Security:
    """The files and the passphrase that keep strangers out of a process (docs/security.md)."""

    passphrase: str | None = _setting(
        None,
        "Talk only to those who have the same passphrase, encrypted; one line, mode 0600.",
        name="--passphrase-file",
        metavar="FILE",
    )
    also_passphrase: str | None = _setting(
        None,
        "Who knows this passphrase instead gets in, too, while the group changes from one to the"
        " other (docs/security.md); one line, mode 0600.",
        name="--also-passphrase-file",
        metavar="FILE",
    )
    identity: Path | None = _setting(
        None,
        "The secret key of this process (camcast keys new): it signs its events, and talks"
        " only to certified processes, encrypted. Needs --certificate and --trust.",
        _path,
        metavar="FILE",
    )
    certificates: Path | Iterable[Path] = _setting(
        (),
        "What the key of --identity may do (camcast certify). Repeatable.",
        _paths,
        name="--certificate",
        metavar="FILE",
    )
    trust: Path | Iterable[Path] = _setting(
        (),
        "The public key of a root that is trusted. Repeatable.",
        _paths,
        metavar="FILE",
    )
    revocations: Path | Iterable[Path] = _setting(
        (),
        "A root's list of certificates that count no more (camcast revoke). Repeatable.",
        _paths,
        metavar="FILE",
    )
    no_revocations: bool = _setting(
        False,
        "Do not warn that a trusted root has no list of revocations: it revokes nothing.",
        check_flag,
    )
    audit: Path | None = _setting(
        None,
        "Append a JSON line there for each refusal, cut-off and revocation: of whom, and why.",
        _path,
        metavar="FILE",
    )

    @property
    def signed(self) -> bool:
        """Whether the process has an identity, or is meant to have one."""
        return bool(self.identity or self.certificates or self.trust or self.revocations)

    @property
    def closed(self) -> bool:
        """Whether strangers are kept out."""
        return self.signed or self.passphrase is not None

    def passphrases(self) -> list[str | None]:
        """Return both passphrases as they are derived from; `PassphraseError` for an empty one."""
        given = self.passphrase, self.also_passphrase
        return [None if one is None else check_passphrase(one) for one in given]


@frozen(kw_only=True)
class Contacts:
    """The membership of a process, and its ways to find other processes."""

    system: str = _setting(
        "",
        "The name of the system: processes that name another one are refused, at whatever address.",
        _text,
        metavar="NAME",
    )
    membership: str = _setting(
        "scamp",
        "Who keeps the membership tables: scamp, hybrid, dht, cyclon, hyparview"
        " (docs/choosing.md), or a plug of yours (docs/plugs.md).",
        name="--membership",
        short="-m",
    )
    options: Mapping[str, object] | None = _setting(
        None,
        "A parameter of the membership, e.g. c=2 or heartbeat_seconds=1. Repeatable.",
        _mapping,
        name="--set",
        metavar="NAME=VALUE",
    )
    gateways: Iterable[str] | Mapping[str, Iterable[str]] | Path = _setting(
        (), "TOML file with gateways by topic.", metavar="FILE"
    )
    discovery: str | None = _setting(
        None,
        "How strangers are found: gateways, lan (mDNS, needs no address), or a plug of yours;"
        " default: as the membership says.",
    )
    discovery_options: Mapping[str, object] | None = _setting(
        None,
        "A parameter of the discovery, e.g. directory=/shared. Repeatable.",
        _mapping,
        name="--discovery-set",
        metavar="NAME=VALUE",
    )
    peers: Iterable[str] = _setting(
        (),
        "An explicit peer: whoever is there is kept in the topic tables whatever others tell, and"
        " asked again when it is lost. In the profile signed it is named with its key. Repeatable.",
        _texts,
        name="--peer",
        metavar="ADDRESS",
    )
    remember: Path | None = _setting(
        None, "Keep contacts there, for a start when no gateway answers.", _path, metavar="FILE"
    )

    def explicit_peers(self) -> tuple[str, ...]:
        """Return the addresses of explicit peers, some with a key.

        Raises `AddressError`, also for a host name: a contact is numeric, and is to stay the same.
        """
        checked = tuple(check_contact(one) for one in self.peers)
        for one in checked:
            if not is_numeric(one.partition("#")[0]):
                raise AddressError(
                    f"peer {one}: an explicit peer is listed by a numeric address, such as"
                    " tcp://192.0.2.7:7000; a gateway may have a host name"
                )
        return checked

    def gateways_by_topic(self) -> Gateways:
        """Return the addresses of the gateways, also of a file; raises `GatewayError`."""
        given = self.gateways
        return read_gateways(given) if isinstance(given, Path) else parse_gateways(given)


@frozen(kw_only=True)
class Spread:
    """The spread of events in a community, their repair, and their retention."""

    parameters: Parameters | Path | None = _setting(
        None,
        "TOML file with parameters by topic, as camcast plan --output writes it.",
        _parameters,
        metavar="FILE",
    )
    repair: bool = _setting(
        True,
        "Ask again for what was missed, or lose it as the paper does.",
        check_flag,
        name="--repair/--no-repair",
    )
    retention_seconds: float | None = _setting(
        None,
        "For how long events are kept for those that missed them; default: 120.",
        name="--retention",
        metavar="SECONDS",
        least=0,
        most=RETENTION_SECONDS_MAX,
    )
    order: Order = _setting(
        "fifo",
        "fifo: subscribers get what one process publishes on a topic in the order of its"
        " publication, if repair is on; arrival: as it arrives.",
        _order,
        metavar="fifo|arrival",
    )
    hold_seconds: float | None = _setting(
        None,
        "With --order fifo, for how long an event waits for a missing one before it; default: 5.",
        _hold,
        name="--hold",
        metavar="SECONDS",
        least=HOLD_SECONDS_MIN,
        most=RETENTION_SECONDS_MAX,
    )
    event_bytes_max: int | None = _setting(
        None,
        "The longest event that this process publishes and takes; default: 1048576, 1 MiB. Say the"
        " same at all members of a topic: one that takes less misses longer events, and says so.",
        metavar="BYTES",
        least=PAYLOAD_BYTES_MAX,
        most=EVENT_BYTES_MAX,
    )
    spread: SpreadKind | None = _setting(
        None,
        "auto (default): events of a busy publisher take a copy a process, all others infect;"
        " infect: every process sends an event to a few others; tree: all take a copy a process.",
    )
    protocol: str = _setting(
        "camcast",
        "How events spread and climb: camcast, a protocol that it is compared with"
        " (docs/protocols.md), or a plug of yours. All processes of a topic run the same.",
    )
    protocol_options: Mapping[str, object] | None = _setting(
        None,
        "A parameter of the protocol, e.g. clusters=3 or gamma=0.6. Repeatable.",
        _mapping,
        name="--protocol-set",
        metavar="NAME=VALUE",
    )

    def community(self) -> CommunitySettings:
        """Return the settings of a community that is joined without parameters of its own.

        Raises as `CommunitySettings`, and `OptionError` for a tree without repair.
        """
        given: dict[str, Any] = {
            "retention_seconds": self.retention_seconds,
            "event_bytes_max": self.event_bytes_max,
            "spread": self.spread,
        }
        changes = {name: value for name, value in given.items() if value is not None}
        settings = settings_of(self.parameters if isinstance(self.parameters, Parameters) else None)
        if changes:
            settings = attrs.evolve(settings, **changes)
        if settings.spread == "tree" and not self.repair:
            raise OptionError("the spread 'tree' goes with repair, which asks for what it misses")
        return settings

    def held_seconds(self) -> float:
        """Return for how long an event waits for a missing one before it.

        Raises `OptionError` if a time is given where no event waits.
        """
        if self.hold_seconds is None:
            return HOLD_SECONDS
        if self.order != "fifo" or not self.repair:
            raise OptionError(
                "hold_seconds (--hold) goes with the order fifo and with repair: without both, no"
                " event waits"
            )
        return self.hold_seconds

    def by_topic(self) -> TopicParameters:
        """Return what the file of `parameters` says of topics. Raises `TopicParametersError`."""
        given = self.parameters
        return TopicParameters.read(given) if isinstance(given, Path) else TopicParameters()


@frozen(kw_only=True)
class Archiving:
    """The archive of a process, in which the events of its communities outlive it."""

    archive: Path | None = _setting(
        None,
        "Keep the events of all communities that are joined in this file, beyond the life of the"
        " process.",
        _path,
        metavar="FILE",
    )
    archive_megabytes: float = _setting(
        1000.0,
        "How large the file of --archive may become; the oldest events make room.",
        _positive,
        name="--archive-size",
        metavar="MEGABYTES",
        least=ARCHIVE_MEGABYTES_MIN,
    )
    archive_days: float = _setting(
        7.0,
        "For how many days --archive keeps events.",
        _positive,
        name="--archive-age",
        metavar="DAYS",
        least=ARCHIVE_DAYS_MIN,
        most=ARCHIVE_DAYS_MAX,
    )

    async def opened(self) -> FileArchive | None:
        """Open the archive; None without one. Raises `ArchiveError`.

        It takes a while, so a thread does it; without an archive none is begun, since none can be
        at the interpreter's end.
        """
        if self.archive is None:
            return None
        from camcast.live.archive.archive import FileArchive  # sqlite and all, of few processes

        bytes_max, seconds_max = self.archive_megabytes * 1e6, self.archive_days * DAY_SECONDS
        return await asyncio.to_thread(FileArchive, self.archive, int(bytes_max), seconds_max)


@frozen(kw_only=True)
class ProcessSettings:
    """The settings of one process."""

    listening: Listening = Listening()
    security: Security = Security()
    contacts: Contacts = Contacts()
    spread: Spread = Spread()
    archiving: Archiving = Archiving()
    control: Path | None = _setting(
        None,
        "Answer camcast status, peers, topics, doctor and trace at a unix socket there.",
        _path,
        metavar="PATH",
    )
    relay: bool = _setting(
        False,
        "Carry communities whose members nobody can dial when they ask for it and no member of a"
        " community above does: their events pass through this process (events_relayed).",
        check_flag,
    )

    @classmethod
    def of(cls, **values: Any) -> ProcessSettings:
        """Return the settings with these values, by the names of the fields of all layers.

        Raises `TypeError` for a value of a wrong type, and for a name that no field has.
        """
        layers: dict[str, Any] = {}
        for name, default, fields in _layers():
            changed = {
                key: value
                for key, before in fields.items()
                if (value := values.pop(key, before)) is not before
            }
            layers[name] = type(default)(**changed) if changed else default
        return cls(**layers, **values)

    def check_profile(self, discovery: DiscoveryFactory, name: str, pipes: Any) -> None:
        """Raise `OptionError` or `ValueError` where settings, or given pipes, exclude each other.

        `name` is that of the `discovery`.
        """
        security = self.security
        signed, passphrase = security.signed, security.passphrase
        closed = security.closed or is_closed(pipes)
        proved = signed and getattr(discovery, "asks_by_key", False)
        if closed and getattr(discovery, "hears_strangers", False) and not proved:
            keeps_out = "an identity" if signed else "a passphrase"
            raise OptionError(
                f"the discovery {name!r} hears everybody on the network, and {keeps_out} keeps"
                " strangers out: leave one of the two out"
            )
        if signed and getattr(discovery, "speaks_to_anybody", False):
            raise OptionError(
                f"the discovery {name!r} sends datagrams that are for no identity in particular,"
                " and a process with one sends none: take another, such as gateways"
            )
        if self.listening.transport is not None and pipes is not None:
            raise ValueError("give a transport or pipes, not both: the pipes have a transport")
        if (passphrase or security.also_passphrase) is not None and pipes is not None:
            raise ValueError("give the passphrase to open_pipes: the pipes' links are encrypted")
        if signed and passphrase is not None:
            raise OptionError(
                "an identity and a passphrase are two ways to keep strangers out, and all of a"
                " community go the same way: leave one of the two out"
            )
        if signed and pipes is not None:
            raise ValueError("a process with an identity has links of its own: leave pipes out")
        if self.contacts.system and pipes is not None and pipes.system != self.contacts.system:
            raise ValueError("give the system to open_pipes: the pipes are of one system")
        if self.archiving.archive is not None and not self.spread.repair:
            raise OptionError(
                "an archive gives others what they ask for, which is repair: leave repair on, or"
                " the archive out"
            )
        transport = transports.check(self.listening.transport or transports.DEFAULT)
        if self.listening.reachable != "yes":
            if transport == transports.ZMQ and pipes is None:
                raise OptionError(
                    "a process with the transport 'zmq' takes nothing on the connections that it"
                    " makes, so that one which is not reachable hears nothing; take 'zmtp' or 'tcp'"
                )
            if getattr(discovery, "needs_dialable", False):
                raise OptionError(
                    f"the discovery {name!r} needs processes that can be reached; take another,"
                    " such as gateways"
                )
            if self.listening.reachable == "auto" and pipes is not None:
                raise ValueError(
                    "a process that is to find out whether it can be reached has pipes of its own:"
                    " leave pipes out"
                )
            if self.listening.reachable == "no" and self.listening.advertise is not None:
                raise OptionError("a process that is not reachable has no address to advertise")
        try:
            transports.check_also(transport, passphrase, security.also_passphrase)
            transports.check_named(transport, self.contacts.system)
        except ValueError as error:
            raise OptionError(str(error)) from error


@cache
def _layers() -> list[tuple[str, Any, dict[str, Any]]]:
    """Return the records in `ProcessSettings`: the field, its default, and that of each field."""
    records: list[tuple[str, Any]] = [
        (one.name, one.default)
        for one in attrs.fields(ProcessSettings)
        if attrs.has(type(one.default))
    ]
    return [(name, default, attrs.asdict(default, recurse=False)) for name, default in records]


def is_closed(pipes: OutputPipes | None) -> bool:
    """Whether output pipes keep strangers out."""
    return pipes is not None and pipes.profile is not None


def check_descriptors(pipes: OutputPipes) -> None:
    """Say how many peers the limit of open files allows; raise `CommunityError` for too few."""
    says = f"{peers_allowed(pipes)}, as its limit says (ulimit -n, LimitNOFILE=)"
    if descriptors() < DESCRIPTORS_MIN:
        raise CommunityError(f"this process may have {says}; {DESCRIPTORS_MIN} are the least")
    few = min(pipes.connections_max, pipes.pipes_max) < PEERS_FEW
    _log.log(logging.WARNING if few else logging.DEBUG, "this process may have %s", says)


async def check_closed(tested: InputPipe, pipes: OutputPipes) -> None:
    """Raise `InsecureError` if strangers get in although a profile of the pipes keeps them out."""
    if (profile := pipes.profile) is None:
        return
    from camcast.live.profiles.self_test import lets_strangers_in

    try:
        open_to_all = await lets_strangers_in(tested, profile, pipes.system)
    except TimeoutError:
        raise InsecureError(
            f"{tested.address} gave no answer to a stranger, so it is not known to be closed; start"
            " again when the machine is less busy"
        ) from None
    if open_to_all:
        raise InsecureError(
            f"a stranger got in at {tested.address} although the process is closed; the encryption"
            " of this installation does not work (pyzmq, libzmq or PyNaCl), so nothing was started"
        )
