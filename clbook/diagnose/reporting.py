"""`report`: checks what it is given, computes the lines, and shows them as a table, JSON or a page of HTML."""

from __future__ import annotations

import dataclasses
import html
import json
import math
import os
from pathlib import Path

import numpy as np
import torch

from clbook._arguments import choice, positive, refused, whole
from clbook.diagnose import arrays, lines, loss_scale
from clbook.diagnose.arrays import Rows
from clbook.diagnose.kernel import trace_kernel
from clbook.diagnose.lines import Line, Subject

TAU = 0.5  # where no temperature is given
MOST = 1000  # points that are looked at

STYLE = """
body { font: 16px/1.45 sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24 }
table { border-collapse: collapse } th, td { text-align: left; vertical-align: top; padding: .3rem .6rem;
border-bottom: 1px solid #dde1e6 } .alarm td { background: #fdecdf }
"""


@dataclasses.dataclass(frozen=True)
class Report:
    """The lines of a diagnosis.

    Attributes:
        n: points that were given.
        looked: points that the lines are computed from.
        lines: the lines, in the order in which they are read.
        numbers: those about two views (`measures.two_views`), by name.
    """

    n: int
    looked: int
    lines: tuple[Line, ...]
    numbers: dict[str, float] = dataclasses.field(repr=False)

    @property
    def alarms(self) -> tuple[Line, ...]:
        """The lines whose rule finds something wrong."""
        return tuple(line for line in self.lines if line.alarm)

    def __getitem__(self, name: str) -> Line:
        """The line of a name, or the first whose name begins so; KeyError where there is none."""
        named = {line.name: line for line in self.lines}
        for found in (name, *named):  # itself, or the first that begins with it
            if found in named and found.startswith(name):
                return named[found]
        raise KeyError(f"{name}: the report has {', '.join(named)}")

    @property
    def summary(self) -> str:
        """One sentence that says how many alarms, and of which lines."""
        looked = f"{self.looked} of {self.n} points" if self.looked < self.n else f"{self.n} points"
        if not self.alarms:
            return f"{looked}, {len(self.lines)} lines, no alarm."
        names = "; ".join(line.name for line in self.alarms)
        alarms = "alarms" if len(self.alarms) > 1 else "alarm"
        return f"{looked}, {len(self.lines)} lines, {len(self.alarms)} {alarms}: {names}."

    @property
    def table(self):
        """The lines as a `style.Table` with name, value, references, alarm, what it says, and the page."""
        from clbook import style  # here: numbers, JSON and HTML need no matplotlib

        return style.Table(COLUMNS[:-1], [_row(line)[:-1] for line in self.lines])

    def __repr__(self) -> str:
        rows = [self.summary]
        for line in self.lines:
            mark = "!" if line.alarm else " "
            rows.append(f"{mark} {line.name}: {_shown(line.value)}  ({_beside(line)})")
            if line.alarm:
                rows.append(f"    {line.says}")
        return "\n".join(rows)

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.summary)}</p>{_html(self.lines, COLUMNS[:-1])}"

    def to_json(self) -> str:
        """The report as JSON; a number that is not finite is null."""
        rows = []
        for line in self.lines:
            row = dataclasses.asdict(line)
            row["value"] = _finite(line.value)
            row["reference"] = {what: _finite(number) for what, number in line.reference.items()}
            rows.append(row)
        found = {"n": self.n, "looked": self.looked, "summary": self.summary, "lines": rows}
        return json.dumps(found, indent=1, allow_nan=False)

    def to_html(self, path: str | os.PathLike | None = None) -> str:
        """The report as one page of HTML that needs nothing else, also written to `path`."""
        page = (
            '<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8"><title>Diagnosis of an encoder'
            f"</title><style>{STYLE}</style>\n<h1>What is wrong with this encoder?</h1>\n"
            f"<p>{html.escape(self.summary)}</p>\n{_html(self.lines, COLUMNS)}</html>\n"
        )
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page


COLUMNS = ("line", "value", "beside", "alarm", "what it says", "page", "when it alarms")


def _row(line):
    """A line as cells of a table, one for each of `COLUMNS`."""
    mark, rule = "alarm" if line.alarm else "", line.rule or "never"
    return (line.name, _shown(line.value), _beside(line), mark, line.says, line.page, rule)


def _html(lines, columns):
    """The first columns of the table of some lines, as HTML."""
    head = "".join(f"<th>{name}</th>" for name in columns)
    rows = [f"<tr>{head}</tr>"]
    for line in lines:
        cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in _row(line)[: len(columns)])
        rows.append(f'<tr class="alarm">{cells}</tr>' if line.alarm else f"<tr>{cells}</tr>")
    return '<table class="table clbook-table">' + "\n".join(rows) + "</table>\n"


def _beside(line):
    return "; ".join(f"{what} {_shown(number)}" for what, number in line.reference.items())


def _shown(number):
    return "undefined" if math.isnan(number) else f"{number:.4g}"


def _finite(number):
    return number if math.isfinite(number) else None


