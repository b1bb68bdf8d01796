"""The options that describe a setting, for the commands that simulate, predict and plan one."""

from __future__ import annotations

from typing import Annotated

import typer

from camcast.cli import options
from camcast.cli.probability import probability_option
from camcast.settings.base import SettingError
from camcast.settings.chain import Setting, chain

Sizes = Annotated[
    str | None,
    typer.Option("--sizes", metavar="N,N,...", help="A chain, bottom first, the root last."),
]
Success = Annotated[
    float,
    probability_option(
        "--success",
        "Probability that a copy arrives (paper: 0.85).",
    ),
]
Crash = Annotated[
    float,
    probability_option("--crash", "Probability that a process is crashed."),
]
Weak = Annotated[
    bool, typer.Option("--weak", help="Draw the crash for each copy, not for each process.")
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


def setting(
    sizes: str | None,
    c: float | None,
    g: float | None,
    a: float | None,
    z: int | None,
    p_sel: float | None,
    success: float,
    crash: float,
    *,
    weak: bool,
    preset: str | None = None,
) -> Setting:
    """Build the setting that the options describe; `ValueError` names what is wrong."""
    parameters = options.parameters(c, g, a, z, None, p_sel, preset=preset)
    communities = chain(sizes_of(sizes), parameters)
    return Setting(communities=communities, success=success, crash=crash, weak=weak)
