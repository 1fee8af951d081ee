"""The lines of a report: a number, references computed from the same data, a sentence, a rule.

Each function takes a `Subject` and returns the lines for which the subject has what is needed. A rule is said in words
beside the line. Most thresholds are shares of a reference, so that no number of one data set is carried to another;
readouts are compared in standard errors, and two thresholds are fixed, of partners found in a batch and of `SAME`.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from clbook import kernels, metrics
from clbook.diagnose import loss_scale, measures, wording
from clbook.diagnose.wording import share

EQUAL = 0.5  # of the points, whose views are equal: more, and the views do nothing
REPEATED = 0.02  # of the points: data sets hold some pictures twice
ROUNDING = 1e-6  # of float32, between directions that are equal
SAME = 0.98  # CKA with the start above which nothing has happened
ERRORS = 3.0  # standard errors by which two accuracies must differ: several are compared
NEIGHBOURS = 10
PAIRS = 10  # pairs of classes that are asked whether they are separable
MEMBERS = 100  # points of each class of a pair
INPUTS = 200  # points of the kernel lines
# What is said of a kernel: (name, score, sentence).
KERNEL_SCORES = (
    (
        "kernel block score",
        kernels.alignment,
        "The kernel's alignment with the classes is {:.2f}: 1 where a step moves classmates alike and others not. An "
        "untrained network can have some.",
    ),
    (
        "Theta / sigma^2",
        kernels.fisher,
        "The distance of the classes' mean gradients over the spread around them, squared.",
    ),
)


@dataclasses.dataclass(frozen=True)
class Line:
    """One line of a report.

    Attributes:
        name: what was measured.
        value: the number.
        reference: {what: number} of the same kind, from the data at hand.
        says: what the value means beside its references.
        alarm: whether the rule finds something wrong.
        rule: when there is an alarm; empty where there is never one.
        page: the page of the book that it rests on.
    """

    name: str
    value: float
    reference: dict[str, float]
    says: str
    alarm: bool
    rule: str
    page: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Subject:
    """What is looked at: n points, in float64.

    Attributes:
        z1, z2: (n, d) what the loss compares, two views of each point.
        used: (n, d') the representation that will be used.
        labels: (n,) or None.
        before, start, checkpoint, twin, raw: (n, ...) or None.
        layers: {name: (n, d'')} outputs on the way to what is used.
        factors: {name: (n,)}.
        kernel: (m, m) trace kernel of the points `few(n, seed)`, or None.
        tau, loss, scale: of the loss; loss is None where it is none of the package's.
        batch: points in a batch of the training, or None.
        seed: of shuffles and random references.
    """

    z1: np.ndarray
    z2: np.ndarray
    used: np.ndarray
    labels: np.ndarray | None = None
    before: np.ndarray | None = None
    start: np.ndarray | None = None
    checkpoint: np.ndarray | None = None
    twin: np.ndarray | None = None
    raw: np.ndarray | None = None
    layers: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    factors: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    kernel: np.ndarray | None
    tau: float
    loss: str | None
    scale: str | float
    batch: int | None
    seed: int

    @property
    def n(self) -> int:
        """The number of points."""
        return len(self.z1)

    @functools.cached_property
    def numbers(self) -> dict[str, float]:
        """The numbers about two views."""
        return two_views(self)

    def shuffled(self, rows: np.ndarray) -> np.ndarray:
        """The rows in another order."""
        return rows[random_order(len(rows), self.seed)]

    def others(self, name: str) -> dict[str, np.ndarray]:
        """What a readout is compared with: {what: rows}, those that there are."""
        found = {
            "raw input": self.raw,
            "untrained start": self.start,
            "checkpoint": self.checkpoint,
        }
        if name == "factor":
            found |= {f"layer {layer}": rows for layer, rows in self.layers.items()}
            found["before the projector"] = self.before
        return {what: rows for what, rows in found.items() if rows is not None}


def random_order(n: int, seed: int) -> np.ndarray:
    """(n,) the numbers from 0 to n - 1 in random order, by torch's generator, which a page has too."""
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed)).numpy()


