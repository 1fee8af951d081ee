"""The "implement it" exercises check themselves: `clbook_book.check("kernel", "implement", kernel)`.

Each exercise has inputs, a solution, and the mistakes that readers make. A function that gives what a mistake gives is
told which one it is; any other is told what it should have given.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from clbook import _arguments, kernels, losses, metrics, models

KNOWN: dict[tuple[str, str], Exercise] = {}


def called(function: Callable, inputs: tuple):
    """What a function gives."""
    return function(*inputs)


@dataclasses.dataclass
class Exercise:
    """An exercise whose answer is a function.

    Attributes:
        asked: how the function is called, and what it returns.
        inputs: gives the arguments of the test.
        solution: a right function.
        mistakes: {what to say: a function that makes this mistake}.
        close: the relative error that is allowed.
        ask: calls a function with the inputs, and gives its numbers.
    """

    asked: str
    inputs: Callable[[], tuple]
    solution: Callable
    mistakes: dict[str, Callable]
    close: float = 1e-3
    ask: Callable = called

    def of(self, function: Callable) -> np.ndarray | None:
        """The numbers that a function gives, None where it gives none."""
        return numbers(self.ask(function, self.inputs()))


@dataclasses.dataclass
class Answer:
    """What a function is told: `right`, and `said` in words; true in an `if` where it is right."""

    right: bool
    said: str

    def __bool__(self):
        return self.right

    def __repr__(self):
        return self.said


def check(page: str, exercise: str, function: Callable) -> Answer:
    """Say whether a function solves an exercise of the book, and if not, what is wrong with it.

    Args:
        page: the chapter, as "separability".
        exercise: the exercise's name on the page: "implement".
        function: the reader's, called as the exercise says.

    Raises:
        ValueError: for an exercise that there is not, and for a function that cannot be called.
    """
    if (page, exercise) not in KNOWN:
        allowed = ", ".join(f"{a!r} with {b!r}" for a, b in KNOWN)
        raise _arguments.refused("page, exercise", (page, exercise), allowed)
    if not callable(function):
        raise _arguments.refused("function", function, "a function")
    posed = KNOWN[page, exercise]
    wanted = posed.of(posed.solution)
    try:
        given = posed.of(function)
    except Exception as error:  # whatever a reader's function raises, it is told
        said = f"It stops with {type(error).__name__}: {error}. It is called as {posed.asked}."
        return Answer(False, said)
    return compared(posed, wanted, given)


def compared(posed: Exercise, wanted: np.ndarray, given: np.ndarray | None) -> Answer:
    """The answer to what a function has `given` where `wanted` is right."""
    if given is None:
        return Answer(False, f"It returns no numbers. It should be {posed.asked}.")
    if given.shape == wanted.shape and not np.isfinite(given).all():
        return Answer(False, "It gives numbers that are not finite. Look for a division by zero.")
    if given.shape != wanted.shape:
        shapes = f"It returns the shape {given.shape}, and {wanted.shape} is right."
        return Answer(False, f"{shapes} It should be {posed.asked}.")
    if alike(given, wanted, posed.close):
        return Answer(True, "Right.")
    for said, mistaken in posed.mistakes.items():
        if alike(given, posed.of(mistaken), posed.close):
            return Answer(False, f"Not yet: {said}")
    one, other = (values.ravel()[0] for values in (given, wanted))
    return Answer(False, f"Not yet: its first number is {one:.4g}, and {other:.4g} is right.")


def numbers(values) -> np.ndarray | None:
    """Numbers of a function, tensors too, as an array in float64; None where they are none."""
    if values is None:
        return None
    if isinstance(values, torch.Tensor):
        values = values.detach().numpy()
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def alike(given: np.ndarray, wanted: np.ndarray, close: float) -> bool:
    """Whether two arrays agree, relative to the largest number of the second."""
    if given.shape != wanted.shape:
        return False
    return bool(np.abs(given - wanted).max() <= close * np.abs(wanted).max())


def draws(*shape: int, seed: int = 0) -> torch.Tensor:
    """Normal numbers in float64, the same at each call."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# --- the loss of an invariant map -------------------------------------------------------------------------------------


def places() -> tuple:
    """Unit vectors (12, 2) and a temperature."""
    return F.normalize(draws(12, 2)).numpy(), 0.3


