"""What an explorer runs and draws: one run of an experiment, or several by name, seen at recorded times."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from clbook.results.store import asked, cached, load, path_of
from clbook.style import Picture


class Cell(NamedTuple):
    """What a run comes to, in its cell of a grid of runs; what `cells(result)` returns.

    Attributes:
        shade: how dark the cell is, from 0 to 1.
        text: a number or a sign, which stands in it.
        says: what the run comes to, in words.
    """

    shade: float
    text: str
    says: str


@dataclasses.dataclass(frozen=True)
class Subject:
    """An experiment and its figure.

    Where `compare` is given, one picture shows several runs: a "result" is then a dict {name: Result}.

    Attributes:
        run, figure, compare, time: as for `explore`.
        record: names of the quantities that every run has to record.
    """

    run: Callable
    figure: Callable
    compare: dict | None = None
    time: str | dict | None = None
    record: tuple = ()

    @property
    def asked(self) -> dict:
        """Keyword arguments of `run`, `sweep` and `cached`: a function that records all it has takes no `record`."""
        return {"record": self.record} if self.record else {}

    @property
    def time_name(self) -> str | None:
        """What the values of the time slider are called, without their unit; None where there is no slider."""
        if isinstance(self.time, dict):
            (label,) = self.time
            return label.split(" (")[0]
        return self.time

    def settings(self, config) -> dict:
        """{name: settings} of the runs that one picture shows; without `compare` one run, whose name is None.

        Raises:
            ValueError: `compare` is no dict of dicts, or the Config refuses one of its changes.
        """
        if self.compare is None:
            return {None: config}
        changes = self.compare
        are_changes = isinstance(changes, dict) and all(
            isinstance(c, dict) for c in changes.values()
        )
        if not are_changes or not changes:
            raise ValueError(
                f"compare = {changes!r} is not allowed: compare must be a dict {{name: {{setting: value}}}}"
            )
        return config.compared(changes)

    def seen(self, runs: dict):
        """What the figure gets of `runs` {name: Result}: the dict, or the one Result where nothing is compared."""
        return runs[None] if self.compare is None else runs

    def result(self, config, progress):
        """Run `config`, or take its runs from the store.

        The runs of a comparison are made one after another. A name whose run has not begun yet shows the run at work.

        Args:
            progress: `progress(fraction, result so far)`; where it returns False, the run is stopped.
        """
        named = self.settings(config)
        todo = list(dict.fromkeys(named.values()))  # two names may stand for the same settings
        done = {}

        def with_the_finished(at_work):
            return self.seen({name: done.get(own, at_work) for name, own in named.items()})

        def report(fraction, partial=None):
            whole = (len(done) + fraction) / len(todo)
            return progress(whole, None if partial is None else with_the_finished(partial))

        for own in todo:
            # `done` holds the runs before this one, so that `report` knows how far all of them are.
            latest = cached(self.run, own, progress=report, **self.asked)
            done[own] = latest
            if latest.stopped:
                break
        return with_the_finished(latest)

    def stored(self, config):
        """What `result` would give at once, because all runs of `config` have been made before; else None."""
        wanted, found = asked(self.run, self.record), {}
        for name, own in self.settings(config).items():
            found[name], _ = load(self.run, own, path_of(self.run, own), wanted)
            if found[name] is None:
                return None
        return self.seen(found)

    def times(self, result) -> Sequence:
        """The values that the time slider goes through; [0] where there is no slider.

        Of several runs the shortest list of times counts: at its last time all of them are there.

        Raises:
            ValueError: `time` names no array of numbers in the Result.
        """
        if self.time is None:
            return [0]
        if isinstance(self.time, str):
            return min(map(self._recorded, runs_of(result)), key=len)
        (values,) = self.time.values()
        return values

    def picture(self, result, frame: int) -> Picture:
        """What the figure draws of `result` at the value number `frame` of `times`.

        Raises:
            ValueError: the figure returns something else than a Picture.
        """
        picture = self.figure(result) if self.time is None else self.figure(result, frame=frame)
        if not isinstance(picture, Picture):
            raise ValueError(
                f"figure returned a {type(picture).__name__}: it must return a Picture(fig, alt text)"
            )
        return picture

    def check(self, base_config) -> None:
        """ValueError where `compare` or `time` is not what `explore` asks for."""
        self.settings(base_config)
        if self.time is None or isinstance(self.time, str):
            return
        if not isinstance(self.time, dict) or len(self.time) != 1:
            raise self._refused_time(
                "time must be the name of the Result's recorded times, or a dict {label: values}"
            )
        (values,) = self.time.values()
        if not _are_numbers(values):
            raise self._refused_time("its values must be numbers")

    def _recorded(self, run):
        """The array of a Result that `time` names, with one number for each recorded time."""
        kind = type(run).__name__
        if not hasattr(run, self.time):
            raise self._refused_time(f"{kind} has no such attribute")
        values = getattr(run, self.time)
        if not _are_numbers(values):
            raise self._refused_time(
                f"it must name an array (T,) of recorded times, and {kind}.{self.time} is none"
            )
        return values

    def _refused_time(self, why) -> ValueError:
        return ValueError(f"time = {self.time!r} is not allowed: {why}")


def runs_of(result) -> list:
    """The Results in a result, each once: those of a comparison, or the one."""
    runs = result.values() if isinstance(result, dict) else [result]
    return list({id(run): run for run in runs}.values())


def quantities(record, *functions) -> tuple[str, ...]:
    """The names in `record`, and those that the functions need (`style.needs`), each once.

    Raises:
        ValueError: `record` is no list of names.
    """
    if isinstance(record, str) or not all(isinstance(name, str) for name in record):
        raise ValueError(f"record = {record!r} is not allowed: record must be a list of names")
    # A picture and a cell are drawn of the same run: it has to record what either needs.
    names = list(record)
    for function in functions:
        names += getattr(function, "needs", ())
    return tuple(dict.fromkeys(names))


def _are_numbers(values) -> bool:
    """Whether they are a list of numbers, of which there is one at least."""
    values = np.asarray(values)
    return values.ndim == 1 and values.dtype.kind in "iuf" and len(values) > 0
