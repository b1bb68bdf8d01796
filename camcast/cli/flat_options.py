"""What ``--protocol-set`` takes for rfpbcast and pmcast on the processes of a setting (002, 2)."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Any, Final

import attrs
from attrs import field, frozen, validators

from camcast.cli.group_options import FAN_OUT_MAX, GroupOptions, interested
from camcast.doors.options import build_options
from camcast.protocols.pmcast import Pmcast
from camcast.protocols.rfpbcast import Rfpbcast

if TYPE_CHECKING:  # numpy is an extra
    from camcast.population.flat import FlatSetting
    from camcast.settings.setting import Setting

_FLAT: Final = {protocol.name: protocol for protocol in (Rfpbcast(), Pmcast())}
FLAT: Final = tuple(_FLAT)


@frozen(kw_only=True)
class FlatOptions(GroupOptions):
    """The defaults are the protocols'."""

    fan_out: int = field(validator=[validators.ge(1), validators.le(FAN_OUT_MAX)])
    constant: float = field(validator=[validators.ge(0.0), validators.lt(inf)])
    """c + O(1) of Equations 5 and 9, in rounds."""


def flat_of(protocol: str, chosen: Setting, given: Mapping[str, object]) -> FlatSetting:
    """Return one of the two on a setting's processes.

    Raises `SettingError`, and `OptionError` for what --protocol-set gives.
    """
    from camcast.models.flat import gossip_rounds
    from camcast.population.flat import FlatSetting

    ours = _FLAT[protocol]
    defaults = {"fan_out": ours.fan_out, "constant": ours.constant}
    options = build_options(FlatOptions, defaults | dict(given), f"protocol {protocol!r}")
    wanting = interested(chosen, options.published_in)
    filters = protocol == Pmcast.name
    rounds = gossip_rounds(
        chosen.processes, wanting, options.fan_out, options.constant, sender_filters=filters
    )
    return FlatSetting(
        processes=chosen.processes,
        interested=wanting,
        fan_out=options.fan_out,
        rounds=rounds,
        sender_filters=filters,
        loss=1 - chosen.arrival,
        crash=chosen.stillborn,
    )


def predict(setting: FlatSetting) -> dict[str, Any]:
    """Return what its model says, by measure; raises `SettingError` for too many processes."""
    from camcast.models.flat import predict_flat

    return attrs.asdict(predict_flat(setting))


def taking_part(setting: FlatSetting) -> str:
    """Say who takes part, for people."""
    return (
        f"{setting.processes:,} processes take part, {setting.interested:,} interested; each"
        f" chooses {setting.fan_out} in each of {setting.rounds} rounds"
    )
