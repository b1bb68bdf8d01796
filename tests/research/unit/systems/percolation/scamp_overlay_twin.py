"""A dumb twin of `percolation.scamp_overlay`, written from its theory of operation.

Views and in-views are lists of numbers, copies under way are tuples in a list.
"""

from __future__ import annotations

from math import ceil, log
from random import Random

Copy = tuple[int, int, int]
"""Where it is, of whom, and how many steps it may go still."""


class Overlay:
    """Processes that have joined one after the other."""

    def __init__(self, processes: int, c: int, rng: Random) -> None:
        self.views: list[list[int]] = [[]]
        self.holders: list[list[int]] = [[]]
        self._c, self._rng = c, rng
        self._under_way: list[Copy] = []
        contacts: list[int] = []
        had_tick, lawful = 0, 0
        for newcomer in range(1, processes):
            contact = rng.randrange(newcomer)
            contacts.append(contact)
            self.views.append([])
            self.holders.append([])
            self._hold(newcomer, contact)
            self._spread(contact, newcomer, len(self.views[contact]) + c)
            for _ in range(10):
                self._step()
            size = newcomer + 1
            if size % 10 == 0:
                for contact in contacts:
                    self._shed(contact)
                everybody = self._wanted() > lawful
                for process in range(0 if everybody else had_tick, size - 10):
                    self._repair(process)
                had_tick, lawful, contacts = size - 10, self._wanted(), []
        for _ in range(3):
            while self._under_way:
                self._step()
            for process in range(processes):
                self._repair(process)
        while self._under_way:
            self._step()

    @property
    def neighbours(self) -> list[set[int]]:
        """Who is in a process's view, and who has it in theirs."""
        return [set(view) | set(held) for view, held in zip(self.views, self.holders, strict=True)]

    def _wanted(self) -> int:
        size = len(self.views)
        return round(min(size - 1, (self._c + 1) * log(size)))

    def _hold(self, holder: int, process: int) -> bool:
        view = self.views[holder]
        cap = ceil(3 * (self._c + 1) * log(max(64, len(self.views))))
        if holder == process or process in view or len(view) >= cap:
            return False
        view.append(process)
        self.holders[process].append(holder)
        return True

    def _spread(self, at: int, subscriber: int, copies: int) -> None:
        members = [member for member in self.views[at] if member != subscriber]
        if not members:
            self._hold(at, subscriber)
            return
        steps = min(64, 4 * (1 + len(self.views[at])))
        self._rng.shuffle(members)
        receivers = members[:copies]
        receivers += self._rng.choices(members, k=copies - len(receivers))
        self._under_way += [(receiver, subscriber, steps) for receiver in receivers]

    def _step(self) -> None:
        copies, self._under_way = self._under_way, []
        for at, subscriber, steps in copies:
            view = self.views[at]
            welcome = steps == 0 or self._rng.random() < 1 / (1 + len(view))
            if welcome and self._hold(at, subscriber):
                continue
            others = [member for member in view if member != subscriber]
            if steps and others:
                self._under_way.append((self._rng.choice(others), subscriber, steps - 1))

    def _repair(self, process: int) -> None:
        self._shed(process)
        missing = self._wanted() - len(self.holders[process])
        if len(self.holders[process]) < 0.75 * self._wanted() and self.views[process]:
            member = self._rng.choice(self.views[process])
            if missing >= len(self.views[member]) and self._hold(member, process):
                missing -= 1
            self._spread(member, process, missing)

    def _shed(self, process: int) -> None:
        surplus = len(self.holders[process]) - self._wanted()
        if len(self.holders[process]) <= 1.25 * self._wanted() + 1:
            return
        for holder in self._rng.sample(self.holders[process], surplus):
            if len(self.views[holder]) > 1:
                self.views[holder].remove(process)
                self.holders[process].remove(holder)
