"""The options that describe a system: its protocol, its parameters, a setting to simulate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import attrs
import typer
from attrs import frozen

from camcast.app.settings import Contacts
from camcast.cli import options
from camcast.cli.failure import CommandError
from camcast.doors.options import OptionError
from camcast.doors.plugs import find_backend, find_protocol
from camcast.research.scenarios.base import BaseScenario
from camcast.research.scenarios.live import topics_of_chain
from camcast.research.systems.camcast.setting import Setting, chain
from camcast.research.systems.registry import CAMCAST, SYSTEMS, find_system
from camcast.research.systems.setting_base import SettingError
from camcast.vocabulary.parameters import (
    PRESETS,
    SETTINGS_PRESETS,
    CommunitySettings,
    Parameters,
)
from camcast.vocabulary.topic_parameters import TopicParameters
from camcast.vocabulary.topics import Topic

if TYPE_CHECKING:
    from camcast.research.scenarios.live import Scenario
    from camcast.research.scenarios.virtual import VirtualScenario


def probability_option(meaning: str) -> Any:
    """Return the annotation of an option that is named as its parameter."""
    return typer.Option(parser=_probability, metavar="SHARE", help=meaning)


@frozen
class Shares:
    """A probability for all communities, or one for each."""

    values: tuple[float, ...]

    def of(self, communities: int, option: str) -> tuple[float, ...]:
        """Return the probability of each community; `SettingError` names the option."""
        if len(self.values) not in (1, communities):
            raise SettingError(
                f"{option} has {len(self.values)} values for {communities} communities"
            )
        return self.values * (communities if len(self.values) == 1 else 1)


SUCCESS: Final = Shares((0.85,))  # [CAMCAST 6.1.1]


def _shares(given: str) -> Shares:
    """Read probabilities between commas."""
    return Shares(tuple(map(_probability, given.split(","))))


def _shares_option(meaning: str) -> Any:
    return typer.Option(
        parser=_shares,
        metavar="P[,P,...]",
        help=f"{meaning}; one for all communities, or one for each.",
    )


def _probability(given: str | float) -> float:
    """Read a probability, or a default, which comes as a number."""
    text = str(given).strip()
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise typer.BadParameter(f"{text!r} is no probability; write 0.3 or 30%, from 0 to 1")
    return value


S = TypeVar("S", bound=BaseScenario)


@frozen
class ParameterOptions:
    """The parameters of a community, as the paper calls them; None where nothing was given."""

    c: Annotated[float | None, typer.Option(help="Fan-out beyond ln N (paper: c).")] = None
    g: Annotated[float | None, typer.Option(help="Processes that send upward (paper: g).")] = None
    a: Annotated[float | None, typer.Option(help="Super-processes each sends to (paper: a).")] = (
        None
    )
    z: Annotated[int | None, typer.Option(help="Size of a super-topic table (paper: z).")] = None
    p_sel: Annotated[float | None, probability_option("Fixed p_sel instead of g/N.")] = None
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="paper",
            help="paper: p_a = a/z and the loop as the paper prints them, the membership without"
            " this project's additions, no batches and no repair.",
        ),
    ] = None

    def parameters(self) -> Parameters:
        """Return the parameters that were given, and those of the preset. Raises as `over`."""
        return Parameters(**self._given() | self._of_preset(PRESETS))

    def over(self, before: CommunitySettings, tau: int | None = None) -> CommunitySettings:
        """Return the settings `before` with what was given, and with those of the preset.

        Raises `ValueError` for a value out of range, and `OptionError` for an unknown preset.
        """
        given, values = self._given() | options.given(tau=tau), attrs.asdict(before)
        if "z" in given:
            values.pop("tau")  # its default follows z
        return CommunitySettings(**values | given | self._of_preset(SETTINGS_PRESETS))

    def with_preset(self, scenario: S) -> S:
        """Return a scenario with the preset's parameters and membership, and without repair.

        What the scenario says of the membership itself stays. Raises `OptionError`.
        """
        if self.preset is None:
            return scenario
        backend = find_backend(find_protocol(scenario.protocol).membership or scenario.membership)
        return attrs.evolve(
            scenario,
            parameters=attrs.evolve(scenario.parameters, **self._of_preset(SETTINGS_PRESETS)),
            options={**backend.as_printed, **scenario.options},
            repair=False,  # no paper has it
        )

    def _given(self) -> dict[str, Any]:
        return options.given(c=self.c, g=self.g, a=self.a, z=self.z, p_sel=self.p_sel)

    def _of_preset(self, presets: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        if self.preset not in (None, *presets):
            raise OptionError(f"unknown preset {self.preset!r}; there is: {', '.join(presets)}")
        return dict(presets[self.preset]) if self.preset else {}


PARAMETERS: Final = ParameterOptions()


@frozen
class ProtocolOptions:
    """A protocol and its parameters."""

    protocol: Annotated[
        str | None,
        typer.Option(
            help="camcast (default), or a system that it is compared with: broadcast, multicast,"
            " hierarchical, rfpbcast, pmcast, hpmcast, percolation (docs/protocols.md)."
        ),
    ] = None
    protocol_settings: Annotated[
        list[str] | None,
        typer.Option(
            "--protocol-set",
            metavar="NAME=VALUE",
            help="A parameter of the protocol, e.g. clusters=3 or gamma=0.6. Repeatable.",
        ),
    ] = None

    @property
    def name(self) -> str:
        """The protocol's name; without --protocol it is camcast."""
        return self.protocol or CAMCAST

    def changes(
        self,
        scenario: Scenario | VirtualScenario,
        membership: str | None = None,
        membership_settings: list[str] | None = None,
    ) -> dict[str, Any]:
        """Return what these options and those of the membership change of a scenario.

        The options in a scenario are meant for the protocol and the membership named there. If
        another protocol is given, the scenario's protocol options do not apply; if one of the two
        protocols brings its own membership, neither do the scenario's membership options.
        Raises `OptionError` and `UnknownPlugError`.
        """
        changed = options.given(protocol=self.protocol, membership=membership)
        if self.protocol is not None:
            if self.protocol != scenario.protocol:
                changed["protocol_options"] = {}
            own = find_protocol(self.protocol).membership
            if own != find_protocol(scenario.protocol).membership:
                changed["options"] = {}
        if self.protocol_settings:
            changed["protocol_options"] = self._parameters()
        if membership_settings:
            changed["options"] = options.named_values(membership_settings)
        return changed

    def setting(self, ctx: typer.Context, chain: Setting) -> Any:
        """Return the setting of the protocol's system on a chain of communities.

        Raises `CommandError` for options that the system has no use for, and as
        `System.setting_of`.
        """
        chosen, system = self._parameters(), find_system(self.name)
        with_options = [name for name in SYSTEMS if name != CAMCAST]
        if not system.setting:
            raise CommandError(
                f"{self.name} has no simulator and no model; there are those of camcast"
                f" and {', '.join(with_options)}"
            )
        if chosen and self.name == CAMCAST:
            raise CommandError(f"--protocol-set goes with --protocol {', '.join(with_options)}")
        of_camcast = SYSTEMS[CAMCAST].parameters
        unused = {name: "" for name in of_camcast if name not in system.parameters}
        options.refuse(ctx, unused, f"is no parameter of {self.name}")
        if self.name != CAMCAST:
            chain.refuse_overlaps(f"the setting of {self.name}")
            if chain.weakly_linked:
                raise CommandError(
                    f"{self.name} goes by one --success for all copies; success by community and"
                    " upward are camcast's"
                )
        return system.setting_of(chain, chosen)

    def _parameters(self) -> dict[str, object]:
        return options.named_values(self.protocol_settings, "--protocol-set")


