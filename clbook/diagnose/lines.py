"""The lines of a report: a number, references computed from the same data, a sentence, a rule.

Each function takes a `Subject` and returns the lines for which the subject has what is needed. A rule is said in words
beside the line; its thresholds are shares of a reference, so that no number of one data set is carried to another.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import torch

from clbook import kernels, metrics
from clbook.diagnose import loss_scale

PROGRESS = 0.1  # a loss that has come less of the way from chance to its floor has learned nothing
SPREAD = 0.02  # of the spread of random directions: below it all points have one place
APART = 0.7  # partners as far apart as this share of the distance of strangers share nothing
RANK = 0.1  # of the effective rank of a Gaussian sample: below it most dimensions are unused
DEAD = 1e-3  # an axis with less than this share of the largest deviation is dead
SAME = 0.98  # CKA with the start above which nothing has happened
ERRORS = 3.0  # standard errors by which two accuracies must differ: several are compared
ANSWERED = 0.3  # a share of partners found in a batch, of which
BEYOND = 0.1  # less than this share is found among all points where the batch is too small
NEIGHBOURS = 10
PAIRS = 10  # pairs of classes that are asked whether they are separable
MEMBERS = 100  # points of each class of a pair
INPUTS = 200  # points of the kernel lines


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


@dataclasses.dataclass(frozen=True)
class Subject:
    """What is looked at: n points, in float64.

    Attributes:
        z1, z2: (n, d) what the loss compares, two views of each point.
        used: (n, d') the representation that will be used.
        labels: (n,) or None.
        before, start, twin, raw: (n, ...) or None.
        factors: {name: (n,)}.
        kernel: (m, m) trace kernel of the points `few(n, seed)`, or None.
        tau, loss, scale: of the loss; loss is None where it is none of the package's.
        batch: points in a batch of the training, or None.
        seed: of shuffles and random references.
    """

    z1: np.ndarray
    z2: np.ndarray
    used: np.ndarray
    labels: np.ndarray | None
    before: np.ndarray | None
    start: np.ndarray | None
    twin: np.ndarray | None
    raw: np.ndarray | None
    factors: dict[str, np.ndarray]
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

    def generator(self) -> np.random.Generator:
        """A new source of shuffles and random references, the same for each line."""
        return np.random.default_rng(self.seed)

    def shuffled(self, rows: np.ndarray) -> np.ndarray:
        """The rows in another order."""
        return rows[self.generator().permutation(len(rows))]

    def gaussian(self, like: np.ndarray) -> np.ndarray:
        """A Gaussian sample of the size of `like`."""
        return self.generator().standard_normal(like.shape)

    def others(self, name: str) -> dict[str, np.ndarray]:
        """What a readout is compared with: {what: rows}, those that there are."""
        found = {"raw input": self.raw, "untrained start": self.start}
        if name == "factor":
            found["before the projector"] = self.before
        return {what: rows for what, rows in found.items() if rows is not None}


def unit(z: np.ndarray) -> np.ndarray:
    """The rows at length 1; a row of zeros stays one."""
    length = np.linalg.norm(z, axis=1, keepdims=True)
    return z / np.where(length > 0, length, 1.0)


def share(x: float) -> str:
    """A share in percent, as a sentence has it."""
    return f"{100 * x:.0f} %" if abs(x) >= 0.1 else f"{100 * x:.1f} %"


# What the loss sees.


def loss(s: Subject) -> list[Line]:
    """The loss beside its chance and its floor, in the convention of the library."""
    if s.loss is None:
        return []
    scale = loss_scale.factor(s.scale, s.tau)
    found = loss_scale.value(s.loss, s.z1, s.z2, s.tau, s.labels)
    chance = loss_scale.chance(s.loss, s.n, s.tau, s.labels)
    floor = loss_scale.floor(s.loss, s.n, s.tau, s.labels)
    reference = {"chance": scale * chance, "floor": scale * floor}
    if s.loss in loss_scale.UNLABELLED:
        random = s.gaussian(s.z1)
        even = loss_scale.value(s.loss, random, random, s.tau)
        reference["random directions, partners equal"] = scale * even
    way = (chance - found) / (chance - floor)
    if way < PROGRESS:
        says = (
            f"The loss is at chance, that of a network whose outputs are all equal ({share(way)} of the "
            "way to the floor): untrained, collapsed, or views that share nothing."
        )
    else:
        what = f"arrangement of {s.n} points"
        if s.loss in loss_scale.LABELLED:
            what += " with classes of equal size"
        says = (
            f"The loss has come {share(way)} of the way from chance to a floor that no {what} goes "
            "below. It ranks neither temperatures nor views."
        )
    rule = f"less than {share(PROGRESS)} of the way from chance to floor"
    name = f"loss ({s.loss}, scale {_plain(s.scale)}, tau {s.tau:g})"
    return [Line(name, scale * found, reference, says, way < PROGRESS, rule, "practice")]


def _plain(scale):
    return scale if isinstance(scale, str) else f"{scale:.4g}"


def lengths(s: Subject) -> list[Line]:
    """The mean length of the vectors that the loss compares."""
    found = float(np.linalg.norm(s.z1, axis=1).mean())
    says = "The vectors have length 1, as the loss sees them."
    if not math.isclose(found, 1, rel_tol=1e-3):
        says = (
            f"The vectors have length {found:.3g}. The loss and all lines below see directions: the "
            "vectors are divided by their lengths here. Do the same before you compare with others."
        )
    return [Line("length of the vectors", found, {"unit": 1.0}, says, False, "", "photographs")]


def alignment(s: Subject) -> list[Line]:
    """How far partners are apart, beside strangers."""
    u1, u2 = unit(s.z1), unit(s.z2)
    found = metrics.alignment(u1, u2)
    strangers = metrics.alignment(u1, s.shuffled(u2))
    near = found / strangers if strangers > 0 else 1.0
    alarm = near > APART
    says = (
        f"Partners are {share(near)} as far apart (squared) as strangers. Near 0 the views are too weak "
        "to teach anything, or share a shortcut."
    )
    if alarm:
        says = (
            "Partners are as far apart as strangers: the network finds nothing that two views of a "
            "point share. The views destroy the content, or the outputs are noise."
        )
    rule = f"partners more than {share(APART)} as far apart as strangers"
    reference = {"partners shuffled": strangers, "views equal": 0.0}
    return [Line("alignment", found, reference, says, alarm, rule, "landscape")]


def spread(s: Subject) -> list[Line]:
    """Uniformity, and the variance of the directions: both near 0 where all points have one place."""
    u = unit(s.z1)
    random = unit(s.gaussian(s.z1))
    found = float(metrics.spectrum(u).sum())
    at_random = float(metrics.spectrum(random).sum())
    alarm = found < SPREAD * at_random
    says = f"The directions have {share(found / at_random)} of the variance of random ones."
    if alarm:
        says += " All points are at nearly one place: collapsed."
    rule = f"less than {share(SPREAD)} of the variance of random directions"
    reference = {"random directions": at_random, "all at one place": 0.0}
    variance = Line("spread", found, reference, says, alarm, rule, "landscape")

    even = metrics.uniformity(random)
    uniform = metrics.uniformity(u)
    says = (
        f"Uniformity is {share(uniform / even)} of that of random directions. It is 0 where all points "
        "coincide. Small beside a spread that is not, it says that some lie close together."
    )
    reference = {"random directions": even, "all at one place": 0.0}
    uniformity = Line("uniformity", uniform, reference, says, False, "", "landscape")
    return [variance, uniformity]


def partner_accuracy(z1: np.ndarray, z2: np.ndarray) -> float:
    """The share of 2n views whose nearest other view, by the cosine, is the other view of their point.

    Args:
        z1, z2: (n, d) unit vectors.
    """
    n = len(z1)
    views = np.concatenate([z1, z2])
    cosines = views @ views.T
    np.fill_diagonal(cosines, -np.inf)
    nearest = cosines.argmax(1)
    partner = (np.arange(2 * n) + n) % (2 * n)
    return float((nearest == partner).mean())


def partners(s: Subject) -> list[Line]:
    """How often the loss's quiz is answered, among all points."""
    found = partner_accuracy(unit(s.z1), unit(s.z2))
    chance = 1 / (2 * s.n - 1)
    says = (
        f"For {share(found)} of the views the nearest other view is their partner, {found / chance:.0f} "
        "times as often as by chance. This is the quiz of the loss, and no readout: near 100 % with a "
        "poor readout, the views leak a shortcut."
    )
    return [Line("partner accuracy", found, {"chance": chance}, says, False, "", "practice")]


def batch(s: Subject) -> list[Line]:
    """Whether the quiz of a training batch is answered where that among all points is not."""
    if s.batch is None or s.batch >= s.n:
        return []
    u1, u2 = unit(s.z1), unit(s.z2)
    inside = _in_batches(u1, u2, s.batch, s.generator())
    among_all = partner_accuracy(u1, u2)
    alarm = inside > ANSWERED and among_all < BEYOND * inside
    says = (
        f"In a training batch the partner is found by {share(inside)} of the views, among all {s.n} "
        f"points by {share(among_all)}."
    )
    if alarm:
        says += " The quiz of a batch is answered without the near points: the batch is too small."
    rule = f"above {share(ANSWERED)} in a batch, and less than {share(BEYOND)} of that among all"
    reference = {f"among all {s.n}": among_all, "chance in a batch": 1 / (2 * s.batch - 1)}
    name = f"partner accuracy in a batch of {s.batch}"
    return [Line(name, inside, reference, says, alarm, rule, "alignment")]


def _in_batches(u1, u2, batch, generator):
    """The partner accuracy in batches that are drawn without replacement, in the mean; the rest is left out."""
    order = generator.permutation(len(u1))
    found = []
    for start in range(0, len(u1) - batch + 1, batch):
        rows = order[start : start + batch]
        found.append(partner_accuracy(u1[rows], u2[rows]))
    return float(np.mean(found))


# How many dimensions.


def dimensions(s: Subject) -> list[Line]:
    """Effective rank and dead dimensions, after the projector and before it."""
    found = _dimensions(s, unit(s.z1), "what the loss compares")
    if s.before is not None:
        found += _dimensions(s, s.before, "before the projector")
    return found


def _dimensions(s, z, where):
    n, d = z.shape
    most = min(n - 1, d)
    gaussian = s.gaussian(z)
    rank = metrics.effective_rank(z)
    full = metrics.effective_rank(gaussian)
    alarm = rank < RANK * full
    says = (
        f"The points use some {rank:.3g} of {most} dimensions; a Gaussian sample of this size uses "
        f"{full:.3g}. This ignores size: a collapsed embedding can have as many."
    )
    if alarm:
        says += " Most dimensions have collapsed."
    rule = f"less than {share(RANK)} of a Gaussian sample of the same size"
    reference = {"Gaussian": full, "most, min(n - 1, d)": float(most)}
    page = "content_style"
    lines = [Line(f"effective rank, {where}", rank, reference, says, alarm, rule, page)]

    dead = _dead(z)
    alarm = dead > most / 2
    says = (
        f"Along {dead} of {most} axes the points have less than {DEAD:g} of the largest deviation."
    )
    rule = "more than half of the axes"
    reference = {"Gaussian": float(_dead(gaussian)), "axes": float(most)}
    lines.append(Line(f"dead dimensions, {where}", float(dead), reference, says, alarm, rule, page))
    return lines


def _dead(z):
    """The axes, of min(n - 1, d), along which points hardly vary."""
    variances = metrics.spectrum(z)[: min(len(z) - 1, z.shape[1])]
    deviations = np.sqrt(variances)
    return int((deviations <= DEAD * deviations[0]).sum())


# What can be read out.


def neighbours(rows: np.ndarray, labels: np.ndarray) -> float:
    """Accuracy of the ten nearest others, by the cosine."""
    return metrics.neighbour_accuracy(unit(rows), labels, min(NEIGHBOURS, len(rows) - 1))


def probe(rows: np.ndarray, labels: np.ndarray, seed: int) -> float:
    """Accuracy of a linear probe that is fitted on one half of the points and asked on the other."""
    order = np.random.default_rng(seed).permutation(len(rows))
    known, asked = np.array_split(order, 2)
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
        says = f"The labels of {share(found)} are read out; of shuffled rows {share(reference['rows shuffled'])}."
        if worse:
            says += (
                f" That is less than from the {' and the '.join(worse)}: what the classes need is "
                "lost, and something else kept, a shortcut say."
            )
        rule = f"below raw input or start by more than {ERRORS:g} standard errors"
        lines.append(Line(name, found, reference, says, bool(worse), rule, "practice"))
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
    return [Line(name, found, reference, says, alarm, rule, "content_style")]


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
    classes = np.unique(s.labels)
    pairs = []
    for k, first in enumerate(classes):
        pairs += [(first, second) for second in classes[k + 1 :]]
    order = s.generator().permutation(len(pairs))[:PAIRS]
    right = []
    for pair in order:
        members = []
        for label in pairs[pair]:
            members.append(np.flatnonzero(s.labels == label)[:MEMBERS])
        both = np.concatenate(members)
        right.append(metrics.separable(rows[both], s.labels[both]))
    return float(np.mean(right))


def named_factors(s: Subject) -> list[Line]:
    """How much of each named factor a linear map reads from what is used."""
    lines = []
    for name, factor in s.factors.items():
        found = _r2(factor, s.used)
        reference = {what: _r2(factor, rows) for what, rows in s.others("factor").items()}
        reference["rows shuffled"] = _r2(factor, s.shuffled(s.used))
        says = f"A linear map reads {share(max(found, 0))} of the variance of {name} from what is used."
        lines.append(Line(f"R2 of {name}", found, reference, says, False, "", "content_style"))
    return lines


def _r2(factor, rows):
    """Adjusted R^2; NaN where there are too few points for it."""
    if len(rows) <= rows.shape[1] + 1:
        return math.nan
    return float(metrics.r2(factor[:, None], rows)[0])


# Beside other networks.


def likeness(s: Subject) -> list[Line]:
    """CKA and RSA with the start and with a twin, beside those with shuffled rows."""
    lines = []
    for name, other in (("start", s.start), ("twin", s.twin)):
        if other is None or not _have_directions(s.used, other):
            continue
        for measure, like in (("CKA", metrics.linear_cka), ("RSA", metrics.rsa)):
            found = float(like(s.used, other))
            null = float(like(s.used, s.shuffled(other)))
            alarm = name == "start" and measure == "CKA" and found > SAME
            says = f"{measure} with the {name} is {found:.2f}; of points that do not belong together, {null:.2f}."
            if alarm:
                says += " Nothing has happened yet: stuck."
            rule = f"above {SAME:g}" if name == "start" and measure == "CKA" else ""
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
    return np.random.default_rng(seed).permutation(n)[:INPUTS]


def kernel(s: Subject) -> list[Line]:
    """The blocks of the neural kernel, beside those under shuffled labels."""
    if s.kernel is None or s.labels is None:
        return []
    labels = s.labels[few(s.n, s.seed)]
    if len(np.unique(labels)) < 2:
        return []
    K = torch.from_numpy(s.kernel)
    shuffled = s.shuffled(labels)
    found = kernels.alignment(K, labels)
    null = kernels.alignment(K, shuffled)
    says = (
        f"The kernel's alignment with the classes is {found:.2f}: 1 where a step moves classmates "
        "alike and others not. An untrained network can have some."
    )
    score = Line("kernel block score", found, {"labels shuffled": null}, says, False, "", "kernel")
    ratio = kernels.fisher(K, labels)
    null = kernels.fisher(K, shuffled)
    says = "The distance of the classes' mean gradients over the spread around them, squared."
    fisher = Line("Theta / sigma^2", ratio, {"labels shuffled": null}, says, False, "", "kernel")
    return [score, fisher]


ALL = (
    loss,
    lengths,
    alignment,
    spread,
    partners,
    batch,
    dimensions,
    readouts,
    projector,
    separability,
    named_factors,
    likeness,
    kernel,
)
