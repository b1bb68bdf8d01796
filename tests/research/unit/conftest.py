"""Pictures that no test looks at closely are small: of a large one every point is computed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

SMALL = 0.25  # chosen: 0.04 s of CPU for the points of a figure, of which 2.0 takes 0.7 s


@pytest.fixture(scope="module")
def small_pictures() -> Iterator[None]:
    """Let every picture in points have an eighth of its width and height, throughout a module.

    tests/research/unit/papers/test_chart.py has one as large as it is drawn for users.
    """
    from camcast.research.report import drawing

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "_PNG_SCALE", SMALL)
        yield
