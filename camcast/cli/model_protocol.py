"""``camcast model --protocol``: the systems that CAMCAST is compared with, by their models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs
from attrs import field, frozen, validators
from rich.table import Table

from camcast.cli.baseline_options import MEASURES, baseline_of, taking_part
from camcast.cli.failure import CommandError
from camcast.cli.output import print_json, wide_console
from camcast.doors import build_options
from camcast.protocols.catalogue import find_protocol
from camcast.protocols.pmcast import Pmcast
from camcast.protocols.rfpbcast import Rfpbcast
from camcast.simulation.baselines_setting import PROTOCOLS as BASELINES
from camcast.simulation.baselines_setting import interested_in

if TYPE_CHECKING:  # numpy is an extra
    from camcast.simulation.pmcast import FlatSetting
    from camcast.simulation.setting import Setting

_TABLE_WIDTH: Final = 100  # chosen: a pipe has no width
_FLAT: Final = {protocol.name: protocol for protocol in (Rfpbcast(), Pmcast())}
_ELSEWHERE: Final = {
    "hpmcast": "camcast simulate hpmcast",
    "percolation": "camcast simulate percolation",
}
"""Whose processes are not a setting's: the command that prints the model beside its simulation."""


@frozen(kw_only=True)
class FlatOptions:
    """What ``--protocol-set`` takes for rfpbcast and pmcast; the defaults are the protocols'."""

    published_in: int = field(default=0, validator=validators.ge(0))
    fan_out: int = field(validator=validators.ge(1))
    constant: float = field(validator=validators.ge(0))
    """c + O(1) of Equations 5 and 9, in rounds."""


def model_protocol(
    protocol: str, chosen: Setting, given: Mapping[str, object], *, json: bool
) -> None:
    """Predict an event of a protocol on a setting's processes, and print it.

    Raises `UnknownPlugError`, `CommandError` for a protocol whose model is elsewhere,
    `SettingError`, and `OptionError` for what --protocol-set gives.
    """
    find_protocol(protocol)
    if protocol in _ELSEWHERE:
        raise CommandError(
            f"{protocol} has no communities to give --sizes of; its model is printed by"
            f" `{_ELSEWHERE[protocol]}`"
        )
    if protocol in _FLAT:
        from camcast.models.flat import predict_flat

        flat = _flat(protocol, chosen, given)
        setting, model = attrs.asdict(flat), attrs.asdict(predict_flat(flat))
        who = (
            f"{flat.processes:,} processes take part, {flat.interested:,} interested; each chooses"
            f" {flat.fan_out} in each of {flat.rounds} rounds."
        )
    elif protocol in BASELINES:
        from camcast.models.baselines import predict_baseline

        divided = baseline_of(protocol, chosen, given)
        setting, model = attrs.asdict(divided), attrs.asdict(predict_baseline(divided))
        who = f"{taking_part(divided)}."
    else:
        raise CommandError(f"--protocol-set goes with --protocol {', '.join((*BASELINES, *_FLAT))}")
    if json:
        print_json({"protocol": protocol, "setting": setting, "model": model})
    else:
        _print(protocol, model, who)


def _flat(protocol: str, chosen: Setting, given: Mapping[str, object]) -> FlatSetting:
    from camcast.models.flat import gossip_rounds
    from camcast.simulation.pmcast import FlatSetting
    from camcast.simulation.setting import SettingError

    ours = _FLAT[protocol]
    defaults = {"fan_out": ours.fan_out, "constant": ours.constant}
    options = build_options(FlatOptions, defaults | dict(given), f"protocol {protocol!r}")
    communities = chosen.communities
    if options.published_in >= len(communities):
        raise SettingError(
            f"published in community {options.published_in}; there are {len(communities)}, from 0"
            " on"
        )
    concerned = interested_in(communities, options.published_in)
    interested = sum(communities[at].size for at in concerned)
    filters = protocol == Pmcast.name
    rounds = gossip_rounds(
        chosen.processes, interested, options.fan_out, options.constant, sender_filters=filters
    )
    return FlatSetting(
        processes=chosen.processes,
        interested=interested,
        fan_out=options.fan_out,
        rounds=rounds,
        sender_filters=filters,
        loss=1 - chosen.arrival,
        crash=chosen.stillborn,
    )


def _print(protocol: str, model: Mapping[str, Any], who: str) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column(protocol, no_wrap=True)
    table.add_column("model", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name, (form, meaning) in MEASURES.items():
        if name in model:
            told = model[name]
            table.add_row(name, "-" if told is None else format(told, form), meaning)
    console = wide_console(_TABLE_WIDTH)
    console.print(table)
    console.print(who, highlight=False, soft_wrap=True)
