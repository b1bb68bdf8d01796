"""The options that several commands share, and the functions that read their values."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import attrs
import typer

from camcast.cli.failure import CommandError
from camcast.cli.probability import probability_option
from camcast.community_errors import CommunityError
from camcast.doors.options import OptionError
from camcast.doors.plugs import UnknownPlugError, find_backend, find_protocol
from camcast.doors.profile import OPEN, SHARED_KEY, SIGNED
from camcast.doors.signatures import NotAllowedError
from camcast.doors.transport import BindError
from camcast.live.certificate_file import CertificateFileError
from camcast.live.gateway_file import GatewayError, read_gateways
from camcast.live.key_file import KeyFileError, read_passphrase
from camcast.scenarios.base import BaseScenario, ScenarioError
from camcast.security.passphrase import PassphraseError, check_passphrase
from camcast.systems import CAMCAST, SYSTEMS, find_system
from camcast.vocabulary.addresses import AddressError
from camcast.vocabulary.parameters import PRESETS, RETENTION_SECONDS_MAX, Parameters
from camcast.vocabulary.topics import ROOT, TopicError

if TYPE_CHECKING:
    from camcast.scenarios.live import Scenario
    from camcast.scenarios.virtual import VirtualScenario
    from camcast.settings.chain import Setting

S = TypeVar("S", bound=BaseScenario)

COMMUNITY_ERRORS: Final = (
    AddressError,
    BindError,
    CertificateFileError,
    CommunityError,
    GatewayError,
    KeyFileError,
    NotAllowedError,
    OptionError,
    PassphraseError,
    TopicError,
    UnknownPlugError,
)
"""The errors of making a manager and of joining a community; their messages are for people."""

PASSPHRASE_VARIABLE: Final = "CAMCAST_PASSPHRASE"

_MEMBERSHIP = typer.Option(
    "--membership",
    "-m",
    help="Who keeps the membership tables: scamp, hybrid, dht, cyclon, hyparview"
    " (docs/parameters.md), or a plug of yours (docs/plugs.md).",
)
Membership = Annotated[str, _MEMBERSHIP]
MembershipGiven = Annotated[str | None, _MEMBERSHIP]
MembershipOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the membership, e.g. c=2 or heartbeat_seconds=1. Repeatable.",
    ),
]
Protocol = Annotated[
    str | None,
    typer.Option(
        "--protocol",
        help="camcast (default), or a system that it is compared with: broadcast, multicast,"
        " hierarchical, rfpbcast, pmcast, hpmcast, percolation (docs/protocols.md).",
    ),
]
ProtocolOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--protocol-set",
        metavar="NAME=VALUE",
        help="A parameter of the protocol, e.g. clusters=3 or gamma=0.6. Repeatable.",
    ),
]
GatewayFile = Annotated[
    Path | None,
    typer.Option("--gateways", metavar="FILE", help="TOML file with gateways by topic."),
]
GatewayAddresses = Annotated[
    list[str] | None,
    typer.Option("--gateway", metavar="ADDRESS", help="A gateway for all topics. Repeatable."),
]
Remember = Annotated[
    Path | None,
    typer.Option(
        "--remember",
        metavar="FILE",
        help="Keep contacts there, for a start when no gateway answers.",
    ),
]
Retry = Annotated[
    bool,
    typer.Option("--retry", help="Keep asking gateways that do not answer, instead of failing."),
]
Bind = Annotated[
    str, typer.Option("--bind", metavar="ADDRESS", help="Where to listen; port 0 is any free port.")
]
Advertise = Annotated[
    str | None,
    typer.Option("--advertise", metavar="ADDRESS", help="What to tell others instead of --bind."),
]
Insecure = Annotated[
    bool,
    typer.Option(
        "--insecure", help="Allow addresses off the loopback although nothing is secured."
    ),
]


class ProfileName(StrEnum):
    """Who may talk to a process (docs/security.md)."""

    OPEN = OPEN
    SHARED_KEY = SHARED_KEY
    SIGNED = SIGNED


Profile = Annotated[
    ProfileName | None,
    typer.Option(
        "--profile",
        help="open: whoever reaches the process may read and publish; shared-key: who knows the"
        " passphrase; signed: who has a certificate. Default: signed with --identity, shared-key"
        " with a passphrase, else open.",
    ),
]
PassphraseFile = Annotated[
    Path | None,
    typer.Option(
        "--passphrase-file",
        metavar="FILE",
        help="Talk only to those who have the same passphrase, encrypted; one line, mode 0600."
        f" Without it, the environment's {PASSPHRASE_VARIABLE} counts.",
    ),
]
Identity = Annotated[
    Path | None,
    typer.Option(
        "--identity",
        metavar="FILE",
        help="The secret key of this process (camcast keys new): it signs its events, and talks"
        " only to certified processes, encrypted. Needs --certificate and --trust.",
    ),
]
Certificates = Annotated[
    list[Path] | None,
    typer.Option(
        "--certificate",
        metavar="FILE",
        help="What the key of --identity may do (camcast certify). Repeatable.",
    ),
]
Trust = Annotated[
    list[Path] | None,
    typer.Option(
        "--trust", metavar="FILE", help="The public key of a root that is trusted. Repeatable."
    ),
]
RevocationLists = Annotated[
    list[Path] | None,
    typer.Option(
        "--revocations",
        metavar="FILE",
        help="A root's list of certificates that count no more (camcast revoke). Repeatable.",
    ),
]
Discovery = Annotated[
    str | None,
    typer.Option(
        "--discovery", help="gateways or lan: how strangers are found; lan needs no address (mDNS)."
    ),
]
Transport = Annotated[
    str | None,
    typer.Option("--transport", help="zmtp or zmq: how frames travel; both understand each other."),
]
Control = Annotated[
    Path | None,
    typer.Option(
        "--control",
        metavar="PATH",
        help="Answer camcast status, peers, topics, doctor and trace at a unix socket there.",
    ),
]
ControlFolder = Annotated[
    Path | None,
    typer.Option(
        "--control",
        metavar="FOLDER",
        help="Give each node a control socket there, for camcast dashboard FOLDER and status.",
    ),
]
Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        metavar="[HOST:]PORT",
        help="Serve metrics for Prometheus there; without a host, on the loopback.",
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of all random choices; default: 1.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

C = Annotated[float | None, typer.Option("--c", help="Fan-out beyond ln N (paper: c).")]
G = Annotated[float | None, typer.Option("--g", help="Processes that send upward (paper: g).")]
A = Annotated[float | None, typer.Option("--a", help="Super-processes each sends to (paper: a).")]
Z = Annotated[int | None, typer.Option("--z", help="Size of a super-topic table (paper: z).")]
Tau = Annotated[int | None, typer.Option("--tau", help="Live links that trigger a search (τ).")]
PSel = Annotated[float | None, probability_option("--p-sel", "Fixed p_sel instead of g/N.")]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="paper",
        help="paper: p_a = a/z and the loop as the paper prints them, the membership without this"
        " project's additions, and no batches.",
    ),
]

_REPAIR = typer.Option(
    "--repair/--no-repair",
    help="Ask again for what was missed, or lose it as the paper does.",
    show_default=False,
)
Repair = Annotated[bool, _REPAIR]
RepairGiven = Annotated[bool | None, _REPAIR]
Retention = Annotated[
    float | None,
    typer.Option(
        "--retention",
        metavar="SECONDS",
        min=0,
        max=RETENTION_SECONDS_MAX,
        help="For how long events are kept for those that missed them; default: 120.",
    ),
]


class SpreadName(StrEnum):
    """How events spread inside a community (`Parameters.spread`)."""

    INFECT = "infect"
    TREE = "tree"


Spread = Annotated[
    SpreadName | None,
    typer.Option(
        "--spread",
        help="infect (default): every process sends an event to a few others; tree: the events of"
        " a busy publisher take a copy a process.",
    ),
]


def passphrase(profile: ProfileName | None, file: Path | None) -> str | None:
    """Return the passphrase of the group, None in the profiles that have none.

    Raises `KeyFileError` for the file, `PassphraseError` for what is in it, and `OptionError` where
    profile and passphrase contradict each other.
    """
    if profile in (ProfileName.OPEN, ProfileName.SIGNED):
        if file is not None:
            raise OptionError(
                f"--profile {profile} takes no passphrase; leave out --passphrase-file"
            )
        return None
    if file is not None:
        return check_passphrase(read_passphrase(file))
    given = os.environ.get(PASSPHRASE_VARIABLE)
    if given is None and profile == ProfileName.SHARED_KEY:
        raise OptionError(
            "--profile shared-key needs a passphrase: give --passphrase-file FILE, or set"
            f" {PASSPHRASE_VARIABLE}"
        )
    return None if given is None else check_passphrase(given)


DEFAULT_BIND = "tcp://127.0.0.1:0"


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given, that is, are not None, by their names."""
    return {name: value for name, value in options.items() if value is not None}


