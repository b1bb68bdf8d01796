"""The command line as a person and a script use it: separate processes, real sockets."""

import base64
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.camcast_command import Capture, answer, refusal
from tests.camcast_command import camcast as in_process
from tests.library.live.communities import free_address
from tests.library.live.running_command import COMMAND, Running, camcast
from tests.patience import PATIENCE_SECONDS
from tests.printed_json import checked

QUICK = ["--set", "heartbeat_seconds=0.2", "--set", "suspect_after=50"]


@pytest.fixture(scope="module")
def gateway() -> Iterator[str]:
    """A gateway in a process of its own, that ends politely when it is terminated."""
    with Running("gateway", "--bind", "tcp://127.0.0.1:0", "--json") as running:
        yield running.read()["address"]
        assert running.end(signal.SIGTERM) == (0, "")


def subscriber(topic: str, gateway: str, *more: str) -> Running:
    return Running("subscribe", topic, "--gateway", gateway, "--json", *QUICK, *more)


# -- events ------------------------------------------------------------------------------------


def test_events_travel_between_processes_through_a_gateway(gateway: str) -> None:
    with ExitStack() as stack:
        root, soccer, tennis = (
            stack.enter_context(subscriber(topic, gateway))
            for topic in (".travel", ".travel.soccer", ".travel.tennis")
        )
        for running, topic in ((root, ".travel"), (soccer, ".travel.soccer")):
            joined = running.read()
            assert joined["joined"] == topic
            assert joined["address"].startswith("tcp://127.0.0.1:")
        tennis.read()
        code, out, err = camcast(
            "publish", ".travel.soccer", "Grüße", "--gateway", gateway, "--json"
        )
        assert (code, err) == (0, "")
        receipt = checked(json.loads(out))
        assert receipt.keys() == {
            *("topic", "id", "peers", "links", "accepted", "later", "confirmed"),
        }
        assert (receipt["peers"], receipt["links"]) == (1, 1)
        for running in (soccer, root):
            event = running.read()
            assert event.pop("hops") in (1, 2)
            assert event == {"topic": ".travel.soccer", "id": receipt["id"], "payload": "Grüße"}
        for running, number in ((root, signal.SIGINT), (soccer, signal.SIGTERM)):
            code, err = running.end(number)
            assert code == 0
            assert "Traceback" not in err
            assert running.line() == ""
        assert tennis.end(signal.SIGINT)[0] == 0
        assert tennis.line() == ""  # a sibling's event never got there


@pytest.mark.parametrize("membership", [pytest.param("hybrid", marks=pytest.mark.slow), "dht"])
def test_events_travel_through_an_overlay(membership: str, capfd: Capture) -> None:
    """One bootstrap node of no community for everybody; it may go once they know each other."""
    with ExitStack() as stack:
        bootstrap = stack.enter_context(
            Running("gateway", "--overlay", "--bind", "tcp://127.0.0.1:0", "--json")
        )
        address = bootstrap.read()["address"]
        readers = [
            stack.enter_context(
                Running("subscribe", topic, "--gateway", address, "--json", "-m", membership)
            )
            for topic in (".travel", ".travel.soccer")
        ]
        for reader in readers:
            reader.read()
        publish = ("publish", ".travel.soccer", "Hi", "--gateway", address)
        receipt = answer(capfd, *publish, "-m", membership)
        assert (receipt["peers"], receipt["links"]) == (1, 1)
        for reader in readers:
            assert reader.read()["payload"] == "Hi"
        assert bootstrap.end(signal.SIGTERM)[0] == 0


def test_every_line_of_stdin_is_an_event_and_too_long_ones_are_named(gateway: str) -> None:
    with subscriber(".lines", gateway, "--count", "4") as running:
        running.read()
        stdin = b"first\n\xff\xfe\n" + b"x" * 1_048_577 + b"\n\n" + b"no newline at the end"
        code, out, err = camcast("publish", ".lines", "--gateway", gateway, stdin=stdin)
        assert (code, out) == (1, "")
        assert err == (
            "camcast: line 3 is over 1,048,576 bytes, the most of an event, and was not published;"
            " --event-bytes-max, here and at all subscribers, allows 16,777,216 at most\n"
        )
        events = [running.read() for _ in range(4)]
        assert [event.get("payload") for event in events] == [
            "first",
            None,
            "",
            "no newline at the end",
        ]
        assert base64.b64decode(events[1]["payload_base64"]) == b"\xff\xfe"
        assert len({event["id"] for event in events}) == 4
        assert running.end()[0] == 0  # --count


