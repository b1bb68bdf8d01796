"""What ``--protocol-set`` takes for percolation gossip on the processes of a setting (003)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
from attrs import field, frozen, validators

from camcast.cli.group_options import GroupOptions, interested
from camcast.doors.options import build_options
from camcast.protocols.percolation import Percolation
from camcast.settings.scamp_graph import C_MAX

if TYPE_CHECKING:  # numpy is an extra
    from camcast.settings.scamp_graph import ScampOverlay
    from camcast.settings.setting import Setting


@frozen(kw_only=True)
class PercolationOptions(GroupOptions):
    """The default of `gamma` is the protocol's."""

    gamma: float = field(
        default=Percolation().gamma, validator=[validators.ge(0), validators.le(1)]
    )
    c: int = field(
        default=2, validator=[validators.ge(0), validators.le(C_MAX)]
    )  # [membership.scamp]
    """Of SCAMP, whose tables are the overlay: a view has (c+1) ln n processes."""


def percolation_of(protocol: str, chosen: Setting, given: Mapping[str, object]) -> ScampOverlay:
    """Return percolation gossip on a setting's processes.

    Raises `SettingError`, and `OptionError` for what --protocol-set gives.
    """
    from camcast.settings.scamp_graph import ScampOverlay

    options = build_options(PercolationOptions, given, f"protocol {protocol!r}")
    return ScampOverlay(
        processes=chosen.processes,
        interested=interested(chosen, options.published_in),
        gamma=options.gamma,
        c=options.c,
        loss=1 - chosen.arrival,
        crash=chosen.stillborn,
    )


def predict(setting: ScampOverlay) -> dict[str, Any]:
    """Return what its model says, by measure."""
    from camcast.models.percolation.scamp_graph import predict_on_scamp

    predicted = predict_on_scamp(setting)
    return attrs.asdict(predicted) | {"coverage": predicted.coverage.as_json()}


def taking_part(setting: ScampOverlay) -> str:
    """Say who takes part, and by which equations the model is, for people."""
    from camcast.models.percolation.scamp_graph import predict_on_scamp

    which = predict_on_scamp(setting).in_words().removesuffix(".")
    return (
        f"{setting.processes:,} processes take part, {setting.interested:,} interested, on the"
        f" overlay of SCAMP with c = {setting.c}. {which}"
    )
