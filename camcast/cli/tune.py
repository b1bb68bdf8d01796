"""``camcast tune``: other parameters for a community of a running process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from camcast.cli import options
from camcast.cli.failure import clear_failures
from camcast.cli.output import print_json, say
from camcast.live.control_socket import ask
from camcast.vocabulary.messages import UNDECODABLE
from camcast.vocabulary.topics import Topic

_NONE: Final = "none"


def tune(
    socket: Annotated[
        Path, typer.Argument(metavar="SOCKET", help="What the process was given as --control.")
    ],
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="A topic that the process is in.")],
    changes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=VALUE]...",
            help="c, g, a, z, tau, p_sel or as_printed, e.g. g=20; p_sel=none: g/N again.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Change parameters of a community in a running process, which goes by them at once.

    The process neither leaves nor joins, and other processes keep their parameters. Prints the
    parameters of now; without NAME=VALUE nothing is changed. Exit code 1: nobody answers there, or
    the process refuses.
    """
    with clear_failures():
        name = Topic.parse(topic).name
        given = options.named_values(changes, "tune")
        values = {one: _value(str(text)) for one, text in given.items()}
        parameters: Mapping[str, object] = ask(socket, "tune", topic=name, changes=values)
    if json:
        print_json({"topic": name, **parameters}, "tune/1")
    else:
        say(f"{name}: " + " ".join(f"{one}={_text(value)}" for one, value in parameters.items()))


def _value(text: str) -> object:
    """Return a number or a truth value from a text, or the text: the process says what is wrong."""
    if text == _NONE:
        return None
    try:
        return msgspec.json.decode(text)
    except UNDECODABLE:
        return text


def _text(value: object) -> str:
    if value is None:
        return _NONE
    return f"{value:g}" if isinstance(value, float) else str(value).lower()
