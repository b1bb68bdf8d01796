"""``camcast simulate percolation``: percolation gossip on an overlay (paper 003)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.table import Table

from camcast.cli import options
from camcast.cli.extras import extras_named
from camcast.cli.failure import clear_failures
from camcast.cli.output import print_json, wide_console
from camcast.cli.setting_options import Workers
from camcast.cli.simulate_setting import shown
from camcast.sweeps import JSON, Cell, ProgressBar, SweepError, sweep
from camcast.workloads.edge_list import load_edges

if TYPE_CHECKING:  # numpy is an extra
    from camcast.population.graphs import Overlay
    from camcast.population.percolation import Corpus

NETWORKS: Final = 20  # [percolation 5.2]
EVENTS: Final = 400  # [percolation 5.2]
_HERE_MAX: Final = 4_000_000  # chosen: nodes times events that take as long as a second process
_TABLE_WIDTH: Final = 120  # chosen: a pipe has no width
_SHOWN: Final = {
    "receivers": "nodes that have the event, publisher included",
    "subscribers": "those of them that subscribe",
    "missed": "subscribers that do not get it",
    "messages": "copies sent",
    "duplicates": "copies to nodes that had it",
    "parasites": "nodes that got it without a subscription",
    "hops": "to the last of them",
}


def percolation(
    degrees: Annotated[
        str,
        typer.Option(
            "--degrees",
            metavar="KIND:...",
            help="The overlay: powerlaw:A,B has e^A/x^B nodes of degree x; poisson:MEAN,NODES; or"
            " file:EDGES, two node numbers a line.",
        ),
    ],
    sigma: Annotated[float, typer.Option("--sigma", help="Probability that a node subscribes.")],
    gamma: Annotated[
        float,
        typer.Option("--gamma", help="Probability that a neighbour who does not is sent a copy."),
    ],
    ttl: Annotated[
        int | None,
        typer.Option("--ttl", min=0, help="Hops from the publisher at most; default: no limit."),
    ] = None,
    networks: Annotated[
        int,
        typer.Option(
            "--networks", min=1, help="Random networks; of a file: random sets of subscribers."
        ),
    ] = NETWORKS,
    events: Annotated[int, typer.Option("--events", min=1, help="Events on each.")] = EVENTS,
    seed: Annotated[int, typer.Option("--seed", help="Of all choices by chance.")] = 1,
    workers: Workers = None,
    json: options.Json = False,
) -> None:
    """Simulate percolation gossip: to all neighbours that subscribe, to others by chance.

    Beside the measured means, with 95 % intervals, stands the model of docs/percolation.md. The
    intervals are of the networks' means; with one network of its events, and for it only.

    Example: camcast simulate percolation --degrees powerlaw:6,1 --sigma 0.1 --gamma 0.6
    """
    with clear_failures(ValueError, SweepError, OSError), extras_named():
        from camcast.population.percolation import TTL_MAX, Gossip, corpus_of, join

        # what is wrong with the options is said here, and not by a worker
        _check_probability("--sigma", sigma)
        _check_probability("--gamma", gamma)
        gossip = Gossip(sigma=sigma, gamma=gamma, ttl=TTL_MAX if ttl is None else ttl)
        overlay = overlay_of(degrees)
        shared: dict[str, JSON] = {
            "degrees": degrees,
            "sigma": sigma,
            "gamma": gamma,
            "ttl": gossip.ttl,
        }
        cells: list[Cell] = [
            shared | {"network": network, "events": events, "seed": seed}
            for network in range(networks)
        ]
        # a small corpus is not worth a second process, which would compile first
        here = overlay.nodes * events * networks <= _HERE_MAX
        with ProgressBar(f"{networks:,} networks") as bar:
            found = sweep(
                simulate_cell, cells, workers=1 if here else workers, on_progress=bar.update
            )
        corpus = join([corpus_of(result) for result in found])
        model = _model(overlay, seed, sigma, gamma)
    if json:
        setting = shared | {"ttl": ttl, "networks": networks, "events": events, "seed": seed}
        figures = {name: corpus.interval(name).as_json() for name in _SHOWN}
        print_json({"setting": setting, "nodes": corpus.nodes, **figures, "model": model})
    else:
        _print(corpus, model)


def overlay_of(degrees: str) -> Overlay:
    """Read --degrees; `ValueError` names what is wrong, with the line of a file."""
    from camcast.population.graphs import GivenLinks, OverlayError, Poisson, PowerLaw

    kind, _, rest = degrees.partition(":")
    if kind == "file" and rest:
        return GivenLinks(load_edges(Path(rest)))
    forms = {"powerlaw": "powerlaw:A,B, like powerlaw:6,1", "poisson": "poisson:MEAN,NODES"}
    if kind not in forms:
        known = ", ".join([*forms.values(), "file:EDGES"])
        raise OverlayError(f"--degrees {degrees!r} is not an overlay; give {known}")
    try:
        first, second = rest.split(",")
        if kind == "powerlaw":
            return PowerLaw(float(first), float(second))
        return Poisson(float(first), int(second))
    except OverlayError as error:
        raise OverlayError(f"--degrees {degrees}: {error}") from None
    except ValueError:
        raise OverlayError(f"--degrees {degrees!r} is not {forms[kind]}") from None


def simulate_cell(given: Cell) -> JSON:
    """Simulate one network; the task of the sweep."""
    from camcast.population.percolation import Gossip, simulate

    cell: Mapping[str, Any] = given
    gossip = Gossip(sigma=cell["sigma"], gamma=cell["gamma"], ttl=cell["ttl"])
    overlay = overlay_of(cell["degrees"])
    return simulate(overlay, gossip, 1, cell["events"], cell["seed"], cell["network"]).as_json()


def _check_probability(option: str, given: float) -> None:
    if not 0 <= given <= 1:
        raise ValueError(f"{option} is a probability from 0 to 1, not {given:g}")


def _model(overlay: Overlay, seed: int, sigma: float, gamma: float) -> dict[str, Any]:
    """Return what the model says, which knows of no TTL."""
    from camcast.models.percolation.reach import (
        coverage,
        degrees_of,
        mean_subscribers_of_the_paper,
        poisson_degrees,
    )
    from camcast.population.graphs import Poisson

    if isinstance(overlay, Poisson):
        law = poisson_degrees(overlay.mean)
    else:
        law = degrees_of(overlay.graph(seed, 0).degrees)  # the same in all networks
    covered = coverage(law, overlay.nodes, sigma, gamma)
    paper = mean_subscribers_of_the_paper(sigma, covered.receivers_infinite)
    percolates = bool(covered.percolates)
    return covered.as_json() | {"subscribers_of_the_paper": None if percolates else paper}


def _print(corpus: Corpus, model: Mapping[str, Any]) -> None:
    table = Table(box=None, pad_edge=False)
    for name, justify in (("", "left"), ("measured", "right"), ("model", "right"), ("", "left")):
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]  # literals
    for name, meaning in _SHOWN.items():
        told = f"{model[name]:,.2f}" if name in model else ""
        table.add_row(name, shown(corpus.interval(name), ",.2f"), told, meaning)
    console = wide_console(_TABLE_WIDTH)
    console.print(table)
    networks, events = corpus.receivers.shape
    console.print(
        f"{corpus.nodes:,} nodes, {networks:,} networks, {events:,} events on each; mean [95 %"
        " interval].",
        _in_words(model),
        sep="\n",
        highlight=False,
        soft_wrap=True,
    )


def _in_words(model: Mapping[str, Any]) -> str:
    least, receivers = model["threshold"], model["receivers_infinite"]
    known = f"Model, without a TTL: Γ = {model['gamma_total']:.4g}; "
    if receivers is not None:
        beyond = "no event percolates" if least is None or least > 1 else f"below {least:.4g}"
        return known + f"{beyond}, so that Equation 17 holds: {receivers:,.2f} receivers."
    return (
        known + f"not below {least:.4g}, so that Equation 17 diverges. An event percolates with"
        f" probability {model['percolates']:.1%} and then reaches {model['reached']:.1%} of the"
        f" nodes, {model['reached_subscribers']:.1%} of the subscribers."
    )
