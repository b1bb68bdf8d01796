"""What is read of the records of others, who may write what they like."""

from hypothesis import given
from hypothesis import strategies as st

from camcast.vocabulary.identity import Contact, PeerId
from overlays.lan import GROUPS_MAX, SERVICE, _read, _read_hint
from overlays.lan_questions import Hint

NAME = f"{bytes(16).hex()}.{SERVICE}"


def test_a_record_names_a_process_and_its_communities() -> None:
    properties: dict[bytes, bytes | None] = {b"address": b"tcp://10.0.0.1:7000", b"01" * 8: None}
    me = Contact(PeerId(bytes(16)), "tcp://10.0.0.1:7000")
    assert _read(NAME, properties) == (me, (b"\x01" * 8,))
    many = properties | {b"%016x" % n: None for n in range(2 * GROUPS_MAX)}
    read = _read(NAME, many)
    assert read is not None
    assert len(read[1]) == GROUPS_MAX
    assert _read(NAME, properties | {b"address": b"tcp://example.org:7000"}) is None
    assert _read(f"00.{SERVICE}", properties) is None


@given(
    st.text(max_size=40) | st.just(NAME),
    st.dictionaries(st.binary(max_size=20) | st.just(b"address"), st.none() | st.binary()),
)
def test_no_record_raises(name: str, properties: dict[bytes, bytes | None]) -> None:
    assert _read(name, properties) is None
    assert _read_hint(properties) is None


def test_where_processes_have_keys_a_record_names_an_address_and_a_key() -> None:
    properties: dict[bytes, bytes | None] = {b"address": b"tcp://10.0.0.1:7000", b"key": b"ABC"}
    assert _read_hint(properties) == Hint("tcp://10.0.0.1:7000", "ABC")
    assert _read_hint(properties | {b"address": b"tcp://example.org:7000"}) is None
    assert _read_hint(properties | {b"key": None}) is None