@pytest.mark.parametrize(
    "command",
    [
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in ("model --sizes 10", "simulate chain --sizes 10 --runs 3 --json")
        ),
        "--help",
    ],
)
def test_a_full_disk_is_said_in_a_sentence_and_a_reader_that_has_gone_is_not(command: str) -> None:
    reading, abandoned = os.pipe()
    os.close(reading)
    said = "camcast: cannot write the output: No space left on device\n"
    for output, error in ((os.open("/dev/full", os.O_WRONLY), said), (abandoned, "")):
        done = subprocess.run(
            [*COMMAND, *command.split()],
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        os.close(output)
        assert (done.returncode, done.stderr) == (1, error)


def test_events_of_a_class_are_read_and_written(gateway: str) -> None:
    """What the command line publishes, a program gets as an instance, and the other way round."""
    topic = ".plant.reading"
    with subscriber(topic, gateway, "--where", "celsius > 30", "--count", "1") as running:
        running.read()
        stdin = b'{"celsius": 20}\nno JSON\n{"celsius": 31, "site": "roof"}\n'
        code, _, err = camcast("publish", topic, "--class", "--gateway", gateway, stdin=stdin)
        assert (code, err) == (1, "camcast: line 2 is no JSON object and was not published\n")
        event = running.read()
        del event["id"], event["hops"]
        value = {"celsius": 31, "site": "roof"}
        assert event == {"topic": topic, "class": topic, "value": value}


def test_an_input_that_cannot_be_read_is_said(gateway: str, tmp_path: Path) -> None:
    with subscriber(".unread", gateway) as running, (tmp_path / "x").open("wb") as written_only:
        running.read()
        done = subprocess.run(
            [*COMMAND, "publish", ".unread", "--gateway", gateway],
            stdin=written_only,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        said = "camcast: cannot read the input: Bad file descriptor\n"
        assert (done.returncode, done.stderr) == (1, said)


def test_a_big_file_arrives_whole(gateway: str) -> None:
    count = 20_000  # more than an output queue holds
    with subscriber(".big", gateway, "--count", str(count)) as running:
        running.read()
        stdin = b"".join(b"%d\n" % number for number in range(count))
        code, out, _ = camcast("publish", ".big", "--gateway", gateway, "--json", stdin=stdin)
        assert code == 0
        assert len(out.splitlines()) == count
        got = [running.read() for _ in range(count)]
        assert [int(event["payload"]) for event in got] == list(range(count))


def test_an_event_of_three_mebibytes_arrives_where_both_sides_allow_it(
    gateway: str, tmp_path: Path
) -> None:
    """Nobody is sent it, it is asked for: the publisher does not end before somebody has it."""
    content = os.urandom(1536 << 10).hex()  # 3 MiB
    (file := tmp_path / "file").write_text(content)
    allowed = ("--event-bytes-max", str(4 << 20))
    with subscriber(".three", gateway, "--count", "1", *allowed) as running:
        running.read()
        code, out, err = camcast(
            "publish", ".three", "--file", file, "--gateway", gateway, "--json", *allowed
        )
        assert (code, err) == (0, "")
        assert running.read() == {
            "topic": ".three",
            "id": checked(json.loads(out))["id"],
            "hops": 1,
            "payload": content,
        }
        assert running.end()[0] == 0


@pytest.mark.slow  # half a minute, in which somebody could still take it
def test_an_event_that_all_subscribers_refuse_is_told(gateway: str, tmp_path: Path) -> None:
    (file := tmp_path / "file").write_bytes(bytes(3 << 20))
    with subscriber(".small", gateway) as running:
        running.read()
        arguments = ("--file", file, "--gateway", gateway, "--event-bytes-max", str(4 << 20))
        code, out, err = camcast("publish", ".small", *arguments)
        assert (code, out) == (1, "")
        assert "camcast: nobody has taken 1 of 1 events, of more than 1,048,576 bytes" in err
        assert running.end(signal.SIGINT)[0] == 0


def test_who_names_no_gateway_is_one(gateway: str) -> None:
    with Running("subscribe", ".own", "--json") as founder:
        address = founder.read()["address"]
        assert in_process("publish", ".own", "x", "--gateway", address) == 0
        assert founder.read()["payload"] == "x"
        code, err = founder.end(signal.SIGINT)
        assert (code, err) == (0, f"camcast: joined .own at {address}\n")


def test_a_gateway_file_names_gateways_by_topic(gateway: str, tmp_path: Path) -> None:
    file = tmp_path / "gateways.toml"
    file.write_text(f'[gateways]\n"." = ["{free_address()}"]\n".file" = ["{gateway}"]\n')
    with Running("subscribe", ".file", "--gateways", file, "--json", *QUICK) as running:
        running.read()
        assert in_process("publish", ".file", "x", "--gateways", file) == 0
        assert running.read()["payload"] == "x"


def test_an_event_published_alone_is_refused(gateway: str, capfd: Capture) -> None:
    code, err = refusal(capfd, "publish", ".lonely", "x", "--gateway", gateway, "--wait", "0.5")
    assert code == 1
    assert err == (
        "camcast: nobody else was found in .lonely or above it within 0.5 s, and nothing was"
        " published; start a subscriber, check --gateway, or --wait longer\n"
    )


def test_with_retry_a_subscriber_joins_once_the_gateway_runs() -> None:
    address = free_address()
    with Running("subscribe", ".late", "--gateway", address, "--retry", "--json") as running:
        with Running("gateway", "--bind", address) as gateway:
            assert gateway.line() == address
            assert running.read()["joined"] == ".late"
            assert gateway.end(signal.SIGINT) == (0, "")
        assert running.end(signal.SIGTERM)[0] == 0


# -- ends --------------------------------------------------------------------------------------


def test_a_closed_stdout_ends_a_subscriber_quietly(gateway: str) -> None:
    with Running("subscribe", ".pipe", "--gateway", gateway, "--json", *QUICK) as running:
        running.read()
        assert running.process.stdout is not None
        running.process.stdout.close()
        assert in_process("publish", ".pipe", "x", "--gateway", gateway) == 0
        code, err = running.end()
        assert code == 0
        assert "Traceback" not in err
        assert "Broken" not in err


def test_a_full_disk_ends_a_subscriber(gateway: str) -> None:
    with (
        Path("/dev/full").open("wb") as full,
        subprocess.Popen(
            [*COMMAND, "subscribe", ".full", "--gateway", gateway, *QUICK],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        ) as running,
    ):
        wait = ("--wait", PATIENCE_SECONDS)
        assert in_process("publish", ".full", "x", "--gateway", gateway, *wait) == 0
        _, err = running.communicate(timeout=PATIENCE_SECONDS)
        assert running.returncode == 1
        assert err.endswith("\ncamcast: cannot write the output: No space left on device\n")
        assert "Traceback" not in err


@pytest.mark.slow
def test_the_last_values_of_keys_are_printed_to_who_comes_later(
    gateway: str, capfd: Capture
) -> None:
    assert in_process("latest", ".none", "--gateway", gateway, "--wait", "0.1") == 3
    publish = ("publish", ".state", "--gateway", gateway, "--wait", PATIENCE_SECONDS)
    with subscriber(".state", gateway) as member:
        member.read()
        for value, key in (("20", "roof"), ("21", "roof"), ("gone", "cellar")):
            assert in_process(*publish, value, "--key", key) == 0
            event = member.read()
            assert (event["payload"], event["key"]) == (value, key)
        assert in_process(*publish, "--key", "cellar", "--delete") == 0
        assert (event := member.read())["deleted"]
        assert event["payload"] == ""
        capfd.readouterr()
        wait = ("--wait", PATIENCE_SECONDS)
        assert in_process("latest", ".state", "--gateway", gateway, *wait) == 0
        (line,) = capfd.readouterr().out.splitlines()
        shown = checked(json.loads(line))
        assert (shown["key"], shown["payload"]) == ("roof", "21")
        with subscriber(".state", gateway, "--latest") as later:
            later.read()
            assert later.read()["payload"] == "21"
    code, err = refusal(capfd, *publish, "x", "--delete")
    assert (code, err) == (1, "camcast: --delete goes with --key, and with no event\n")
    code, err = refusal(capfd, "subscribe", ".a", "--latest", "--since", "5")
    assert code == 2
    assert "--latest begins" in err


def test_a_script_waits_for_events_and_is_told_when_none_came(gateway: str, tmp_path: Path) -> None:
    """A file is one event; those of --count that did not come within --for have an exit code."""
    assert in_process("subscribe", ".quiet", "--gateway", gateway, "--for", "100ms") == 3
    (content := tmp_path / "event").write_bytes(b"two\nlines")
    form = ("--format", "{topic}: {payload}")
    with Running("subscribe", ".some", "--gateway", gateway, *form, "--count", "1") as running:
        publish = ("publish", ".some", "--gateway", gateway, "--wait", PATIENCE_SECONDS)
        assert in_process(*publish, "--file", content) == 0
        assert running.line() == r".some: two\nlines"
        assert running.end()[0] == 0


def test_an_event_that_too_few_others_hold_is_told(
    gateway: str, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = ("publish", ".held", "x", "--gateway", gateway, "--wait", PATIENCE_SECONDS)
    with subscriber(".held", gateway):
        assert answer(capfd, *publish, "--confirmed-by", 1)["confirmed"] == 1
        for module in ("camcast.app.community", "camcast.cli.publish"):
            monkeypatch.setattr(f"{module}.CONFIRM_SECONDS", 0.5)
        code, err = refusal(capfd, *publish, "--confirmed-by", 2)
    assert code == 1
    assert "1 of 1 events are not known to be held by 2 other members of .held after 0.5 s" in err


def test_a_signal_ends_a_process_that_still_asks_or_reads(gateway: str) -> None:
    with (
        subscriber(".reads", gateway) as peer,
        Running(
            "subscribe", ".asks", "--gateway", free_address(), "--retry", "-m", "scamp"
        ) as asks,
    ):
        peer.read()
        reads = subprocess.Popen(
            [*COMMAND, "publish", ".reads", "--gateway", gateway],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with reads:
            assert reads.stdin is not None
            assert reads.stderr is not None
            reads.stdin.write(b"line\n")
            reads.stdin.flush()
            assert peer.read()["payload"] == "line"
            reads.send_signal(signal.SIGINT)
            assert reads.wait(PATIENCE_SECONDS) == 0  # although stdin is open
            assert reads.stderr.read() == b""
        code, said = asks.end(signal.SIGTERM)
        assert code == 0
        assert all(" WARNING " in line for line in said.splitlines())  # that nobody answers


def test_in_the_background_ctrl_c_is_for_others(gateway: str) -> None:
    """nohup, and & in a script, start a program with SIGINT ignored, and it stays so."""
    ignoring = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    arguments = ("subscribe", ".background", "--gateway", gateway, "--json", *QUICK)
    with Running(*arguments, **ignoring) as running:
        running.read()
        running.process.send_signal(signal.SIGINT)
        assert in_process("publish", ".background", "x", "--gateway", gateway) == 0
        assert running.read()["payload"] == "x"
        assert running.end(signal.SIGTERM)[0] == 0


# -- what is wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize("command", [("subscribe", ".a"), ("publish", ".a", "x")])
def test_silent_gateways_are_named(command: tuple[str, ...], capfd: Capture) -> None:
    addresses = [free_address(), free_address()]
    options = [part for address in addresses for part in ("--gateway", address)]
    code, err = refusal(capfd, *command, *options)
    assert code == 1
    assert f"no gateway answered for .a; tried {', '.join(addresses)}." in err
    assert len(err.splitlines()) == 1


def test_a_port_in_use_is_said(gateway: str, capfd: Capture) -> None:
    code, err = refusal(capfd, "gateway", "--bind", gateway)
    assert code == 1
    assert err.startswith(f"camcast: cannot listen at {gateway}: another program uses this port")


def test_a_wrong_gateway_file_is_named_with_its_key(tmp_path: Path, capfd: Capture) -> None:
    file = tmp_path / "gateways.toml"
    file.write_text('[gateways]\n".a" = ["tcp://127.0.0.1:x"]\n')
    code, err = refusal(capfd, "publish", ".a", "x", "--gateways", file)
    assert code == 2
    assert err.startswith(f"camcast: {file}: gateways of '.a': address 'tcp://127.0.0.1:x' has")
