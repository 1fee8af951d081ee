"""What was run on photographs and on MNIST. It needs the image files (see the README)."""

import numpy as np

from clbook.experiments.images import norms as norm_runs
from clbook.experiments.images import twins, wall
from clbook.results.sweep import combined
from clbook_book.course.images.figures import OBJECTS
from clbook_book.course.images.runs import kept
from clbook_book.course.photographs import sprites
from clbook_book.records import recorded

THREE = range(3)  # seeds
CIFAR = twins.Config(
    data="cifar10", train=5000, test=2000, flip=True, smallest=0.2, epochs=8, warmup=1
)
# SA's rate; at the default's, cross-entropy's network died in two of three seeds: all its outputs became one.
MNIST = twins.Config(
    data="mnist", train=10_000, test=2000, network="cnn", width=16, epochs=12, warmup=1, lr=1.2
)
NORMS = norm_runs.Config(
    data="cifar10", train=5000, test=2000, flip=True, smallest=0.2, epochs=8, warmup=1, every=8
)
LARGE_RATE = NORMS.replace(tau=1.0, lr=0.2)
SMALL_RATE = NORMS.replace(tau=1.0, lr=0.003)
SCALED = LARGE_RATE.replace(outputs="scaled")
STANDARD = SMALL_RATE.replace(outputs="standard")
# Scalar products of 64 outputs of variance 1 are 64 times as large as those of unit vectors: the last one, a control,
# has unit vectors at a temperature of 1/64. Such steep losses ask for a smaller rate.
OUTPUTS = {
    "norm": LARGE_RATE.replace(outputs="norm"),
    "no norm": SCALED,
    "no norm, two temperatures": SCALED.replace(tau_ratio=0.7),
    "no norm, variance 1": STANDARD,
    "no norm, variance 1, two temperatures": STANDARD.replace(tau_ratio=0.7),
    "norm, temperature 1/64": SMALL_RATE.replace(outputs="norm", tau=1 / 64),
}
# What the rows of variance 1 are compared with: the norm at temperature 1, at their rate.
SLOW = {"norm, small rate": SMALL_RATE.replace(outputs="norm")}


def copies(results) -> dict[str, np.ndarray]:
    """What was recorded, the runs along the first axis; of runs that ended early, the first copy's losses alone."""
    found = kept(results, ("cka", "rsa", "cka_h", "gap", "nccc", "probe", "pixels"))
    found["steps"] = found["steps"][..., 0]
    return (
        found if any(result.stopped for result in results) else found | {"epoch": results[0].epochs}
    )


def outputs(results) -> dict[str, np.ndarray]:
    """Spectra and readouts, the runs of OUTPUTS along the first axis, seeds together; early, the losses alone."""
    return kept(results, ("knn", "pixels", "probe", "probe_z", "spectrum_h", "spectrum_z"))


def beside(results) -> dict[str, np.ndarray]:
    """What the wall shows, of one run; of one that ended early, the losses alone.

    Its images are one sprite: the photographs first, then those of the pool that are among anybody's nearest. `nearest`
    (run, place, photograph, 8) and `tile_class` (tile,) count in it.
    """
    (result,) = results
    names = ("knn", "probe", "probe_z", "confusion", "spectrum_h", "spectrum_z", "share", "plane")
    found = kept(results, names)
    if result.stopped:
        return found
    shown, places = np.unique(result.nearest, return_inverse=True)
    photographs = len(result.labels)
    tiles = np.concatenate([result.photographs, result.pool[shown]])
    classes = np.concatenate([result.labels, result.pool_labels[shown]])
    nearest = photographs + places.reshape(result.nearest.shape)
    found["epoch"] = result.epochs
    found["loss_of_epoch"] = result.loss[None].astype(np.float32)
    found["confusion"] = result.confusion[None].astype(np.uint16)
    found["nearest"] = nearest[None].astype(np.uint16)
    found["tile_class"] = classes.astype(np.uint8)
    found["sprite"] = sprites.sprite(tiles)
    return found


AXES = {
    **dict.fromkeys(("cka", "rsa", "cka_h", "gap"), "run epoch loss"),
    **dict.fromkeys(("nccc", "probe"), "run loss"),
    "steps": "run iteration",  # the loss at each
    "epoch": "epoch",
    "spectrum_h": "run axis_h",
    "spectrum_z": "run axis_z",
}
ON_THE_WALL = {
    **dict.fromkeys(("knn", "probe", "share"), "run place"),
    **dict.fromkeys(("probe_z", "loss_of_epoch"), "run epoch"),
    "steps": "run iteration",  # the loss at each
    "epoch": "epoch",
    "confusion": "run place class taken_for",
    "nearest": "run place photograph neighbour",
    "plane": "run place photograph coordinate",
    "spectrum_h": "run epoch axis_h",
    "spectrum_z": "run epoch axis_z",
    "tile_class": "tile",
    "sprite": "byte",  # of a JPEG file
}
OF_OUTPUTS = AXES | {"knn": "run epoch", "probe": "run"}
LOSSES, PAIR = {"loss": ("dcl", "nscl", "supcon", "ce")}, {"loss": ("dcl", "nscl")}


