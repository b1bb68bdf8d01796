"""Options of the benchmark suites."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--membership", default="scamp", help="backends to measure, separated by commas"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "membership" in metafunc.fixturenames:
        names = metafunc.config.getoption("--membership").split(",")
        metafunc.parametrize("membership", names, scope="module")
