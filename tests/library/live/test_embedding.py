"""What an application that embeds CAMCAST imports with it: counted in modules, not in time."""

import json
import sys

import pytest

from tests.python_process import output_of

MODULES_MAX = 175
"""Without Python's own, of which each release has others. There are 172, which take 0.13 s of CPU
with Python's, so that so many take less than the 0.25 s that an import may take."""
NEVER = {"click", "rich", "typer", "numpy", "pandas", "pyspark", "prometheus_client", "zeroconf"}
IMPORT = "import json, sys, camcast\n"
RUN = """
import asyncio

async def main():
    async with camcast.CommunityManager({options}) as manager:
        await (await manager.join(".a")).publish(b"x")

asyncio.run(main())
"""
TELL = "print(json.dumps(sorted(sys.modules)))"


def modules_of(program: str) -> list[str]:
    found: list[str] = json.loads(output_of("-c", program))
    return found


def packages_in(modules: list[str]) -> set[str]:
    return {name.split(".")[0] for name in modules}


def test_an_import_brings_neither_the_command_line_nor_keys_nor_a_protocol() -> None:
    modules = modules_of(IMPORT + TELL)
    none = NEVER | {"nacl", "zmq", "kademlia", "membership", "overlays"}
    assert packages_in(modules).isdisjoint(none)
    assert not [name for name in modules if name.startswith("camcast.cli")]
    ours = [name for name in modules if name.split(".")[0] not in sys.stdlib_module_names]
    assert len(ours) <= MODULES_MAX


@pytest.mark.parametrize(
    ("options", "used", "unused"),
    [
        ("", {"membership"}, {"nacl", "zmq", "kademlia"}),
        ("transport='zmq'", {"zmq"}, {"nacl", "kademlia"}),
        ("passphrase='correct horse battery staple'", {"nacl"}, {"zmq", "kademlia"}),
        ("'hybrid'", {"kademlia", "overlays"}, {"nacl", "zmq"}),
    ],
)
def test_a_process_imports_what_it_uses(options: str, used: set[str], unused: set[str]) -> None:
    modules = modules_of(IMPORT + RUN.format(options=options) + TELL)
    packages = packages_in(modules)
    assert used <= packages
    assert packages.isdisjoint(NEVER | unused)
    protocols = [name for name in modules if name.startswith("camcast.protocols.")]
    assert not {
        "camcast.research.systems.percolation.protocol",
        "camcast.research.systems.pmcast.protocol",
    } & set(protocols)
    assert not [name for name in protocols if name.startswith("camcast.research.systems.hpmcast")]
