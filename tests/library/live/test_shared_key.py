"""The profile `shared-key` end to end: who knows the passphrase is in, and nobody else."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from camcast import (
    CommunityManager,
    GatewayTimeout,
    InsecureError,
    OptionError,
    PassphraseError,
    open_pipes,
)
from camcast.cli.process_options import PASSPHRASE_VARIABLE, ProfileOptions
from camcast.doors.profile import Profile
from camcast.doors.transport import InputPipe
from camcast.live.profiles.sealed_port import SealedPort
from camcast.live.transports import TRANSPORTS
from camcast.research.experiment.run import run_experiment
from camcast.research.runs.run_folder import OutputFolder
from camcast.research.scenarios.live import Scenario
from camcast.research.scenarios.workload import Workload
from camcast.vocabulary.topics import Topic
from tests.camcast_command import Capture
from tests.camcast_command import camcast as in_process
from tests.library.live.communities import CERTAIN, OPTIONS, Inbox
from tests.library.live.running_command import Running
from tests.library.live.running_command import camcast as command
from tests.patience import eventually, live

OURS, THEIRS = "correct horse battery staple", "incorrect horse battery staple"


def passphrase_file(folder: Path, passphrase: str, mode: int = 0o600) -> str:
    path = folder / f"{mode:o}-{passphrase.encode().hex()}"
    path.write_text(f"{passphrase}\n")
    path.chmod(mode)
    return str(path)


def test_processes_with_the_passphrase_find_each_other_and_the_others_stay_out(
    tmp_path: Path,
) -> None:
    ours, theirs = (passphrase_file(tmp_path, text) for text in (OURS, THEIRS))
    with ExitStack() as stack:
        gateway = stack.enter_context(
            Running("gateway", "--bind", "tcp://127.0.0.1:0", "--json", "--passphrase-file", ours)
        )
        address = gateway.read()["address"]
        topic = (".travel", "--gateway", address)
        reader = stack.enter_context(
            Running("subscribe", *topic, "--json", "--transport", "zmq", "--passphrase-file", ours)
        )
        assert reader.read()["joined"] == ".travel"
        for wrong in (["--passphrase-file", theirs], ["--profile", "open"]):
            code, out, err = command("publish", *topic, "from a stranger", "--wait", "1", *wrong)
            assert (code, out) == (1, "")
            assert "passphrase" in err
            assert "Traceback" not in err
        code, out, err = command("publish", *topic, "from a member", "--passphrase-file", ours)
        assert (code, out, err) == (0, "", "")
        assert reader.read()["payload"] == "from a member"
        code, err = gateway.end(signal.SIGTERM)
        assert code == 0
        assert "refused a process at 127.0.0.1: it has another passphrase" in err
        assert "refused a process at 127.0.0.1: it speaks without encryption" in err


def test_the_passphrase_may_be_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAMCAST_PASSPHRASE", OURS)
    with Running("gateway", "--bind", "tcp://127.0.0.1:0", "--json") as gateway:
        address = gateway.read()["address"]

        async def test(passphrase: str | None) -> None:
            async with CommunityManager(gateways=[address], passphrase=passphrase) as manager:
                await manager.join(".travel")

        live(test)(OURS)
        with pytest.raises(GatewayTimeout, match="have both the same passphrase"):
            live(test)(None)


def test_a_passphrase_leaves_the_environment_once_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a process started, such as the JVM of Spark and its workers, inherited it."""
    monkeypatch.setenv(PASSPHRASE_VARIABLE, OURS)
    assert ProfileOptions().passphrase() == OURS
    assert PASSPHRASE_VARIABLE not in os.environ