def gaussian(shape: tuple[int, ...], seed: int) -> Tensor:
    """A sample of the standard normal distribution in float64."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def unit(z: np.ndarray) -> np.ndarray:
    """The rows at length 1; a row of zeros stays one."""
    length = np.linalg.norm(z, axis=1, keepdims=True)
    return z / np.where(length > 0, length, 1.0)


# What two views say: numbers of `measures` in the words of `wording`.


def told(key: str, numbers: dict[str, float], **places: object) -> Line:
    """A line about two views from its numbers; `places` fill its name."""
    about = wording.TWO_VIEWS[key]
    numbers = {"zero": 0.0, "one": 1.0} | numbers
    alarm = bool(numbers.get(f"{key}.alarm", False))
    says = wording.filled(about.alarm if alarm else about.calm, numbers)
    reference = {what: numbers[name] for what, name in about.beside.items() if name in numbers}
    name = about.name.format(**places)
    return Line(name, numbers[key], reference, says, alarm, about.rule, about.page)


def plain(found: Mapping[str, Tensor | float]) -> dict[str, float]:
    """Tensors of one entry as floats."""
    return {name: float(number) for name, number in found.items()}


def two_views(s: Subject) -> dict[str, float]:
    """The numbers about two views: those of `measures.directions` and of the loss, and "n" and "size"."""
    z1, z2 = torch.from_numpy(s.z1), torch.from_numpy(s.z2)
    random = gaussian(s.z1.shape, s.seed)
    size = s.n if s.batch is None else min(s.batch, s.n)
    batch = torch.tensor(size, dtype=torch.float64)
    order = torch.from_numpy(random_order(s.n, s.seed))
    found = plain(measures.directions(z1, z2, order, random, batch))
    return found | loss_numbers(s, random) | {"n": s.n, "size": size}


def loss_numbers(s: Subject, random: Tensor) -> dict[str, float]:
    """The numbers of the loss, if there is one, in the convention of the library."""
    if s.loss is None:
        return {}
    labels = () if s.labels is None else s.labels
    found = {"loss": loss_scale.value(s.loss, s.z1, s.z2, s.tau, labels)}
    found["loss.chance"] = loss_scale.chance(s.loss, s.n, s.tau, labels)
    found["loss.floor"] = loss_scale.floor(s.loss, s.n, s.tau, labels)
    if s.loss in loss_scale.UNLABELLED:
        same = random.numpy()
        found["loss.random"] = loss_scale.value(s.loss, same, same, s.tau)
    judged = plain(measures.judged_loss(found))
    scale = loss_scale.factor(s.scale, s.tau)
    return judged | {name: scale * number for name, number in found.items()}


def loss(s: Subject) -> list[Line]:
    """The loss beside its chance and its floor, in the convention of the library."""
    if s.loss is None:
        return []
    line = told("loss", s.numbers)
    says = line.says
    if s.loss in loss_scale.LABELLED:
        says = says.replace(" points", " points with classes of equal size")
    scale = s.scale if isinstance(s.scale, str) else f"{s.scale:.4g}"
    name = f"loss ({s.loss}, scale {scale}, tau {s.tau:g})"
    return [dataclasses.replace(line, name=name, says=says)]


def directions(s: Subject) -> list[Line]:
    """Lengths, how far partners are apart, and how far all points are."""
    return [told(key, s.numbers) for key in ("length", "alignment", "spread", "uniformity")]


def copies(s: Subject) -> list[Line]:
    """Rows that stand twice, where there are: a line for views that are equal, one for points that are repeated."""
    lines = []
    equal = float(np.isclose(unit(s.z1), unit(s.z2), rtol=0, atol=ROUNDING).all(1).mean())
    places = len(np.unique(s.used, axis=0))
    repeated = 1 - places / s.n
    if equal > EQUAL and not s.numbers["spread.alarm"]:  # else all points are at one place
        says = (
            f"Both views of {share(equal)} of the points are equal: views that change nothing, or one array given "
            "twice. The loss then has nothing to teach."
        )
        rule = f"both views of more than {share(EQUAL)} of the points"
        strangers = {"views of other points": 0.0}
        lines.append(Line("equal views", equal, strangers, says, True, rule, "practice"))
    if repeated > REPEATED and places > 1:
        says = (
            f"{share(repeated)} of the points have the same output as one before them: data that hold points several "
            "times, which then stand in both halves of a readout, or a network with few outputs."
        )
        rule = f"more than {share(REPEATED)} of the points"
        once = {"each point once": 0.0}
        lines.append(Line("repeated points", repeated, once, says, True, rule, "practice"))
    return lines


def partners(s: Subject) -> list[Line]:
    """How often the loss's quiz is answered, among all points and in a training batch."""
    lines = [told("partners", s.numbers)]
    if s.batch is not None and s.batch < s.n:
        lines.append(told("batch", s.numbers, size=s.batch))
    return lines


