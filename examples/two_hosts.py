"""Two hosts: a network between them, an address for each, and a passphrase that both know.

On two machines, with their own addresses, and the same CAMCAST_PASSPHRASE on both::

    python examples/two_hosts.py hear 10.77.0.2
    python examples/two_hosts.py say 10.77.0.3 10.77.0.2

Without arguments it makes two hosts on this machine, network namespaces of Linux with a cable
(veth) between them, runs these commands there, and removes the hosts. That takes root.
"""

import asyncio
import os
import secrets
import shutil
import subprocess
import sys

from camcast import CamcastError, CommunityManager, Received

PORT = 7000
HEARER, SPEAKER = "10.77.0.2", "10.77.0.3"
VARIABLE = "CAMCAST_PASSPHRASE"


async def hear(own: str) -> None:
    """Found a community on one host, and wait for an event from another."""
    passphrase = os.environ.get(VARIABLE)
    async with CommunityManager(bind=f"tcp://{own}:{PORT}", passphrase=passphrase) as manager:
        events = (await manager.join(".clock")).subscribe()
        print(f"{own} listens", flush=True)
        event = await anext(events)
        assert isinstance(event, Received)
        print(f"{own} hears in {event.topic}: {event.payload.decode()}", flush=True)


async def say(own: str, other: str) -> None:
    """Find the community through the other host, and publish below it."""
    async with CommunityManager(
        bind=f"tcp://{own}:{PORT}",
        gateways=[f"tcp://{other}:{PORT}"],
        passphrase=os.environ.get(VARIABLE),
    ) as manager:
        hall = await manager.join(".clock.hall")
        await hall.ready(min_peers=0, min_links=1)  # alone in .clock.hall, linked to .clock
        receipt = await hall.publish(b"it is noon")
        print(f"{own} says so to {receipt.links} above", flush=True)


def ip(*arguments: str) -> None:
    """Run a command of iproute2; end with its own words if it fails."""
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"ip {' '.join(arguments)} failed: {done.stderr.strip()}")


def on_two_hosts() -> None:
    """Make two hosts, let one hear what the other says, and remove them."""
    if os.geteuid() or shutil.which("ip") is None:
        sys.exit(
            "two hosts on one machine take root and the command ip (iproute2): try it with sudo,"
            " or run 'hear' and 'say' on two machines, as the first lines of this file say"
        )
    os.environ.setdefault(VARIABLE, secrets.token_hex())
    here = f"camcast-{os.getpid()}"
    hosts = {f"{here}-hear": HEARER, f"{here}-say": SPEAKER}
    made: list[str] = []
    try:
        for host in hosts:
            ip("netns", "add", host)
            made.append(host)
        first, second = hosts
        ip("-n", first, "link", "add", "wire", "type", "veth", "peer", "wire", "netns", second)
        for host, address in hosts.items():
            ip("-n", host, "address", "add", f"{address}/24", "dev", "wire")
            for device in ("lo", "wire"):
                ip("-n", host, "link", "set", device, "up")
        script = [sys.executable, *(f"-W{one}" for one in sys.warnoptions), __file__]
        enter = ["ip", "netns", "exec"]
        with subprocess.Popen(
            [*enter, first, *script, "hear", HEARER], stdout=subprocess.PIPE
        ) as hearing:
            try:
                assert hearing.stdout is not None
                print(hearing.stdout.readline().decode(), end="", flush=True)
                subprocess.run([*enter, second, *script, "say", SPEAKER, HEARER], check=False)
                print(hearing.communicate(timeout=30)[0].decode(), end="")
            finally:
                hearing.kill()
    finally:
        for host in made:
            ip("netns", "delete", host)


if __name__ == "__main__":
    try:
        match sys.argv[1:]:
            case []:
                on_two_hosts()
            case ["hear", own]:
                asyncio.run(hear(own))
            case ["say", own, other]:
                asyncio.run(say(own, other))
            case _:
                sys.exit(f"{__doc__}")
    except (CamcastError, subprocess.TimeoutExpired) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
