"""Pages from templates: jinja2, which writes nothing unescaped that is not marked as markup."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, StrictUndefined

_ENVIRONMENT = Environment(
    autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)


def fill(package: str, name: str, **values: object) -> str:
    """Return the template `name` that lies in `package`, with its values, escaped.

    Raises `jinja2.UndefinedError` for a value that the template asks for and is not given.
    """
    text = files(package).joinpath(name).read_text("utf-8")
    return _ENVIRONMENT.from_string(text).render(values)
