"""What the papers say of images, judged on the records of this room."""

import numpy as np

from clbook.claims import Chapter, Finding, listed
from clbook.metrics import spectral_rank

chapter = Chapter(__file__)


def against(
    text: str, values: np.ndarray, others: np.ndarray, by: float = 0.0, digits: str = ".2f"
) -> Finding:
    """Accuracies `values` (runs,) against `others`, which they must be above by `by`; {} and {} in the text."""
    gain = values - others
    return Finding(
        text.format(listed(values, digits), listed(others, digits)),
        float(gain.mean()),
        (gain - by,),
    )


@chapter.measure("img-mnist-pixels")
def mnist_pixels(mnist):
    right = mnist.pixels
    return Finding(f"right for {listed(right, '.3f')}", float(right.mean()), (right - 0.94,))


@chapter.measure("img-cifar-pixels")
def cifar_pixels(cifar):
    right, seen = cifar.pixels, cifar.pixels_seen
    return Finding(
        f"right for {right[0]:.2f}; in the plane for {listed(seen)}",
        float(right.mean()),
        (0.5 - right, 0.5 - seen),
    )


@chapter.measure("img-simclr-uncovers")
def simclr_uncovers(cifar):
    found = against("features {}, pixels {}", cifar.knn.isel(epoch=-1), cifar.pixels, 0.08)
    plane = against("; in the plane {} and {}", cifar.features_seen, cifar.pixels_seen)
    return Finding(found.text + plane.text, found.value, found.conditions + plane.conditions)


@chapter.measure("img-simclr-strong")
def simclr_strong(cifar):
    seen = cifar.features_seen
    return Finding(f"right for {listed(seen)}", float(seen.mean()), (seen - 0.5,))


@chapter.measure("img-training")
def training(cifar):
    return against("trained {}, untrained {}", cifar.knn.isel(epoch=-1), cifar.untrained, 0.08)


@chapter.measure("img-mnist-features")
def mnist_features(mnist):
    return against("features {}, pixels {}", mnist.knn.isel(epoch=-1), mnist.pixels, digits=".3f")


@chapter.measure("img-before-projector")
def before_projector(cifar):
    return against("before {}, after {}", cifar.probe, cifar.probe_z)


@chapter.measure("img-rank")
def rank_after(cifar):
    before, after = spectral_rank(cifar.spectrum_h), spectral_rank(cifar.spectrum_z)
    return Finding(
        f"effective rank before {listed(before, '.1f')}, after {listed(after, '.1f')}",
        float((after / before).mean()),
        (before - after,),
    )


@chapter.measure("img-emergence")
def emergence(emergence):
    accuracy = emergence.accuracy
    first, best, last = accuracy.isel(step=0), accuracy.max("step"), accuracy.isel(step=-1)
    return Finding(
        f"{listed(first)} at the start, {listed(last)} at the end, best {listed(best)}",
        float(last.mean()),
        (last - first - 0.1, 0.05 - (best - last)),
    )
