"""The options that say where Spark computes, for the commands that use it."""

from __future__ import annotations

from typing import Annotated

import typer

from camcast.doors.options import OptionError

Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="ADDRESS",
        help="Where Spark computes: spark://HOST:PORT, yarn, local[2]; default: here, all cores.",
    ),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(
        "--conf",
        metavar="KEY=VALUE",
        help="A setting of Spark, like spark.driver.memory=6g; may be repeated.",
    ),
]


def conf_of(given: list[str] | None) -> dict[str, str]:
    """Read --conf; raises `OptionError` for what is not ``spark.…=…`` or said twice."""
    settings: dict[str, str] = {}
    for text in given or []:
        key, equals, value = text.partition("=")
        if not equals or not key.startswith("spark."):
            raise OptionError(
                f"--conf takes KEY=VALUE, like spark.driver.memory=6g; {text!r} is not that"
            )
        if key in settings:
            raise OptionError(f"--conf says {key} twice")
        settings[key] = value
    return settings
