"""Controls: what each claim's measure says of the real evidence after it was changed.

A control reverses numbers along an axis, repeats the first one, negates them, exchanges what two names hold, and so on,
in all of a claim's evidence or in the named parts of it alone. `controls.txt` lists, for each verdict that a claim may
have beside its own, the narrowest control that gives it: one line is id, verdict, parts of the evidence, change.
`margins.txt` has how far each condition of a claim is past its bar; - where a change of the evidence by 1e-4 moves it.

    python tests/controls.py [id ...]    finds the controls of these claims, or of all, and writes the list
    python tests/controls.py --margins   writes the margins
"""

import copy
import itertools
import pathlib
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import xarray

from clbook.training.settings import Settings
from clbook_book.audit import judging
from clbook_book.audit.judging import needs

LIST = pathlib.Path(__file__).parent / "controls.txt"
MARGINS = LIST.with_name("margins.txt")


class Control(NamedTuple):
    """A line of the list; without parts, all of the evidence is changed."""

    id: str
    verdict: str
    parts: tuple[str, ...]
    change: str

    def line(self) -> str:
        return " | ".join([self.id, self.verdict, " / ".join(self.parts), self.change])


def listed() -> list[Control]:
    """The lines of the list."""
    rows = (line.split(" | ") for line in LIST.read_text(encoding="utf-8").splitlines())
    return [
        Control(id, verdict, tuple(filter(None, parts.split(" / "))), change)
        for id, verdict, parts, change in rows
    ]


# Evidence: dicts, lists, tuples, Datasets, Results and other objects, down to arrays and numbers.


def inside(value) -> dict | None:
    """What a value holds by name; None of a number, an array, a text. Settings are no evidence."""
    if isinstance(value, dict):
        return value
    if isinstance(value, (list, tuple)):
        return dict(enumerate(value))
    if isinstance(value, xarray.Dataset):
        return dict(value.data_vars)
    plain = xarray.DataArray, np.ndarray, np.generic, Settings, type(None)
    if isinstance(value, plain) or not hasattr(value, "__dict__") or callable(value):
        return None
    return vars(value)


def holding(value, held: dict):
    """The same kind of value that holds something else."""
    if isinstance(value, dict):
        return held
    if isinstance(value, (list, tuple)):
        make = getattr(value, "_make", type(value))  # of a named tuple
        return make(held.values())
    if isinstance(value, xarray.Dataset):
        return value.assign(held)
    other = copy.copy(value)
    vars(other).update(held)
    return other


def names(value) -> dict[str, None]:
    """The names of all parts, in their order; the places in a list are runs, and have none."""
    found = {}
    for name, part in (inside(value) or {}).items():
        if not isinstance(value, list):
            found[f"{name}"] = None
        found |= names(part)
    return found


def changed(value, change: Callable, parts: tuple[str, ...] = ()):
    """The evidence with `change` made in all that lies under all of these parts."""
    if not parts and getattr(change, "whole", False):
        return change(value)
    held = inside(value)
    if held is None:
        return value if parts else change(value)
    under = (
        tuple(part for part in parts if part != f"{name}" or isinstance(value, list))
        for name in held
    )
    made = {name: changed(part, change, left) for (name, part), left in zip(held.items(), under)}
    return holding(value, made)


def of_numbers(function: Callable) -> Callable:
    """The function of an array made a change of whatever holds numbers."""

    def change(value):
        numbers = np.asarray(value.values if isinstance(value, xarray.DataArray) else value)
        if numbers.dtype.kind not in "fiub":
            return value
        made = function(numbers)
        if isinstance(value, xarray.DataArray):
            return value.copy(data=made)
        return made if isinstance(value, np.ndarray) else made[()]

    return change


def each(number: Callable, truth: Callable = lambda truths: truths) -> Callable:
    """A change of each number, and of each True and False."""
    return of_numbers(lambda a: truth(a) if a.dtype.kind == "b" else number(a).astype(a.dtype))


def along(axis: int, function: Callable) -> Callable:
    """A change along an axis of the arrays that have it."""
    return of_numbers(lambda a: function(a, axis) if -a.ndim <= axis < a.ndim else a)


def start(a, axis):
    return np.repeat(np.take(a, [0], axis), a.shape[axis], axis)


def end(a, axis):
    return np.repeat(np.take(a, [-1], axis), a.shape[axis], axis)


def rolled(a, axis):
    return np.roll(a, 1, axis)


def shuffled(a, axis):
    return np.take(a, np.random.default_rng(0).permutation(a.shape[axis]), axis)


def alternating(a, axis):
    signs = np.where(np.arange(a.shape[axis]) % 2, -1, 1)
    return np.moveaxis(np.moveaxis(a, axis, -1) * signs, -1, axis)


def never(value):
    """Of an event that was seen, that it was not; and the reverse."""
    if value is None:
        return 1
    if isinstance(value, int) and not isinstance(value, bool):
        return None
    return of_numbers(lambda a: a * np.nan if a.dtype.kind == "f" else a)(value)


