"""`--membership=scamp,hybrid`: the contracts of these backends, and of their discoveries, only."""

from __future__ import annotations

from pathlib import Path

import pytest
from plug_options import chosen, discoveries_of


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the contracts of plugs that were not chosen; tests of no plug stay."""
    memberships = chosen(config, "--membership")
    if memberships is None:
        return
    wanted = {"village": memberships, "town": discoveries_of(memberships)}

    def is_chosen(item: pytest.Item) -> bool:
        callspec = getattr(item, "callspec", None)  # of a parametrised test
        if callspec is None or item.path.parent != Path(__file__).parent:
            return True
        return all(callspec.params.get(name, names[0]) in names for name, names in wanted.items())

    kept = [item for item in items if is_chosen(item)]
    if len(kept) < len(items):
        config.hook.pytest_deselected(items=[item for item in items if not is_chosen(item)])
        items[:] = kept
