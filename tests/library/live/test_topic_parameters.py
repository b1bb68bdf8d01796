"""A process takes the parameters of its communities from a file by topic."""

from __future__ import annotations

from pathlib import Path

import pytest

from camcast import CommunityManager, CommunitySettings, Parameters
from camcast.vocabulary.topic_parameters import TopicParametersError
from tests.camcast_command import Capture, answer, refusal
from tests.library.live.running_command import Running
from tests.patience import live

TEXT = '[topics."."]\nc = 2\n\n[topics.".a"]\ng = 20\nz = 5\nsuccess = 0.5\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "p.toml"
    path.write_text(TEXT)
    return path


@live
async def test_communities_have_what_the_file_says_of_their_topics(file: Path) -> None:
    async with CommunityManager(parameters=file, retention_seconds=10) as manager:
        below = await manager.join(".a.b")
        assert below.parameters == CommunitySettings(c=2, g=20, z=5, retention_seconds=10)
        assert manager.community(".r").parameters.g == 5
        own = manager.community(".a", parameters=Parameters(g=7))
        assert (own.parameters.c, own.parameters.g) == (5, 7)  # Parameters say all of them


def test_a_wrong_file_is_refused_before_anything_starts(file: Path) -> None:
    file.write_text('[topics.".a"]\ng = -1\n')
    with pytest.raises(TopicParametersError, match=r"p\.toml:2: \.a: g: 'g' must be > 0"):
        CommunityManager(parameters=file)
    with pytest.raises(TypeError, match="parameters is Parameters"):
        CommunityManager(parameters="p.toml")  # type: ignore[arg-type]  # a user may


def test_commands_take_the_file_as_an_option_and_from_their_configuration(
    file: Path, tmp_path: Path, capfd: Capture
) -> None:
    config, control = tmp_path / "camcast.toml", tmp_path / "control"
    config.write_text(f'parameters = "p.toml"\ncontrol = "{control.name}"\n')
    ways: list[list[str | Path]] = [
        ["--parameters", file, "--control", control],
        ["--config", config],
    ]
    for options in ways:
        with Running("subscribe", ".a.b", "--json", *options) as running:
            running.line()
            tuned = answer(capfd, "tune", control, ".a.b")
            assert (tuned["c"], tuned["g"], tuned["z"], tuned["tau"]) == (2, 20, 5, 4)
    file.write_text("g = 5")
    code, said = refusal(capfd, "publish", ".a", "x", "--parameters", file)
    assert code == 2
    assert "p.toml:1: g: it is no table of a topic" in said
