"""One base of all errors."""

import copy
import importlib
import pickle
import pkgutil
from collections.abc import Iterator

import pytest

import camcast
import membership
import overlays
from camcast import AddressInUse, GatewayTimeout, InterestError, Topic
from camcast.doors.transport import BarredError
from camcast.ops.output_place import OutputError
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


@pytest.mark.parametrize(
    "error",
    [
        GatewayTimeout(Topic.parse(".a"), ["tcp://127.0.0.1:7000"]),
        BarredError(),
        OutputError("--output x: it is a folder"),
        InterestError("mag >", 6, "expected a number"),
        AddressInUse(98, "cannot listen"),
    ],
)
def test_an_error_survives_the_way_from_another_process(error: CamcastError) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))
        assert getattr(again, "errno", None) == getattr(error, "errno", None)
