"""Groups of options that several commands share: a command takes a group as one parameter.

A group is an attrs class whose attributes are annotated as the parameters of a command are, and
whose defaults are those of the options::

    @frozen
    class Listening:
        health: options.Health = None
        json: options.Json = False

    @grouped
    def serve(listening: Listening = Listening()) -> None:
        ...

typer sees ``--health`` and ``--json`` at the place of the parameter. A group may hold groups.

The records of settings (`camcast.app.settings`) are groups, too: the `Option` of a field has its
name and its help. Where a person writes a setting otherwise than a program does, a group of options
stands for the field (`WRITTEN`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, TypeVar, get_origin, get_type_hints

import attrs

from camcast.cli.failure import clear_failures
from camcast.cli.options import KINDS, option_of
from camcast.cli.process_options import WRITTEN

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
        with clear_failures():
            held = {name: _taken(group, given) for name, group in groups.items()}
        command(**given, **held)

    with_options.__signature__ = signature(command).replace(  # type: ignore[attr-defined] # PEP 362
        parameters=options, return_annotation=None
    )
    with_options.__annotations__ = {option.name: option.annotation for option in options}
    return with_options


def of_setting(record: type[Any], name: str, default: Any) -> Parameter:
    """Return the option of a field of a record of settings."""
    hint = get_type_hints(record)[name]
    kind: Any = KINDS.get(name, hint)
    if name in KINDS or default is None:
        kind, default = kind | None, None
    annotation = Annotated[kind, option_of(record, name)]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _options(group: Any) -> Iterator[Parameter]:
    """Yield the options of a group and of the groups that it holds, in their order."""
    hints = get_type_hints(type(group), include_extras=True)
    for one in attrs.fields(type(group)):
        default = getattr(group, one.name)
        if one.name in WRITTEN and one.metadata:
            yield from _options(WRITTEN[one.name])
        elif attrs.has(type(default)):
            yield from _options(default)
        elif one.metadata:
            yield of_setting(type(group), one.name, default)
        elif get_origin(hints[one.name]) is Annotated:
            yield Parameter(
                one.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[one.name]
            )


def _taken(group: Group, given: dict[str, Any]) -> Group:
    """Take the options of a group out of those that were given, and return the group with them."""
    values: dict[str, Any] = {}
    written = {}
    for one in attrs.fields(type(group)):
        default = getattr(group, one.name)
        if one.name in WRITTEN and one.metadata:
            written[one.name] = _taken(WRITTEN[one.name], given)
        elif attrs.has(type(default)):
            values[one.name] = _taken(default, given)
        elif one.name in given:
            found = given.pop(one.name)
            values[one.name] = default if found is None else found
    for name, how in written.items():
        values[name] = how.value(values)
    made: Group = attrs.evolve(group, **values)  # type: ignore[misc]  # whose class is not known
    return made
