"""The page of the dashboard: one file, which needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Final

import msgspec

from camcast.dashboard.gathering import Moment

_RECORDING: Final = '<script id="recording" type="application/json">[]</script>'


def page(recording: Sequence[Moment] = ()) -> str:
    """Return the page: live without moments, which it then asks for; else it shows these alone."""
    text = files("camcast.dashboard").joinpath("page.html").read_text("utf-8")
    # A name may hold what ends a script, and JSON can say that otherwise.
    moments = msgspec.json.encode(recording).decode().replace("<", "\\u003c")
    return text.replace(_RECORDING, _RECORDING.replace("[]", moments))
