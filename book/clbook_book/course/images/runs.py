"""What was run on real images, for several pages. It needs the image files (see the README)."""

import numpy as np
import torch

from clbook.experiments.images import emergence, readout
from clbook.experiments.images.experiment import Config, Trainer, run
from clbook.metrics import neighbour_accuracy
from clbook_book.course.images import cost
from clbook_book.records import recorded

THREE = range(3)  # seeds


def plane(points: np.ndarray, seed: int) -> np.ndarray:
    """(n, 2) t-SNE of points (n, d), of their first 50 principal components where there are more (LS and VA Fig. 1)."""
    from sklearn.decomposition import PCA  # here, since loading them takes a second
    from sklearn.manifold import TSNE

    if points.shape[1] > 50:
        points = PCA(50, random_state=seed).fit_transform(points)
    return TSNE(init="pca", random_state=seed).fit_transform(points)


def kept(results, names: tuple) -> dict[str, np.ndarray]:
    """`steps`, and what results record under `names`, runs along the first axis; of runs cut short the steps alone."""
    found = {"steps": np.array([result.steps for result in results], np.float32)}
    if any(result.stopped for result in results):
        return found
    for name in names:
        found[name] = np.array([getattr(result, name) for result in results], np.float32)
    return found


AXES = {
    **dict.fromkeys(("views", "flops", "weights", "kept", "step"), "run size"),
    "steps": "run iteration",  # the loss at each
    **dict.fromkeys(("pixels_plane", "features_plane"), "image coordinate"),
    "knn": "run epoch",
    "epoch": "epoch",
    "labels": "image",
    "spectrum_h": "run axis_h",
    "spectrum_z": "run axis_z",
}


def pictures(results) -> dict[str, np.ndarray]:
    """What Fig. 1 needs, the runs along the first axis; of runs that ended early, the loss at each step alone.

    knn (runs, T), untrained (runs,), pixels (runs,), probe, probe_z (runs,): accuracies on the test images, `untrained`
    from the features of the network at its start. spectrum_h, spectrum_z (runs, d): variances along the axes.
    pixels_plane, features_plane (test, 2): t-SNE of the first run, of classes `labels` (test,). pixels_seen,
    features_seen (runs,): accuracy of ten neighbours in those planes.
    """
    names = "knn", "pixels", "probe", "probe_z", "spectrum_h", "spectrum_z"
    found = kept(results, names)
    if any(result.stopped for result in results):
        return found
    untrained, seen = [], {"pixels": [], "features": []}
    for k, result in enumerate(results):
        trainer, seed = Trainer(result.config, torch.device("cpu")), result.config.seed
        i = trainer.images
        (h, _), (h_test, _) = trainer.embedded(i.x), trainer.embedded(i.x_test)
        untrained.append(readout.knn(h, i.y, h_test, i.y_test))
        for name, points in (("pixels", i.x_test.flatten(1).numpy()), ("features", result.h)):
            drawn = plane(points, seed)
            seen[name].append(neighbour_accuracy(drawn, result.labels))
            if k == 0:
                found[f"{name}_plane"] = drawn.astype(np.float32)
    found["epoch"] = results[0].epochs
    found["labels"] = results[0].labels.astype(np.uint8)
    found["untrained"] = np.array(untrained, np.float32)
    for name, values in seen.items():
        found[f"{name}_seen"] = np.array(values, np.float32)
    return found


@recorded(
    "images-cifar10",
    run,
    Config(data="cifar10", train=10_000, test=2000, flip=True, smallest=0.2, epochs=12, every=3),
    seeds=THREE,
    curves=("steps",),
    start=0.003,
    axes=AXES,
)
def cifar10(results):
    """LS and VA Fig. 1: SimCLR, a residual network of 8 layers on 10,000 images of CIFAR-10, 12 epochs.

    Keeps:
        pixels_plane, features_plane: t-SNE of the test images in the first run, from pixels and from features.
        untrained: accuracy of ten neighbours in the features of the network at its start.
        pixels_seen, features_seen: accuracy of ten neighbours in those planes.
    """
    return pictures(results)


@recorded(
    "images-mnist",
    run,
    Config(
        data="mnist",
        train=10_000,
        test=2000,
        network="cnn",
        width=16,
        epochs=15,
        warmup=1,
        every=3,
    ),
    seeds=THREE,
    curves=("steps",),
    start=0.02,
    axes=AXES,
)
def mnist(results):
    """LS and VA Fig. 1: SimCLR, two convolutions and a linear layer on 10,000 images of MNIST, 15 epochs.

    Keeps:
        pixels_plane, features_plane: t-SNE of the test images in the first run, from pixels and from features.
        untrained: accuracy of ten neighbours in the features of the network at its start.
        pixels_seen, features_seen: accuracy of ten neighbours in those planes.
    """
    return pictures(results)


@recorded(
    "images-emergence",
    emergence.run,
    emergence.Config(),
    seeds=THREE,
    curves=("accuracy", "path"),
    start=0.002,
    record=("accuracy",),
    axes={"steps": "step", "accuracy": "run step", "path": "run point step", "labels": "point"},
)
def line(results):
    """LS Figure 4 on CIFAR-10: two classes, two convolutions and a linear layer, 5,000 steps.

    Keeps:
        accuracy (runs, T): of a linear readout of the embedding.
        path (runs, 40, T): the embedding of 40 points, of classes `labels`.
    """
    accuracy = [result.accuracy for result in results]
    return {
        "steps": results[0].steps,
        "accuracy": np.array(accuracy, np.float32),
        "path": np.array([result.z.T[::5] for result in results], np.float32),
        "labels": results[0].labels[::5],
    }


@recorded(
    "images-cost",
    cost.run,
    cost.Config(),
    seeds=THREE,
    curves=("views", "flops", "weights", "kept"),
    start=0.2,
    axes=AXES,
)
def costs(results):
    """What a training step takes, on small networks and on ResNet-18 and 50 at small images.

    Of each size of `cost.FITTED` and `cost.CHECKED`, (runs, sizes).
    """
    names = ("views", "flops", "weights", "kept", "step")
    return {name: np.array([getattr(result, name) for result in results]) for name in names}
