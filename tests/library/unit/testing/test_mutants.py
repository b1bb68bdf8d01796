"""Mutants of a source: each has one mistake, and the same seed draws the same ones."""

from __future__ import annotations

from camcast.testing.mutants import draw

SOURCE = '''
class Held:
    """A docstring with a number, 3, stays."""

    limit = 7

    def add(self, one, now):
        """Add one."""
        if one in self.held and len(self.held) < 3:
            self.held.append(one)
        self.last = now - 1.0
        return self.held[:5]
'''
# by hand: if, and, in, <, 3, append, the assignment, minus, 1.0, return, the bound, 5
MISTAKES = 12


def test_each_has_one_mistake_in_the_body_of_a_function() -> None:
    mutants = draw(SOURCE, 100, seed=1)
    assert len(mutants) == len({mutant.source for mutant in mutants}) == MISTAKES
    for mutant in mutants:
        namespace: dict[str, object] = {}
        exec(mutant.source, namespace)  # each can be run
        assert "limit = 7" in mutant.source
        assert "a number, 3, stays" in mutant.source
        assert mutant.mistake


def test_a_seed_draws_the_same_ones() -> None:
    assert draw(SOURCE, 5, seed=2) == draw(SOURCE, 5, seed=2)
    assert len(draw(SOURCE, 5, seed=2)) == 5
    assert draw(SOURCE, 5, seed=2) != draw(SOURCE, 5, seed=3)