@pytest.mark.parametrize("transport", ["zmtp", "zmq"])
@live
async def test_strangers_deliver_nothing_and_enter_no_table(transport: str, tmp_path: Path) -> None:
    """Those without a passphrase and with another one, beside two members."""
    settings: dict[str, Any] = {"options": OPTIONS, "parameters": CERTAIN}
    async with (
        CommunityManager(
            passphrase=OURS, transport=transport, audit=tmp_path / "audit.jsonl", **settings
        ) as first,
        CommunityManager(gateways=[first.address], passphrase=OURS, **settings) as second,
        CommunityManager(gateways=[first.address], passphrase=THEIRS, **settings) as other,
        CommunityManager(gateways=[first.address], transport=transport, **settings) as none,
    ):
        inbox = Inbox()
        community = await first.join(".a")
        community.subscribe(inbox)
        publisher = await second.join(".a")
        await publisher.ready()
        refused = (stranger.join(".a") for stranger in (other, none))
        for outcome in await asyncio.gather(*refused, return_exceptions=True):
            assert isinstance(outcome, GatewayTimeout)
        await publisher.publish(b"from a member")
        await eventually(lambda: inbox.payloads == [b"from a member"])
        assert [peer.peer for peer in community.peers] == [second.contact.peer]
        assert first.counters.input.strangers_refused >= 2
        told = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
        assert {line["what"] for line in told} == {"refused"}
        assert all(line["reason"] and line["address"] for line in told)
        assert other.counters.input.frames_received == 0
        assert none.counters.input.frames_received == 0


ROUNDS = ((OURS, None), (OURS, THEIRS), (THEIRS, OURS), (THEIRS, None))
"""What a group that changes its passphrase is started with: before, and in three rounds."""


@live
@pytest.mark.parametrize("membership", ["scamp", "dht"])
async def test_a_group_changes_its_passphrase_and_all_talk_meanwhile(membership: str) -> None:
    """Of each round and the next: either dials the other, over connections and by datagrams."""
    for before, after in pairwise(ROUNDS if membership == "scamp" else ROUNDS[1:3]):
        for one, other in ((before, after), (after, before)):
            async with (
                CommunityManager(
                    membership, passphrase=one[0], also_passphrase=one[1], parameters=CERTAIN
                ) as first,
                CommunityManager(
                    membership,
                    gateways=[first.address],
                    passphrase=other[0],
                    also_passphrase=other[1],
                    parameters=CERTAIN,
                ) as second,
            ):
                inboxes = []
                for manager in (first, second):
                    community = await manager.join(".a")
                    inbox = Inbox()
                    community.subscribe(inbox)
                    inboxes.append((community, inbox))
                for community, _ in inboxes:
                    await community.ready()
                    await community.publish(b"e")
                for _, inbox in inboxes:
                    await eventually(lambda inbox=inbox: inbox.payloads == [b"e", b"e"])


@live
async def test_who_has_neither_passphrase_stays_out() -> None:
    async with (
        CommunityManager(passphrase=OURS, also_passphrase=THEIRS) as first,
        CommunityManager(gateways=[first.address], passphrase=f"{OURS} {THEIRS}") as stranger,
    ):
        await first.join(".a")
        with pytest.raises(GatewayTimeout):
            await stranger.join(".a")
        assert first.counters.input.strangers_refused > 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"also_passphrase": THEIRS}, "goes with a first one"),
        ({"passphrase": OURS, "also_passphrase": f" {OURS}\n"}, "is the first one"),
        ({"passphrase": OURS, "also_passphrase": "short"}, "at least 15 characters"),
        ({"passphrase": OURS, "also_passphrase": THEIRS, "transport": "zmq"}, "'zmq' listens with"),
    ],
)
def test_a_second_passphrase_that_cannot_be_is_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        CommunityManager(**given)  # type: ignore[arg-type]  # of several types


@live
async def test_datagrams_are_sealed() -> None:
    """Two members meet through the DHT, and who sends it plain datagrams gets no answer."""
    async with (
        CommunityManager("dht", passphrase=OURS) as bootstrap,
        CommunityManager("dht", gateways=[bootstrap.address], passphrase=OURS) as first,
        CommunityManager("dht", gateways=[bootstrap.address], passphrase=OURS) as second,
        CommunityManager("dht", gateways=[bootstrap.address]) as stranger,
    ):
        await first.join(".a")
        await (await second.join(".a")).ready()
        with pytest.raises(GatewayTimeout):
            await stranger.join(".a")
        assert bootstrap._lifetime.runner is not None
        port = bootstrap._lifetime.runner._datagrams
        assert isinstance(port, SealedPort)
        assert port.refused > 0
        assert len((await first.join(".a")).peers) == 1


def test_an_experiment_runs_encrypted(tmp_path: Path) -> None:
    scenario = Scenario(communities={Topic(()): 5}, workload=Workload(events=20), workers=2)
    folder = OutputFolder(tmp_path / "out")
    outcome = asyncio.run(run_experiment(scenario, folder, lambda _progress: None, OURS))
    assert outcome.summary.deliveries == 20 * 4
    written = b"".join(path.read_bytes() for path in folder.path.iterdir())
    assert OURS.encode() not in written