def weights_between(z, tau, own=False):
    """e^{(z_i.z_j - 1)/tau} (n, n), with 0 on the diagonal unless `own`."""
    weights = np.exp((z @ z.T - 1) / tau)
    if not own:
        np.fill_diagonal(weights, 0)
    return weights


def lost(push):
    """The mean loss of anchors that are pushed so much, as shares of their pull."""
    return np.log(1 + push).mean()


def invariant(z, tau):
    return lost(2 * weights_between(z, tau).mean(1))


def invariant_with_itself(z, tau):
    return lost(2 * weights_between(z, tau, own=True).mean(1))


def invariant_one_view(z, tau):
    return lost(weights_between(z, tau).mean(1))


def invariant_without_pull(z, tau):
    return lost(2 * math.exp(1 / tau) * weights_between(z, tau).mean(1))


def invariant_others(z, tau):
    return lost(2 * weights_between(z, tau).sum(1) / (len(z) - 1))


KNOWN["landscape", "implement"] = Exercise(
    "loss(z, tau) of places z (n, 2), a number",
    places,
    invariant,
    {
        "an anchor is among its own negatives. Leave out j = i.": invariant_with_itself,
        "each other point has two views, so the sum has a factor 2.": invariant_one_view,
        "the pull is missing: divide by exp(1/tau), the similarity of a vector with itself.": invariant_without_pull,
        "the sum is divided by n - 1, and the formula divides it by n.": invariant_others,
    },
)

# --- a step through the kernel ----------------------------------------------------------------------------------------


def shaken() -> tuple:
    """A network, points and their views (20, 2), a temperature and a learning rate."""
    net = models.MLP((2, 50, 1), "tanh", torch.Generator().manual_seed(0)).double()
    x = draws(20, 2)
    return net, x, x + 0.1 * draws(20, 2, seed=1), 0.1, 1e-3


def kernel(net, x):
    """K (n, n) of a network with one output."""
    return kernels.empirical(net, x)[..., 0, 0].detach()


def slopes(net, x, views, tau, still=True):
    """The gradient (n,) of the loss in z, with the embedded views held still or moved along."""
    z = net(x)[:, 0].detach().requires_grad_()
    v = net(views)[:, 0].detach()
    if not still:
        v = z + (v - z.detach())
    squares = (z[:, None] - v) ** 2 / (2 * tau)
    loss = torch.log(torch.exp(-squares).mean(1)) + squares.diagonal()
    (gradient,) = torch.autograd.grad(loss.sum(), z)
    return gradient


def step(net, x, views, tau, lr):
    return -lr / len(x) * kernel(net, x) @ slopes(net, x, views, tau)


def step_up(net, x, views, tau, lr):
    return -step(net, x, views, tau, lr)


def step_summed(net, x, views, tau, lr):
    return len(x) * step(net, x, views, tau, lr)


def step_alone(net, x, views, tau, lr):
    return -lr * slopes(net, x, views, tau)


def step_moved(net, x, views, tau, lr):
    return -lr / len(x) * kernel(net, x) @ slopes(net, x, views, tau, still=False)


KNOWN["separability", "implement"] = Exercise(
    "predicted(net, x, views, tau, lr), the moves (n,) of the embedded points in one step",
    shaken,
    step,
    {
        "the sign is turned: descent goes against the gradient.": step_up,
        "the factor 1/n is missing: the loss is the mean over the points.": step_summed,
        "the kernel is missing: this is the step of points that are free.": step_alone,
        "the views are moved along with z. Detach them first.": step_moved,
    },
)

# --- the kernel from its definition -----------------------------------------------------------------------------------


def networks() -> tuple:
    """A network of one output, and points (12, 2)."""
    return models.MLP((2, 30, 1), "tanh", torch.Generator().manual_seed(1)).double(), draws(12, 2)


def rows(f, x, weights):
    """The gradients (n, weights) of f(x_i) in some of the weights."""
    found = []
    for point in x:
        parts = torch.autograd.grad(f(point[None]).sum(), weights)
        found.append(torch.cat([part.flatten() for part in parts]))
    return torch.stack(found)


def kernel_of_last(f, x):
    J = rows(f, x, [list(f.parameters())[-1]])
    return J @ J.T


def kernel_cosines(f, x):
    J = F.normalize(rows(f, x, list(f.parameters())))
    return J @ J.T


