"""Figures: two ways to do the same work, measured in turns, and the ratio of their rates."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Side:
    """One way: its command, and a function that runs it and returns its rate."""

    command: str
    rate: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Contest:
    """Both ways: their commands, and a function from the number of a pair to both rates."""

    ours: str
    theirs: str
    rates: Callable[[int], tuple[float, float]]


def in_turns(ours: Side, theirs: Side) -> Contest:
    """Return a contest that runs one side after the other."""
    return Contest(ours.command, theirs.command, lambda _: (ours.rate(), theirs.rate()))


@dataclass(frozen=True, slots=True)
class Figure:
    """A comparison and its target.

    Parameters
    ----------
    contest
        Creates both sides. It may first measure how fast the machine is.
    at_most
        Whether the ratio is theirs over ours, a ratio of times, and ``target`` is its maximum. By default the ratio is
        ours over theirs, and ``target`` is its minimum.
    """

    name: str
    unit: str
    target: float
    contest: Callable[[], Contest]
    at_most: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """A figure with the rates of every pair."""

    figure: Figure
    commands: tuple[str, str]
    pairs: tuple[tuple[float, float], ...]

    @property
    def ratios(self) -> list[float]:
        """The ratio of each pair, lowest first."""
        most = self.figure.at_most
        return sorted(theirs / ours if most else ours / theirs for ours, theirs in self.pairs)

    @property
    def reached(self) -> bool:
        """Whether the median reaches the target."""
        found = median(self.ratios)
        return found <= self.figure.target if self.figure.at_most else found >= self.figure.target

    def __str__(self) -> str:
        figure, ratios = self.figure, self.ratios
        target = f"{'at most' if figure.at_most else 'at least'} {figure.target:g}"
        verdict = "reached" if self.reached else "MISSED"
        lines = [f"{figure.name}: {median(ratios):.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f}); {target}: {verdict}"]
        for which, command in enumerate(self.commands):
            rates = [pair[which] for pair in self.pairs]
            lines.append(f"    {median(rates):10,.1f} {figure.unit}   {command}")
        return "\n".join(lines)


def measure(figure: Figure, pairs: int) -> Result:
    """Run both sides of a figure in turns, ``pairs`` times."""
    contest = figure.contest()
    return Result(figure, (contest.ours, contest.theirs), tuple(_turns(figure, contest, pairs)))


def _turns(figure: Figure, contest: Contest, pairs: int) -> Iterator[tuple[float, float]]:
    for pair in range(pairs):
        rates = contest.rates(pair)
        rates_text = f"{rates[0]:,.1f} and {rates[1]:,.1f} {figure.unit}"
        print(f"  {figure.name}, pair {pair + 1} of {pairs}: {rates_text}", file=sys.stderr, flush=True)
        yield rates