def parameters(
    c: float | None,
    g: float | None,
    a: float | None,
    z: int | None,
    tau: int | None,
    p_sel: float | None,
    defaults: Parameters | None = None,
    preset: str | None = None,
) -> Parameters:
    """Combine what was given with the defaults; `ValueError` for a value out of range."""
    values = given(c=c, g=g, a=a, z=z, tau=tau, p_sel=p_sel) | preset_parameters(preset)
    if defaults is not None:
        base = attrs.asdict(defaults)
        if "z" in values and "tau" not in values:
            del base["tau"]  # τ's default follows z
        values = base | values
    return Parameters(**values)


def community_parameters(
    retention_seconds: float | None = None, spread: SpreadName | None = None
) -> Parameters:
    """Return the default parameters but for these; `ValueError` for one that is out of range."""
    return Parameters(**given(retention_seconds=retention_seconds, spread=spread))


def preset_parameters(preset: str | None) -> dict[str, Any]:
    """Return the parameters of a preset, none for None; `OptionError` for an unknown one."""
    if preset is None:
        return {}
    if preset not in PRESETS:
        raise OptionError(f"unknown preset {preset!r}; there is: {', '.join(PRESETS)}")
    return dict(PRESETS[preset])


def with_preset(scenario: S, preset: str | None) -> S:
    """Return a scenario with a preset's parameters, and its membership's options of that name.

    What the scenario says of the membership itself stays. Raises `OptionError`.
    """
    if preset is None:
        return scenario
    backend = find_backend(find_protocol(scenario.protocol).membership or scenario.membership)
    return attrs.evolve(
        scenario,
        parameters=attrs.evolve(scenario.parameters, **preset_parameters(preset)),
        options={**backend.as_printed, **scenario.options},
    )


