"""The contract of --json: every command names a schema, and the schemas are those of the classes.

That what is printed follows its schema is tested where the commands are (`tests.printed_json`).
"""

import ast
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from jsonschema import ValidationError

from tests.printed_json import checked

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def made() -> ModuleType:
    spec = importlib.util.spec_from_file_location("json_schemas", ROOT / "docs/json_schemas.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_schemas_of_the_documentation_are_those_of_the_classes(made: ModuleType) -> None:
    """If not: ``python docs/json_schemas.py``."""
    kept = {path: path.read_text() for path in made.FOLDER.glob("*")}
    assert kept == {made.file_of(name): made.text_of(name) for name in made.SCHEMAS}


def test_every_printed_schema_is_documented_and_every_documented_one_is_printed(
    made: ModuleType,
) -> None:
    calls = [
        node
        for folder in ("camcast/cli", "camcast/research/cli")
        for path in (ROOT / folder).glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print_json"
    ]
    printed = {ast.literal_eval(call.args[1]) for call in calls}
    assert printed == set(made.SCHEMAS)
    page = (ROOT / "docs/formats.md").read_text()
    linked = re.findall(r"\[camcast\.([\w/-]+)\]\(schemas/([\w.-]+)\)", page)
    assert {name: made.FOLDER / file for name, file in linked} == {
        name: made.file_of(name) for name in made.SCHEMAS
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"schema": "camcast.gateway/1"},
        {"schema": "camcast.gateway/1", "address": 7000},
        {"schema": "camcast.gateway/1", "address": "tcp://127.0.0.1:1", "more": 1},
        {"schema": "camcast.subscribe/1", "topic": ".a", "id": "1", "hops": 1},
    ],
)
def test_what_does_not_follow_its_schema_is_noticed(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        checked(wrong)
