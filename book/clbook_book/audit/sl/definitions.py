"""SL's definitions written out: Def. 2.1 and 4.1, eq. 1 and 2 and Fig. 1 as loops; the paper's tasks, crops of images,
and the settings of Section 5 as the program has them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import torch

from clbook import data
from clbook.experiments import modadd
from clbook.experiments.modadd import equivalence
from clbook.experiments.modadd.classifier import EVERY
from clbook.experiments.modadd.equivalence import SAME, Finite
from clbook.losses import infonce, symbol_context
from clbook_book.audit.sl.tables import no_answer

# Equivalence and alignment.


def plainly(distribution: Finite) -> tuple[np.ndarray, np.ndarray]:
    """SL Def. 2.1, and the right side of Def. 4.1, as loops: which symbols are equivalent, and which occur in each
    context with the same conditional probability; (S, S) each. Answers are compared where both symbols occur."""
    p, joint = distribution.p, distribution.joint
    symbols, contexts = joint.shape
    means, stands = np.ones((2, symbols, symbols), bool)
    for u, v, rho in itertools.product(range(symbols), range(symbols), range(contexts)):
        first = joint[u, rho]
        second = joint[v, rho]
        stands[u, v] &= abs(first / joint[u].sum() - second / joint[v].sum()) < SAME
        if first and second:
            apart = abs(p[u, rho] / first - p[v, rho] / second)
            means[u, v] &= apart.max() < SAME
    return means, stands


def differing(said: np.ndarray, right: np.ndarray) -> list[int]:
    """Pairs of symbols on which two tables of truths (S, S) differ; pairs that are true, and false, in the second."""
    upper = np.triu_indices(len(right), 1)
    return [int(kind[upper].sum()) for kind in (said != right, right, ~right)]


def compared(contrastive: Finite, downstream: Finite) -> np.ndarray:
    """`differing`, (2, 3), of the book's code (`equivalence`) and `plainly`: equivalent symbols; where both agree."""
    said = equivalence.check(contrastive, downstream)
    means, _ = plainly(downstream)
    _, stands = plainly(contrastive)
    equivalent = said.semantic <= SAME
    obeys = equivalent == (said.conditional <= SAME)
    return np.array([differing(equivalent, means), differing(obeys, means == stands)])


def definitions() -> dict[str, np.ndarray]:
    """{definition: `differing`, summed over distributions} of the book's code (`equivalence`) and `plainly`."""
    random = 0
    for seed, broken in itertools.product(range(3), ("none", "answers", "contexts")):
        table = equivalence.random_table(seed, broken)
        random += compared(table, table)
    task = equivalence.modadd_table(6, 3)
    alone = random + compared(task, task)
    two = random
    for table in (
        equivalence.cmodadd_table(6, 3),
        equivalence.cmodadd_table(6, 3, heavy=[0]),
        no_answer(6, 3),
    ):
        two = two + compared(table, task)
    return {"Def. 2.1": alone[0], "Def. 4.1": two[1], "one distribution": alone[1]}


# The loss.


def slow_loss(anchors: torch.Tensor, positives: torch.Tensor) -> float:
    """SL eq. 2 (and eq. 1, where one encoder made both) of vectors (n, d), term by term."""
    n, total = len(anchors), 0.0
    for i in range(n):
        similar = [math.exp(float(anchors[i] @ positives[j])) for j in range(n)]
        total -= math.log(similar[i] / sum(similar)) / n
    return total


def error(first: torch.Tensor, second: torch.Tensor) -> float:
    """|`losses.symbol_context` - `slow_loss`| of vectors (n, d)."""
    return abs(float(symbol_context(first, second)) - slow_loss(first, second))


def loss_errors(n: int, seed: int) -> tuple[float, float]:
    """`error` for n points: one encoder for both views (eq. 1), and two (eq. 2)."""
    generator = torch.Generator().manual_seed(seed)
    shapes = ((n, 5), (n, 5), (n, 5), (5, 5))
    first, second, noise, encoder = (
        torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes
    )
    one_view = (first @ encoder).tanh()
    other_view = ((first + 0.1 * noise) @ encoder).tanh()
    return error(one_view, other_view), error(first, second)