def kernel_mean(f, x):
    return kernel(f, x) / len(x)


def kernel_diagonal(f, x):
    return torch.diag(kernel(f, x).diagonal())


KNOWN["kernel", "implement"] = Exercise(
    "kernel(f, x) of a network with one output, a matrix (n, n)",
    networks,
    kernel,
    {
        "only the last layer's weights are in it. Take the gradient in all of them.": kernel_of_last,
        "the gradients were scaled to length 1. Their lengths belong to the kernel.": kernel_cosines,
        "it is divided by n. That factor belongs to the flow, not to K.": kernel_mean,
        "entries between different points are missing.": kernel_diagonal,
    },
)

# --- free points on the circle ----------------------------------------------------------------------------------------


def angles() -> tuple:
    """Angles (15,) and a temperature."""
    return draws(15).numpy(), 0.2


def softmax_between(theta, tau):
    """p_ij (n, n) of the point i over all j, and the sines of theta_i - theta_j."""
    apart = theta[:, None] - theta
    weights = np.exp((np.cos(apart) - 1) / tau)
    return weights / weights.sum(1, keepdims=True), np.sin(apart)


def pull_back(theta, tau):
    p, sines = softmax_between(theta, tau)
    return -(p * sines).sum(1) / tau


def pull_back_up(theta, tau):
    return -pull_back(theta, tau)


def pull_back_untempered(theta, tau):
    return tau * pull_back(theta, tau)


def pull_back_unweighted(theta, tau):
    _, sines = softmax_between(theta, tau)
    return -sines.mean(1) / tau


def pull_back_both(theta, tau):
    p, sines = softmax_between(theta, tau)
    return -((p + p.T) * sines).sum(1) / tau


KNOWN["sphere", "implement"] = Exercise(
    "slope(theta, tau), the derivative (n,) of each point's loss in its own angle",
    angles,
    pull_back,
    {
        "the sign is turned. More distance lowers the loss.": pull_back_up,
        "the factor 1/tau is missing: the exponent is divided by tau.": pull_back_untempered,
        "all points weigh the same. Near ones count for more, by the softmax.": pull_back_unweighted,
        "the other points' losses are in it. Hold the other points still.": pull_back_both,
    },
)

# --- InfoNCE in the box -----------------------------------------------------------------------------------------------


def box() -> tuple:
    """Pairs (10, 4) and a temperature for each dimension."""
    return draws(10, 4), draws(10, 4, seed=1), torch.tensor([0.3, 0.5, 1.0, 2.0]).double()


def found_again(scores):
    """The mean of -log of the softmax over each row, at the diagonal."""
    return -scores.log_softmax(1).diagonal().mean()


def box_scores(a, b, tau):
    """The scores (n, n) of anchors b with all a: minus squared distances over the temperatures."""
    return -((b[:, None] - a) ** 2 / tau).sum(-1)


def in_box(a, b, tau):
    return found_again(box_scores(a, b, tau))


def in_box_other_anchor(a, b, tau):
    return in_box(b, a, tau)


def in_box_times(a, b, tau):
    return in_box(a, b, 1 / tau)


def in_box_lengths(a, b, tau):
    return found_again(-((b[:, None] - a).abs() / tau).sum(-1))


def in_box_without_pair(a, b, tau):
    scores = box_scores(a, b, tau)
    others = scores.masked_fill(torch.eye(len(a), dtype=torch.bool), -math.inf)
    return (others.logsumexp(1) - scores.diagonal()).mean()


KNOWN["content_style", "implement"] = Exercise(
    "loss(a, b, tau) with anchors b (n, d) and temperatures tau (d,), a number",
    box,
    in_box,
    {
        "a is the anchor. Here b is, and the softmax goes over the a.": in_box_other_anchor,
        "it multiplies by the temperatures. Divide by them.": in_box_times,
        "the differences are not squared, although p = 2.": in_box_lengths,
        "the positive is missing in the denominator.": in_box_without_pair,
    },
)

# --- symbols and contexts ---------------------------------------------------------------------------------------------


def tables() -> tuple:
    """Vectors of symbols (6, 3) and of contexts (9, 3), and the probabilities p(u, rho) (6, 9)."""
    p = draws(6, 9, seed=2).exp()
    return draws(6, 3), draws(9, 3, seed=1), p / p.sum()


