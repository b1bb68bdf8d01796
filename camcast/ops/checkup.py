"""Findings about a process, or the machine that it is to run on: what is wrong, and what to do.

`of_process` reads a snapshot as `Stats.as_dict` returns it, so that a process can be looked at from
outside. `of_machine` tries what a process would do with the same addresses: it listens, connects to
its own address and asks the gateways. It joins no community.
"""

from __future__ import annotations

import ctypes
import resource
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from attrs import frozen

from camcast.live.wire.pipes import descriptors_allow
from camcast.live.wire.probe_port import Reach, probe_ports
from camcast.observe.stats import FirstContactStats
from camcast.vocabulary.addresses import is_loopback

PEERS_MIN: Final = 300  # chosen: tables of ten communities of 10,000, and holders of this process
PAUSED_SHARE: Final = 0.02  # chosen: of the time; heartbeats are late by more than jitter
HEALTH_WORSE: Final = 3  # chosen: of 8; two bad periods running
_CLOCK_UNSYNCHRONISED: Final = 5  # [adjtimex(2)] TIME_ERROR
_TIMEX_BYTES: Final = 512  # chosen: more than a `struct timex` has anywhere


@frozen
class Finding:
    """The result of one check: whether all is well, and what to do if not."""

    check: str
    ok: bool | None
    """None: it could not be found out."""
    says: str
    do: str = ""


def of_process(stats: Mapping[str, Any]) -> list[Finding]:
    """Return what a snapshot of a running process shows."""
    return [
        *_of_communities(stats),
        *_of_gateways(stats["discovery"]["first_contacts"]),
        *_of_keys(stats["counters"]),
        *_of_misfits(stats["misfits"]),
        _of_liveness(stats),
        _of_pipes(stats),
        _of_queues(stats),
        *_of_store(stats),
        *_of_failures(stats["counters"]),
    ]


def _of_communities(stats: Mapping[str, Any]) -> Iterator[Finding]:
    gateways, by_udp = stats["discovery"]["first_contacts"], stats["discovery"]["by_udp"]
    for one in stats["communities"]:
        topic, check = one["topic"], f"community {one['topic']}"
        if one["state"] == "joining" and by_udp:
            says = f"not joined yet; the DHT: {stats['discovery']['state']}"
            yield Finding(check, False, says, _OVERLAY_DO)
        elif one["state"] == "joining":
            do = "see what is said of the gateways, or found the community by naming none"
            yield Finding(check, False, "not joined yet: no gateway could tell who is in it", do)
        elif one["state"] == "alone" and gateways:
            do = "start another member, or check that the others name the same gateways"
            yield Finding(check, False, "no other member is known", do)
        else:
            heard = one["state"] != "deaf"
            says = f"{one['state']}, {one['peers']} peers in the table of about {one['size']:.0f}"
            yield Finding(check, heard, says, "" if heard else "see what is said of the peers")
        for link in one["links"]:
            if not link["contacts"]:
                says = (
                    f"nobody of {link['super_topic']} or above has been known for"
                    f" {link['alone_seconds']:.0f} s: no event climbs"
                )
                do = "none, if nobody subscribes there; else start a member, or check its gateways"
                yield Finding(f"link of {topic}", None, says, do)
        if one["repair"] and one["repair"]["missed"]:
            says = f"{one['repair']['missed']} events can no longer be had"
            do = "let events be kept for longer (--retention), and find out who was cut off"
            yield Finding(f"repair of {topic}", False, says, do)


def _of_gateways(first_contacts: list[Mapping[str, Any]]) -> Iterator[Finding]:
    for one in first_contacts:
        if one["answers"] is False:
            says = f"{one['address']} has not answered for {one['seconds']:.0f} s"
            yield Finding("gateway", False, says, "start it again, or name another gateway")
        else:
            yield Finding("gateway", one["answers"], f"{one['address']} answers")


def _of_keys(counters: Mapping[str, Any]) -> Iterator[Finding]:
    if conflicts := counters["key_conflicts"]:
        says = f"two processes were found to use one key ({conflicts} times)"
        do = "the log names key and addresses: give each process a key of its own"
        yield Finding("key", False, says, do)


def _of_misfits(misfits: Sequence[str]) -> Iterator[Finding]:
    for says in misfits:
        do = "if both belong together, give both the same --system, --membership and --protocol"
        yield Finding("misfit", None, says, do)


