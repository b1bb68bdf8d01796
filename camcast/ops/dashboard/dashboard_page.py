"""The page of the dashboard: one file, which needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Final

import msgspec

from camcast.ops.dashboard.gathering import Moment
from camcast.ops.page_security import embedded_json, script_source

_SCRIPT_SOURCE: Final = "'sha256-of-the-script'"
_RECORDING: Final = '<script id="recording" type="application/json">[]</script>'


def page(recording: Sequence[Moment | msgspec.Raw] = ()) -> str:
    """Return the page: live without moments, which it then asks for; else it shows these alone."""
    text = files("camcast.ops.dashboard").joinpath("page.html").read_text("utf-8")
    script = text.partition("<script>")[2].partition("</script>")[0]
    moments = embedded_json(msgspec.json.encode(recording).decode())
    return text.replace(_SCRIPT_SOURCE, script_source(script)).replace(
        _RECORDING, _RECORDING.replace("[]", moments)
    )
