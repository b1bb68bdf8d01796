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
from camcast.protocols.hpmcast import Hpmcast
from camcast.protocols.hpmcast_hierarchy import Hierarchy
from camcast.protocols.percolation import Percolation
from camcast.protocols.pmcast import Pmcast
from camcast.protocols.rfpbcast import Rfpbcast
from camcast.simulation.baselines_setting import PROTOCOLS as BASELINES
from camcast.simulation.baselines_setting import interested_in

if TYPE_CHECKING:  # numpy is an extra
    from camcast.models.hpmcast_urns import AddressedSetting
    from camcast.models.percolation_scamp import ScampOverlay
    from camcast.simulation.pmcast import FlatSetting
    from camcast.simulation.setting import Setting

_TABLE_WIDTH: Final = 100  # chosen: a pipe has no width
_FLAT: Final = {protocol.name: protocol for protocol in (Rfpbcast(), Pmcast())}
_OF_PROTOCOLS: Final = (*BASELINES, *_FLAT, Hpmcast.name, Percolation.name)
_MEASURES: Final = MEASURES | {"entries": (",.1f", "other processes that one knows")}


@frozen(kw_only=True)
class PublishedIn:
    """What ``--protocol-set`` takes for all of them."""

    published_in: int = field(default=0, validator=validators.ge(0))


@frozen(kw_only=True)
class FlatOptions(PublishedIn):
    """What ``--protocol-set`` takes for rfpbcast and pmcast; the defaults are the protocols'."""

    fan_out: int = field(validator=validators.ge(1))
    constant: float = field(validator=validators.ge(0))
    """c + O(1) of Equations 5 and 9, in rounds."""


@frozen(kw_only=True)
class HpmcastOptions(PublishedIn):
    """What it takes for hpmcast; the defaults are the protocol's."""

    arity: int = Hpmcast().arity
    depth: int = Hpmcast().depth
    redundancy: int = Hpmcast().redundancy
    fan_out: int = field(default=Hpmcast().fan_out, validator=validators.ge(1))


@frozen(kw_only=True)
class PercolationOptions(PublishedIn):
    """What it takes for percolation gossip; the default of `gamma` is the protocol's."""

    gamma: float = field(
        default=Percolation().gamma, validator=[validators.ge(0), validators.le(1)]
    )
    c: int = field(default=2, validator=validators.ge(0))  # [SCAMP] as membership.scamp has it
    """Of SCAMP, whose tables are the overlay: a view has (c+1) ln n processes."""


def model_protocol(
    protocol: str, chosen: Setting, given: Mapping[str, object], *, json: bool
) -> None:
    """Predict an event of a protocol on a setting's processes, and print it.

    Raises `UnknownPlugError`, `SettingError`, `CommandError` for CAMCAST, which has no options,
    and `OptionError` for what --protocol-set gives.
    """
    find_protocol(protocol)
    setting: dict[str, Any]
    model: dict[str, Any]
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
    elif protocol == Hpmcast.name:
        from camcast.models.hpmcast_addressed import predict_addressed

        addressed = _addressed(chosen, given)
        tree = addressed.hierarchy
        setting, model = attrs.asdict(addressed), attrs.asdict(predict_addressed(addressed))
        who = (
            f"{addressed.processes:,} processes take part, {addressed.interested:,} interested; by"
            f" their identities they fall into {tree.arity ** (tree.depth - 1):,} groups, each with"
            f" {tree.redundancy} delegates; each process chooses {addressed.fan_out} in a round."
        )
    elif protocol == Percolation.name:
        from camcast.models.percolation_scamp import predict_on_scamp

        overlay = _overlay(chosen, given)
        predicted = predict_on_scamp(overlay)
        setting = attrs.asdict(overlay)
        model = attrs.asdict(predicted) | {"coverage": predicted.coverage.as_json()}
        who = (
            f"{overlay.processes:,} processes take part, {overlay.interested:,} interested, on the"
            f" overlay of SCAMP with c = {overlay.c}. {predicted.in_words()}"
        )
    else:
        raise CommandError(f"--protocol-set goes with --protocol {', '.join(_OF_PROTOCOLS)}")
    if json:
        print_json({"protocol": protocol, "setting": setting, "model": model})
    else:
        _print(protocol, model, who)


def _flat(protocol: str, chosen: Setting, given: Mapping[str, object]) -> FlatSetting:
    from camcast.models.flat import gossip_rounds
    from camcast.simulation.pmcast import FlatSetting

    ours = _FLAT[protocol]
    defaults = {"fan_out": ours.fan_out, "constant": ours.constant}
    options = build_options(FlatOptions, defaults | dict(given), f"protocol {protocol!r}")
    interested = _interested(chosen, options.published_in)
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


def _addressed(chosen: Setting, given: Mapping[str, object]) -> AddressedSetting:
    from camcast.models.hpmcast_urns import AddressedSetting

    options = build_options(HpmcastOptions, given, f"protocol {Hpmcast.name!r}")
    return AddressedSetting(
        processes=chosen.processes,
        interested=_interested(chosen, options.published_in),
        hierarchy=Hierarchy(
            arity=options.arity, depth=options.depth, redundancy=options.redundancy
        ),
        fan_out=options.fan_out,
        loss=1 - chosen.arrival,
        crash=chosen.stillborn,
    )


def _overlay(chosen: Setting, given: Mapping[str, object]) -> ScampOverlay:
    from camcast.models.percolation_scamp import ScampOverlay

    options = build_options(PercolationOptions, given, f"protocol {Percolation.name!r}")
    return ScampOverlay(
        processes=chosen.processes,
        interested=_interested(chosen, options.published_in),
        gamma=options.gamma,
        c=options.c,
        loss=1 - chosen.arrival,
        crash=chosen.stillborn,
    )


def _interested(chosen: Setting, published_in: int) -> int:
    """Return how many processes want what is published in a community."""
    from camcast.simulation.setting import SettingError

    communities = chosen.communities
    if published_in >= len(communities):
        raise SettingError(
            f"published in community {published_in}; there are {len(communities)}, from 0 on"
        )
    return sum(communities[at].size for at in interested_in(communities, published_in))


def _print(protocol: str, model: Mapping[str, Any], who: str) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column(protocol, no_wrap=True)
    table.add_column("model", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name, (form, meaning) in _MEASURES.items():
        if name in model:
            told = model[name]
            table.add_row(name, "-" if told is None else format(told, form), meaning)
    console = wide_console(_TABLE_WIDTH)
    console.print(table)
    console.print(who, highlight=False, soft_wrap=True)