def similarities(n: int, seed: int) -> tuple[float, float, float]:
    """Errors of the book's losses with the scalar product and with the cosine against `slow_loss` of vectors (n, 5) as
    they are and normalised; and how far these two are from each other."""
    pair = torch.randn(2, n, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    scalar = slow_loss(*pair)
    cosine = slow_loss(*pair / pair.norm(dim=2, keepdim=True))
    off_cosine = abs(float(infonce(*pair, normalize=True)) - cosine)
    return error(*pair), off_cosine, abs(scalar - cosine)


def figure_1(n: int, seed: int) -> dict[str, tuple[float, float]]:
    """{diagram of SL Fig. 1: (error of the loss against `slow_loss`, its change with other labels)}, n random points.

    a: one encoder, two augmentations. b: an embedding of the symbol, half a point, and an encoder of its context, the
    rest, with the label. c: the same without labels, and with one encoder for both halves.
    """
    generator = torch.Generator().manual_seed(seed)
    x, *noise = torch.randn(3, n, 8, generator=generator, dtype=torch.float64)
    first, second = (x + more for more in noise)
    labels = torch.eye(2, dtype=torch.float64)[torch.arange(n) % 2]
    one, embedding, encoder = torch.randn(3, 10, 5, generator=generator, dtype=torch.float64)
    half = torch.arange(8) < 4
    symbol = x * half
    context = x * ~half

    def seen(weights, points, y=None):
        """What a network sees of points (n, 8), and of labels (n, 2) where it is given them: (n, 5)."""
        return (points @ weights[:8] + (0 if y is None else y @ weights[8:])).tanh()

    def sides(y):
        """{diagram: what it compares}, with these labels."""
        embedded = seen(embedding, symbol)
        return {
            "a": (seen(one, first), seen(one, second)),
            "b": (embedded, seen(encoder, context, y)),
            "c, two encoders": (embedded, seen(encoder, context)),
            "c, one encoder": (seen(one, symbol), seen(one, context)),
        }

    other = sides(1 - labels)
    found = {}
    for name, pair in sides(labels).items():
        change = symbol_context(*pair) - symbol_context(*other[name])
        found[name] = (error(*pair), abs(float(change)))
    return found


# The tasks and settings.


def crop_and_cutout() -> tuple[float, float]:
    """Symbol and context of an image (SL Sec. 3): a window of 4 pixels, resized to 8, and Cutout of this window.

    Returns the largest error of 300 digits put together again from both, and the largest change of the contexts when
    something else stands in the windows.
    """
    from sklearn.datasets import load_digits  # here, since loading it takes a second

    generator = np.random.default_rng(0)
    errors = []
    changes = []
    for image in load_digits().images[:300]:
        top, left = generator.integers(0, 5, 2)
        window = np.s_[top : top + 4, left : left + 4]
        symbol = image[window].repeat(2, 0).repeat(2, 1)
        outside = np.ones_like(image)
        outside[window] = 0
        context = outside * image
        again = context.copy()
        again[window] = symbol[::2, ::2]
        errors.append(abs(again - image).max())
        image[window] = generator.integers(0, 17, (4, 4))
        changes.append(abs(outside * image - context).max())
    return max(errors), max(changes)


def own_setting() -> dict[str, tuple]:
    """{setting of SL Sec. 5: (as it is given, as the training of `modadd.PAPER` has it)}."""
    config = modadd.PAPER
    training = modadd.Addition([config])
    s = training.start()
    encoder = s.weights[1 : training.parts]
    classifiers = s.weights[training.parts :]
    samples = torch.stack([s.symbols[0], s.ids[0]], 1)
    seen = set(s.seen[0].tolist())
    unseen = set(s.unseen[0].tolist())
    symbols, contexts = training.batches(s, s.order)[0]
    table = s.weights[: training.parts]
    losses = training.objective(table, symbols, contexts)
    cross_entropy = training.cross_entropy(classifiers, s.seen[:, : config.batch])
    rates = {
        first_move(training, s, table, losses, s.memory),
        first_move(training, s, classifiers, cross_entropy, s.classifier_memory),
    }
    found = {}
    found["training samples, 80 % of 512"] = (410, len(samples.unique(dim=0)))
    found["training equations, 80 % of 256"] = (205, len(seen))
    found["and for validation"] = (51, len(unseen - seen))
    found["epochs between validations"] = (10, EVERY)
    found["table of the symbols"] = ((16, 8), tuple(s.weights[0].shape[1:]))
    found["layers of the encoder"] = (3, layers(encoder))
    found["outputs of the encoder"] = (8, encoder[-1].shape[-1])
    found["layers of the classifier"] = (3, layers(classifiers))
    found["outputs of the classifier"] = (8, classifiers[-1].shape[-1])
    found["learning rate, of both"] = (1e-4, *rates)
    found["weight decay, of both"] = (1e-2, round(float(s.decay), 8))
    found["batch"] = (32, symbols.shape[1])
    found["epochs, of both"] = (10_000, *{config.epochs, config.classifier_epochs})
    return found


def layers(weights: list[torch.Tensor]) -> int:
    """Blocks of a Transformer with these weights: two embeddings, twelve tensors a block, two of the readout."""
    return (len(weights) - 4) // 12


def first_move(training: modadd.Addition, s, weights: list, losses, memory: dict) -> float:
    """How far Adam's first update moves a weight at most: that is its learning rate."""
    after, _ = training.descended(s, weights, losses, memory)
    pairs = zip(weights, after, strict=True)
    return round(max(float((new - old).detach().abs().max()) for old, new in pairs), 6)


def example() -> tuple[np.ndarray, np.ndarray]:
    """Two words with the same answers in one context and not in another: their semantic gap, (2, 2), and the gap in
    each context, (2,)."""
    table = Finite.of(
        [
            ("full", "the glass is _", "drink", 1),
            ("empty", "the glass is _", "drink", 1),
            ("full", "the glass is _", "fill", 1),
            ("empty", "the glass is _", "fill", 1),
            ("full", "a _ car park", "drive on", 1),
            ("empty", "a _ car park", "park", 1),
        ]
    )
    first, second = table.p / table.joint[..., None]
    return equivalence.semantic_gap(table), abs(first - second).sum(1) / 2


def classes(N: int = 101, k: int = 10) -> tuple[int, int, bool]:
    """How many different rows of probabilities the symbols have in ModAdd and in CModAdd, and whether both times the
    symbols with one row are those that agree mod k.

    A row is p(y | u, rho) over all contexts, and p(rho | u) over all contexts.
    """
    _, labels = data.modadd(N, k)
    symbols, contexts = data.cmodadd(N, k)
    _, ids = torch.unique(contexts, dim=0, return_inverse=True)
    seen = np.zeros((N, int(ids.max()) + 1))
    np.add.at(seen, (symbols.numpy(), ids.numpy()), 1 / (2 * N))
    agree = np.arange(N)[:, None] % k == np.arange(N) % k
    counts, as_classes = [], True
    for rows in (labels.view(N, N).numpy(), seen):
        different, number = np.unique(rows, axis=0, return_inverse=True)
        counts.append(len(different))
        same = number.reshape(N, 1) == number.ravel()
        as_classes &= bool((same == agree).all())
    return *counts, as_classes
