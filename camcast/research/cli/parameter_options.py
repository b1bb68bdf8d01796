"""The options of the paper's parameters, for experiments, simulations and models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeVar

import attrs
import typer
from attrs import frozen

from camcast.cli import options
from camcast.doors.options import OptionError
from camcast.doors.plugs import find_backend, find_protocol
from camcast.research.cli.probability import probability_option
from camcast.research.scenarios.base import BaseScenario
from camcast.vocabulary.parameters import (
    PRESETS,
    SETTINGS_PRESETS,
    CommunitySettings,
    Parameters,
)

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
            " this project's additions, and no batches.",
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
        """Return a scenario with the preset's parameters, and its membership's of that name.

        What the scenario says of the membership itself stays. Raises `OptionError`.
        """
        if self.preset is None:
            return scenario
        backend = find_backend(find_protocol(scenario.protocol).membership or scenario.membership)
        return attrs.evolve(
            scenario,
            parameters=attrs.evolve(scenario.parameters, **self._of_preset(SETTINGS_PRESETS)),
            options={**backend.as_printed, **scenario.options},
        )

    def _given(self) -> dict[str, Any]:
        return options.given(c=self.c, g=self.g, a=self.a, z=self.z, p_sel=self.p_sel)

    def _of_preset(self, presets: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        if self.preset not in (None, *presets):
            raise OptionError(f"unknown preset {self.preset!r}; there is: {', '.join(presets)}")
        return dict(presets[self.preset]) if self.preset else {}


PARAMETERS: Final = ParameterOptions()
