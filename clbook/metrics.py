"""Measures. Of a representation: separability, similarity of two of them, readouts, spectra; of a sample of numbers.

Those of a representation take torch tensors (on any device), numpy arrays or sequences, and return plain numbers or
float64 arrays. A ValueError names the argument that has the wrong shape, entries that are not finite, or no defined
answer.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import scipy
import torch
from scipy.special import entr, logsumexp
from threadpoolctl import threadpool_limits
from torch import Tensor

from clbook._arguments import array, chance, positive, reals, refused, whole

Points = Tensor | np.ndarray | Sequence  # (n, d), or (n,) for n points in one dimension
Labels = Tensor | np.ndarray | Sequence  # (n,)

MARGIN = 1e-7  # least margin, in whitened units, that `separable` tells from zero
FLAT = 1e-12  # a direction with less than this share of the largest spread has none
CONSTANT = 1e-28  # the mean square of similarities that differ by rounding alone


def _points(name, values, least=1, several=False) -> np.ndarray:
    """`values` as a finite float64 array (n, d), n >= `least`; a vector is n points in one dimension.

    With `several` it may be (..., n, d), and numbers that are not finite pass.
    """
    found = reals(name, values)
    if found.ndim == 1:
        found = found[:, None]
    enough = found.size > 0 and found.ndim >= 2 and found.shape[-2] >= least
    if not enough or (found.ndim > 2 and not several):
        runs = " or (..., n, d)" if several else ""
        raise refused(name, values, f"n points (n, d){runs}, n >= {least}, d >= 1")
    if several:
        return found
    if not np.isfinite(found).all():
        raise refused(name, values, "finite numbers")
    return found


def class_ids(
    labels: Labels,
    n: int,
    name: str = "labels",
) -> tuple[np.ndarray, int]:
    """Labels as numbers.

    Args:
        labels: (n,) numbers or strings, of at least two classes.
        n: how many there must be.
        name: of the argument, in a message.

    Returns:
        ids (n,) between 0 and C - 1 in the order of the labels, and C, the number of classes.

    Raises:
        ValueError: another number of labels, one class only, labels that are NaN.

    Examples:
        >>> ids, classes = class_ids(["dog", "cat", "dog"], 3)
        >>> ids.tolist(), classes
        ([1, 0, 1], 2)
    """
    whole("n", n, 0)
    classes, ids = np.unique(_labels(name, labels, n), return_inverse=True)
    if len(classes) < 2:
        raise refused(name, labels, f"of two or more classes, not {len(classes)}")
    return ids, len(classes)


def _labels(name, labels, n):
    """(n,) `labels` as an array of numbers or strings."""
    found = array(name, labels)
    if found.shape != (n,):
        raise refused(name, labels, f"one label for each point, ({n},)")
    if found.dtype.kind not in "biufU":
        raise refused(name, labels, "numbers or strings")
    if (found != found).any():
        raise refused(name, labels, "labels that are not NaN")
    return found


# Separability.


def separable(z: Points, labels: Labels) -> bool:
    """Whether an affine rule with one score a class, argmax_c (w_c'z + b_c), is right on every point, strictly.

    For two classes this is linear separability, the conclusion of LS Theorem 4.3.

    In one dimension it holds iff the classes occupy disjoint intervals, which sorting decides. Points of two classes at
    the same place are not separable. In more dimensions the points are whitened, which changes no answer and makes it
    independent of scale. Separable means there that the largest margin over weights in [-1, 1] is above `MARGIN`.

    Args:
        z: (n, d) or (n,).
        labels: (n,), of at least two classes.

    Raises:
        ValueError: z or labels of another shape, z not finite.

    Examples:
        >>> separable([0, 1, 2, 3], [0, 0, 1, 1]), separable([0, 1, 2, 3], [0, 1, 1, 0])
        (True, False)
        >>> separable([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])  # XOR: no line has it right
        False
    """
    z = _points("z", z)
    ids, classes = class_ids(labels, len(z))
    if z.shape[1] == 1:
        by_class = z[ids.argsort(), 0]
        return bool(intervals(torch.from_numpy(by_class[None]), np.bincount(ids).tolist()))
    u = _basis(z) * math.sqrt(len(z))  # coordinates of mean 0 and variance 1
    if u.shape[1] == 0:  # all points coincide
        return False
    # As it most often is: no linear program is needed.
    if _nearest_centre_is_right(u, ids, classes):
        return True
    return bool(_largest_margin(u, ids, classes) > MARGIN)


def _basis(z):
    """(n, rank) orthonormal columns that span the centred points: the left singular vectors."""
    left, spread, _ = np.linalg.svd(z - z.mean(0), full_matrices=False)
    rounding = 1e-14 * np.linalg.norm(z)  # of points that all coincide
    return left[:, spread > max(FLAT * spread[0], rounding)]


def _nearest_centre_is_right(u, ids, classes):
    """Whether the rule "nearest class centre", which is affine, is right on every point by a margin."""
    centres = _centres(u, ids, classes)  # (C, d)
    distances = scipy.spatial.distance.cdist(u, centres, "sqeuclidean")  # (n, C)
    points = np.arange(len(u))
    own = distances[points, ids]
    distances[points, ids] = np.inf
    margin = (distances.min(1) - own) / 2  # the score of a class is u'c - |c|^2 / 2
    largest_weight = np.abs(centres - centres[0]).max()
    return margin.min() > MARGIN * largest_weight


def _centres(points, ids, classes):
    """(C, d) the mean of each class."""
    return np.stack([points[ids == c].mean(0) for c in range(classes)])


def _largest_margin(u, ids, classes):
    """The largest m such that score_y(u) - score_c(u) >= m for every point, y its class and c any other.

    A linear program in the weights of all scores, in [-1, 1], their constants, and m in [0, 1]. Class 0 has score 0:
    only differences of scores matter.
    """
    n, d = u.shape
    lifted = np.hstack([u, np.ones((n, 1))])  # the constant of a score is the weight of a 1
    score = np.eye(classes)[:, 1:]  # (C, C - 1): which of the weights a class's score has
    gaps = []
    for own, other in itertools.permutations(range(classes), 2):
        # score_c - score_y of each point of class y
        gap = np.kron(score[other] - score[own], lifted[ids == own])
        gaps.append(scipy.sparse.coo_array(gap))
    rows = scipy.sparse.vstack(gaps)  # one for each point and each other class
    # score_c - score_y + m, which must be <= 0
    constraints = scipy.sparse.hstack([rows, np.ones((rows.shape[0], 1))])

    bounds_of_a_score = [(-1, 1)] * d + [(None, None)]
    bounds = bounds_of_a_score * (classes - 1) + [(0, 1)]
    objective = np.zeros(len(bounds))
    objective[-1] = -1.0  # linprog minimises: -m
    return -_minimum(objective, constraints, bounds)


def _minimum(objective, constraints, bounds):
    """The minimum of objective'w over all w between `bounds` with constraints w <= 0.

    On points nearly in line the simplex method, "highs", or both methods at 1e-10, now and then give up.
    """
    for tolerance, method in itertools.product((1e-10, 1e-9), ("highs", "highs-ipm")):
        feasible = {
            "primal_feasibility_tolerance": tolerance,
            "dual_feasibility_tolerance": tolerance,
        }
        problem = scipy.optimize.linprog(
            objective,
            A_ub=constraints,
            b_ub=np.zeros(constraints.shape[0]),
            bounds=bounds,
            method=method,
            options=feasible,
        )
        if problem.status == 0:
            return problem.fun
    raise RuntimeError(f"the linear program for separability failed: {problem.message}")


def intervals(z: Tensor, sizes: Sequence[int]) -> Tensor:
    """`separable` in one dimension for R sets of points at once, on their device and without a read from it.

    Args:
        z: (R, n), the points of each class side by side.
        sizes: how many points each class has, of two or more classes.

    Returns:
        (R,) bool.

    Raises:
        ValueError: z or sizes of another shape.

    Examples:
        >>> z = torch.tensor([[0.0, 1, 2, 3], [0, 2, 1, 3]])  # two runs of two classes
        >>> intervals(z, [2, 2]).tolist()
        [True, False]
    """
    if not isinstance(z, Tensor) or z.dim() != 2:
        raise refused("z", z, "a tensor (R, n)")
    if not isinstance(sizes, Sequence) or len(sizes) < 2:
        raise refused("sizes", sizes, "the sizes of two or more classes")
    sizes = [whole("sizes", size, 1) for size in sizes]
    n = z.shape[1]
    if sum(sizes) != n:
        raise refused("sizes", sizes, f"sizes that add up to the {n} points of z")

    ends = [points.aminmax(dim=-1) for points in z.split(sizes, -1)]
    lowest = torch.stack([end.min for end in ends], -1)  # (R, C)
    highest = torch.stack([end.max for end in ends], -1)
    below = highest[:, :, None] < lowest[:, None]  # (R, C, C) whether a class is below another
    # Of each pair that is apart exactly one class is below the other.
    return below.sum((1, 2)) == math.comb(len(sizes), 2)


# Similarity of two representations a and b of the same inputs, by their cosines S_ij = cos(a_i, a_j).
#
# With u_i the unit rows, m their mean and x_i = u_i - m, S_ij = x_i'x_j + m'x_i + m'x_j + |m|^2. Both measures need
# sums over pairs such as sum_ij (x_i'x_j)(y_i'y_j) = |X'Y|_F^2. That is d x d' numbers instead of n x n, without the
# cancellation that the cosines themselves suffer when all points lie in a narrow cone.


def linear_cka(a: Points, b: Points) -> float | np.ndarray:
    """Linear CKA on cosines, <H S H, H S' H>_F / (|H S H|_F |H S' H|_F), H = I - 11'/n (SA Sec. 3); in [0, 1].

    Args:
        a: (n, d), or (..., n, d) several representations.
        b: (n, d') or (..., n, d'); leading axes broadcast.

    Returns:
        A float, or (...,) where there are several. An entry is NaN where it has no defined answer.

    Raises:
        ValueError: other shapes; of a single pair also a representation that is not finite, has a zero row, or the
            same cosine for every two points.

    Examples:
        >>> z = [[1, 0], [1, 0], [0, 1]]
        >>> turned = [[0, 2], [0, 2], [-2, 0]]  # by a right angle, at twice the length
        >>> other = [[1, 0], [0, 1], [1, 0]]  # another pair is alike
        >>> round(float(linear_cka(z, turned)), 3), round(float(linear_cka(z, other)), 3)
        (1.0, 0.25)
    """
    # H S H = X X', so that <H S H, H S' H>_F = |X'Y|_F^2.
    return _correlation(_inner, *_pair(a, b, least=1))


def rsa(a: Points, b: Points) -> float | np.ndarray:
    """RSA: Pearson correlation of the dissimilarities 1 - S_ij and 1 - S'_ij over the pairs i < j (SA Sec. 3).

    In [-1, 1]. Arguments, result and errors are those of `linear_cka`, with n >= 3.

    No table of the pairs is made. With the directions u_i, their mean m and x_i = u_i - m, the similarity is

        S_ij = u_i'u_j = |m|^2 + t_ij,   t_ij = x_i'x_j + p_i + p_j,   p_i = m'x_i,

    and the correlation does not see the constant. The x_i sum to 0, and so do the p_i. With y_i and q_i of the other
    representation, X the rows x_i and Y the rows y_i, the products over all i and j are therefore

        |X'Y|_F^2 + 2 n sum_i p_i q_i,

    from which the pairs i = j are taken off.

    Examples:
        >>> between = [[1, 0], [1, 1], [0, 1]]  # the second point is like both others
        >>> beside = [[1, 0], [0, 1], [1, 0]]  # the second point is like neither of them
        >>> round(float(rsa(between, between)), 3), round(float(rsa(between, beside)), 3)
        (1.0, -1.0)
    """
    return _correlation(_covariance, *_pair(a, b, least=3))


def _pair(a, b, least):
    """The directions of a (..., n, d) and of b (..., n, d'). Of a single pair all rows must have one."""
    a = _points("a", a, least, several=True)
    b = _points("b", b, least, several=True)
    n = a.shape[-2]
    if b.shape[-2] != n:
        raise refused("b", b, f"a representation of the same {n} inputs as a")
    axes = a.shape[:-2]
    others = b.shape[:-2]
    if axes and others and axes != others:
        raise refused("b", b, f"of the leading axes of a, {axes}, or of none")
    if not axes and not others:
        for name, points in (("a", a), ("b", b)):
            if not _points(name, points).any(axis=1).all():
                raise refused(name, points, "free of zero rows: their cosines are undefined")
    return _directions(a), _directions(b)


def _directions(points):
    """The rows of points (..., n, d) at unit length less their mean (..., 1, d), and that mean; NaN for a zero row."""
    length = np.linalg.norm(points, axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = points / length
    mean = unit.mean(-2, keepdims=True)
    return unit - mean, mean


def _correlation(product, a, b):
    """<a, b> / sqrt(<a, a> <b, b>), (...,), of the directions of two representations and a `product` of such."""
    together = product(a, b)
    of_a = product(a, a)
    of_b = product(b, b)
    if together.ndim == 0:
        for name, (x, _), size in (("a", a, of_a), ("b", b, of_b)):
            if size <= CONSTANT:
                raise refused(name, x, "a representation in which not all cosines are the same")
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = together / np.sqrt(of_a * of_b)
    defined = np.minimum(of_a, of_b) > CONSTANT  # False where one is NaN
    return np.where(defined, correlation, math.nan)[()]  # the one number of a single pair


def _inner(a, b):
    """(...,) the mean over i and j of (x_i'x_j)(y_i'y_j), which is |X'Y|_F^2 / n^2."""
    x, _ = a
    y, _ = b
    products = np.swapaxes(x, -1, -2) @ y  # X'Y, (..., d, d')
    return (products**2).sum((-1, -2)) / x.shape[-2] ** 2


def _covariance(a, b):
    """(...,) covariance over the pairs i != j of their cosines in a and in b.

    But for a constant, the cosine is t_ij = x_i'x_j + p_i + p_j, p_i = m'x_i.
    """
    p, own = _terms(a)
    q, other_own = _terms(b)
    n = p.shape[-1]
    pairs = n * (n - 1)
    # Over all i and j the x_i and the p_i sum to zero. So t_ij does, and most terms of its products do.
    products = _inner(a, b) + 2 * (p * q).mean(-1)
    # Over the pairs i != j: the terms i = j are taken off.
    products = (n**2 * products - (own * other_own).sum(-1)) / pairs
    mean = -own.sum(-1) / pairs
    other_mean = -other_own.sum(-1) / pairs
    return products - mean * other_mean


def _terms(directions):
    """p_i, and t_ii, which is no pair's: (..., n) each."""
    x, mean = directions
    p = (x * mean).sum(-1)
    return p, (x**2).sum(-1) + 2 * p


def weight_gap(m1: torch.nn.Module, m2: torch.nn.Module) -> float:
    """Distance of two networks, 2 |W - W'|_F / (|W|_F + |W'|_F), the mean over their layers (SA Sec. 5.1, Fig. 6).

    In [0, 2]; 0 for equal weights. SA calls it an average and writes a sum over layers; the sum is this times the
    number of layers.

    Args:
        m1, m2: modules of one architecture. Layers are the parameters with two or more dimensions (matrices,
            convolution kernels), so that biases and scales are left out.

    Raises:
        ValueError: other arguments, or no layer.

    Examples:
        >>> m1, m2 = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
        >>> ones = torch.nn.init.ones_(m1.weight)
        >>> threes = torch.nn.init.constant_(m2.weight, 3.0)
        >>> weight_gap(m1, m1), round(weight_gap(m1, m2), 3)  # 2 (3 - 1) / (1 + 3)
        (0.0, 1.0)
    """
    ours = _layers("m1", m1)
    theirs = _layers("m2", m2)
    shapes = [w.shape for w in ours]
    if [w.shape for w in theirs] != shapes:
        raise refused("m2", m2, f"a module with the layers of m1, {shapes}")
    norm = torch.linalg.norm
    gaps = []
    for w, other in zip(ours, theirs, strict=True):
        size = norm(w) + norm(other)
        # 0 where both are zero
        gaps.append(float(2 * norm(w - other) / size.clamp(min=1e-300)))
    return sum(gaps) / len(gaps)


def _layers(name, module):
    """The weights of a module's layers in float64."""
    if not isinstance(module, torch.nn.Module):
        raise refused(name, module, "a torch.nn.Module")
    layers = [w.detach().double() for w in module.parameters() if w.dim() > 1]
    if not layers or layers[0].is_meta:
        raise refused(name, module, "a module with at least one layer, whose weights have values")
    return layers


# Readouts: what a simple classifier, fitted on some points, reads from others.


def _readout(train, y, test, y_test):
    """The arguments as arrays (n, d), (n,), (m, d), (m,); ValueError where they do not fit each other."""
    train = _points("train", train)
    test = _points("test", test)
    d = train.shape[1]
    if test.shape[1] != d:
        raise refused("test", test, f"points of as many dimensions as train, {d}")
    class_ids(y, len(train), "y")  # checks y
    y = _labels("y", y, len(train))
    y_test = _labels("y_test", y_test, len(test))
    are_strings = y.dtype.kind == "U"
    if (y_test.dtype.kind == "U") != are_strings:  # a string equals no number
        raise refused("y_test", y_test, "labels of the type of y, numbers or strings")
    if not np.isin(y_test, y).any():
        raise refused("y_test", y_test, "labels of which some are in y")
    return train, y, test, y_test


def nccc(
    train: Points,
    y: Labels,
    test: Points,
    y_test: Labels,
) -> float:
    """Accuracy of the nearest class-centre classifier (SA Sec. 5, Table 1).

    Args:
        train: (n, d) points whose class means are the centres.
        y: (n,) their labels.
        test: (m, d) points that are classified.
        y_test: (m,) their labels.

    Returns:
        The share of `test` that is nearest to the centre of its own class.

    Raises:
        ValueError: shapes or labels that do not fit each other; points that are not finite.

    Examples:
        >>> train, y = [0, 1, 10, 11], ["left", "left", "right", "right"]  # centres 0.5 and 10.5
        >>> round(nccc(train, y, [2, 9, 4], ["left", "right", "right"]), 3)  # 4 is wrong
        0.667
    """
    train, y, test, y_test = _readout(train, y, test, y_test)
    classes, ids = np.unique(y, return_inverse=True)
    centres = _centres(train, ids, len(classes))  # (C, d)
    distances = scipy.spatial.distance.cdist(test, centres)  # (m, C)
    return float((classes[distances.argmin(1)] == y_test).mean())


def neighbour_accuracy(z: Points, labels: Labels, k: int = 10) -> float:
    """Share of points whose label is the most frequent one among their k nearest other points.

    About 1/C for C equal classes whose points are mixed at random. Of labels that are equally frequent the smaller one
    counts.

    Args:
        z: (n, d) points.
        labels: (n,).
        k: number of neighbours, between 1 and n - 1.

    Raises:
        ValueError: other shapes, k out of range, points that are not finite.

    Examples:
        >>> z = [0, 1, 10, 11]
        >>> neighbour_accuracy(z, [0, 0, 1, 1], k=1), neighbour_accuracy(z, [0, 1, 0, 1], k=1)
        (1.0, 0.0)
    """
    z = _points("z", z)
    ids, classes = class_ids(labels, len(z))
    k = whole("k", k, 1, len(z) - 1)
    from sklearn.neighbors import NearestNeighbors  # here, since loading it takes a second

    search = NearestNeighbors(n_neighbors=k).fit(z)
    nearest = search.kneighbors(return_distance=False)  # (n, k), the point itself left out
    one_hot = np.eye(classes)[ids]  # (n, C)
    votes = one_hot[nearest].sum(1)
    elected = votes.argmax(1)  # the first of those with the most votes
    return float((elected == ids).mean())


def linear_probe(
    train: Points,
    y: Labels,
    test: Points,
    y_test: Labels,
) -> float:
    """Accuracy of a linear probe (SA Sec. 5, Table 1): logistic regression (L2, C = 1) on standardised features.

    Arguments, result and errors are those of `nccc`.

    Examples:
        >>> z = [-3, -2, -1, 1, 2, 3]
        >>> linear_probe(z, [0, 0, 0, 1, 1, 1], z, [0, 0, 0, 1, 1, 1])
        1.0
        >>> y = [1, 1, 0, 0, 1, 1]  # the class between is there, but no linear rule reads it
        >>> round(linear_probe(z, y, z, y), 3)
        0.667
    """
    train, y, test, y_test = _readout(train, y, test, y_test)
    from sklearn import linear_model, pipeline, preprocessing  # here, as above

    probe = pipeline.make_pipeline(
        preprocessing.StandardScaler(),
        linear_model.LogisticRegression(max_iter=1000),
    )
    # L-BFGS takes many small steps: more threads took 15 times as long, and none was faster.
    with threadpool_limits(1):
        probe.fit(train, y)
        return float(probe.score(test, y_test))


def r2(latents: Points, features: Points) -> np.ndarray:
    """Adjusted R^2 of each latent under the best affine map from features (CS Sec. 4, Fig. 1).

    1 - (1 - R^2) (n - 1) / (n - p - 1), with p the rank of the centred features. For features that know nothing of the
    latent it is near 0, and half of the time below.

    Args:
        latents: (n, k), none of its columns constant.
        features: (n, d), n > p + 1.

    Returns:
        (k,).

    Raises:
        ValueError: other shapes, too few points, entries that are not finite.

    Examples:
        >>> x = np.arange(-2.0, 3.0)
        >>> float(r2(x / 3 + 1, x)[0].round(3))  # affine in the feature
        1.0
        >>> float(r2(np.square(x), x)[0].round(3))  # R^2 = 0: 1 - 4 / 3
        -0.333
    """
    latents = _points("latents", latents)
    features = _points("features", features)
    n = len(latents)
    if len(features) != n:
        raise refused("features", features, f"as many rows as latents, {n}")
    centred = latents - latents.mean(0)
    total = (centred**2).sum(0)
    if not total.all():
        raise refused("latents", latents, "free of constant columns, whose R^2 is undefined")

    basis = _basis(
        features
    )  # (n, p), of what affine maps of the features can be but for a constant
    p = basis.shape[1]
    if n <= p + 1:
        raise refused("features", features, f"of more rows than its rank + 1 = {p + 1}")
    residual = centred - basis @ (basis.T @ centred)
    missed = (residual**2).sum(0) / total  # 1 - R^2
    return 1 - missed * (n - 1) / (n - p - 1)


# Spectra and spread.


def spectrum(z: Points) -> np.ndarray:
    """Eigenvalues of the covariance of z (divisor n), descending: the variances along its axes (CS Fig. 2).

    Args:
        z: (n, d) points.

    Returns:
        (min(n, d),).

    Raises:
        ValueError: another shape, points that are not finite.

    Examples:
        >>> z = [[2, 0], [-2, 0], [0, 1], [0, -1]]
        >>> spectrum(z).round(3).tolist()  # (4 + 4) / 4 and (1 + 1) / 4
        [2.0, 0.5]
    """
    z = _points("z", z)
    return np.linalg.svd(z - z.mean(0), compute_uv=False) ** 2 / len(z)


def effective_rank(z: Points) -> float:
    """exp of the entropy of the singular values of the centred z, divided by their sum (Roy and Vetterli 2007).

    Between 1 (all points on a line) and min(n - 1, d) (equal spread); 0 where all points coincide.

    Args:
        z: (n, d) points.

    Raises:
        ValueError: another shape, points that are not finite.

    Examples:
        >>> line, square = [[0, 0], [1, 1], [2, 2]], [[1, 0], [-1, 0], [0, 1], [0, -1]]
        >>> round(effective_rank(line), 3), round(effective_rank(square), 3)
        (1.0, 2.0)
        >>> effective_rank([[3, 4], [3, 4]])  # collapsed
        0.0
    """
    z = _points("z", z)
    variances = spectrum(z)
    if math.sqrt(variances[0]) <= 1e-14 * np.abs(z).max():  # equal but for rounding
        return 0.0
    return float(spectral_rank(variances))


def spectral_rank(variances: np.ndarray) -> np.ndarray:
    """`effective_rank` from the variances along the axes.

    Args:
        variances: (..., d), >= 0, as from `spectrum`.

    Returns:
        (...,); NaN where all variances are 0, or one is NaN.

    Raises:
        ValueError: another shape, a negative number.

    Examples:
        >>> spectral_rank([[1, 1, 1, 1], [1, 1, 0, 0]]).round(3).tolist()
        [4.0, 2.0]
        >>> round(float(spectral_rank([1, 0.01])), 2)  # one deviation is a tenth of the other
        1.36
    """
    found = reals("variances", variances)
    if found.ndim == 0 or found.shape[-1] == 0:
        raise refused("variances", variances, "of shape (..., d), d >= 1")
    if (found < 0).any():
        raise refused("variances", variances, "numbers >= 0")
    size = np.sqrt(found)
    with np.errstate(invalid="ignore"):
        share = size / size.sum(-1, keepdims=True)
    return np.exp(entr(share).sum(-1))


def uniformity(z: Points, t: float = 2.0) -> float:
    """log of the mean of exp(-t |z_i - z_j|^2) over the pairs i < j (Wang and Isola 2020, Sec. 4.1).

    0 where all points coincide; the lower, the more evenly they lie.

    Args:
        z: (n, d) points on the unit sphere, n >= 2.
        t: > 0.

    Raises:
        ValueError: another shape, points that are not finite, t out of range.

    Examples:
        >>> uniformity([[1, 0], [-1, 0]])  # opposite: -t times the square of the distance 2
        -8.0
        >>> round(uniformity([[1, 0], [0, 1]]), 3)  # at a right angle
        -4.0
    """
    z = _points("z", z, least=2)
    t = positive("t", t)
    squares = scipy.spatial.distance.pdist(z, "sqeuclidean")  # one for each pair
    return float(logsumexp(-t * squares) - math.log(len(squares)))


def alignment(z1: Points, z2: Points, alpha: float = 2.0) -> float:
    """Mean of |z1_i - z2_i|^alpha (Wang and Isola 2020, Sec. 4.1): 0 where the two views of every input agree.

    Args:
        z1: (n, d) points on the unit sphere.
        z2: (n, d) the other view of each.
        alpha: > 0.

    Raises:
        ValueError: other shapes, points that are not finite, alpha out of range.

    Examples:
        >>> z = np.eye(2)
        >>> [round(alignment(z, other), 3) for other in (z, z[::-1], -z)]  # from equal to opposite
        [0.0, 2.0, 4.0]
    """
    z1 = _points("z1", z1)
    z2 = _points("z2", z2)
    alpha = positive("alpha", alpha)
    if z2.shape != z1.shape:
        raise refused("z2", z2, f"of the shape of z1, {z1.shape}")
    return float((np.linalg.norm(z1 - z2, axis=1) ** alpha).mean())


# A sample of numbers.


def mean_interval(
    values: np.ndarray | Sequence,
    level: float = 0.95,
) -> tuple[np.ndarray, np.ndarray]:
    """Mean of a sample and half the width of its confidence interval (Student's t).

    Args:
        values: (..., S), a sample on the last axis, S >= 2. NaN in, NaN out.
        level: the chance that the interval holds the mean, between 0 and 1.

    Returns:
        (mean, half width), each (...).

    Raises:
        ValueError: fewer than two numbers, another level.

    Examples:
        >>> mean, half = mean_interval([0.8, 0.9, 1.0])  # of three seeds
        >>> round(float(mean), 3), round(float(half), 3)  # 4.303 deviations 0.1, over sqrt(3)
        (0.9, 0.248)
    """
    found = reals("values", values)
    count = found.shape[-1] if found.ndim else 0
    if count < 2:
        raise refused("values", values, "numbers (..., S), S >= 2")
    quantile = scipy.stats.t.ppf((1 + chance("level", level)) / 2, count - 1)
    standard_error = found.std(-1, ddof=1) / math.sqrt(count)
    return found.mean(-1), quantile * standard_error
