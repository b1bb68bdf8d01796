"""A file that a test writes, and the refusal that it must meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from camcast.research.workloads import WorkloadError


def written(folder: Path, content: str | bytes, name: str = "given.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def assert_refused(
    load: Callable[[Path], object], path: Path, line: int, says: Sequence[str]
) -> None:
    """The error names the file and the line, and says each of the phrases."""
    with pytest.raises(WorkloadError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert (caught.value.path, caught.value.line) == (path, line)
    assert [phrase for phrase in says if phrase not in caught.value.message] == []
