"""Who is there, by name, over real sockets."""

from typing import Any

import pytest

from camcast import CommunityManager, Topic
from camcast.app import presence
from camcast.app.presence import NAME_LENGTH_MAX, Presence, PresenceChange
from tests.library.live.communities import assert_left_whenever_cancelled, managers
from tests.patience import eventually, live

QUICK = 0.1


def names(seen_by: Presence) -> list[str]:
    return sorted(seen_by.names.values())


@live
async def test_who_comes_and_leaves_is_told_and_a_newcomer_hears_of_all() -> None:
    told: list[PresenceChange] = []
    async with managers(3) as (first, second, third):
        # Beats so rare that a newcomer learns of the others from what their neighbours keep.
        async with Presence(first, ".chat", "Ada", on_change=told.append, beat_seconds=60) as ada:
            async with Presence(second, ".chat", "Ben", beat_seconds=60) as ben:
                await eventually(lambda: names(ada) == ["Ada", "Ben"])
                await eventually(lambda: names(ben) == ["Ada", "Ben"])
                async with Presence(third, ".chat", "Cem", beat_seconds=60) as cem:
                    await eventually(lambda: names(cem) == ["Ada", "Ben", "Cem"])
                    await eventually(lambda: names(ada) == ["Ada", "Ben", "Cem"])
                await eventually(lambda: names(ada) == names(ben) == ["Ada", "Ben"])
            await eventually(lambda: names(ada) == ["Ada"])
        peers = {"Ben": second.contact.peer, "Cem": third.contact.peer}
    assert [(one.kind, one.name) for one in told] == [
        ("came", "Ben"),
        ("came", "Cem"),
        ("left", "Cem"),
        ("left", "Ben"),
    ]
    assert told[0].peer == peers["Ben"]
    assert told[-2].peer == peers["Cem"]


@live
async def test_a_name_is_sent_as_a_text_whatever_class_of_texts_it_is() -> None:
    class Name(str):
        """As numpy's, which MessagePack does not know."""

    async with (
        managers(2) as (first, second),
        Presence(first, Topic(("chat",)), Name("Ada"), beat_seconds=QUICK),
        Presence(second, ".chat", "Ben", beat_seconds=QUICK) as ben,
    ):
        await eventually(lambda: names(ben) == ["Ada", "Ben"])


@live
async def test_who_is_not_heard_of_is_silent_and_the_room_above_hears_nothing() -> None:
    told: list[PresenceChange] = []
    async with managers(2) as (first, second):
        above = (await first.join(".chat")).subscribe()
        ada = Presence(first, ".chat", "Ada", on_change=told.append, beat_seconds=QUICK)
        ben = Presence(second, ".chat", "Ben", beat_seconds=QUICK)
        async with ada, ben:
            await eventually(lambda: names(ada) == ["Ada", "Ben"])
            for task in ben._tasks:  # as if the process were stopped
                task.cancel()
            await eventually(lambda: names(ada) == ["Ada"])
        above.close()
        assert [event async for event in above] == []
    assert [one.kind for one in told][:2] == ["came", "silent"]


@live
async def test_what_strangers_claim_is_bounded_and_an_error_of_the_callback_ends_nothing(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: PresenceChange) -> None:
        raise BaseException("a defect")  # as a panic of an extension in Rust is

    monkeypatch.setattr(presence, "MEMBERS_MAX", 1)
    async with (
        managers(3) as (first, second, third),
        Presence(first, ".chat", "Ada", on_change=fail, beat_seconds=60) as ada,
    ):
        raw = second.community(".chat.presence", super_topics=())
        also_raw = third.community(".chat.presence", super_topics=())
        for community in (raw, also_raw):
            await community.ready()
        for wrong in (
            b"\xc1",
            b"\x92\xa0\xc3",
            b"\x92\xd9\x41" + b"x" * 65 + b"\xc3",
            b"\x92\xa1\x1b\xc3",
            b"\x93\xa1x\xc3" + 60_000 * b"\x91" + b"\xc0",
        ):  # no MessagePack; no name, one too long, one that a terminal obeys; a list too deep
            await raw.publish(wrong)
        await raw.publish(b"\x92\xa3Eve\xc3")
        await eventually(lambda: names(ada) == ["Ada", "Eve"])
        assert "a defect" in caplog.text
        await also_raw.publish(b"\x92\xa3Mal\xc3")  # one more than there is room for
        await raw.publish(b"\x92\xa3Eva\xc3")
        await eventually(lambda: names(ada) == ["Ada", "Eva"])
    with pytest.raises(ValueError, match=f"1 to {NAME_LENGTH_MAX} printable characters"):
        Presence(CommunityManager(), ".chat", "")


@live
async def test_who_left_may_come_back() -> None:
    async with managers(2) as (first, second), Presence(first, ".chat", "Ada") as ada:
        for name in ("Ben", "Cem"):
            async with Presence(second, ".chat", name):
                await eventually(lambda name=name: names(ada) == ["Ada", name])
            await eventually(lambda: names(ada) == ["Ada"])
            assert second.community(".chat.presence").state == "left"


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"name": 5}, TypeError, "name is a text, and not 5"),
        ({"on_change": 5}, TypeError, "on_change is a plain function, .* and not 5"),
        ({"beat_seconds": "5"}, TypeError, "beat_seconds is a number, and not '5'"),
        ({"beat_seconds": 0}, ValueError, "beat_seconds is more than 0, and not 0"),
    ],
)
def test_a_presence_says_what_is_wrong(
    given: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Presence(CommunityManager(), ".chat", **{"name": "Ada", **given})


@live
async def test_who_is_cancelled_at_whatever_moment_has_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await assert_left_whenever_cancelled(
        monkeypatch, lambda manager: Presence(manager, ".plant", "ada"), ".plant.presence"
    )
