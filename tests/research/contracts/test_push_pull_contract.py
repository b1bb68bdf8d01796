"""The protocol of examples/push_pull keeps the contract that it asks for in its own tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from camcast.research.testing import ProtocolContract
from tests.library.example_packages import install


@pytest.mark.slow
class TestPushPull(ProtocolContract):
    protocol = "push-pull"

    @pytest.fixture(autouse=True)
    def _site(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        install(tmp_path, "push_pull")
        monkeypatch.syspath_prepend(tmp_path)
