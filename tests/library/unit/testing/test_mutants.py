"""Mutants of a source: each has one mistake, and the same seed draws the same ones."""

from __future__ import annotations

import pytest

from camcast.testing.mutants import draw

SOURCE = '''
LIMIT = 7

class Held:
    """A docstring with a number, 3, stays."""

    limit: int = 7

    def add(self, one, now):
        """Add one."""
        if one in self.held and len(self.held) < 3:
            self.held.append(one)
        self.last = now - 1.0
        return self.held[:5]
'''
# by hand: LIMIT; always, never; or for and, without either; not in, >=, 31; append left out; the
# assignment left out, plus, 11.0; nothing returned, no bound, 51
MISTAKES = 16


def test_each_has_one_mistake_in_a_body_or_a_number_of_the_module() -> None:
    mutants = draw(SOURCE, 100, seed=1)
    assert len(mutants) == len({mutant.source for mutant in mutants}) == MISTAKES
    for mutant in mutants:
        namespace: dict[str, object] = {}
        exec(mutant.source, namespace)  # each can be run
        assert "limit: int = 7" in mutant.source
        assert "a number, 3, stays" in mutant.source
        assert mutant.mistake


@pytest.mark.parametrize(
    ("statement", "mutated"),
    [
        ("x = min(f, g)", {"x = max(f, g)", "x = min(f)", "x = min(g, f)"}),
        ("x = sorted(f, key=g)", {"x = list(f)"}),
        ("x = not f", {"x = f"}),
        ("x = [*f, g]", {"x = [g]"}),
        ("x = [y for y in f if g]", {"x = [y for y in f]"}),
        ("f[g] = x", {"pass"}),
        ("raise f", {"pass"}),
        ("for x in f:\n        g", {"for x in list(f)[:1]:\n        g"}),
        (
            "try:\n        f\n    except (g, h):\n        x",
            {
                "try:\n        f\n    except (g,):\n        x",
                "try:\n        f\n    except (h,):\n        x",
            },
        ),
    ],
)
def test_what_the_operators_make_of_a_statement(statement: str, mutated: set[str]) -> None:
    drawn = draw(f"def body():\n    {statement}\n", 100, seed=1)
    assert {mutant.source for mutant in drawn} == {f"def body():\n    {one}" for one in mutated}


def test_a_seed_draws_the_same_ones() -> None:
    assert draw(SOURCE, 5, seed=2) == draw(SOURCE, 5, seed=2)
    assert len(draw(SOURCE, 5, seed=2)) == 5
    assert draw(SOURCE, 5, seed=2) != draw(SOURCE, 5, seed=3)
