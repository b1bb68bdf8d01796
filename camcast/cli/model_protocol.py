"""``camcast model --protocol``: the systems that CAMCAST is compared with, by their models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs
from rich.table import Table

from camcast.cli.compared_protocol import MEASURES, find_compared
from camcast.cli.output import print_json, wide_console

if TYPE_CHECKING:  # numpy is an extra
    from camcast.settings.setting import Setting

_TABLE_WIDTH: Final = 100  # chosen: a pipe has no width


def model_protocol(
    protocol: str, chosen: Setting, given: Mapping[str, object], *, json: bool
) -> None:
    """Predict an event of a protocol on a setting's processes, and print it.

    Raises as `find_compared` and its system do.
    """
    compared = find_compared(protocol)
    setting = compared.setting(protocol, chosen, given)
    model = compared.predict(setting)
    if json:
        print_json({"protocol": protocol, "setting": attrs.asdict(setting), "model": model})
    else:
        _print(protocol, model, compared.taking_part(setting))


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
    console.print(f"{who}.", highlight=False, soft_wrap=True)
