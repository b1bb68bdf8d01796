"""Groups of options that several commands share: a command takes a group as one parameter.

A group is an attrs class whose attributes are annotated as the parameters of a command are, and
whose defaults are those of the options::

    @frozen
    class Listening:
        metrics: options.Metrics = None
        transport: options.Transport = None

    @grouped
    def serve(listening: Listening = Listening()) -> None:
        ...

typer sees ``--metrics`` and ``--transport`` at the place of the parameter. A group may hold groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar, get_type_hints

import attrs

Group = TypeVar("Group", bound=attrs.AttrsInstance)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of its groups in place of the parameters that hold the groups.

    A parameter is a group if its default is an instance of an attrs class, whose values are the
    defaults of the options.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {}
    options: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        if attrs.has(type(parameter.default)):
            groups[parameter.name] = parameter.default
            options += _options(parameter.default)
        else:
            annotated = parameter.replace(
                annotation=hints[parameter.name], kind=Parameter.KEYWORD_ONLY
            )
            options.append(annotated)

    @wraps(command)
    def with_options(**given: Any) -> None:
        held = {name: _taken(group, given) for name, group in groups.items()}
        command(**given, **held)

    with_options.__signature__ = signature(command).replace(  # type: ignore[attr-defined] # PEP 362
        parameters=options, return_annotation=None
    )
    with_options.__annotations__ = {option.name: option.annotation for option in options}
    return with_options


def _options(group: attrs.AttrsInstance) -> Iterator[Parameter]:
    """Yield the options of a group and of the groups that it holds, in their order."""
    hints = get_type_hints(type(group), include_extras=True)
    for name, default in attrs.asdict(group, recurse=False).items():
        if attrs.has(type(default)):
            yield from _options(default)
        else:
            yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[name])


def _taken(group: Group, given: dict[str, Any]) -> Group:
    """Take the options of a group out of those that were given, and return the group with them."""
    values = {
        name: _taken(default, given) if attrs.has(type(default)) else given.pop(name)
        for name, default in attrs.asdict(group, recurse=False).items()
    }
    return type(group)(**values)