def dimensions(s: Subject) -> list[Line]:
    """Effective rank and dead dimensions, after the projector and before it."""
    found = [(s.numbers, "what the loss compares")]
    if s.before is not None:
        random = gaussian(s.before.shape, s.seed)
        numbers = plain(measures.dimensions(torch.from_numpy(s.before), random))
        found.append((numbers, "before the projector"))
    lines = []
    for numbers, where in found:
        lines += [told(key, numbers, where=where) for key in ("rank", "dead")]
    return lines


# What can be read out.


def neighbours(rows: np.ndarray, labels: np.ndarray) -> float:
    """Accuracy of the ten nearest others, by the cosine."""
    return metrics.neighbour_accuracy(unit(rows), labels, min(NEIGHBOURS, len(rows) - 1))


def probe(rows: np.ndarray, labels: np.ndarray, seed: int) -> float:
    """Accuracy of a linear probe that is fitted on one half of the points and asked on the other.

    NaN where there are too few points for it: one class in the first half, or none of them in the second.
    """
    known, asked = np.array_split(random_order(len(rows), seed), 2)
    if len(np.unique(labels[known])) < 2 or not np.isin(labels[asked], labels[known]).any():
        return math.nan
    return metrics.linear_probe(rows[known], labels[known], rows[asked], labels[asked])


def behind(found: float, other: float, asked: int) -> bool:
    """Whether an accuracy is below another one by more than chance explains."""
    middle = (found + other) / 2
    error = math.sqrt(2 * middle * (1 - middle) / asked)
    return other - found > ERRORS * error


