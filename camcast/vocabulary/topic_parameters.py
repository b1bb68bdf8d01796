"""Parameters by topic, and the TOML file in which people and ``camcast plan`` write them.

A file has a table for each topic that differs from those above it::

    [topics."."]
    c = 4.7

    [topics.".soccer"]
    g = 20
    z = 5
    success = 0.9
    success_up = 0.6

A topic inherits what its table does not say from the topics above it, by its name; what none of
them says, is as it is without a file. The keys are those of `Parameters`, and the two of
`OF_COPIES`: what share of copies arrives, within the community of the topic and on the way up from
it (000, 4.3.1: "weakly interconnected communities"). Models, simulators and ``plan`` go by these
two; a live process has the network that it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import attrs
from attrs import Factory, field, frozen

from camcast.vocabulary.arguments import check_finite
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.parameters import CommunitySettings, Parameters
from camcast.vocabulary.toml_text import TomlTextError, find_lines, parse_toml, read_toml
from camcast.vocabulary.topics import Topic, TopicError

OF_COPIES: Final = ("success", "success_up")
"""The shares of copies that arrive, within the community of a topic and upward from it."""
KEYS: Final = (*attrs.fields_dict(Parameters), *OF_COPIES)
"""What may be said of a topic."""

_TABLE: Final = "topics"
_LARGEST_Z: Final = 1000  # [camcast.vocabulary.parameters] so that τ is judged alone

P = TypeVar("P", bound=Parameters)


class TopicParametersError(CamcastError, ValueError):
    """Parameters by topic are wrong; the message names the file, the line, the topic and the key.

    `topic` and `key` are where the fault is; an empty key is the topic's table itself.
    """

    def __init__(self, message: str, topic: str = "", key: str = "") -> None:
        super().__init__(message)
        self.topic, self.key = topic, key


def _checked(said: Mapping[Topic, Mapping[str, Any]]) -> dict[Topic, dict[str, Any]]:
    return {topic: dict(_values(topic, values)) for topic, values in said.items()}


def _values(topic: Topic, values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what is said of a topic, each value by itself checked."""
    for key, value in values.items():
        try:
            if key not in KEYS:
                raise ValueError(f"there is no parameter {key!r}; there is: {', '.join(KEYS)}")
            if isinstance(value, bool) is not (key == "as_printed"):
                wanted = "True or False" if key == "as_printed" else "a number"
                raise TypeError(f"{key} is {wanted}, and not {value!r}")
            if key in OF_COPIES:
                check_finite(key, value)
                if not 0 <= value <= 1:
                    raise ValueError(f"{key} is a probability from 0 to 1, and not {value}")
            elif key == "tau":
                Parameters(z=_LARGEST_Z, tau=value)
            else:
                Parameters(**{key: value})
        except (TypeError, ValueError) as error:
            raise TopicParametersError(str(error.args[0]), topic.name, key) from None
        yield key, value


@frozen
class TopicParameters:
    """What is said of topics. Raises `TopicParametersError`.

    Args:
        said: The values by topic and key, those of `KEYS`.
    """

    said: Mapping[Topic, Mapping[str, Any]] = field(default=Factory(dict), converter=_checked)

    def __attrs_post_init__(self) -> None:
        for topic in self.said:
            self.over(topic, CommunitySettings())

    def over(self, topic: Topic, before: P) -> P:
        """Return the parameters of a topic, where `before` are those without anything said.

        Raises `TopicParametersError` if what is said does not go with the rest.
        """
        if not self.said:  # mostly
            return before
        for level in _from_the_root(topic):
            values = self.said.get(level, {})
            changes = {key: value for key, value in values.items() if key not in OF_COPIES}
            try:
                before = before.with_changes(changes)
            except ValueError as error:
                raise TopicParametersError(str(error), level.name, "tau") from None
        return before

    def share(self, topic: Topic, key: str) -> float | None:
        """Return one of `OF_COPIES` of a topic; None where nothing is said."""
        found: float | None = None
        for level in _from_the_root(topic):
            found = self.said.get(level, {}).get(key, found)
        return found

    @property
    def of_copies(self) -> bool:
        """Whether anything is said of copies (`OF_COPIES`)."""
        return any(key in values for values in self.said.values() for key in OF_COPIES)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file; `TopicParametersError` names the file, and where it can the line."""
        try:
            text = read_toml(path)
            content = parse_toml(text)
        except OSError as error:
            raise TopicParametersError(f"{path}: {error.strerror}") from None
        except (TomlTextError, UnicodeDecodeError) as error:
            raise TopicParametersError(f"{path}: not TOML: {error}") from None
        lines = find_lines(text)

        def fault(message: str, *at: str) -> TopicParametersError:
            places = [(at[:-1], 0, at[-1]), (at, 0, ""), (at[:-1], 0, "")]
            line = next((f":{lines[place]}" for place in places if place in lines), "")
            where = "".join(f" {part}:" for part in at if part != _TABLE)
            return TopicParametersError(f"{path}{line}:{where} {message}", *at[1:])

        for key in content:
            if key != _TABLE:
                raise fault('it is no table of a topic, which is written as [topics.".a"]', key)
        tables = content.get(_TABLE, {})
        if not isinstance(tables, Mapping):
            raise fault('it is no table of a topic, which is written as [topics.".a"]', _TABLE)
        said: dict[Topic, Mapping[str, Any]] = {}
        for name, values in tables.items():
            try:
                topic = Topic.parse(name)
            except TopicError as error:
                raise fault(str(error), _TABLE, name) from None
            if not isinstance(values, Mapping):
                raise fault(f'it is a table, written as [topics."{name}"]', _TABLE, name)
            said[topic] = values
        try:
            return cls(said)
        except TopicParametersError as error:
            raise fault(str(error), _TABLE, error.topic, error.key) from None

    def as_toml(self) -> str:
        """Return the text of a file that says the same."""
        tables = []
        for topic, values in self.said.items():
            lines = (f"{key} = {_toml(value)}" for key, value in values.items())
            tables.append("\n".join([f'[{_TABLE}."{topic}"]', *lines]))
        return "\n\n".join(tables) + "\n" if tables else ""


def _from_the_root(topic: Topic) -> Iterator[Topic]:
    """Yield a topic and those above it by name, the root first."""
    return (Topic(topic.levels[:depth]) for depth in range(topic.level + 1))


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)
