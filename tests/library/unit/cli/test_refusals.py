"""What is wrong with a command's arguments is said in one sentence, before anything is begun.

What files of keys, certificates and options have wrong is tested where these are.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.camcast_command import Capture, refusal

REFUSED: list[tuple[str, int, str]] = [
    # simulate: the sizes, and what goes with them
    ("simulate population", 2, "--sizes"),
    ("simulate population --sizes 10,x", 2, "'x'"),
    ("simulate population --sizes 10,-5", 2, "'-5'"),
    ("simulate population --sizes 5000000000", 2, "count chain"),
    ("simulate chain --sizes 0", 2, "0 processes"),
    ("simulate chain --sizes 1e3", 2, "'1e3'"),
    ("simulate chain --sizes 10 --z 0", 2, "'z'"),
    ("simulate chain --sizes 99999999999999999999", 2, "give 1 to"),
    ("simulate chain --sizes 10,3 --preset lecture", 2, "'lecture'; there is: paper"),
    ("simulate chain --sizes 100,10 --runs 999999999999999", 2, "999,999,999,999,999 runs are too"),
    ("simulate virtual --sizes 30000", 2, "20,000"),
    ("simulate virtual x.toml", 2, "x.toml"),
    ("simulate population x.toml", 2, "x.toml"),
    ("simulate virtual x.toml --sizes 10", 1, "scenario file"),
    ("simulate virtual x.toml --trace-format parquet", 1, "--output"),
    ("simulate virtual --sizes 10 --output out", 1, "--output"),
    ("simulate virtual --sizes 10 --trace-format parquet", 1, "--trace-format"),
    # simulate --protocol: where it is simulated, and of how many
    ("simulate population --sizes 84 --protocol nope", 2, "unknown protocol 'nope'; installed: "),
    ("simulate population --sizes 84 --protocol-set gamma=1", 1, "rfpbcast, pmcast, hpmcast"),
    ("simulate chain --sizes 84 --protocol pmcast", 1, "simulate population --sizes N,N"),
    ("simulate virtual --sizes 84 --protocol hpmcast", 1, "SCENARIO.toml --protocol hpmcast`, or"),
    ("simulate population --sizes 1000000 --protocol percolation", 2, "at most 400,000"),
    ("simulate population --sizes 9000000 --protocol hpmcast", 2, "at most 5,000,000"),
    ("simulate population --sizes 90000000 --protocol rfpbcast", 2, "to 10,000,000"),
    # simulate percolation: the overlay
    ("simulate percolation --sigma 0 --gamma 0 --degrees ring:5", 2, "'ring:5'"),
    ("simulate percolation --sigma 0 --gamma 0 --degrees powerlaw:6", 2, "powerlaw:A,B"),
    ("simulate percolation --sigma 0 --gamma 0 --degrees powerlaw:99,1", 2, "smaller a"),
    ("simulate percolation --sigma 0 --gamma 0 --degrees poisson:5,1e3", 2, "poisson:MEAN,NODES"),
    ("simulate percolation --sigma 0 --gamma 0 --degrees poisson:5,3", 2, "mean degree of 5"),
    ("simulate percolation --sigma 0 --gamma 0 --degrees file:", 2, "file:EDGES"),
    ("simulate percolation --sigma 0 --gamma 0 --degrees file:/absent", 2, "/absent: cannot"),
    ("simulate percolation --sigma 0 --gamma 0 --degrees poisson:5,10 --ttl 2147483648", 2, "ttl"),
    (
        "simulate percolation --sigma 0 --gamma 0 --networks 99999999 --degrees poisson:5,99",
        2,
        "to",
    ),
    ("simulate hpmcast --fanout 99999999999", 2, "fan_out is 99999999999; give 10000000 or fewer"),
    ("simulate hpmcast --threshold 99999999999", 2, "threshold is 99999999999; give"),
    # model: a protocol and its parameters, which `simulate population` reads likewise
    ("model --sizes 84,27 --protocol nope", 2, "unknown protocol 'nope'; installed: "),
    ("model --sizes 84,27 --clusters 500", 2, "--clusters 500: 111 processes do not fill so many"),
    ("model --sizes 84,27 --protocol hierarchical --clusters 2", 1, "--protocol-set clusters=N"),
    ("model --sizes 84,27 --protocol-set clusters=2", 1, "--protocol broadcast, multicast"),
    ("model --sizes 84,27 --protocol broadcast --protocol-set clusters=2", 2, "for hierarchical"),
    ("model --sizes 84,27 --protocol hierarchical --protocol-set clusters=x", 2, "a whole number"),
    ("model --sizes 84,27 --protocol hierarchical --protocol-set clusters=500", 2, "not fill 500"),
    ("model --sizes 84,27 --protocol hierarchical --protocol-set gamma=1", 2, "no option 'gamma'"),
    ("model --sizes 84,27 --protocol multicast --protocol-set published_in=2", 2, "community 2;"),
    ("model --sizes 84,27 --protocol pmcast --protocol-set published_in=2", 2, "community 2;"),
    ("model --sizes 84,27 --protocol pmcast --protocol-set constant=1e6", 2, "to 10,000"),
    ("model --sizes 84,27 --protocol pmcast --protocol-set gamma=1", 2, "no option"),
    ("model --sizes 84,27 --protocol rfpbcast --protocol-set gamma=1", 2, "no option 'gamma'"),
    ("model --sizes 84,27 --protocol rfpbcast --protocol-set fan_out=0", 2, ">= 1"),
    ("model --sizes 84,27 --protocol rfpbcast --protocol-set constant=inf", 2, "not inf"),
    ("model --sizes 9000 --protocol rfpbcast", 2, "at most"),
    ("model --sizes 84,27 --protocol hpmcast --protocol-set threshold=3", 2, "no option"),
    ("model --sizes 84,27 --protocol hpmcast --protocol-set arity=100", 2, "200 at most"),
    ("model --sizes 84,27 --protocol hpmcast --protocol-set arity=1", 2, "'arity' must"),
    ("model --sizes 84,27 --protocol hpmcast --protocol-set published_in=2", 2, "there are 2"),
    ("model --sizes 90000,27 --protocol hpmcast", 2, "give a larger arity or depth"),
    ("model --sizes 84,27 --protocol percolation --protocol-set ttl=3", 2, "no option 'ttl'"),
    ("model --sizes 84,27 --protocol percolation --protocol-set gamma=2", 2, "must be <= 1"),
    ("model --sizes 84,27 --protocol percolation --protocol-set c=51", 2, "<= 50"),
    ("model --sizes 84,27 --protocol percolation --protocol-set published_in=2", 2, "are 2"),
    ("model --sizes 1 --protocol percolation", 2, "2 or more"),
    # plan: targets that cannot be
    ("plan --sizes 10,10 --reliability 1", 2, "--reliability"),
    ("plan --sizes 10,10 --reliability x", 2, "--reliability"),
    ("plan --sizes 10,10 --reliability 0.9,0.9,0.9", 2, "2 communities"),
    ("plan --sizes 100 --success 0.01 --reliability 0.999", 2, "community 0"),
    ("plan --sizes 1000,100,10 --crash 0.9", 2, "community 0"),
    # compare-protocols
    ("compare-protocols --workload tides", 2, "unknown workload 'tides'; known: departures"),
    ("compare-protocols --workload synthetic", 2, "unknown workload 'synthetic'"),
    ("compare-protocols --workload usenet", 2, "the workload usenet needs a file"),
    ("compare-protocols --workload departures:x.csv", 2, "the workload departures takes no file"),
    ("compare-protocols --workload usenet:/absent.csv", 2, "/absent.csv: cannot be read"),
    ("compare-protocols --protocols broadcast,pigeons", 2, "unknown protocol 'pigeons'; installed"),
    ("compare-protocols --where 'mag >='", 2, "column 7: expected a number or a text"),
    ("compare-protocols --membership scanp", 2, "unknown membership 'scanp'; installed: "),
    ("compare-protocols --loss 1", 2, "'loss' must be < 1"),
    ("compare-protocols --reliability 0", 2, "--reliability 0 asks for nothing"),
    ("compare-protocols --members-max 0", 2, "'members_max' must be >= 1"),
    ("compare-protocols --results /absent/done.jsonl", 1, "/absent"),
    # run
    ("run --output out --scenario papers", 2, "built in: paper"),
    ("run --output out --scenario paper --sizes 2", 2, "give one of"),
    ("run --output out --sizes 6,x", 2, "--sizes takes numbers"),
    ("run --output out --community soccer=4", 2, "must start with '.'"),
    ("run --output out --community .soccer", 2, "TOPIC=N"),
    ("run --output out --community .a=2 --community .a=3", 2, "twice how large .a is"),
    ("run --output out --membership scanp", 2, "unknown membership 'scanp'; installed: "),
    ("run --output out --set d=1", 2, "no option 'd'"),
    ("run --output out --kill 0.9 --processes 2", 2, "one to survive"),
    ("run --output out --workload usenet", 2, "needs a file"),
    ("run --output out --workload usenet:/absent.csv", 2, "/absent.csv"),
    ("run --output out --workload weather", 2, "known: synthetic"),
    ("run --output out --topic .other", 2, "has no community"),
    ("run --output out --payload-bytes 999999999", 2, "'payload_bytes' must be <= 1048576"),
    ("run --output out --events 999999999", 2, "give 1,000,000 or fewer"),
    # what runs one process
    ("publish soccer x", 2, "topic 'soccer' must start with '.', the root; try"),
    ("publish . {} --class", 1, "--class needs a topic below the root"),
    ("subscribe .a..b", 2, "topic '.a..b' has an empty level"),
    ("subscribe .a -m x", 2, "unknown membership 'x'; installed: "),
    ("subscribe .a --set d=1", 2, "membership 'scamp' has no option 'd'; it has: c"),
    ("subscribe .a --set c=x", 2, "'c' of membership 'scamp' takes a whole number"),
    ("subscribe .a --set c", 2, "--set takes NAME=VALUE, not 'c'"),
    ("subscribe .a --gateway here", 2, "gateways of '.': address 'here' is not"),
    ("subscribe .a --gateways none.toml", 2, "none.toml: No such file"),
    ("subscribe .a --gateway tcp://no-such-host.invalid:1", 1, "is a name without an address"),
    ("gateway --bind nowhere", 2, "address 'nowhere' is not of the form"),
    ("gateway --overlay --bind nowhere", 2, "address 'nowhere' is not of the form"),
    ("gateway --bind tcp://0.0.0.0:0", 2, "can be reached from other machines"),
    ("gateway --bind tcp://0.0.0.0:0 --insecure", 2, "which address to advertise"),
    ("gateway --bind tcp://192.0.2.1:7 --insecure", 1, "cannot listen at tcp://192.0.2.1:7: "),
]


@pytest.mark.parametrize(("command", "code", "named"), REFUSED)
def test_what_is_wrong_is_said_in_one_sentence(
    command: str,
    code: int,
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: Capture,
) -> None:
    monkeypatch.chdir(tmp_path)
    ended, error = refusal(capfd, *shlex.split(command))
    assert (ended, named in error) == (code, True), error
    assert "cell" not in error  # of a sweep, which would have begun
    assert not [*tmp_path.iterdir()]
