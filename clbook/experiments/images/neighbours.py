"""What lies beside what: the nearest training images of test images, and what is told from them.

Near are images whose vectors, pixels or features, have a large cosine, as in `readout.knn`.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

OF_CLASS = 5  # so many of eight neighbours are most of them
AT_ONCE = 500  # test images whose similarities to all training images are held in memory


def nearest(train: Tensor, test: Tensor, k: int) -> Tensor:
    """(m, k) rows of the k points of `train` (n, d) with the largest cosine to each of `test` (m, d), nearest first."""
    directions = F.normalize(train, dim=1).T
    found = [
        (part @ directions).topk(k, dim=1).indices
        for part in F.normalize(test, dim=1).split(AT_ONCE)
    ]
    return torch.cat(found)


def elected(neighbours: Tensor, classes: int) -> Tensor:
    """(m,) the most frequent class among the neighbours (m, k), given by their classes; of several the first."""
    return F.one_hot(neighbours, classes).sum(1).argmax(1)


def confusion(truth: Tensor, guessed: Tensor, classes: int) -> np.ndarray:
    """(C, C) how many images of each class, a row, are taken for each class, a column."""
    from sklearn.metrics import confusion_matrix  # here, since loading it takes a second

    return confusion_matrix(truth.numpy(), guessed.numpy(), labels=range(classes))


def among_its_own(neighbours: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(..., m) whether of the eight neighbours of each image, given by their classes (..., m, 8), most are of its own.

    labels: (m,) the classes of the images.
    """
    return (neighbours == labels[:, None]).sum(-1) >= OF_CLASS


def of_each(labels: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """(C * count,) rows of `count` images of each class, drawn without replacement, the first class first."""
    chosen = []
    for label in labels.unique():
        own = torch.nonzero(labels == label)[:, 0]
        chosen.append(own[torch.randperm(len(own), generator=generator)[:count]])
    return torch.cat(chosen)


def principal(train: Tensor, test: Tensor, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The first `count` < d principal components of `train` (n, d), largest first, and those of `test` (m, d)."""
    from sklearn.decomposition import PCA  # here, since loading it takes a second

    fitted = PCA(count, svd_solver="arpack", random_state=0).fit(train.numpy())
    return fitted.transform(train.numpy()), fitted.transform(test.numpy())


def planes(places: list[Tensor], seed: int) -> np.ndarray:
    """(P, m, 2) a picture by t-SNE of each set of vectors (m, d) of the same images, each begun at the one before.

    So an image moves little from one picture to the next. Each coordinate fills [-1, 1].
    """
    from sklearn.decomposition import PCA  # here, since loading them takes a second
    from sklearn.manifold import TSNE

    drawn, start = [], "pca"
    for vectors in places:
        points = F.normalize(vectors, dim=1).numpy()  # near on the sphere is near by the cosine
        few = PCA(min(50, *points.shape), random_state=seed).fit_transform(points)
        perplexity = min(20, len(points) / 4)
        made = TSNE(init=start, perplexity=perplexity, random_state=seed).fit_transform(few)
        made = made - made.mean(0)
        start = 1e-2 * made / made.std()
        drawn.append(made / abs(made).max(0))
    return np.stack(drawn)
