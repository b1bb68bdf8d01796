"""Findings about processes, or the machine that one is to run on: what is wrong, and what to do.

`of_process` reads a snapshot as `Stats.as_dict` returns it, so that a process can be looked at from
outside; its conditions are those of `camcast.observe.conditions`. `of_processes` puts the
conditions of many together. `of_network` tries what a process would do with the same addresses: it
listens, connects to its own address and asks the gateways. It joins no community.
"""

from __future__ import annotations

import ctypes
import resource
from collections.abc import Awaitable, Callable, Container, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from attrs import evolve, frozen

from camcast.live.wire.pipes import descriptors_allow
from camcast.live.wire.probe_port import Reached, probe_ports
from camcast.observe.condition_table import DHT_DO, counted
from camcast.observe.stats import FirstContactStats
from camcast.vocabulary.addresses import is_loopback

PEERS_MIN: Final = 300  # chosen: tables of ten communities of 10,000, and holders of this process
_CLOCK_UNSYNCHRONISED: Final = 5  # [adjtimex(2)] TIME_ERROR
_TIMEX_BYTES: Final = 512  # chosen: more than a `struct timex` has anywhere


@frozen
class Finding:
    """The result of one check: whether all is well, and what to do if not."""

    check: str
    """A condition (`camcast.observe.conditions`), or the part that is well."""
    ok: bool | None
    """None: it could not be found out."""
    says: str
    do: str = ""
    about: str = ""
    """The topic or the address that it is about."""
    because: str | None = None
    """The check of another finding that explains it."""
    since: float | None = None
    """When it was seen first, in seconds since 1970; None for what is well."""
    over: float | None = None
    """When it was seen last, if it is over: then it is history, and nothing is wrong."""


def of_process(stats: Mapping[str, Any]) -> list[Finding]:
    """Return what a snapshot of a running process shows.

    Causes come first, each with its consequences, then what is well, then history.
    """
    conditions = [_of_condition(one) for one in stats["conditions"]]
    seen = [one for one in conditions if one.over is None]
    return [
        *causes_first(seen),
        *_of_what_is_well(stats, {(one.check, one.about) for one in seen}),
        *(one for one in conditions if one.over is not None),
    ]


def _of_condition(one: Mapping[str, Any]) -> Finding:
    over = one["stage"] == "over"
    return Finding(
        one["name"],
        True if over else None if one["stage"] == "beginning" else one["ok"],
        one["says"],
        one["do"],
        one["about"],
        one["because"],
        one["since"],
        one["seen"] if over else None,
    )


def causes_first(findings: Sequence[Finding], because: str | None = None) -> Iterator[Finding]:
    """Yield each finding that has this cause, followed by those that it explains."""
    for check in dict.fromkeys(one.check for one in findings if one.because == because):
        yield from (one for one in findings if one.check == check)
        yield from causes_first(findings, check)


def _of_what_is_well(
    stats: Mapping[str, Any], seen: Container[tuple[str, str]]
) -> Iterator[Finding]:
    """Yield the parts of a process about which nothing is found."""
    for one in stats["communities"]:
        topic = one["topic"]
        if not any((name, topic) in seen for name in ("unjoined", "alone")):
            says = f"{one['state']}, {counted(one['peers'], 'peer')} in the table"
            above = [f"{link['contacts']} of {link['nearest']}" for link in one["links"]]
            linked = f", linked to {' and '.join(above)}" if above else ""
            yield Finding(
                "community", True, f"{says} of about {one['size']:.0f}{linked}", "", topic
            )
    for one in stats["discovery"]["first_contacts"]:
        if one["answers"] is not False:
            answers = "answers" if one["answers"] else "is being asked"
            yield Finding("gateway", True, answers, "", one["address"])
    for one in stats["revocations"]:
        if ("list_overdue", one["issuer"]) not in seen:
            hours = round((stats["taken"] - one["signed"]) / 3600)
            says = f"the latest list of revocations was signed {counted(hours, 'hour')} ago"
            yield Finding("revocations", True, says, "", one["issuer"])
    liveness, pipes = stats["liveness"], stats["pipes"]
    if not any((name, "") in seen for name in ("deaf", "isolated")):
        says = f"{liveness['watched']} watched, {liveness['suspects']} suspect"
        yield Finding("peers", True, says)
    if not pipes["crowded"] and ("too_few_files", "") not in seen:
        dropped = stats["counters"]["outputs"]["records_dropped"]
        says = f"{pipes['open']} of {pipes['open_max']} open; {dropped} records dropped so far"
        yield Finding("pipes", True, says)