def report(
    z1: Rows,
    z2: Rows | None = None,
    z: Rows | None = None,
    labels: Rows | None = None,
    before: Rows | None = None,
    start: Rows | None = None,
    twin: Rows | None = None,
    factors: dict[str, Rows] | None = None,
    tau: float | None = None,
    loss: str | None = "nt_xent",
    scale: str | float = "mean",
    *,
    raw: Rows | None = None,
    checkpoint: Rows | None = None,
    layers: dict[str, Rows] | None = None,
    batch: int | None = None,
    model: torch.nn.Module | None = None,
    x: torch.Tensor | None = None,
    most: int = MOST,
    seed: int = 0,
) -> Report:
    """What is wrong with an encoder: its numbers beside references that are computed from the same points.

    Arrays are NumPy's, torch's, sequences, or paths of .npz, .npy and .csv files. All have one row for each of n
    points, in one order. More than two axes are flattened. The points should not be among those that were trained on.

    Args:
        z1: (n, d) what the loss compares, for one view of each point. It alone may be an .npz file that holds all
            arrays by their names here; a factor is "factors.NAME".
        z2: (n, d) the same for a second view of each point.
        z: (n, d') the representation that will be used, for the points themselves. None takes z1.
        labels: (n,) numbers or strings, for what reads out.
        before: (n, d'') the output in front of the projector, for the points themselves.
        start: (n, ...) as z, by the untrained network.
        twin: as z, by another network, one with labels say.
        factors: {name: (n,)}, or (n, k): properties of the points that may have been learned.
        tau: the temperature of the loss, > 0. None takes 0.5, and says so.
        loss: one of nt_xent, cl, dcl, nt_xent_mean, infonce, nscl, supcon; None for no line of the loss.
        scale: how the library prints the loss: "mean" over the views, "sum" of two directions, "supcontrast" for the
            mean times tau / 0.07, or a factor.
        raw: (n, ...) the inputs.
        checkpoint: as z, by an earlier state of the network.
        layers: {name: (n, d)} outputs on the way to z, for the factors.
        batch: points in a batch of the training.
        model: a network, for the lines of the neural kernel; labels are needed, too.
        x: (n, ...) the inputs of `model`.
        most: points that are looked at, at random, >= 4. Memory and time grow with its square.
        seed: of that choice, of shuffles and of random references.

    Returns:
        The report. It is the same for the same arguments.

    Raises:
        ValueError: an argument that is not allowed, by its name.

    Examples:
        >>> z = np.random.default_rng(0).normal(size=(60, 8))
        >>> report(z, z + 0.1).summary  # partners agree, and the points spread over all directions
        '60 points, 8 lines, no alarm.'
        >>> collapsed = report(np.ones((60, 8)), np.ones((60, 8)))
        >>> collapsed["loss"].alarm, collapsed["effective rank"].value
        (True, 0.0)
    """
    given: dict = {"z": z, "before": before, "start": start, "twin": twin, "raw": raw}
    given |= {"checkpoint": checkpoint, "labels": labels, "factors": factors, "layers": layers}
    given = {name: value for name, value in given.items() if value is not None}
    if z2 is None and isinstance(z1, (str, os.PathLike)):
        given = arrays.from_file(z1) | given
        z1, z2 = given.pop("z1"), given.pop("z2")
    tables = _tables(z1, z2, given)
    n = len(tables["z1"])
    settings = _settings(TAU if tau is None else tau, loss, scale, batch, seed, "labels" in tables)

    most = whole("most", most, 4)
    rows = lines.random_order(n, seed)[:most]
    rows.sort()
    chosen = _chosen(tables, rows)
    if "labels" in chosen and len(np.unique(chosen["labels"])) < 2:
        raise refused("most", most, "so large that the points looked at are of two classes or more")
    inputs = rows[lines.few(len(rows), seed)]
    subject = Subject(**chosen, **settings, kernel=_kernel(model, x, n, inputs))
    found = []
    for group in lines.ALL:
        found += group(subject)
    if tau is None and loss is not None:  # the first line is the loss
        says = f"{found[0].says} The temperature was not given, so {TAU:g} was taken: name yours."
        found[0] = dataclasses.replace(found[0], says=says)
    return Report(n, len(rows), tuple(found), subject.numbers)


def _tables(z1, z2, given):
    """{name: the argument as an array, or as a dictionary of arrays}, all of one number of rows."""
    if z2 is None:
        raise refused("z2", z2, "the other view of each row of z1: one view has no partner")
    z1 = arrays.points("z1", z1, directions=True)
    n, d = z1.shape
    if n < 4:
        raise refused("z1", z1, "an array of at least 4 rows")
    tables = {"z1": z1, "z2": arrays.points("z2", z2, n, d, directions=True)}
    others = {"labels": arrays.labels, "factors": arrays.factors, "layers": arrays.layers}
    for name, value in given.items():
        if name in others:
            tables[name] = others[name](value, n)
        else:
            tables[name] = arrays.points(name, value, n)
    return tables


def _chosen(tables, rows):
    """The tables of a Subject: some rows of each."""
    chosen = {}
    for name, found in tables.items():
        if isinstance(found, dict):
            chosen[name] = {member: values[rows] for member, values in found.items()}
        else:
            chosen[name] = found[rows]
    chosen["used"] = chosen.pop("z", chosen["z1"])
    return chosen


def _settings(tau, loss, scale, batch, seed, labelled):
    """The settings of a report, checked."""
    tau = positive("tau", tau)
    if loss is not None:
        choice("loss", loss, loss_scale.LOSSES)
        if loss in loss_scale.LABELLED and not labelled:
            raise refused("loss", loss, "one without labels, or come with labels")
    loss_scale.factor(scale, tau)  # checks scale
    batch = None if batch is None else whole("batch", batch, 2)
    seed = whole("seed", seed, 0)
    return {"tau": tau, "loss": loss, "scale": scale, "batch": batch, "seed": seed}


def _kernel(model, x, n, rows):
    """The trace kernel of some of the points, (m, m) in float64, or None."""
    if model is None:
        return None
    if not isinstance(x, torch.Tensor) or len(x) != n:
        raise refused("x", x, f"a tensor of the {n} inputs of model")
    return trace_kernel(model, x[torch.from_numpy(rows).to(x.device)]).double().cpu().numpy()