def exchanged(value):
    """What the names of a dict or a tuple hold, each has what the one before it held."""
    held = inside(value)
    if held is None:
        return value
    if isinstance(value, (dict, tuple)) and len(held) > 1:
        *others, last = held.values()
        return holding(value, dict(zip(held, [last, *others])))
    return holding(value, {name: exchanged(part) for name, part in held.items()})


exchanged.whole = True
ROUGH = each(lambda a: a + 1e-4 * a)
CHANGES = {
    **{f"reversed along {axis}": along(axis, np.flip) for axis in (-1, 0, 1)},
    **{f"start along {axis}": along(axis, start) for axis in (-1, 0, 1)},
    **{f"end along {axis}": along(axis, end) for axis in (-1, 0, 1)},
    **{f"rolled along {axis}": along(axis, rolled) for axis in (-1, 0, 1)},
    **{f"shuffled along {axis}": along(axis, shuffled) for axis in (-1, 0, 1)},
    **{f"alternating along {axis}": along(axis, alternating) for axis in (-1, 0, 1)},
    "exchanged": exchanged,
    "ten times": each(lambda a: 10 * a),
    "a hundred times": each(lambda a: 100 * a),
    "a tenth": each(lambda a: a / 10),
    "one minus": each(lambda a: 1 - a, np.logical_not),
    "plus one": each(lambda a: a + 1),
    "one": each(np.ones_like, np.ones_like),
    "zero": each(np.zeros_like, np.zeros_like),
    "negated": each(np.negative),
    "never": never,
}


# Judging.


def judged(paper, id: str, evidence: dict) -> dict:
    """The row of a claim on this evidence; its sums of odd numbers may overflow."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return paper.claims[id].row(paper.measures[id](**evidence))


def real(paper, id: str) -> dict:
    """The evidence that the claim's measure takes."""
    return {name: paper.evidence(name) for name in needs(paper.measures[id])}


def margins(paper, id: str, evidence: dict) -> list[float]:
    """How far each condition of a claim is past its bar on this evidence."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        conditions = paper.measures[id](**evidence).conditions
        return [judging.judge(condition)[1] for condition in conditions]


def steady(paper, id: str) -> list[str]:
    """Those margins to three digits; "-" for one that hangs on the last digits of the evidence."""
    evidence = real(paper, id)
    rough = margins(paper, id, changed(evidence, ROUGH))
    pairs = zip(margins(paper, id, evidence), rough, strict=True)
    return ["-" if abs(a - b) > 0.02 * abs(a) else f"{a:.3g}" for a, b in pairs]


def controlled(paper, control: Control, evidence: dict | None = None) -> str:
    """The verdict that a control gives; "" where the measure cannot take such evidence."""
    evidence = evidence or real(paper, control.id)
    try:
        made = changed(evidence, CHANGES[control.change], control.parts)
        return judged(paper, control.id, made)["verdict"]
    except Exception:
        return ""


def found(paper, id: str, verdict: str) -> Control | None:
    """The narrowest control that gives this verdict, also with the evidence a little off."""
    evidence = real(paper, id)
    rough = changed(evidence, ROUGH)

    def gives(parts, change):
        control = Control(id, verdict, parts, change)
        return all(controlled(paper, control, given) == verdict for given in (evidence, rough))

    for parts in itertools.chain([()], ((name,) for name in names(evidence))):
        for change in CHANGES:
            if not gives(parts, change):
                continue
            for _ in range(3):
                narrower = ((*parts, name) for name in names(evidence) if name not in parts)
                parts, last = next((p for p in narrower if gives(p, change)), parts), parts
                if parts == last:
                    break
            return Control(id, verdict, parts, change)
    return None


def search(ids: list[str]) -> Iterator[Control]:
    """Controls of these claims, one for each verdict that is not the claim's own."""
    own = judging.committed()
    for paper in map(judging.paper, judging.NAMES):
        for id, claim in paper.claims.items():
            if id in ids or not ids:
                # A formula that is misprinted may also be wrong when corrected.
                also = {"fails"} if "misprinted" in claim.verdicts else set()
                for verdict in sorted({*claim.verdicts, *also} - {own[id]}):
                    control = found(paper, id, verdict)
                    if control:
                        yield control


if sys.argv[1:] == ["--margins"] and __name__ == "__main__":
    papers = map(judging.paper, judging.NAMES)
    lines = [" ".join([id, *steady(paper, id)]) for paper in papers for id in paper.claims]
    MARGINS.write_text("\n".join([*lines, ""]), encoding="utf-8")
elif __name__ == "__main__":
    order = list(judging.committed())
    kept = [control for control in listed() if sys.argv[1:] and control.id not in sys.argv[1:]]
    lines = sorted([*kept, *search(sys.argv[1:])], key=lambda control: order.index(control.id))
    LIST.write_text("".join(f"{control.line()}\n" for control in lines), encoding="utf-8")
