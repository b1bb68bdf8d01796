"""``camcast simulate percolation``: percolation gossip on an overlay (paper 003)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from camcast.cli import options
from camcast.cli.extras import extras_named
from camcast.cli.failure import clear_failures
from camcast.cli.output import print_json
from camcast.research.cli.simulated import compute, load_figure, print_measures
from camcast.research.cli.system_options import Figure, Workers, probability_option
from camcast.research.models.distributions import REACH
from camcast.research.sweeps import JSON, Cell
from camcast.research.systems.registry import runs_in_cells
from camcast.research.workloads.edge_list import load_edges

if TYPE_CHECKING:  # numpy is an extra
    from camcast.research.systems.percolation.graphs import Overlay

NETWORKS: Final = 20  # [percolation 5.2]
EVENTS: Final = 400  # [percolation 5.2]
CELL_NODES: Final = 4_000_000  # chosen: nodes times events of a cell, a second of work
_SHOWN: Final = (
    *("receivers", "subscribers", "missed", "reach_p5", "reaches_90", "messages"),
    *("duplicates", "parasites", "hops"),
    *("load_sent_p50", "load_sent_peak", "load_sent_hubs"),
    *("load_received_p50", "load_received_peak"),
)


def percolation(
    degrees: Annotated[
        str,
        typer.Option(
            metavar="KIND:...",
            help="The overlay: powerlaw:A,B has e^A/x^B nodes of degree x; poisson:MEAN,NODES; or"
            " file:EDGES, two node numbers a line.",
        ),
    ],
    sigma: Annotated[float, probability_option("Probability that a node subscribes.")],
    gamma: Annotated[
        float,
        probability_option("Probability that a neighbour without a subscription is sent a copy."),
    ],
    ttl: Annotated[
        int | None, typer.Option(min=0, help="Hops from the publisher at most; default: no limit.")
    ] = None,
    networks: Annotated[
        int, typer.Option(min=1, help="Random networks; with a file: random sets of subscribers.")
    ] = NETWORKS,
    events: Annotated[int, typer.Option(min=1, help="Events on each network.")] = EVENTS,
    seed: Annotated[int, typer.Option(help="Seed of all random choices.")] = 1,
    workers: Workers = None,
    figure: Figure = None,
    json: options.Json = False,
) -> None:
    """Simulate percolation gossip: to all neighbours that subscribe, to others by chance.

    Beside the measured means, with 95 % intervals, stands the model of docs/research/models.md. The
    intervals are of the networks' means; with one network of its events, and for it only.
    """
    with clear_failures(ValueError, OSError), extras_named(), load_figure(figure) as draw:
        from camcast.research.systems.percolation.graph_population import (
            TTL_MAX,
            Gossip,
            corpus_of,
            join,
        )

        gossip = Gossip(sigma=sigma, gamma=gamma, ttl=TTL_MAX if ttl is None else ttl)
        overlay = overlay_of(degrees)
        shared: dict[str, JSON] = {
            "degrees": degrees,
            "sigma": sigma,
            "gamma": gamma,
            "ttl": gossip.ttl,
        }
        cells = runs_in_cells(
            shared | {"events": events}, networks, seed, CELL_NODES // (overlay.nodes * events)
        )
        found = compute(simulate_cell, cells, f"{networks:,} networks", workers)
        corpus = join([corpus_of(result) for result in found])
        model = _model(overlay, seed, sigma, gamma)
        names = dict.fromkeys((*_SHOWN, *REACH, *corpus.loads))
        measured = {name: corpus.interval(name) for name in names}
        figures = {name: interval.as_json() for name, interval in measured.items()}
        draw({"": figures}, f"percolation, {corpus.nodes:,} nodes, {networks:,} networks")
    if json:
        setting = shared | {"ttl": ttl, "networks": networks, "events": events, "seed": seed}
        print_json(
            {"setting": setting, "nodes": corpus.nodes, **figures, "model": model},
            "simulate-percolation/1",
        )
    else:
        about = (
            f"{corpus.nodes:,} nodes, {networks:,} networks, {events:,} events on each; mean"
            " [95 % interval]."
        )
        print_measures("", _SHOWN, model, measured, about, _in_words(model))


def overlay_of(degrees: str) -> Overlay:
    """Read --degrees; `ValueError` names what is wrong, with the line of a file."""
    from camcast.research.systems.percolation.graphs import (
        GivenLinks,
        OverlayError,
        Poisson,
        PowerLaw,
    )

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
    """Simulate some networks; the task of the sweep."""
    from camcast.research.systems.percolation.graph_population import Gossip, simulate

    cell: Mapping[str, Any] = given
    gossip = Gossip(sigma=cell["sigma"], gamma=cell["gamma"], ttl=cell["ttl"])
    overlay = overlay_of(cell["degrees"])
    which = (cell["runs"], cell["events"], cell["seed"], cell["first_run"])
    return simulate(overlay, gossip, *which).as_json()


def _model(overlay: Overlay, seed: int, sigma: float, gamma: float) -> dict[str, Any]:
    """Return what the model says, which knows of no TTL."""
    from camcast.research.systems.percolation.graphs import Poisson
    from camcast.research.systems.percolation.percolation_reach import (
        coverage,
        degrees_of,
        mean_subscribers_of_the_paper,
        poisson_degrees,
    )

    if isinstance(overlay, Poisson):
        law = poisson_degrees(overlay.mean)
    else:
        law = degrees_of(overlay.graph(seed, 0).degrees)  # the same in all networks
    covered = coverage(law, overlay.nodes, sigma, gamma)
    paper = mean_subscribers_of_the_paper(sigma, covered.receivers_infinite)
    percolates = bool(covered.percolates)
    return covered.as_json() | {"subscribers_of_the_paper": None if percolates else paper}


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