def readouts(s: Subject) -> list[Line]:
    """Neighbours and a linear probe, beside the raw input, the untrained start and shuffled rows."""
    if s.labels is None:
        return []

    def linear(rows):
        return probe(rows, s.labels, s.seed)

    def nearest(rows):
        return neighbours(rows, s.labels)

    lines = []
    for name, readout, asked in (("k-NN", nearest, s.n), ("linear probe", linear, s.n // 2)):
        found = readout(s.used)
        reference = {what: readout(rows) for what, rows in s.others("readout").items()}
        worse = [what for what, other in reference.items() if behind(found, other, asked)]
        reference["rows shuffled"] = readout(s.shuffled(s.used))
        shuffled = reference["rows shuffled"]
        says = f"The labels of {share(found)} are read out; of shuffled rows {share(shuffled)}."
        blind = not behind(shuffled, found, asked)
        if math.isnan(found):
            says, blind = "There are too few points of each class for it.", False
        if blind:
            says += (
                " That is no more: the labels are in another order than the rows, or the points know "
                "nothing of them."
            )
        if worse:
            says += (
                f" That is less than from the {' and the '.join(worse)}: the network has lost some of what "
                "the classes need; a shortcut is one possible cause."
            )
        rule = f"below raw input, start or checkpoint, or not above shuffled rows, by {ERRORS:g} standard errors"
        alarm = bool(worse) or blind
        lines.append(Line(name, found, reference, says, alarm, rule, "practice"))
    return lines


def projector(s: Subject) -> list[Line]:
    """What the projector costs: the probe on what is used, beside the probe before the projector."""
    if s.labels is None or s.before is None:
        return []
    found = probe(s.used, s.labels, s.seed)
    other = probe(s.before, s.labels, s.seed)
    alarm = behind(found, other, s.n // 2)
    says = "Nothing is lost by what is used."
    if alarm:
        says = f"Before the projector {share(other - found)} more are read out: use that output."
    rule = f"below it by more than {ERRORS:g} standard errors"
    reference = {"before the projector": other}
    name = "linear probe of what is used"
    return [Line(name, found, reference, says, alarm, rule, "projectors")]


def separability(s: Subject) -> list[Line]:
    """The share of pairs of classes that a hyperplane separates."""
    if s.labels is None:
        return []
    found = _separable_pairs(s, s.used)
    shuffled = _separable_pairs(s, s.shuffled(s.used))
    says = f"A hyperplane separates {share(found)} of the pairs of classes that were tried."
    if shuffled > 0.5:
        says += " It says little: so few points in so many dimensions part under any labels."
    name = f"separable pairs of classes, up to {MEMBERS} points each"
    reference = {"rows shuffled": shuffled}
    return [Line(name, found, reference, says, False, "", "separability")]


def _separable_pairs(s, rows):
    pairs = list(itertools.combinations(np.unique(s.labels), 2))
    right = []
    for k in random_order(len(pairs), s.seed)[:PAIRS]:
        both = np.concatenate([np.flatnonzero(s.labels == label)[:MEMBERS] for label in pairs[k]])
        right.append(metrics.separable(rows[both], s.labels[both]))
    return float(np.mean(right))


def named_factors(s: Subject) -> list[Line]:
    """How much of each named factor a linear map reads from what is used, layer by layer on the way to it."""
    lines = []
    for name, factor in s.factors.items():
        found = _r2(factor, s.used)
        reference = {what: _r2(factor, rows) for what, rows in s.others("factor").items()}
        reference["rows shuffled"] = _r2(factor, s.shuffled(s.used))
        says = f"A linear map reads {share(max(found, 0))} of the variance of {name} from what is used."
        by_layer = {layer: reference[f"layer {layer}"] for layer in s.layers}
        known = {layer: r2 for layer, r2 in by_layer.items() if not math.isnan(r2)}
        if known:
            most = max(known, key=known.__getitem__)
            says += f" Of the layers, most is in {most}, {share(max(known[most], 0))}."
        lines.append(Line(f"R2 of {name}", found, reference, says, False, "", "projectors"))
    return lines


def _r2(factor, rows):
    """Adjusted R^2; NaN where there are too few points for it."""
    if len(rows) <= rows.shape[1] + 1:
        return math.nan
    return float(metrics.r2(factor[:, None], rows)[0])


# Beside other networks.


def likeness(s: Subject) -> list[Line]:
    """CKA and RSA with the start, a checkpoint and a twin, beside those with shuffled rows."""
    lines = []
    for name, other in (("start", s.start), ("checkpoint", s.checkpoint), ("twin", s.twin)):
        if other is None or not _have_directions(s.used, other):
            continue
        for measure, like in (("CKA", metrics.linear_cka), ("RSA", metrics.rsa)):
            found = float(like(s.used, other))
            null = float(like(s.used, s.shuffled(other)))
            judged = name == "start" and measure == "CKA"
            alarm = judged and found > SAME
            says = f"{measure} with the {name} is {found:.2f}; of points that do not belong together, {null:.2f}."
            if alarm:
                says += " Nothing has happened yet: stuck."
            rule = f"above {SAME:g}" if judged else ""
            line = f"{measure} with the {name}"
            lines.append(Line(line, found, {"rows shuffled": null}, says, alarm, rule, "alignment"))
    return lines


def _have_directions(*tables):
    """Whether the cosines of each table are defined, and differ."""
    for rows in tables:
        if not rows.any(1).all() or np.ptp(unit(rows), axis=0).max() < 1e-12:
            return False
    return True


def few(n: int, seed: int) -> np.ndarray:
    """The rows of the kernel lines, drawn at random: data are often in the order of their classes."""
    return random_order(n, seed)[:INPUTS]


def kernel(s: Subject) -> list[Line]:
    """The blocks of the neural kernel, beside those under shuffled labels."""
    if s.kernel is None or s.labels is None:
        return []
    labels = s.labels[few(s.n, s.seed)]
    if len(np.unique(labels)) < 2:
        return []
    K = torch.from_numpy(s.kernel)
    shuffled = s.shuffled(labels)
    lines = []
    for name, score, says in KERNEL_SCORES:
        found = float(score(K, labels))
        reference = {"labels shuffled": float(score(K, shuffled))}
        lines.append(Line(name, found, reference, says.format(found), False, "", "kernel"))
    return lines


ALL = (
    loss,
    directions,
    copies,
    partners,
    dimensions,
    readouts,
    projector,
    separability,
    named_factors,
    likeness,
    kernel,
)