PROTOCOL: Final = ProtocolOptions()


@frozen
class DiscoveryOptions:
    """A discovery and its parameters."""

    discovery: Annotated[str | None, options.option_of(Contacts, "discovery")] = None
    discovery_settings: Annotated[
        list[str] | None, options.option_of(Contacts, "discovery_options")
    ] = None

    def changes(self) -> dict[str, Any]:
        """Return what these options change of a scenario; options are for the discovery named."""
        changed = options.given(discovery=self.discovery)
        if self.discovery is not None or self.discovery_settings:
            given = options.named_values(self.discovery_settings, "--discovery-set")
            changed["discovery_options"] = given
        return changed


DISCOVERY: Final = DiscoveryOptions()


DEFAULTS: Final = Parameters()

Sizes = Annotated[
    str | None,
    typer.Option("--sizes", metavar="N,N,...", help="A chain, bottom first, the root last."),
]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, help="Processes that compute; default: all cores.")
]
Figure = Annotated[
    Path | None,
    typer.Option(
        "--figure",
        metavar="FILE",
        help="Draw the load of a process there: a .svg, .png or .vl.json (Vega-Lite).",
    ),
]


def sizes_of(given: str | None) -> list[int]:
    """Read --sizes; `SettingError` names the part that is no number."""
    if given is None:
        raise SettingError("give --sizes, like --sizes 1000,100,10")
    sizes = []
    for part in given.split(","):
        text = part.strip().replace("_", "")
        if not text.isdecimal():
            raise SettingError(f"--sizes takes numbers like 1000,100,10; {part!r} is none")
        sizes.append(int(text))
    return sizes


def _said(first: float | None, then: float | None) -> float | None:
    return then if first is None else first


