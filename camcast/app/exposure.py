"""Whether strangers reach a process: by its addresses, its profile, and at its own input."""

from __future__ import annotations

from camcast.app.community_errors import InsecureError
from camcast.doors.options import OptionError
from camcast.doors.profile import Profile
from camcast.doors.transport import InputPipe, OutputPipes
from camcast.vocabulary.addresses import check_address, is_loopback, is_numeric, is_wildcard


def check_addresses(bind: str, advertise: str | None, *, reachable: bool) -> tuple[str, str | None]:
    """Return the addresses to listen at and to tell, as they are written everywhere.

    Raises `AddressError`, and `InsecureError` unless the process may be `reachable` from other
    machines: strangers are kept out, or somebody said that they may come in (TRUST, profiles).
    """
    bind = check_address(bind, bind=True)
    advertise = None if advertise is None else check_address(advertise)
    if not reachable and not all(is_loopback(a) for a in (bind, advertise) if a is not None):
        raise InsecureError(
            f"{bind} can be reached from other machines, and an open node lets anybody read and"
            " publish; give an identity (--identity, --certificate, --trust) or a passphrase"
            " (--passphrase-file), or say insecure=True (--insecure) if that is what you want"
        )
    if advertise is None and is_wildcard(bind):
        raise InsecureError(
            f"{bind} names no host that others could reach; say which address to advertise"
        )
    for address in (advertise, bind):
        if address is not None and not is_numeric(address):
            raise InsecureError(f"{address} is a name; bind and advertise take an IP address")
    return bind, advertise


def check_profile(
    discovery: object,
    name: str,
    *,
    closed: bool,
    signed: bool,
    passphrase: str | None,
    transport: str | None,
    pipes: OutputPipes | None,
) -> None:
    """Raise `OptionError` or `ValueError` where arguments of a manager exclude each other.

    `closed` says whether strangers are kept out, `signed` whether the process has an identity;
    `name` is that of the `discovery`.
    """
    proved = signed and getattr(discovery, "asks_by_key", False)
    if closed and getattr(discovery, "hears_strangers", False) and not proved:
        keeps_out = "an identity" if signed else "a passphrase"
        raise OptionError(
            f"the discovery {name!r} hears everybody on the network, and {keeps_out} keeps"
            " strangers out: leave one of the two out"
        )
    if signed and getattr(discovery, "speaks_to_anybody", False):
        raise OptionError(
            f"the discovery {name!r} sends datagrams that are for no identity in particular, and a"
            " process with one sends none: take another, such as gateways"
        )
    if transport is not None and pipes is not None:
        raise ValueError("give a transport or pipes, not both: the pipes have a transport")
    if passphrase is not None and pipes is not None:
        raise ValueError("give the passphrase to open_pipes: the pipes' links are encrypted")
    if signed and passphrase is not None:
        raise OptionError(
            "an identity and a passphrase are two ways to keep strangers out, and all of a"
            " community go the same way: leave one of the two out"
        )
    if signed and pipes is not None:
        raise ValueError("a process with an identity has links of its own: leave pipes out")


async def check_closed(tested: InputPipe, profile: Profile | None) -> None:
    """Raise `InsecureError` if strangers get in although a profile keeps them out."""
    if profile is None:
        return
    from camcast.live.profiles.self_test import lets_strangers_in

    try:
        open_to_all = await lets_strangers_in(tested, profile)
    except TimeoutError:
        raise InsecureError(
            f"{tested.address} gave no answer to a stranger, so it is not known to be closed; start"
            " again when the machine is less busy"
        ) from None
    if open_to_all:
        raise InsecureError(
            f"a stranger got in at {tested.address} although the process is closed; the encryption"
            " of this installation does not work (pyzmq, libzmq or PyNaCl), so nothing was started"
        )