# -- many processes --------------------------------------------------------------------------


def of_processes(answers: Mapping[str, Mapping[str, Any] | str]) -> list[Finding]:
    """Return what is wrong with a system, by the names of its processes.

    An answer is a snapshot, or the reason for which there is none. A condition that several
    processes have is one finding, which names them. Causes come first: a process that gives no
    answer, or that is cut off, explains what others say of it; full pipes to a process explain what
    that one lacks.
    """
    snapshots = {name: one for name, one in answers.items() if not isinstance(one, str)}
    silent = {name: why for name, why in answers.items() if isinstance(why, str)}
    do = "start it again, or look at what it does"
    findings = [Finding("no_answer", False, why, do, name) for name, why in silent.items()]
    cut_off: dict[str, str] = {}
    where: dict[tuple[str, str, str], list[str]] = {}
    found: dict[tuple[str, str, str], Finding] = {}
    for name, snapshot in snapshots.items():
        for one in map(_of_condition, snapshot["conditions"]):
            if one.over is not None:
                continue
            if one.check in ("deaf", "isolated") and snapshot["liveness"]["watched"] <= len(silent):
                one = evolve(one, because="no_answer")  # they may be all its peers
            elif one.check in ("deaf", "isolated", "paused"):
                cut_off[snapshot["address"]] = one.check
            key = one.check, one.about, "" if one.check in _OF_SEVERAL else name
            where.setdefault(key, []).append(name)
            before = found.setdefault(key, one)
            if before.since is not None and one.since is not None and one.since < before.since:
                found[key] = one
    slow = {one.about for one in found.values() if one.check == "slow_peer"}
    for key, one in found.items():
        because = one.because
        if (
            one.check in _OF_THE_SLOW
            and {snapshots[name]["address"] for name in where[key]} <= slow
        ):
            because = "slow_peer"
        if one.check == "peer_lost":
            because = cut_off.get(one.about, because)
        if because is None and silent and one.check in _OF_THE_SILENT:
            because = "no_answer"
        names = where[key]
        at = ", ".join(names[:NAMES_MAX]) + (", …" if len(names) > NAMES_MAX else "")
        says = f"{one.says} (at {len(names)} of {len(snapshots)}: {at})"
        findings.append(evolve(one, says=says, because=because))
    causes = {one.check for one in findings}
    findings = [one if one.because in causes else evolve(one, because=None) for one in findings]
    if not any(one.ok is False for one in findings):
        says = f"{counted(len(snapshots), 'process', 'processes')}, and nothing is wrong with any"
        findings.insert(0, Finding("system", True, says))
    return list(causes_first(findings))


NAMES_MAX: Final = 5  # chosen: a line of a terminal; --json and the process itself have the rest
_OF_SEVERAL: Final = (
    "no_gateway",
    "gateway_silent",
    "no_link",
    "peer_lost",
    "slow_peer",
    "unjoined",
)
"""The conditions that are about something outside, so that several processes see the same."""
_OF_THE_SILENT: Final = ("peer_lost", "no_gateway", "gateway_silent", "no_link", "alone")
"""The conditions that a process which gives no answer may explain."""
_OF_THE_SLOW: Final = ("no_gateway", "gateway_silent", "unjoined", "events_gone")
"""The conditions of a process that are explained where others' pipes to it are full: answers and
events wait in these."""


