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
from clbook.papers.sl.tables import no_answer

# Equivalence and alignment.


def plainly(distribution: Finite) -> tuple[np.ndarray, np.ndarray]:
    """SL Def. 2.1, and the right side of Def. 4.1, as loops: which symbols are equivalent, and which occur in each
    context with the same conditional probability; (S, S) each. Answers are compared where both symbols occur."""
    p, joint = distribution.p, distribution.joint
    means, stands = np.ones((2, len(p), len(p)), bool)
    for u, v, rho in itertools.product(range(len(p)), range(len(p)), range(p.shape[1])):
        stands[u, v] &= abs(joint[u, rho] / joint[u].sum() - joint[v, rho] / joint[v].sum()) < SAME
        for y in range(p.shape[2]) if joint[u, rho] and joint[v, rho] else ():
            means[u, v] &= abs(p[u, rho, y] / joint[u, rho] - p[v, rho, y] / joint[v, rho]) < SAME
    return means, stands


def differing(said: np.ndarray, right: np.ndarray) -> list[int]:
    """Pairs of symbols on which two tables of truths (S, S) differ; pairs that are true, and false, in the second."""
    upper = np.triu_indices(len(right), 1)
    return [int(kind[upper].sum()) for kind in (said != right, right, ~right)]


def definitions(seeds=range(3)) -> dict[str, np.ndarray]:
    """{definition: `differing`, summed over distributions} of the book's code (`equivalence`) and `plainly`."""
    own = [
        equivalence.random_table(seed, broken)
        for seed in seeds
        for broken in ("none", "answers", "contexts")
    ]
    task = equivalence.modadd_table(6, 3)
    others = (
        equivalence.cmodadd_table(6, 3),
        equivalence.cmodadd_table(6, 3, heavy=[0]),
        no_answer(6, 3),
    )
    pairs = [(table, table) for table in (*own, task)] + [(table, task) for table in others]
    found = {"Def. 2.1": [], "Def. 4.1": [], "one distribution": []}
    for contrastive, downstream in pairs:
        said = equivalence.check(contrastive, downstream)
        means, stands = plainly(downstream)
        obeys = (said.semantic <= SAME) == (said.conditional <= SAME)
        if contrastive is downstream:
            found["Def. 2.1"].append(differing(said.semantic <= SAME, means))
            found["one distribution"].append(differing(obeys, means == stands))
        if contrastive is not task:
            found["Def. 4.1"].append(differing(obeys, means == plainly(contrastive)[1]))
    return {name: np.sum(counts, 0) for name, counts in found.items()}


# The loss.


def slow_loss(anchors: torch.Tensor, positives: torch.Tensor) -> float:
    """SL eq. 2 (and eq. 1, where one encoder made both) of vectors (n, d), term by term."""
    n, total = len(anchors), 0.0
    for i in range(n):
        similar = [math.exp(float(anchors[i] @ positives[j])) for j in range(n)]
        total -= math.log(similar[i] / sum(similar)) / n
    return total


def loss_errors(n: int, seed: int, d: int = 5) -> tuple[float, float]:
    """|`losses.symbol_context` - `slow_loss`| for n points: one encoder for both views (eq. 1), and two (eq. 2)."""
    generator = torch.Generator().manual_seed(seed)
    first, second, noise = (
        torch.randn(n, d, generator=generator, dtype=torch.float64) for _ in range(3)
    )
    encoder = torch.randn(d, d, generator=generator, dtype=torch.float64)
    views = (
        (first @ encoder).tanh(),
        ((first + 0.1 * noise) @ encoder).tanh(),
    )  # two augmentations, one encoder
    return tuple(
        abs(float(symbol_context(*pair)) - slow_loss(*pair)) for pair in (views, (first, second))
    )


def similarities(n: int, seed: int, d: int = 5) -> tuple[float, float, float]:
    """Errors of the book's losses with the scalar product and with the cosine against `slow_loss` of vectors (n, d) as
    they are and normalised; and how far these two are from each other."""
    pair = torch.randn(2, n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    scalar = slow_loss(*pair)
    cosine = slow_loss(*pair / pair.norm(dim=2, keepdim=True))
    return (
        abs(float(symbol_context(*pair)) - scalar),
        abs(float(infonce(*pair, normalize=True)) - cosine),
        abs(scalar - cosine),
    )


def figure_1(n: int, seed: int, d: int = 5) -> dict[str, tuple[float, float]]:
    """{diagram of SL Fig. 1: (error of the loss against `slow_loss`, its change with other labels)}, n random points.

    a: one encoder, two augmentations. b: an embedding of the symbol, half a point, and an encoder of its context, the
    rest, with the label. c: the same without labels, and with one encoder for both halves.
    """
    generator = torch.Generator().manual_seed(seed)
    x, *noise = torch.randn(3, n, 8, generator=generator, dtype=torch.float64)
    first, second = (x + more for more in noise)
    labels = torch.eye(2, dtype=torch.float64)[torch.arange(n) % 2]
    one, embedding, encoder = torch.randn(3, 10, d, generator=generator, dtype=torch.float64)
    half = torch.arange(8) < 4
    symbol = x * half
    context = x * ~half

    def seen(weights, points, y=None):
        """What a network sees of points (n, 8), and of labels (n, 2) where it is given them: (n, d)."""
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
        loss = float(symbol_context(*pair))
        change = abs(loss - float(symbol_context(*other[name])))
        found[name] = (abs(loss - slow_loss(*pair)), change)
    return found


# The tasks and settings.


def crop_and_cutout(side: int = 4, images: int = 300, seed: int = 0) -> tuple[float, float]:
    """Symbol and context of an image (SL Sec. 3): a window of `side` pixels, resized to 8, and Cutout of this window.

    Returns the largest error of the digits put together again from both, and the largest change of the contexts when
    something else stands in the windows.
    """
    from sklearn.datasets import load_digits  # here, since loading it takes a second

    generator = np.random.default_rng(seed)
    errors = []
    changes = []
    for image in load_digits().images[:images]:
        top, left = generator.integers(0, 8 - side + 1, 2)
        window = np.s_[top : top + side, left : left + side]
        symbol = image[window].repeat(8 // side, 0).repeat(8 // side, 1)
        outside = np.ones_like(image)
        outside[window] = 0
        context, again = outside * image, outside * image
        again[window] = symbol[:: 8 // side, :: 8 // side]
        errors.append(abs(again - image).max())
        image[window] = generator.integers(0, 17, (side, side))
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
    given = table.p / table.joint[..., None]
    return equivalence.semantic_gap(table), np.abs(given[0] - given[1]).sum(1) / 2


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
    found = [
        np.unique(rows, axis=0, return_inverse=True)[1].ravel()
        for rows in (labels.view(N, N).numpy(), seen)
    ]
    agree = np.arange(N)[:, None] % k == np.arange(N) % k
    return (
        *(len(set(group.tolist())) for group in found),
        all(bool(((group[:, None] == group) == agree).all()) for group in found),
    )
