"""Security of pages: escaping and a policy keep names in the data from becoming markup or script.

Pages are passed on, and opened as files. The policy lets a browser run the one script that the page
was written with, known by its hash, and load nothing: should text ever get past the escaping, it
neither runs nor calls anybody.
"""

from __future__ import annotations

import base64
import hashlib


def embedded_json(text: str) -> str:
    r"""Return JSON as it may stand in a script element: each ``<`` as ``\u003c``.

    Neither ``</script>`` nor ``<!--<script>``, which makes HTML pass over the element's end, can be
    in it.
    """
    return text.replace("<", "\\u003c")


def script_source(script: str) -> str:
    """Return a script, the text of its element, as a source for a policy: its hash."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def policy_element(script: str) -> str:
    """Return the meta element with a policy that allows this script alone, and loads nothing.

    Styles may be in the page, and pictures in ``data:``, as Vega draws them.
    """
    rules = (
        "default-src 'none'",
        f"script-src {script_source(script)}",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}">'
