"""One base of all errors."""

import importlib
import pkgutil
from collections.abc import Iterator

import camcast
import membership
import overlays
from camcast.vocabulary.errors import CamcastError

INTERNAL = {
    "Interrupted",  # Ctrl-C on its way through an experiment
    "InvariantError",  # an assertion about our own code
    "ProtocolError",  # caught where the connection is closed
}


def modules() -> Iterator[str]:
    for package in (camcast, membership, overlays):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not module.name.endswith("__main__"):
                yield module.name


def test_every_error_of_ours_has_the_one_base() -> None:
    found = 0
    for name in modules():
        for thing in vars(importlib.import_module(name)).values():
            if isinstance(thing, type) and issubclass(thing, Exception):
                ours = thing.__module__.split(".")[0] in ("camcast", "membership", "overlays")
                names = {base.__name__ for base in thing.__mro__}
                if ours and not names & INTERNAL and not thing.__name__.startswith("_"):
                    assert issubclass(thing, CamcastError), thing
                    found += 1
    assert found > 30
