"""Condition (e) of LS Theorem 4.3 held against what runs did."""

from __future__ import annotations

import dataclasses

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import confusion_matrix, roc_auc_score

from clbook import theory
from clbook.experiments.separability.experiment import Result


@dataclasses.dataclass
class Check:
    """One entry a run, all arrays (r,): the settings, what the conditions ask for, both sides of (e), and the outcome.

    Attributes:
        gamma, theta, sigma2: as measured at the start.
        delta: largest drift of the kernel until separation, or the end.
        left, right: that side of condition (e).
        ratio: left / right as measured.
        ratio_frozen: left / right with delta = 0.
        separated: whether the run separated.
        steps: iterations it took, NaN where it did not.
    """

    eps: np.ndarray
    tau: np.ndarray
    seed: np.ndarray
    gamma: np.ndarray
    theta: np.ndarray
    sigma2: np.ndarray
    delta: np.ndarray
    left: np.ndarray
    right: np.ndarray
    ratio: np.ndarray
    ratio_frozen: np.ndarray
    separated: np.ndarray
    steps: np.ndarray

    def of(self, seed: int) -> Check:
        """The runs of one seed."""
        mine = self.seed == seed
        return Check(**{name: values[mine] for name, values in vars(self).items()})

    def confusion(self, score: np.ndarray, threshold: float = 1.0) -> list[list[int]]:
        """((true negatives, false positives), (false negatives, true positives)) of predicting `score` > threshold."""
        predicted = score > threshold
        return confusion_matrix(self.separated, predicted, labels=[False, True]).tolist()

    def auc(self, score: np.ndarray) -> float:
        """Probability that a run that separated has a larger `score` than one that did not; needs both kinds of run."""
        return float(roc_auc_score(self.separated, score))

    def misfit(self, group: np.ndarray) -> float:
        """Typical factor by which the best increasing function of `group` misses the time to separation.

        One increasing function is fitted to the logarithm of the times of each seed (runs that separated); 1 means that
        `group` alone decides the time.
        """
        squares = []
        for seed in np.unique(self.seed):
            mine = self.separated & (self.seed == seed)
            log_time = np.log(self.steps[mine])
            fitted = IsotonicRegression().fit_transform(group[mine], log_time)
            squares.extend((log_time - fitted) ** 2)
        return float(np.exp(np.sqrt(np.mean(squares))))


NEEDS = ("gamma", "theta", "sigma2", "drift")  # what `check` asks a run to record


def check(results: list[Result]) -> Check:
    """Measure condition (e) on network runs with two classes and d = 1, the theorem's setting."""
    rows = []
    for result in results:
        config = result.config
        at = np.nan if result.separable_at is None else result.separable_at
        before = ~(result.steps > at)  # all times where the run did not separate
        delta = result.drift[before].max()
        measured = {
            "gamma": result.gamma[0],
            "theta": result.theta[0],
            "sigma2": result.sigma2[0],
            "delta": delta,
        }
        left, right = theory.separation_condition(config.eps, config.tau, config.n, **measured)
        rows.append(
            {
                "eps": config.eps,
                "tau": config.tau,
                "seed": config.seed,
                **measured,
                "left": left,
                "right": right,
                "ratio": left / right,
                "ratio_frozen": left / (right - delta),
                "separated": result.separable_at is not None,
                "steps": at,
            }
        )
    columns = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    return Check(**columns)


def measured_growth(result: Result) -> float:
    """Rate of growth, per unit of flow time lr * iterations, of the gap between the two class means.

    Fitted where theory is linear: from the moment the gap has tripled until the embedding's squared extent reaches
    tau / 4. Raises ValueError where the run has fewer than three recorded times there.
    """
    config = result.config
    z = result.z[..., 0]
    first, second = (z[:, result.labels == k].mean(1) for k in (0, 1))
    gap = np.abs(first - second)
    grown = gap >= 3 * gap[0]
    extent = np.ptp(z, axis=1)
    near = extent**2 <= config.tau / 4
    linear = grown & near
    if linear.sum() < 3:
        raise ValueError(
            "result has fewer than three recorded times of linear growth: record more often or lower eps"
        )
    slope, _ = np.polyfit(result.steps[linear], np.log(gap[linear]), 1)
    return float(slope / config.lr)
