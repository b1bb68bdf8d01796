"""Whether strangers reach a process: by the addresses that it is to have, and at its own door."""

from __future__ import annotations

from camcast.community_errors import InsecureError
from camcast.doors.profile import Profile
from camcast.doors.transport import InputPipe
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


async def check_closed(tested: InputPipe, profile: Profile | None) -> None:
    """Raise `InsecureError` if strangers get in although a profile keeps them out."""
    if profile is None:
        return
    from camcast.live.self_test import lets_strangers_in

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
