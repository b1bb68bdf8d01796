"""Options from a file and from the environment, for the commands that run a process.

An option that the command line does not give is looked up in the environment, as ``CAMCAST_`` and
the name of the option, then in the file of ``--config``: ``passphrase-file = "group.pass"`` is
``--passphrase-file group.pass``. One file may serve several commands: a command ignores the options
in it that only others have. No file is read unless it was named, so that the content of a folder
decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from copy import copy
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, Final, get_args

import typer
from typer.core import TyperGroup
from typer.models import OptionInfo

from camcast.cli.failure import clear_failures
from camcast.cli.strict_command import NO_PATH, is_path
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.toml_text import TomlTextError, parse_toml, read_toml

_PREFIX: Final = "CAMCAST_"
_OPTION: Final = "--config"


class ConfigError(CamcastError, ValueError):
    """A file of ``--config`` is wrong; the message names the file, the key and the fault."""


def configured(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that is `grouped` ``--config``, and each of its options a variable."""
    given = signature(command)
    parameters = [one.replace(annotation=_with_variable(one)) for one in given.parameters.values()]
    config = Annotated[
        Path | None,
        typer.Option(
            _OPTION,
            metavar="FILE.toml",
            envvar=_variable(_OPTION),
            is_eager=True,
            callback=_taker({one.name for one in parameters if is_path(one.annotation)}),
            help="Options from a file, for what neither the command line nor the environment says.",
        ),
    ]
    parameters.append(Parameter("config", Parameter.KEYWORD_ONLY, default=None, annotation=config))

    @wraps(command)
    def with_settings(*, config: Path | None, **options: Any) -> None:
        command(**options)  # `take` has made defaults of what the file says

    with_settings.__signature__ = given.replace(parameters=parameters)  # type: ignore[attr-defined] # PEP 362
    with_settings.__annotations__ = {one.name: one.annotation for one in parameters}
    return with_settings


def _with_variable(parameter: Parameter) -> Any:
    """Return the annotation of a parameter; an option's gets its environment variable."""
    kind, *infos = get_args(parameter.annotation)
    if not isinstance(infos[0], OptionInfo):
        return parameter.annotation
    info = copy(infos[0])
    # typer takes the first name for a default, as long as the option stands in an annotation
    named = [one for one in map(str, (info.default, *(info.param_decls or ()))) if one[:2] == "--"]
    info.envvar = _variable(named[0].partition("/")[0] if named else parameter.name)
    return Annotated[kind, info]


def _variable(option: str) -> str:
    return _PREFIX + option.removeprefix("--").replace("-", "_").upper()


def _taker(paths: Set[str]) -> Callable[[typer.Context, Path | None], Path | None]:
    """Return the callback that makes a file's values a command's defaults; `paths` are paths."""

    def take(context: typer.Context, file: Path | None) -> Path | None:
        if file is not None and not context.resilient_parsing:  # which is for completion
            with clear_failures():
                context.default_map = _defaults(context, file, paths)
        return file

    return take


def _defaults(context: typer.Context, file: Path, paths: Set[str]) -> dict[str, Any]:
    try:
        content = parse_toml(read_toml(file))
    except OSError as error:
        raise ConfigError(f"{_OPTION} {file}: {error.strerror}") from None
    except (TomlTextError, UnicodeDecodeError) as error:
        raise ConfigError(f"{_OPTION} {file}: not TOML: {error}") from None
    own = _options(context.command)
    defaults = {}
    for key, value in content.items():
        if (option := own.get(f"--{key}")) is None or f"--{key}" == _OPTION:
            known = own.keys() | _options_elsewhere(context)
            if f"--{key}" not in known or f"--{key}" == _OPTION:
                raise ConfigError(f"{file}: there is no option {key!r}{_meant(key, known)}")
        else:
            base = file.parent if option.name in paths else None
            try:
                defaults[option.name] = _value(context, option, value, base)
            except (ConfigError, typer.BadParameter) as error:
                raise ConfigError(f"{file}: {key}: {error}") from None
    return defaults


def _options_elsewhere(context: typer.Context) -> Set[str]:
    """Return the options of all commands that read a file; one file may serve several."""
    group: Any = context.parent and context.parent.command
    if not isinstance(group, TyperGroup):
        return frozenset()
    commands = (group.get_command(context, name) for name in group.list_commands(context))
    return {name for command in commands if _OPTION in (its := _options(command)) for name in its}


def _options(command: Any) -> dict[str, Any]:
    """Return a command's options by their long names."""
    options = (one for one in command.params if one.param_type_name == "option")
    return {name: one for one in options for name in one.opts if name.startswith("--")}


def _meant(key: str, known: Iterable[str]) -> str:
    names = sorted(name.removeprefix("--") for name in known if name != _OPTION)
    close = get_close_matches(key.replace("_", "-"), names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; there is: {', '.join(names)}"


def _value(context: typer.Context, option: Any, value: Any, base: Path | None) -> Any:
    """Return a file's value as that of an option; its paths are relative to the folder `base`."""
    if option.multiple and isinstance(value, Mapping):  # ``set = {c = 2}`` for ``--set c=2``
        value = [f"{name}={one}" for name, one in value.items()]
    values = value if option.multiple and isinstance(value, list) else [value]
    for one in values:
        if isinstance(one, list | Mapping) or isinstance(one, bool) is not option.is_flag:
            wanted = "true or false" if option.is_flag else "text or a number"
            raise ConfigError(f"it is {wanted}, and not {one!r}")
    if base is not None:
        if not all(str(one).strip() for one in values):
            raise ConfigError(NO_PATH)
        values = [str(base / str(one)) for one in values]
    taken: Any = values if option.multiple else values[0]
    option.process_value(context, taken)
    return taken