# -- the machine -----------------------------------------------------------------------------


class Trying(Protocol):
    """The part of a running manager that `of_network` tries."""

    @property
    def address(self) -> str:
        """The address that other processes are told."""

    @property
    def discovery_state(self) -> str:
        """How far discovery has come, as `CommunityManager.discovery_state` says it."""

    def ask_gateways(self) -> Awaitable[tuple[FirstContactStats, ...]]:
        """Ask the gateways that have not answered, and return what is known of each."""


def of_system() -> list[Finding]:
    """Return the findings about the machine that need no address."""
    return [_of_descriptors(), _of_clock(_clock_state)]


def _of_descriptors() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    peers = descriptors_allow()
    says = f"{soft} open files allowed, enough for {peers} peers"
    if peers >= PEERS_MIN:
        return Finding("descriptors", True, says)
    limit = "any number" if hard == resource.RLIM_INFINITY else str(hard)
    return Finding("descriptors", False, says, f"ulimit -n (up to {limit}), or LimitNOFILE=")


def _of_clock(state: Callable[[], int | None]) -> Finding:
    known = state()
    if known is None:
        return Finding("clock", None, "this system does not say whether its clock is synchronised")
    if known == _CLOCK_UNSYNCHRONISED:
        says = "not synchronised, so that the times of events published here may be wrong"
        return Finding("clock", None, says, "let chrony or systemd-timesyncd run")
    return Finding("clock", True, "synchronised")


def _clock_state() -> int | None:
    """Return what adjtimex(2) says of the clock; None where there is no such call."""
    try:
        adjtimex = ctypes.CDLL(None, use_errno=True).adjtimex
    except (OSError, AttributeError):
        return None
    state = int(adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES)))  # zeros: change nothing
    return None if state < 0 else state


async def of_network(manager: Trying, *, overlay: bool) -> list[Finding]:
    """Return the findings about a running manager's own address, and about its gateways.

    With `overlay` its discovery is a DHT, and the nodes of that are asked instead.
    """
    findings = [await _of_address(manager.address)]
    asked = await manager.ask_gateways()
    if overlay:
        return [*findings, _of_overlay(manager.discovery_state)]
    silent = [one.address for one in asked if not one.answers]
    reached = await probe_ports(silent)
    for one in asked:
        if one.answers:
            local = is_loopback(manager.address) and not is_loopback(one.address)
            findings.append(
                Finding("gateway", not local, f"{one.address} answers", _LOOPBACK if local else "")
            )
        else:
            says = f"{one.address} {reached[one.address].value.format(me=manager.address)}"
            findings.append(Finding("gateway", False, says, _GATEWAY_DO[reached[one.address]]))
    if not asked:
        says = "none is named: a process would found every community that it joins"
        findings.append(Finding("gateway", None, says, "name one with --gateway"))
    return findings


_LOOPBACK: Final = "this process is told to others at the loopback: give --bind and --advertise"
_GATEWAY_DO: Final = {
    Reached.ABSENT: "start `camcast gateway` there; check the address, routes and firewalls",
    Reached.FULL: "allow it more open files, or name another gateway",
    Reached.SILENT: "let --advertise be an address of this machine that the gateway can reach",
}


async def _of_address(address: str) -> Finding:
    reach = (await probe_ports([address]))[address]
    if reach is Reached.ABSENT:
        says = f"{address} cannot be connected to from this machine"
        do = "behind NAT that may be so; else let --advertise be an address of this machine"
        return Finding("address", False, says, do)
    return Finding("address", True, f"others are told {address}, which takes connections")


def _of_overlay(state: str) -> Finding:
    if state == "connected":
        return Finding("DHT", True, "connected: a node of it has answered")
    return Finding("DHT", False, f"{state}: no node of it has answered", DHT_DO)