def named_values(pairs: list[str] | None, option: str = "--set") -> dict[str, object]:
    """Read the NAME=VALUE pairs of an option; raises `OptionError` naming a wrong one."""
    options: dict[str, object] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not (name and equals and value):
            raise OptionError(f"{option} takes NAME=VALUE, not {pair!r}")
        options[name.strip()] = value.strip()
    return options


def systems_options(
    protocol: str | None,
    protocol_settings: list[str] | None,
    membership: str | None,
    settings: list[str] | None,
    scenario: Scenario | VirtualScenario,
) -> dict[str, Any]:
    """Return what the command line changes of a scenario's protocol and membership.

    The options in a scenario are meant for the protocol and the membership named there. If the
    command line names another protocol, the scenario's protocol options do not apply; if one of
    the two protocols brings its own membership, neither do the scenario's membership options.
    Raises `OptionError` and `UnknownPlugError`.
    """
    changed: dict[str, Any] = {}
    if protocol is not None:
        changed["protocol"] = protocol
        if protocol != scenario.protocol:
            changed["protocol_options"] = {}
        if find_protocol(protocol).membership != find_protocol(scenario.protocol).membership:
            changed["options"] = {}
    if membership is not None:
        changed["membership"] = membership
    if protocol_settings:
        changed["protocol_options"] = named_values(protocol_settings, "--protocol-set")
    if settings:
        changed["options"] = named_values(settings)
    return changed


def workload_of(text: str, kinds: Sequence[str]) -> dict[str, Any]:
    """Read KIND[:FILE] as the fields of `Workload`; `ScenarioError` for a kind not among these."""
    kind, colon, file = text.partition(":")
    if kind not in kinds:
        raise ScenarioError(f"unknown workload {kind!r}; known: {', '.join(kinds)}")
    return {"kind": kind, "file": Path(file) if colon else None}


def refuse(ctx: typer.Context, names: Mapping[str, str], why: str) -> None:
    """Raise `CommandError` for an option that was given and would be ignored.

    `names` are the parameters of the command, each with what to do instead.
    """
    for name, instead in names.items():
        source = ctx.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = "--" + name.replace("_", "-")
            raise CommandError(f"{option} {why}" + (f"; {instead}" if instead else ""))


def setting_of(
    ctx: typer.Context, protocol: str, chain: Setting, protocol_settings: list[str] | None
) -> Any:
    """Return the setting of a system on a chain of communities, with its --protocol-set.

    Raises `CommandError` for options that the system has no use for, and as `System.setting_of`.
    """
    chosen, system = named_values(protocol_settings, "--protocol-set"), find_system(protocol)
    with_options = [name for name in SYSTEMS if name != CAMCAST]
    if not system.setting:
        raise CommandError(
            f"{protocol} has no simulator and no model; there are those of camcast"
            f" and {', '.join(with_options)}"
        )
    if chosen and protocol == CAMCAST:
        raise CommandError(f"--protocol-set goes with --protocol {', '.join(with_options)}")
    of_camcast = SYSTEMS[CAMCAST].parameters
    unused = {name: "" for name in of_camcast if name not in system.parameters}
    refuse(ctx, unused, f"is no parameter of {protocol}")
    return system.setting_of(chain, chosen)


def gateways(file: Path | None, addresses: list[str] | None) -> Mapping[str, list[str]]:
    """Combine --gateways and --gateway, which serves all topics; `GatewayError` for the file."""
    by_topic: dict[str, list[str]] = {ROOT.name: []}
    if file is not None:
        by_topic |= {topic.name: list(listed) for topic, listed in read_gateways(file).items()}
    return {name: [*listed, *(addresses or ())] for name, listed in by_topic.items()}