def _of_liveness(stats: Mapping[str, Any]) -> Finding:
    liveness = stats["liveness"]
    watched, suspects = liveness["watched"], liveness["suspects"]
    if liveness["deaf"]:
        says = f"no frame reaches {stats['address']}, while {watched} peers are watched"
        do = "let others connect to that address: see --advertise, the firewall and NAT"
        return Finding("peers", False, says, do)
    if liveness["isolated"]:
        do = "check this machine's network: others may be well, and have given this process up"
        return Finding("peers", False, "nothing is heard of any peer", do)
    share = liveness["paused_seconds"] / max(stats["up_seconds"], 1.0)
    if share > PAUSED_SHARE or liveness["health"] >= HEALTH_WORSE:
        says = (
            f"this process itself did not run for {liveness['paused_seconds']:.0f} s"
            f" ({liveness['pauses']} pauses), so that others may take it for dead"
        )
        do = "give it more CPU, and let nothing block its event loop"
        return Finding("peers", False, says, do)
    return Finding("peers", True, f"{watched} watched, {suspects} suspect")


def _of_pipes(stats: Mapping[str, Any]) -> Finding:
    pipes, inputs, outputs = (
        stats["pipes"],
        stats["counters"]["input"],
        stats["counters"]["outputs"],
    )
    if outputs["pipes_refused"] or inputs["connections_refused"]:
        says = (
            f"{outputs['pipes_refused']} output pipes and {inputs['connections_refused']}"
            f" connections refused; there may be {pipes['open_max']} and {pipes['connections_max']}"
        )
        return Finding("pipes", False, says, "allow more open files: ulimit -n, LimitNOFILE=")
    if outputs["versions_refused"] or inputs["versions_refused"]:
        says = "there are peers that speak another version of the wire format"
        return Finding("pipes", False, says, "let all of a community run the same release")
    if outputs["strangers_refused"] or inputs["strangers_refused"]:
        strangers = outputs["strangers_refused"] + inputs["strangers_refused"]
        says = f"{strangers} connections of or to processes without this one's passphrase"
        do = "if they should be in, give all the same --passphrase-file; else nothing"
        return Finding("pipes", None, says, do)
    if pipes["crowded"]:
        says = f"{pipes['crowded']} of {pipes['open']} are more than half full"
        do = "these peers take events too slowly: publish less, or look at their machines"
        return Finding("pipes", False, says, do)
    dropped = outputs["records_dropped"]
    says = f"{pipes['open']} of {pipes['open_max']} open; {dropped} records dropped so far"
    return Finding("pipes", True, says)


def _of_queues(stats: Mapping[str, Any]) -> Finding:
    counters = stats["counters"]
    errors = sum(one["callback_errors"] for one in stats["communities"])
    if counters["missed"]:
        says = f"subscribers were too slow for {counters['missed']} events"
        do = "take them by the batch, give them longer queues, or filter with where="
        return Finding("subscribers", False, says, do)
    if errors:
        says = f"callbacks have raised {errors} times"
        return Finding("subscribers", False, says, "the log has the tracebacks")
    if counters["unpublished"]:
        says = f"{counters['unpublished']} events were not accepted: peers take them too slowly"
        return Finding("subscribers", False, says, "publish more slowly, or with wait=True")
    return Finding("subscribers", True, "none was too slow")


def _of_failures(counters: Mapping[str, Any]) -> Iterator[Finding]:
    if counters["plug_errors"]:
        says = f"plugs have raised, or answered wrongly, {counters['plug_errors']} times"
        do = "the log names the plug, the verb and the topic: tell its authors"
        yield Finding("plugs", False, says, do)
    if counters["failures"]:
        says = f"{counters['failures']} timers, datagrams or deliveries raised an error"
        yield Finding("process", False, says, "the log has the tracebacks: please report them")


def _of_store(stats: Mapping[str, Any]) -> Iterator[Finding]:
    store = stats["store"]
    if store is not None and store["let_go_early"]:
        says = f"{store['let_go_early']} batches were let go before their time"
        do = "keep events for a shorter time (--retention), or publish less"
        yield Finding("store", False, says, do)


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


_OVERLAY_DO: Final = (
    "start `camcast gateway --overlay` there, and let UDP pass at the same port number"
)
_LOOPBACK: Final = "this process is told to others at the loopback: give --bind and --advertise"
_GATEWAY_DO: Final = {
    Reach.ABSENT: "start `camcast gateway` there; check the address, routes and firewalls",
    Reach.FULL: "allow it more open files, or name another gateway",
    Reach.SILENT: "let --advertise be an address of this machine that the gateway can reach",
}


async def _of_address(address: str) -> Finding:
    reach = (await probe_ports([address]))[address]
    if reach is Reach.ABSENT:
        says = f"{address} cannot be connected to from this machine"
        do = "behind NAT that may be so; else let --advertise be an address of this machine"
        return Finding("address", False, says, do)
    return Finding("address", True, f"others are told {address}, which takes connections")


def _of_overlay(state: str) -> Finding:
    if state == "connected":
        return Finding("DHT", True, "connected: a node of it has answered")
    return Finding("DHT", False, f"{state}: no node of it has answered", _OVERLAY_DO)
