"""Every public name says what it is, and shows how it is used."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from textwrap import dedent
from typing import Any

import pytest

import camcast

USED = sorted(
    name
    for name in camcast.__all__
    if callable(thing := getattr(camcast, name))
    and not (isinstance(thing, type) and issubclass(thing, BaseException))
)
"""The classes and functions; an error is caught, which docs/api.md has a table for."""


def described(thing: Any) -> str:
    text = inspect.getdoc(thing)
    assert text
    return text


@pytest.mark.parametrize("name", USED)
def test_a_public_name_has_an_example_that_is_python(name: str) -> None:
    text = described(getattr(camcast, name))
    assert "\nExample:\n" in text
    shown = text.partition("\nExample:\n")[2]
    if "::\n" in shown:
        body = dedent(shown.partition("::\n")[2])
        ast.parse("async def example():\n" + re.sub("^", "    ", body, flags=re.M))
    elif ">>>" in shown:
        namespace = {one: getattr(camcast, one) for one in camcast.__all__}
        examples = doctest.DocTestParser().get_doctest(dedent(shown), namespace, name, None, 0)
        assert doctest.DocTestRunner(verbose=False).run(examples).failed == 0


CALLS = [
    *(camcast.Parameters, camcast.CommunitySettings, camcast.open_pipes, camcast.topic),
    *(camcast.Community.join, camcast.Community.ready, camcast.Community.subscribe),
    camcast.Community.publish,
]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__qualname__)
def test_what_users_call_describes_each_argument(call: Any) -> None:
    taken = set(inspect.signature(call).parameters) - {"self"}
    if call is camcast.CommunitySettings:
        taken -= set(inspect.signature(camcast.Parameters).parameters)  # which stand there
    listed = re.findall(r"^    (\w+): ", described(call).partition("Args:\n")[2], re.M)
    assert set(listed) >= taken