@frozen
class WeatherOptions:
    """The faults that copies meet: loss and crashes."""

    topic: Annotated[
        str | None,
        typer.Option(
            metavar="TOPIC",
            help="The topic of the first community, for --parameters; those above it follow."
            " Default: as camcast run --sizes names them, .t1.t2 for three sizes.",
        ),
    ] = None
    success: Annotated[
        Shares | None,
        _shares_option("Probability that a copy arrives (default, and the paper's: 0.85)"),
    ] = None
    success_up: Annotated[
        Shares | None,
        _shares_option("Probability that an upward copy arrives (default: --success)"),
    ] = None
    file: Annotated[
        Path | None,
        typer.Option(
            "--parameters",
            metavar="FILE",
            help="TOML file with parameters by topic, as camcast plan --output writes it; what it"
            " says of a topic overrides the options.",
        ),
    ] = None
    crash: Annotated[float, probability_option("Probability that a process is crashed.")] = 0.0
    weak: Annotated[
        bool, typer.Option("--weak", help="Draw the crash for each copy, not for each process.")
    ] = False

    def setting(self, sizes: str | None, parameters: Parameters = DEFAULTS) -> Setting:
        """Build the setting of a chain with these; `ValueError` names what is wrong."""
        communities = chain(sizes_of(sizes), parameters)
        number, said = len(communities), self.said()
        given = self.success or SUCCESS
        within = given.of(number, "--success")
        up: tuple[float | None, ...] = (None,) * number
        if self.success_up is not None:
            up = self.success_up.of(number, "--success-up")
        weakly = len(given.values) > 1
        own = [
            (value if weakly else None, upward) for value, upward in zip(within, up, strict=True)
        ]
        return Setting(
            communities=tuple(
                attrs.evolve(
                    community,
                    parameters=said.over(topic, community.parameters),
                    success=_said(said.share(topic, "success"), success),
                    success_up=_said(said.share(topic, "success_up"), success_up),
                )
                for community, topic, (success, success_up) in zip(
                    communities, self.topics(number), own, strict=True
                )
            ),
            success=within[0],
            crash=self.crash,
            weak=self.weak,
        )

    def said(self) -> TopicParameters:
        """Return what --parameters says. Raises `TopicParametersError`."""
        return TopicParameters() if self.file is None else TopicParameters.read(self.file)

    def topics(self, number: int) -> list[Topic]:
        """Return the topics of a chain of so many communities, the bottom first.

        Raises `TopicError` and `SettingError`.
        """
        if self.topic is None:
            return list(reversed(topics_of_chain(number)))
        topic = Topic.parse(self.topic)
        if topic.level < number - 1:
            raise SettingError(
                f"--topic {topic} has {topic.level + 1} levels with the root, and --sizes {number}"
            )
        return [topic, *topic.ancestors()][:number]


ScenarioFile = Annotated[
    Path | None,
    typer.Option(
        "--scenario",
        metavar="FILE.toml",
        help="Instead of --sizes: the communities of a scenario file, with any super-topics.",
    ),
]
_IN_THE_FILE: Final = {
    "topic": "the file names its topics",
    "success": "set links.loss in the file, or success in [topics]",
    "success_up": "set success_up in [topics]",
    "crash": "set stillborn in the file",
    "weak": "a file has no such crashes",
}


def setting_of_file(
    ctx: typer.Context, path: Path, given: ParameterOptions, said: TopicParameters
) -> Setting:
    """Read the setting of a scenario file; parameters that were given replace those in the file.

    What is `said` of topics replaces what the file says of them, key by key. Raises `CommandError`
    for options that the file replaces, `TomlError` and `ScenarioError`.
    """
    from camcast.research.scenarios.virtual import VirtualScenario
    from camcast.research.simulation.scenario_setting import setting_of

    options.refuse(ctx, _IN_THE_FILE, "does not go with a scenario file")
    scenario = VirtualScenario.read(path).with_parameters(said)
    return setting_of(attrs.evolve(scenario, parameters=given.over(scenario.parameters)))


@frozen
class SettingOptions:
    """A chain of communities, its parameters, and what happens to copies."""

    sizes: Sizes = None
    parameters: ParameterOptions = PARAMETERS
    weather: WeatherOptions = WeatherOptions()

    def setting(self, ctx: typer.Context, scenario: Path | None = None) -> Setting:
        """Build the setting that the options describe; `ValueError` names what is wrong."""
        if scenario is None:
            return self.weather.setting(self.sizes, self.parameters.parameters())
        if self.sizes is not None:
            raise CommandError("give one of --sizes and a scenario file")
        return setting_of_file(ctx, scenario, self.parameters, self.weather.said())


WEATHER: Final = WeatherOptions()
SETTING: Final = SettingOptions()