@recorded(
    "photographs-cifar10",
    twins.run,
    CIFAR,
    seeds=THREE,
    curves=("steps",),
    start=0.002,
    axes=AXES,
    labels=LOSSES,
)
def cifar10(results):
    """SA Fig. 2, 6 and Table 1: DCL, NSCL, SCL and CE, a residual network of 8 layers on 5,000 images of CIFAR-10,
    LARS, 8 epochs."""
    return copies(results)


@recorded(
    "photographs-cifar10-tau",
    twins.run,
    combined(CIFAR.replace(others="nscl"), tau=(0.1, 1.0), seed=THREE),
    curves=("steps",),
    start=0.004,
    axes=AXES,
    labels=PAIR,
    dims=("tau", "seed"),
)
def cifar10_tau(results):
    """SA Fig. 4: DCL and NSCL at two more temperatures, the same network and images."""
    return copies(results)


@recorded(
    "photographs-mnist",
    twins.run,
    MNIST,
    seeds=THREE,
    curves=("steps",),
    start=0.005,
    axes=AXES,
    labels=LOSSES,
)
def mnist(results):
    """SA Fig. 2, 6 and Table 1: DCL, NSCL, SCL and CE, two convolutions and a linear layer on 10,000 images of MNIST,
    LARS, 12 epochs."""
    return copies(results)


@recorded(
    "photographs-mnist-tau",
    twins.run,
    combined(MNIST.replace(others="nscl"), tau=(0.1, 1.0), seed=THREE),
    curves=("steps",),
    axes=AXES,
    labels=PAIR,
    dims=("tau", "seed"),
)
def mnist_tau(results):
    """SA Fig. 4: DCL and NSCL at two more temperatures, the same network and images."""
    return copies(results)


@recorded(
    "photographs-norms",
    norm_runs.run,
    OUTPUTS,
    seeds=THREE,
    curves=("steps",),
    axes=OF_OUTPUTS,
)
def norms(results):
    """CS Fig. 2 and Table 2: outputs normalised or standardised, one temperature or two, a residual network of 8 layers
    on 5,000 images of CIFAR-10, 8 epochs."""
    return outputs(results)


@recorded(
    "photographs-rate",
    norm_runs.run,
    SLOW,
    seeds=THREE,
    curves=("steps",),
    axes=OF_OUTPUTS,
)
def rate(results):
    """CS Fig. 2 and Table 2: outputs normalised, at the learning rate of the outputs of variance 1, a residual network
    of 8 layers on 5,000 images of CIFAR-10, 8 epochs."""
    return outputs(results)


@recorded(
    "photographs-wall",
    wall.run,
    [wall.Config()],
    curves=("steps",),
    start=0.003,
    axes=ON_THE_WALL,
    labels={"class": OBJECTS, "taken_for": OBJECTS},
)
def small_wall(results):
    """Cats beside cats: SimCLR, a residual network of 8 layers and 32 channels on all of CIFAR-10, 36 epochs, and what
    lies beside 200 test images (CLBOOK_CHECKPOINT names a file from which its training goes on).

    Keeps:
        loss_of_epoch: mean of the loss over each epoch after which the network was read out.
        tile_class: class of each image of the sprite.
        sprite: bytes of a JPEG file with all images that are shown.
    """
    return beside(results)


# The wall at the field's own size. Rate and decay are those of lightly's cifar10_benchmark.py, .06 for a batch of 128
# and in proportion to the batch; as many epochs as ten minutes of one GPU allow.
LARGE = wall.Config(
    depth=18,
    width=64,
    projector=(512, 128),
    batch=512,
    epochs=225,
    restart=0,
    warmup=10,
    lr=0.24,
    decay=5e-4,
    precision="bfloat16",
)


@recorded(
    "photographs-wall-large",
    wall.run,
    [LARGE],
    curves=("steps",),
    start=0.0002,
    axes=ON_THE_WALL,
    labels={"class": OBJECTS, "taken_for": OBJECTS},
)
def large_wall(results):
    """The wall at the field's size: SimCLR, a residual network of 18 layers and 64 channels on all of CIFAR-10, 225
    epochs on a GPU (CLBOOK_CHECKPOINT names a file from which its training goes on).

    Keeps:
        loss_of_epoch: mean of the loss over each epoch after which the network was read out.
        tile_class: class of each image of the sprite.
        sprite: bytes of a JPEG file with all images that are shown.
    """
    return beside(results)
