"""The systems that CAMCAST is compared with, on the processes of a setting.

What ``camcast model --protocol`` and ``camcast simulate population --protocol`` have in common: how
--protocol-set is read, what the model says, and how measures are written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen

from camcast.cli import baseline_options, flat_options, hpmcast_options, percolation_options
from camcast.cli.failure import CommandError
from camcast.doors.plugs import find_protocol
from camcast.protocols.hpmcast.spread import Hpmcast
from camcast.protocols.percolation import Percolation
from camcast.settings.baselines import PROTOCOLS as BASELINES

if TYPE_CHECKING:  # numpy is an extra
    from camcast.settings.setting import Setting

MEASURES: Final = {
    "reception": (".3%", "share of the interested that deliver"),
    "reliability": (".2%", "events that all interested deliver"),
    "rounds": (".2f", "until nobody sends any more"),
    "messages": (",.0f", "copies sent"),
    "between": (",.0f", "of these, between clusters"),
    "parasites": (",.1f", "copies that reach the uninterested"),
    "entries": (",.1f", "other processes that one knows"),
}
"""How each is written, and what it is; a system has some of them."""


@frozen
class ComparedProtocol:
    """How a system is read, predicted and described; its settings are its own affair."""

    setting: Callable[[Any, Setting, Mapping[str, object]], Any]
    """(protocol, processes, what --protocol-set gives) -> setting. Raises `SettingError`, and
    `OptionError` for an option that it does not have, or a value out of range."""
    predict: Callable[[Any], dict[str, Any]]
    """What the model says of a setting, by measure. Raises `SettingError` if it is too large."""
    taking_part: Callable[[Any], str]
    """Who takes part, for people."""


_COMPARED: Final = {
    **dict.fromkeys(
        BASELINES,
        ComparedProtocol(
            baseline_options.baseline_of, baseline_options.predict, baseline_options.taking_part
        ),
    ),
    **dict.fromkeys(
        flat_options.FLAT,
        ComparedProtocol(flat_options.flat_of, flat_options.predict, flat_options.taking_part),
    ),
    Hpmcast.name: ComparedProtocol(
        hpmcast_options.hpmcast_of, hpmcast_options.predict, hpmcast_options.taking_part
    ),
    Percolation.name: ComparedProtocol(
        percolation_options.percolation_of,
        percolation_options.predict,
        percolation_options.taking_part,
    ),
}


def find_compared(protocol: str) -> ComparedProtocol:
    """Return the system of this name.

    Raises `UnknownPlugError`, and `CommandError` for CAMCAST, which has no options.
    """
    find_protocol(protocol)
    if protocol not in _COMPARED:
        raise CommandError(f"--protocol-set goes with --protocol {', '.join(_COMPARED)}")
    return _COMPARED[protocol]
