"""What ``--protocol-set`` takes for a baseline on the processes of a setting (000, 4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
from attrs import field, frozen, validators

from camcast.doors.options import build_options

if TYPE_CHECKING:  # numpy is an extra
    from camcast.settings.baselines import Baseline, Protocol
    from camcast.settings.setting import Setting


@frozen
class BaselineOptions:
    """The other arguments of `baseline`.

    It is for the names and kinds; what is not given is left to `baseline`, whose defaults depend
    on the setting.
    """

    published_in: int = 0
    clusters: int = 1
    c2: float = 0.0
    between: float = field(default=1.0, validator=[validators.ge(0.0), validators.le(1.0)])


def baseline_of(protocol: Protocol, chosen: Setting, given: Mapping[str, object]) -> Baseline:
    """Return a baseline on a setting's processes.

    Raises `SettingError`, and `OptionError` for what --protocol-set gives.
    """
    from camcast.settings.baselines import baseline

    options = build_options(BaselineOptions, given, f"protocol {protocol!r}")
    return baseline(protocol, chosen, **{name: getattr(options, name) for name in given})


def predict(setting: Baseline) -> dict[str, Any]:
    """Return what its model says, by measure."""
    from camcast.models.baselines import predict_baseline

    return attrs.asdict(predict_baseline(setting))


def taking_part(setting: Baseline) -> str:
    """Say who takes part, for people."""
    tables = ", ".join(f"{entries:,}" for entries in setting.tables)
    divided = f" in {setting.clusters:,} clusters" if setting.clusters > 1 else ""
    return (
        f"{setting.processes:,} processes take part{divided}, {setting.interested:,} interested;"
        f" table entries a process, by community: {tables}"
    )