def population(Z, C, p):
    scores = Z @ C.T
    weighed = (scores + p.sum(0).log()).logsumexp(1)
    return (p.sum(1) * weighed).sum() - (p * scores).sum()


def population_even(Z, C, p):
    scores = Z @ C.T
    even = scores.logsumexp(1) - math.log(C.shape[0])
    return (p.sum(1) * even).sum() - (p * scores).sum()


def population_other(Z, C, p):
    return population(C, Z, p.T)


def population_plain(Z, C, p):
    scores = Z @ C.T
    weighed = (scores + p.sum(0).log()).logsumexp(1)
    return weighed.mean() - (p * scores).sum()


KNOWN["remembers", "implement"] = Exercise(
    "loss(Z, C, p) of two tables and the probabilities p(u, rho), a number",
    tables,
    population,
    {
        "the contexts in the logarithm weigh the same. Weigh them by p(rho).": population_even,
        "the softmax goes over symbols. It goes over contexts.": population_other,
        "the symbols weigh the same in the mean. Weigh them by p(u).": population_plain,
    },
)


def ring() -> tuple:
    """How often two of eight pieces hold a positive pair (8, 8), their unit vectors (8, 2) and a temperature."""
    chances = draws(8, 3).exp()
    A = chances @ chances.T
    return A / A.sum(), F.normalize(draws(8, 2, seed=1)), 0.3


def of_pieces(A, z, tau):
    return population(z / tau, z, A)


def of_pieces_even(A, z, tau):
    return population_even(z / tau, z, A)


def of_pieces_warm(A, z, tau):
    return population(z, z, A)


def of_pieces_plain(A, z, tau):
    return population_plain(z / tau, z, A)


KNOWN["overlap", "implement"] = Exercise(
    "loss(A, z, tau) of the matrix of pairs and the unit vectors of the pieces, a number",
    ring,
    of_pieces,
    {
        "all pieces push alike. Weigh them by p(u) in the logarithm.": of_pieces_even,
        "the temperature is missing: divide each similarity by it.": of_pieces_warm,
        "the pieces weigh the same in the second sum. Weigh them by p(v).": of_pieces_plain,
    },
)


def batch() -> tuple:
    """Vectors of the symbols and of the contexts of a batch, (10, 4) each."""
    return draws(10, 4), draws(10, 4, seed=1)


def finding(symbols, contexts):
    return F.cross_entropy(symbols @ contexts.T, torch.arange(len(symbols)))


def finding_symbol(symbols, contexts):
    return finding(contexts, symbols)


def finding_cosine(symbols, contexts):
    return finding(F.normalize(symbols), F.normalize(contexts))


def finding_summed(symbols, contexts):
    return len(symbols) * finding(symbols, contexts)


KNOWN["words", "implement"] = Exercise(
    "loss(symbols, contexts) of the vectors (n, d) of a batch, a number",
    batch,
    finding,
    {
        "each context looks for its symbol. Here each symbol looks for its context.": finding_symbol,
        "the vectors were normalised. Here the similarity is the plain scalar product.": finding_cosine,
        "it is the sum over the batch. Take the mean.": finding_summed,
    },
)

# --- labels -----------------------------------------------------------------------------------------------------------


def labelled() -> tuple:
    """Two views (12, 5), labels and a temperature."""
    return draws(12, 5), draws(12, 5, seed=1), torch.arange(12) % 3, 0.5


def sparing(z1, z2, labels, tau):
    return losses.nscl(z1, z2, labels, tau)


def sparing_none(z1, z2, labels, tau):
    return losses.dcl(z1, z2, tau)


def push_and_pull(z, labels, tau):
    """The logarithm of what pushes each of the 2n views z, and the similarity that pulls it."""
    y = labels.repeat(2)
    s = z @ z.T / tau
    return s.masked_fill(y[:, None] == y, -math.inf).logsumexp(1), s.diagonal(len(labels)).repeat(2)


def sparing_lengths(z1, z2, labels, tau):
    """NSCL of vectors that were not normalised."""
    push, pull = push_and_pull(torch.cat([z1, z2]), labels, tau)
    return (push - pull).mean()


def sparing_with_pair(z1, z2, labels, tau):
    """NSCL whose denominator has the positive too."""
    push, pull = push_and_pull(F.normalize(torch.cat([z1, z2])), labels, tau)
    return (torch.logaddexp(push, pull) - pull).mean()


