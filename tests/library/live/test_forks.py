"""A process that is forked while a manager runs keeps none of its sockets."""

import pytest

from tests.library.live.communities import free_address
from tests.python_process import output_of

PROGRAM = """
import asyncio, multiprocessing, pathlib, sys, tempfile
from camcast import CommunityManager

async def main():
    fork = multiprocessing.get_context("fork")
    end = fork.Event()
    address = "{address}"
    place = pathlib.Path(tempfile.mkdtemp()) / "control"
    async with CommunityManager({options}, bind=address, control=place) as manager:
        await manager.join(".a")
        child = fork.Process(target=end.wait, args=(60,), daemon=True)
        child.start()
    async with CommunityManager({options}, bind=address, control=place):
        print("free")
    end.set()
    child.join()

asyncio.run(main())
"""


@pytest.mark.parametrize("options", ["", "transport='tcp'", "'hybrid'"])
def test_a_port_is_free_when_its_manager_has_closed_whatever_was_forked(options: str) -> None:
    program = PROGRAM.format(options=options, address=free_address()).replace("(, ", "(")
    assert output_of("-c", program) == "free\n"
