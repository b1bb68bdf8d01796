"""The options that describe a setting, for the commands that simulate, predict and plan one."""

from __future__ import annotations

from typing import Annotated, Final

import typer
from attrs import frozen

from camcast.research.cli.parameter_options import PARAMETERS, ParameterOptions
from camcast.research.cli.probability import probability_option
from camcast.research.systems.camcast.setting import Setting, chain
from camcast.research.systems.setting_base import SettingError
from camcast.vocabulary.parameters import Parameters

DEFAULTS: Final = Parameters()

Sizes = Annotated[
    str | None,
    typer.Option("--sizes", metavar="N,N,...", help="A chain, bottom first, the root last."),
]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, help="Processes that compute; default: all cores.")
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


@frozen
class WeatherOptions:
    """What happens to copies: loss and crashes."""

    success: Annotated[
        float, probability_option("Probability that a copy arrives (paper: 0.85).")
    ] = 0.85  # [CAMCAST 6.1.1]
    crash: Annotated[float, probability_option("Probability that a process is crashed.")] = 0.0
    weak: Annotated[
        bool, typer.Option("--weak", help="Draw the crash for each copy, not for each process.")
    ] = False

    def setting(self, sizes: str | None, parameters: Parameters = DEFAULTS) -> Setting:
        """Build the setting of a chain with these; `ValueError` names what is wrong."""
        communities = chain(sizes_of(sizes), parameters)
        return Setting(
            communities=communities, success=self.success, crash=self.crash, weak=self.weak
        )


@frozen
class SettingOptions:
    """A chain of communities, its parameters, and what happens to copies."""

    sizes: Sizes = None
    parameters: ParameterOptions = PARAMETERS
    weather: WeatherOptions = WeatherOptions()

    def setting(self) -> Setting:
        """Build the setting that the options describe; `ValueError` names what is wrong."""
        return self.weather.setting(self.sizes, self.parameters.parameters())


WEATHER: Final = WeatherOptions()
SETTING: Final = SettingOptions()