def sparing_warm(z1, z2, labels, tau):
    return losses.nscl(z1, z2, labels, 1.0)


KNOWN["alignment", "implement"] = Exercise(
    "nscl(z1, z2, labels, tau) with all 2n views as anchors, a number",
    labelled,
    sparing,
    {
        "classmates are still pushed: this is DCL. Leave out all keys of the anchor's class.": sparing_none,
        "the embeddings are not normalised. The similarity is the cosine.": sparing_lengths,
        "the positive is in the denominator. NSCL has only other classes there.": sparing_with_pair,
        "the temperature is missing.": sparing_warm,
    },
)

# --- readouts and weights ---------------------------------------------------------------------------------------------


def neighbours() -> tuple:
    """Training points (60, 3) and their classes, test points and theirs, and k."""
    y = np.arange(60) % 3
    spread = 3 * draws(60, 3, seed=3).abs().numpy()
    train = (draws(60, 3).numpy() + np.eye(3)[y]) * spread
    test = draws(90, 3, seed=4).numpy() + np.eye(3)[np.arange(90) % 3]
    return train, y, test, np.arange(90) % 3, 5


def voted(similar, y, test_y, k):
    """Share of test points whose class has most votes among the k training points that are most similar."""
    nearest = np.argsort(-similar, axis=1)[:, :k]
    votes = np.stack([(y[nearest] == c).sum(1) for c in range(y.max() + 1)])
    return (votes.argmax(0) == test_y).mean()


def cosines(train, test):
    """Cosines (test points, training points)."""
    train, test = (F.normalize(torch.tensor(points)) for points in (train, test))
    return test.numpy() @ train.numpy().T


def by_neighbours(train, y, test, test_y, k):
    return voted(cosines(train, test), y, test_y, k)


def by_one_neighbour(train, y, test, test_y, k):
    return voted(cosines(train, test), y, test_y, 1)


def by_products(train, y, test, test_y, k):
    return voted(test @ train.T, y, test_y, k)


def by_farthest(train, y, test, test_y, k):
    return voted(-cosines(train, test), y, test_y, k)


KNOWN["photographs", "neighbours"] = Exercise(
    "neighbours_right(train, y, test, test_y, k), a share from 0 to 1",
    neighbours,
    by_neighbours,
    {
        "only the nearest point votes. Let k of them vote.": by_one_neighbour,
        "the points are not scaled to length 1 before they are compared.": by_products,
        "the farthest points vote. Sort by the similarity from above.": by_farthest,
    },
)


def layers() -> tuple:
    """Two lists of weights."""
    sizes = ((4, 3), (3, 5), (5, 2))
    first = [(k + 1) * draws(*size, seed=k) for k, size in enumerate(sizes)]
    return first, [draws(*size, seed=k + 9) for k, size in enumerate(sizes)]


def ratio(first, second):
    """Twice the distance over the sum of both lengths."""
    size = torch.linalg.vector_norm
    return 2 * size(first - second) / (size(first) + size(second))


def weight_gap(first, second):
    return torch.stack([ratio(a, b) for a, b in zip(first, second, strict=True)]).mean()


def weight_gap_half(first, second):
    return weight_gap(first, second) / 2


def weight_gap_joined(first, second):
    return ratio(nn.utils.parameters_to_vector(first), nn.utils.parameters_to_vector(second))


def weight_gap_summed(first, second):
    return len(first) * weight_gap(first, second)


KNOWN["sa", "gap"] = Exercise(
    "gap(first, second) of two lists of weights, a number",
    layers,
    weight_gap,
    {
        "the factor 2 is missing: divide by the mean length, not by the sum.": weight_gap_half,
        "all layers were joined. Take the gap of each layer, then the mean.": weight_gap_joined,
        "it is the sum over the layers. Take the mean.": weight_gap_summed,
    },
)


def few() -> tuple:
    """Ten points of a hundred dimensions, off the middle."""
    return (draws(10, 100).numpy() + 2,)


def entropy(share):
    """The entropy of shares, of which zeros count nothing."""
    share = share[share > 1e-12]
    return -(share * np.log(share)).sum()


def sizes(z, centred=True):
    """The singular values of points, with or without their mean taken away."""
    return np.linalg.svd(z - centred * z.mean(0), compute_uv=False)