@pytest.mark.parametrize(
    "transport",
    [pytest.param(one, marks=[pytest.mark.slow] * (one != "zmtp")) for one in TRANSPORTS],
)
def test_an_experiment_runs_signed(transport: str, tmp_path: Path) -> None:
    """By an authority of its own, of which nothing is left afterwards."""
    scenario = Scenario(
        communities={Topic(()): 5}, workload=Workload(events=20), workers=2, transport=transport
    )
    folder = OutputFolder(tmp_path / "out")
    outcome = asyncio.run(run_experiment(scenario, folder, lambda _progress: None, signed=True))
    assert outcome.summary.deliveries == 20 * 4
    assert outcome.counters["unverified"] == outcome.counters["unadmitted"] == 0


# -- what is refused before anything starts


@live
async def test_a_process_that_lets_strangers_in_does_not_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def open_to_all(_tested: InputPipe, _profile: Profile, _system: str) -> bool:
        return True

    async def says_nothing(_tested: InputPipe, _profile: Profile, _system: str) -> bool:
        raise TimeoutError

    for broken, said in ((open_to_all, "a stranger got in"), (says_nothing, "no answer")):
        manager = CommunityManager(passphrase=OURS)
        monkeypatch.setattr("camcast.live.profiles.self_test.lets_strangers_in", broken)
        with pytest.raises(InsecureError, match=said):
            await manager.start()
        monkeypatch.undo()
        await manager.start()  # nothing was left behind
        await manager.close()


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: CommunityManager(passphrase="too short"), PassphraseError, "at least 15"),
        (lambda: open_pipes(passphrase=""), PassphraseError, "at least 15"),
        (lambda: open_pipes(passphrase="a" * 15), PassphraseError, "keys passphrase"),
        (
            lambda: CommunityManager(discovery="lan", passphrase=OURS),
            OptionError,
            "'lan' hears everybody on the network",
        ),
        (
            lambda: CommunityManager(bind="tcp://192.0.2.1:0"),
            InsecureError,
            r"passphrase \(--passphrase-file\)",
        ),
    ],
)
def test_what_is_wrong_is_said(
    make: Callable[[], object], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        make()


def test_with_a_passphrase_a_process_may_leave_the_loopback() -> None:
    CommunityManager(bind="tcp://192.0.2.1:0", passphrase=OURS)


@live
async def test_pipes_bring_their_passphrase_along() -> None:
    pipes = open_pipes(passphrase=OURS)
    with pytest.raises(ValueError, match="give the passphrase to open_pipes"):
        CommunityManager(pipes=pipes, passphrase=OURS)
    async with (
        CommunityManager(pipes=pipes) as first,
        CommunityManager(gateways=[first.address], passphrase=OURS) as second,
    ):
        await first.join(".a")
        await (await second.join(".a")).ready()
    pipes.close()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--profile", "shared-key"], "needs a passphrase: give --passphrase-file FILE, or set"),
        (["--passphrase-file", "absent"], "absent: No such file"),
        (["--passphrase-file", "OPEN"], "others may read this secret (mode 0644); run: chmod 600"),
        (["--passphrase-file", "SHORT"], "at least 15 characters, this one has 5"),
        (["--passphrase-file", "LINES"], "expected one line of text"),
        (["--profile", "open", "--passphrase-file", "OURS"], "--profile open takes no passphrase"),
        (["--profile", "secret"], "shared-key"),
    ],
)
@pytest.mark.parametrize("name", ["gateway", "demo"])
def test_what_is_wrong_on_the_command_line_is_said(
    name: str, given: list[str], said: str, tmp_path: Path, capsys: Capture
) -> None:
    files = {
        "OPEN": passphrase_file(tmp_path, OURS, 0o644),
        "SHORT": passphrase_file(tmp_path, "short"),
        "LINES": passphrase_file(tmp_path, f"{OURS}\n{OURS}"),
        "OURS": passphrase_file(tmp_path, f"{OURS} again"),
    }
    assert in_process(name, *(files.get(word, word) for word in given)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in " ".join(err.split())
