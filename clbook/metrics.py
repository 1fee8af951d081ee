"""Measures. Of a representation: separability, similarity of two of them, readouts, spectra; of a sample of numbers.

Those of a representation take torch tensors (on any device) or numpy arrays and return plain numbers or float64 arrays.
A ValueError names the argument that has the wrong shape, entries that are not finite, or no defined answer.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

import numpy as np
import scipy
import torch
from scipy.special import entr
from threadpoolctl import threadpool_limits

Points = (
    torch.Tensor | np.ndarray | Sequence
)  # numbers (n, d), or (n,) for n points in one dimension
Labels = torch.Tensor | np.ndarray | Sequence  # (n,)
MARGIN = 1e-7  # least margin, in whitened units, that `separable` tells from zero


def _numpy(values):
    if not isinstance(values, torch.Tensor):
        return np.asarray(values)
    values = values.detach().cpu()
    return (
        values.float() if values.dtype == torch.bfloat16 else values
    ).numpy()  # NumPy has no bfloat16


def _points(name, values):
    """`values` as a finite float64 array (n, d); a vector is n points in one dimension."""
    values = _numpy(values).astype(np.float64, copy=False)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or not values.size:
        raise ValueError(f"{name} has shape {values.shape}: it must be (n, d)")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} has entries that are not finite")
    return values


def class_ids(labels: Labels, n: int, name: str = "labels") -> tuple[np.ndarray, int]:
    """Labels as numbers 0 .. C-1 (n,), and C; ValueError where there are not n of them or fewer than two classes."""
    labels = _numpy(labels)
    if labels.shape != (n,):
        raise ValueError(f"{name} has shape {labels.shape}: it must be ({n},), one for each point")
    classes, ids = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"{name} holds {len(classes)} class: it must hold at least two")
    return ids, len(classes)


def separable(z: Points, labels: Labels) -> bool:
    """Whether an affine rule with one score a class, argmax_c (w_c'z + b_c), is right on every point, strictly.

    For two classes this is linear separability, the conclusion of LS Theorem 4.3. In one dimension it holds exactly
    iff the classes occupy disjoint intervals, which sorting decides; points of two classes at the same place are not
    separable. In more dimensions the points are whitened, which changes no answer but makes it independent of
    scale, and the largest margin over |w| <= 1 (each entry, w_0 = 0) is found by linear programming: separable means
    a margin above `MARGIN`. Directions with less than 1e-12 of the largest spread count as flat.
    z is (n,) or (n, d), labels (n,) hold at least two classes.
    """
    z = _points("z", z)
    ids, count = class_ids(labels, len(z))
    if z.shape[1] > 1:
        return _affine_rule_exists(z, ids, count)
    order = np.argsort(z[:, 0])
    z, ids = z[order, 0], ids[order]
    changes = np.flatnonzero(ids[1:] != ids[:-1])
    return len(changes) == count - 1 and bool((z[changes] < z[changes + 1]).all())


def intervals(z: torch.Tensor, sizes: list[int]) -> torch.Tensor:
    """`separable` in one dimension for R sets of points at once, on their device and without a read from it.

    z: (R, n) with the points of each class side by side, `sizes` of them. Returns (R,) bool.
    """
    ends = [points.aminmax(dim=-1) for points in z.split(sizes, -1)]
    apart = [(a.max < b.min) | (b.max < a.min) for a, b in itertools.combinations(ends, 2)]
    return functools.reduce(torch.logical_and, apart)


def _affine_rule_exists(z, ids, count):
    """Whether min over i and c != y_i of (w_{y_i} - w_c)'u_i + b_{y_i} - b_c can exceed `MARGIN`, u the whitened z."""
    left, spread, _ = np.linalg.svd(z - z.mean(0), full_matrices=False)
    u = left[:, spread > 1e-12 * spread[0]] * len(z) ** 0.5
    if not u.size:
        return False
    n, d = u.shape
    centres = np.stack([u[ids == c].mean(0) for c in range(count)])
    scores = u @ centres.T - (centres**2).sum(1) / 2
    own = scores[np.arange(n), ids]
    scores[np.arange(n), ids] = -np.inf
    if (own - scores.max(1)).min() > MARGIN * np.abs(centres - centres[0]).max():
        return True  # nearest centre is such a rule, which spares the linear program

    unit = np.eye(count)[:, 1:]  # class 0 has score 0: only differences of scores matter
    u = np.hstack([u, np.ones((n, 1))])
    gaps = scipy.sparse.vstack(
        [
            scipy.sparse.coo_array(np.kron(unit[other] - unit[own], u[ids == own]))
            for own, other in itertools.permutations(range(count), 2)
        ]
    )
    # On points nearly in line the simplex method, "highs", or both methods at 1e-10 now and then give up.
    for tolerance, method in itertools.product((1e-10, 1e-9), ("highs", "highs-ipm")):
        problem = scipy.optimize.linprog(
            np.r_[np.zeros((count - 1) * (d + 1)), -1.0],
            A_ub=scipy.sparse.hstack([gaps, np.ones((n * (count - 1), 1))]),
            b_ub=np.zeros(n * (count - 1)),
            bounds=([(-1, 1)] * d + [(None, None)]) * (count - 1) + [(0, 1)],
            method=method,
            options={
                "primal_feasibility_tolerance": tolerance,
                "dual_feasibility_tolerance": tolerance,
            },
        )
        if problem.status == 0:
            break
    else:
        raise RuntimeError(f"the linear program for separability failed: {problem.message}")
    return bool(-problem.fun > MARGIN)


def _directions(a, b):
    """Of a and of b: (the rows at unit length less their mean, that mean); ValueError where they have no answer.

    The rows are float32 where both arguments are, so that products are fast.
    """
    exact = np.float32 if _numpy(a).dtype == _numpy(b).dtype == np.float32 else np.float64
    a, b = _points("a", a), _points("b", b)
    if len(a) != len(b):
        raise ValueError(f"b has {len(b)} rows: it must have as many as a, {len(a)}")
    found = []
    for name, values in (("a", a), ("b", b)):
        length = _squares(values) ** 0.5
        if not length.all():
            raise ValueError(f"{name} has a zero row: its cosine similarity is undefined")
        unit = values / length[:, None]
        mean = unit.mean(0)
        found.append(((unit - mean).astype(exact, copy=False), mean))
    return found


def _squares(rows):
    """(n,) squared lengths of the rows, in float64."""
    return np.einsum("nd,nd->n", rows, rows, dtype=np.float64)


def _correlation(name, inner, a, b):
    """inner(a, b) / sqrt(inner(a, a) inner(b, b)); ValueError where one representation has no spread."""
    own = inner(a, a), inner(b, b)
    for which, square in zip("ab", own, strict=True):
        if square <= 1e-28:
            raise ValueError(
                f"{which} has the same similarity for every pair: its {name} is undefined"
            )
    return float(inner(a, b) / (own[0] * own[1]) ** 0.5)


def linear_cka(a: Points, b: Points) -> float:
    """Linear CKA of two representations a (N, d) and b (N, d') of the same inputs, on cosine similarities (SA Sec. 3).

    <H S H, H S' H>_F / (|H S H|_F |H S' H|_F), in [0, 1], with S_ij = cos(a_i, a_j) and H = I - 11'/N. With X the
    centred unit rows, H S H = X X', so that the inner product is |X' Y|_F^2: d x d numbers instead of N x N.
    """
    (X, _), (Y, _) = _directions(a, b)
    return _correlation("linear CKA", lambda x, y: _squares(x.T @ y).sum() / len(x) ** 2, X, Y)


def rsa(a: Points, b: Points) -> float:
    """RSA of two representations a (N, d) and b (N, d') of the same inputs, N >= 3 (SA Sec. 3).

    The Pearson correlation, in [-1, 1], of the dissimilarities 1 - cos(a_i, a_j), i < j. With the unit rows written
    x_i + m, m their mean, the similarity is |m|^2 + t_ij, t_ij = x_i'x_j + p_i + p_j, p_i = m'x_i. As the x_i and the
    p_i sum to zero, sum_ij t_ij = 0 and sum_ij t_ij t'_ij = |X' X'|_F^2 + 2 N p'p': d x d numbers instead of N x N,
    without the cancellation that raw similarities suffer when all points lie in a narrow cone.
    """
    directions = _directions(a, b)
    n = len(directions[0][0])
    if n < 3:
        raise ValueError(f"a has {n} rows: RSA needs at least 3")
    pairs = n * (n - 1)

    def parts(x, m):
        p = x @ m
        return x, p, _squares(x) + 2 * p  # the last: t_ii, which is no pair's

    def covariance(first, second):
        (x, p, diagonal), (y, q, other) = first, second
        off = _squares(x.T @ y).sum() + 2 * n * p @ q - diagonal @ other
        return off / pairs - diagonal.sum() * other.sum() / pairs**2

    return _correlation("RSA", covariance, *(parts(*direction) for direction in directions))


def weight_gap(m1: torch.nn.Module, m2: torch.nn.Module) -> float:
    """Layer-wise distance of two networks, 2 |W - W'|_F / (|W| + |W'|), the mean over layers (SA Sec. 5.1, Fig. 6).

    In [0, 2]; 0 for equal weights. SA calls it an average and writes a sum over layers; the sum is this times the
    number of layers. Layers are the parameters with two or more dimensions (matrices, convolution kernels), so biases
    and scales are left out. ValueError for modules of different architecture.
    """
    w1, w2 = (
        {name: p.detach().double() for name, p in m.named_parameters() if p.dim() > 1}
        for m in (m1, m2)
    )
    if {k: v.shape for k, v in w1.items()} != {k: v.shape for k, v in w2.items()} or not w1:
        raise ValueError(
            "m2 must have the same layers as m1, at least one, with the same names and shapes"
        )
    size = torch.linalg.norm
    gaps = [
        2 * size(w - w2[name]) / (size(w) + size(w2[name])).clamp(min=1e-300)
        for name, w in w1.items()
    ]
    return float(sum(gaps) / len(gaps))


def _readout(train, y, test, y_test):
    """The arguments (n, d), (n,), (m, d), (m,) as numpy arrays; ValueError where they do not fit each other."""
    train, test = _points("train", train), _points("test", test)
    if train.shape[1] != test.shape[1]:
        raise ValueError(
            f"test has {test.shape[1]} dimensions: it must have as many as train, {train.shape[1]}"
        )
    class_ids(y, len(train), "y")
    y, y_test = _numpy(y), _numpy(y_test)
    if y_test.shape != (len(test),):
        raise ValueError(f"y_test has shape {y_test.shape}: it must be ({len(test)},)")
    return train, y, test, y_test


def nccc(train: Points, y: Labels, test: Points, y_test: Labels) -> float:
    """Accuracy on `test` (m, d) of the nearest class-centre classifier (SA Sec. 5, Table 1).

    The centres are the class means of `train` (n, d); y (n,), y_test (m,) hold the labels.
    """
    train, y, test, y_test = _readout(train, y, test, y_test)
    classes = np.unique(y)
    centres = np.stack([train[y == c].mean(0) for c in classes])
    nearest = np.argmin((centres**2).sum(1) - 2 * test @ centres.T, axis=1)
    return float((classes[nearest] == y_test).mean())


def neighbour_accuracy(z: Points, labels: Labels, k: int = 10) -> float:
    """Share of points whose label is the most frequent one among their k nearest other points (the smaller id at ties).

    z is (n, d), n > k, labels (n,); about 1/C for C equal classes whose points are mixed at random.
    """
    z = _points("z", z)
    ids, count = class_ids(labels, len(z))
    if not 1 <= k < len(z):
        raise ValueError(
            f"k = {k} is not allowed: k must be between 1 and the number of points less one, {len(z) - 1}"
        )
    from sklearn.neighbors import NearestNeighbors  # here, since loading it takes a second

    nearest = (
        NearestNeighbors(n_neighbors=k).fit(z).kneighbors(return_distance=False)
    )  # (n, k), the point left out
    votes = np.stack([(ids[nearest] == c).sum(1) for c in range(count)])
    return float((votes.argmax(0) == ids).mean())


def linear_probe(train: Points, y: Labels, test: Points, y_test: Labels) -> float:
    """Accuracy of a linear probe (SA Sec. 5, Table 1): logistic regression (L2, C = 1) on standardised features.

    Arguments as for `nccc`.
    """
    train, y, test, y_test = _readout(train, y, test, y_test)
    from sklearn import linear_model, pipeline, preprocessing  # as above

    probe = pipeline.make_pipeline(
        preprocessing.StandardScaler(), linear_model.LogisticRegression(max_iter=1000)
    )
    with threadpool_limits(
        1
    ):  # L-BFGS takes many small steps: more threads took 15 times as long, and none was faster
        return float(probe.fit(train, y).score(test, y_test))


def r2(latents: Points, features: Points) -> np.ndarray:
    """(k,) adjusted R^2 of each of latents (n, k) under the best affine map from features (n, d) (CS Sec. 4, Fig. 1).

    1 - (1 - R^2) (n - 1) / (n - p - 1), n > p + 1, with p the rank of the centred features; near 0, and below it half
    of the time, for features that know nothing of the latent.
    """
    latents, features = _points("latents", latents), _points("features", features)
    n = len(latents)
    if len(features) != n:
        raise ValueError(f"features has {len(features)} rows: it must have as many as latents, {n}")
    latents = latents - latents.mean(0)
    total = (latents**2).sum(0)
    if not total.all():
        raise ValueError("latents has a constant column: its R^2 is undefined")
    left, spread, _ = np.linalg.svd(features - features.mean(0), full_matrices=False)
    left = left[:, spread > 1e-12 * max(spread[0], np.abs(features).max())]
    p = left.shape[1]
    if n <= p + 1:
        raise ValueError(
            f"features has {n} rows: an adjusted R^2 needs more than its rank + 1 = {p + 1}"
        )
    residual = ((latents - left @ (left.T @ latents)) ** 2).sum(0)
    return 1 - residual / total * (n - 1) / (n - p - 1)


def spectrum(z: Points) -> np.ndarray:
    """(min(n, d),) eigenvalues of the covariance of z (n, d), descending: variances along its axes (CS Fig. 2)."""
    z = _points("z", z)
    return np.linalg.svd(z - z.mean(0), compute_uv=False) ** 2 / len(z)


def effective_rank(z: Points) -> float:
    """exp of the entropy of the singular values of the centred z (n, d), divided by their sum (Roy & Vetterli 2007).

    Between 1 (all points on a line) and min(n, d) (equal spread); 0 where all points coincide.
    """
    variances = spectrum(z)
    if np.sqrt(variances[0]) <= 1e-14 * np.abs(_points("z", z)).max():
        return 0.0
    return float(spectral_rank(variances))


def spectral_rank(variances: np.ndarray) -> np.ndarray:
    """(...,) `effective_rank` from variances (..., d) along the axes, as from `spectrum`."""
    size = np.sqrt(variances)
    return np.exp(entr(size / size.sum(-1, keepdims=True)).sum(-1))


def mean_interval(
    values: np.ndarray | Sequence, level: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the last axis of values (..., S) and half the width of its confidence interval (Student's t)."""
    values = np.asarray(values, float)
    count = values.shape[-1]
    if count < 2:
        raise ValueError(f"values has {count} on its last axis: an interval needs 2 or more")
    return values.mean(-1), scipy.stats.t.ppf((1 + level) / 2, count - 1) * values.std(
        -1, ddof=1
    ) / count**0.5