def rank(z):
    return metrics.effective_rank(z)


def rank_off_middle(z):
    size = sizes(z, centred=False)
    return np.exp(entropy(size / size.sum()))


def rank_squared(z):
    size = sizes(z) ** 2
    return np.exp(entropy(size / size.sum()))


def rank_logarithm(z):
    size = sizes(z)
    return entropy(size / size.sum())


KNOWN["practice", "rank"] = Exercise(
    "effective_rank(z) of points (n, d), a number",
    few,
    rank,
    {
        "the points are not centred. Take their mean away first.": rank_off_middle,
        "the singular values are squared. Take their shares as they are.": rank_squared,
        "this is the entropy. Its exponential is the rank.": rank_logarithm,
    },
)


# --- groups, and runs -------------------------------------------------------------------------------------------------


def groups() -> tuple:
    """Vectors of twelve things, and how many there are in a group."""
    return draws(12, 3) + 2 * draws(4, 3, seed=1).repeat_interleave(3, 0), 3


def distances(vectors, each):
    """All distances (n, n), and which pairs are in one group."""
    group = torch.arange(len(vectors)) // each
    return torch.cdist(vectors, vectors), group[:, None] == group


def together(vectors, each):
    apart, same = distances(vectors, each)
    within = apart[same].sum() / (same.sum() - len(vectors))
    return within / apart[~same].mean()


def together_with_itself(vectors, each):
    apart, same = distances(vectors, each)
    return apart[same].mean() / apart[~same].mean()


def together_of_all(vectors, each):
    apart, same = distances(vectors, each)
    others = len(vectors) * (len(vectors) - 1)
    return together(vectors, each) * apart[~same].mean() * others / apart.sum()


def together_inverse(vectors, each):
    return 1 / together(vectors, each)


KNOWN["why", "side"] = Exercise(
    "ratio(vectors, each) of groups of `each` that follow one another, a number",
    groups,
    together,
    {
        "a thing's distance to itself is in the mean. Leave out the zeros.": together_with_itself,
        "the denominator has all pairs. Take those of different groups.": together_of_all,
        "the ratio is upside down. Distances within groups are above.": together_inverse,
    },
)

STATES = ("healthy", "collapsed", "stuck", "weak views", "strong views")


def made_up() -> tuple:
    """Outputs (z1, z2, z, start) of a run in each of the states."""
    z, start, other = draws(80, 16), draws(80, 16, seed=1), draws(80, 16, seed=2)
    point = torch.ones(80, 16, dtype=torch.float64) + 1e-3 * z
    near, far = (z + size * other for size in (0.01, 0.7))
    return (
        (z, far, z, start),
        (point, point, point, start),
        (start, start + 0.7 * other, start + 0.01 * other, start),
        (z, near, z, start),
        (z, other, z, start),
    )


def states(function, runs):
    """The numbers of the states that a function finds, -1 for a word that is none."""
    found = [function(*run) for run in runs]
    return [STATES.index(name) if name in STATES else -1 for name in found]


def alarm(z1, z2, z, start):
    if metrics.spectrum(F.normalize(z, dim=1)).sum() < 0.02:
        return "collapsed"
    if metrics.linear_cka(start, z) > 0.95:
        return "stuck"
    apart = losses.byol(z1, z2)
    return "weak views" if apart < 0.1 else "strong views" if apart > 0.6 else "healthy"


def alarm_asleep(z1, z2, z, start):
    return "healthy"


def alarm_forgetful(z1, z2, z, start):
    return alarm(z1, z2, z, torch.randn_like(z))


def alarm_turned(z1, z2, z, start):
    turned = {"weak views": "strong views", "strong views": "weak views"}
    found = alarm(z1, z2, z, start)
    return turned.get(found, found)


KNOWN["practice", "alarm"] = Exercise(
    "alarm(z1, z2, z, start), one of " + ", ".join(repr(state) for state in STATES),
    made_up,
    alarm,
    {
        "it calls every run healthy. Look at the spread of the outputs first.": alarm_asleep,
        "a stuck run goes unseen. Compare the outputs with those at the start.": alarm_forgetful,
        "weak and strong views are exchanged: two weak views agree nearly exactly.": alarm_turned,
    },
    ask=states,
)
