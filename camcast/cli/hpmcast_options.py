"""What ``--protocol-set`` takes for hpmcast on the processes of a setting (002, 4 to 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
from attrs import field, frozen, validators

from camcast.cli.group_options import FAN_OUT_MAX, GroupOptions, interested
from camcast.doors.options import build_options
from camcast.protocols.hpmcast.hierarchy import Hierarchy
from camcast.protocols.hpmcast.spread import Hpmcast

if TYPE_CHECKING:  # numpy is an extra
    from camcast.settings.addressed import AddressedSetting
    from camcast.settings.setting import Setting


@frozen(kw_only=True)
class HpmcastOptions(GroupOptions):
    """The defaults are the protocol's."""

    arity: int = Hpmcast().arity
    depth: int = Hpmcast().depth
    redundancy: int = Hpmcast().redundancy
    fan_out: int = field(
        default=Hpmcast().fan_out, validator=[validators.ge(1), validators.le(FAN_OUT_MAX)]
    )


def hpmcast_of(protocol: str, chosen: Setting, given: Mapping[str, object]) -> AddressedSetting:
    """Return hpmcast on a setting's processes.

    Raises `SettingError`, `OptionError` for what --protocol-set gives, and `ValueError` for a
    hierarchy that cannot be.
    """
    from camcast.settings.addressed import AddressedSetting

    options = build_options(HpmcastOptions, given, f"protocol {protocol!r}")
    return AddressedSetting(
        processes=chosen.processes,
        interested=interested(chosen, options.published_in),
        hierarchy=Hierarchy(
            arity=options.arity, depth=options.depth, redundancy=options.redundancy
        ),
        fan_out=options.fan_out,
        loss=1 - chosen.arrival,
        crash=chosen.stillborn,
    )


def predict(setting: AddressedSetting) -> dict[str, Any]:
    """Return what its model says, by measure; raises `SettingError` for too large groups."""
    from camcast.models.hpmcast.addressed import predict_addressed

    return attrs.asdict(predict_addressed(setting))


def taking_part(setting: AddressedSetting) -> str:
    """Say who takes part, for people."""
    tree = setting.hierarchy
    return (
        f"{setting.processes:,} processes take part, {setting.interested:,} interested; by their"
        f" identities they fall into {tree.arity ** (tree.depth - 1):,} groups, each with"
        f" {tree.redundancy} delegates; each process chooses {setting.fan_out} in a round"
    )
