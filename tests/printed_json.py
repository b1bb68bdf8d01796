"""What commands print with --json, held against its schema in docs/schemas."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

SCHEMAS = Path(__file__).parents[1] / "docs/schemas"


def checked(printed: Any) -> Any:
    """Hold an object, or each of a list, to its schema; return it without the schema's name."""
    if isinstance(printed, list):
        return [checked(one) for one in printed]
    _validator(printed["schema"]).validate(printed)
    return {key: value for key, value in printed.items() if key != "schema"}


@cache
def _validator(name: str) -> Draft202012Validator:
    schema = json.loads((SCHEMAS / f"{name.replace('/', '-')}.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(_closed(schema))


def _closed(schema: Any) -> Any:
    """Return a schema that refuses keys it does not name; readers have to bear new ones."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(one) for key, one in schema.items()}
    if isinstance(closed.get("properties"), dict) and closed.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed
