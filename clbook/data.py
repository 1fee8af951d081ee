"""Data sets: labelled point clouds; images, scikit-learn's digits or files in a folder of the reader's; own tables.

Every maker takes a `torch.Generator`, returns `x` (n, D) float32 and, but for `ball`, `labels` (n,) int64 sorted by
class, with class sizes that differ by at most one. The tables of modular addition, last, are complete and ask for no
generator.
"""

from __future__ import annotations

import contextlib
import gzip
import math
import os
import pathlib
import time
import zipfile
import zlib
from collections.abc import Iterator

import numpy as np
import torch

DONUT_RING = (1.8, 2.2)  # radii of the ring; the disc has radius 1


def balanced_labels(n: int, classes: int) -> torch.Tensor:
    """(n,) labels 0, 0, ..., 1, 1, ...: every class has floor(n / classes) or one more point."""
    if not 1 <= classes <= n:
        raise ValueError(
            f"n = {n} is not allowed: n must be at least the number of classes, {classes}"
        )
    return torch.arange(n) * classes // n


def evenly(most: int, count: int) -> torch.Tensor:
    """At most `most` of the positions 0 .. count - 1, evenly spaced: of sorted points, some of every class."""
    some = min(most, count)
    return torch.arange(some) * count // some


def clusters(
    n: int, classes: int, spread: float, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gaussian clusters in the plane, centred on the unit circle (LS Sec. 4.2.1; VA Sec. 4.2).

    Two clusters lie at (1, 0) and (0, 1); up to four are a quarter turn apart, more are spread evenly.
    `spread` is the standard deviation of each coordinate. Returns x (n, 2), labels (n,).
    """
    labels = balanced_labels(n, classes)
    angle = labels * (math.pi / 2 if classes <= 4 else 2 * math.pi / classes)
    centres = torch.stack([angle.cos(), angle.sin()], dim=1)
    return centres + spread * torch.randn(n, 2, generator=generator), labels


def row(
    n: int,
    classes: int,
    spread: float,
    dim: int,
    generator: torch.Generator,
    *,
    first: float = -1.0,
    gap: float = 1.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gaussian clusters in a row along the first axis, from `first` on, `gap` apart; the other coordinates have mean 0.

    LS Fig. 6 has four at -1, 0, 1, 2, the default; VA Fig. 5 has them at -3, -1, 1, 3. `spread` is the standard
    deviation of each of the `dim` coordinates. Returns x (n, dim), labels (n,).
    """
    labels = balanced_labels(n, classes)
    x = spread * torch.randn(n, dim, generator=generator)
    x[:, 0] += first + gap * labels
    return x, labels


def mixture(
    n: int, classes: int, spread: float, dim: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """A Gaussian cloud for each class in R^dim, with standard deviation `spread` around a mean drawn from N(0, I).

    Returns x (n, dim), labels (n,).
    """
    labels = balanced_labels(n, classes)
    means = torch.randn(classes, dim, generator=generator)
    return means[labels] + spread * torch.randn(n, dim, generator=generator), labels


def donut(n: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """A disc of radius 1 (label 0) inside a ring (label 1), both uniform in area (LS Fig. 4, left). x (n, 2)."""
    labels = balanced_labels(n, 2)
    inner = torch.where(labels == 0, 0.0, DONUT_RING[0])
    outer = torch.where(labels == 0, 1.0, DONUT_RING[1])
    u = torch.rand(n, generator=generator)
    radius = (inner**2 + u * (outer**2 - inner**2)).sqrt()
    angle = 2 * math.pi * torch.rand(n, generator=generator)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1), labels


def ball(n: int, d: int, diameter: float, generator: torch.Generator) -> torch.Tensor:
    """n points drawn uniformly from the d-dimensional ball of that diameter around the origin, (n, d); no labels."""
    direction = torch.nn.functional.normalize(torch.randn(n, d, generator=generator), dim=1)
    return diameter / 2 * torch.rand(n, 1, generator=generator) ** (1 / d) * direction


def images(
    name: str, n: int, classes: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """`n` examples of the set `name`, of `IMAGES` or an own .npz file (`table`), from its first `classes` classes.

    The digits come with scikit-learn (8 x 8); mnist (28 x 28) and cifar10 (32 x 32, three colours) are read from
    `data_folder()`. They are drawn without replacement. Returns x (n, D), of images colour by colour and in [0, 1],
    and labels (n,). Raises ValueError where the set has too few classes or too few examples of one, where its files
    are missing or damaged, and says what to do.
    """
    if name not in IMAGES and not name.endswith(".npz"):
        raise ValueError(
            f"name = {name!r} is not allowed: name must be one of {', '.join(IMAGES)}, or an .npz file"
        )
    pixels, targets, names = (*IMAGES[name](), range(10)) if name in IMAGES else table(name)
    if not 1 <= classes <= len(names):
        raise ValueError(f"classes = {classes} is not allowed: {name} has {len(names)} classes")
    labels = balanced_labels(n, classes)
    chosen = []
    for k in range(classes):
        of_class, wanted = torch.tensor(np.flatnonzero(targets == k)), int((labels == k).sum())
        if wanted > len(of_class):
            raise ValueError(
                f"n = {n} is not allowed: class {names[k]} of {name} has {len(of_class)} examples, "
                f"{wanted} were asked for"
            )
        chosen.append(of_class[torch.randperm(len(of_class), generator=generator)[:wanted]])
    white = 16 if name == "digits" else 255 if pixels.dtype == np.uint8 else 1
    return torch.from_numpy(pixels[torch.cat(chosen).numpy()].astype(np.float32)).flatten(
        1
    ) / white, labels


def table(path: str | pathlib.Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """A reader's own set: an .npz file that holds the arrays `x`, points or images, and `y` (n,), their classes.

    x is (n, D), floating point numbers or uint8, or images of uint8, (n, height, width) or (n, height, width, 1 or 3).
    Returns x as it is, images as (n, colours, height, width); the classes as numbers (n,); their names, sorted. Raises
    ValueError: a missing or damaged file, arrays of other shapes, numbers that are not finite, fewer than two classes.
    """

    def refused(why):
        return ValueError(f"data = {str(path)!r} is not allowed: {why}")

    try:
        with np.load(path) as file:
            x, y = file["x"], file["y"]
    except FileNotFoundError:
        raise refused(
            "there is no such file; it must be an .npz file with arrays x and y"
        ) from None
    except (
        Exception
    ) as error:  # zipfile, zlib, KeyError, ValueError, EOFError: all say that the file is not a set
        raise refused(f"it is damaged, or has no arrays x and y: {error}") from error
    images = x.dtype == np.uint8 and (x.ndim == 3 or x.ndim == 4 and x.shape[-1] in (1, 3))
    if not (images or x.ndim == 2 and (x.dtype == np.uint8 or x.dtype.kind == "f")):
        raise refused(
            f"x has shape {x.shape} and type {x.dtype}, it must be floating point numbers or uint8 (n, D), "
            "or uint8 (n, height, width) or (n, height, width, 1 or 3)"
        )
    if y.shape != (len(x),):
        raise refused(f"y has shape {y.shape}, it must be ({len(x)},)")
    if not np.isfinite(x).all():
        raise refused("x has entries that are not finite, it must have none")
    names, labels = np.unique(y, return_inverse=True)
    if len(names) < 2:
        raise refused(f"y holds {len(names)} class, it must hold two or more")
    x = (x if x.ndim == 4 else x[..., None]).transpose(0, 3, 1, 2) if images else x
    return x, labels, [str(name) for name in names]


def cache_folder() -> pathlib.Path:
    """Where finished work is kept: the folder named by CLBOOK_CACHE, else ~/.cache/clbook."""
    return pathlib.Path(os.environ.get("CLBOOK_CACHE") or pathlib.Path.home() / ".cache" / "clbook")


@contextlib.contextmanager
def written(path: pathlib.Path) -> Iterator:
    """A file to write `path`'s bytes to: it lies beside it and takes its name when whole, so no half file is found."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.{time.monotonic_ns()}.part")
    try:
        with open(part, "wb") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def data_folder() -> pathlib.Path:
    """Where data files are looked for: the folder named by CLBOOK_DATA, else `data` in the `cache_folder()`."""
    return pathlib.Path(os.environ.get("CLBOOK_DATA") or cache_folder() / "data")


def download(name: str) -> pathlib.Path:
    """Fetch the set `name`, mnist or cifar10, from OpenML into `data_folder()`, as {name}.npz. Returns its path."""
    if name not in OPENML:
        raise ValueError(f"name = {name!r} is not allowed: name must be one of {', '.join(OPENML)}")
    from sklearn.datasets import fetch_openml  # here, since loading it takes a second

    x, y = fetch_openml(
        OPENML[name], version=1, return_X_y=True, as_frame=False, data_home=data_folder() / "openml"
    )
    path = data_folder() / f"{name}.npz"
    with written(path) as file:
        np.savez_compressed(file, x=x.astype(np.uint8), y=y.astype(np.uint8))
    return path


@contextlib.contextmanager
def reading(name) -> Iterator:
    """Errors of reading set `name` become a ValueError that names the file and says what to do."""
    again = f"set CLBOOK_DATA to the folder that holds it, or call clbook.data.download({name!r})"
    try:
        yield
    except FileNotFoundError as error:
        raise ValueError(
            f"CLBOOK_DATA = {str(data_folder())!r} has no file {error.filename}: {again}"
        ) from None
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ValueError(
            f"CLBOOK_DATA = {str(data_folder())!r}: the file of {name} is damaged ({error}): replace it, "
            f"{again}"
        ) from error


def image_files(name: str) -> tuple[pathlib.Path, ...]:
    """The files that `images(name, ...)` reads: what `download` stored, else MNIST's own or a subset of CIFAR-10.

    None for the digits, which come with scikit-learn. Files that are missing are named as they should be.
    """
    if name not in OPENML:
        return (pathlib.Path(name),) if name.endswith(".npz") else ()
    stored = data_folder() / f"{name}.npz"
    if stored.exists():
        return (stored,)
    if name == "cifar10":
        return (data_folder() / "cifar10_subset" / "cifar10_subset.npz",)
    packed = [
        data_folder() / "MNIST" / "raw" / f"train-{part}-ubyte.gz"
        for part in ("images-idx3", "labels-idx1")
    ]
    return tuple(path if path.exists() else path.with_suffix("") for path in packed)


def _stored(path):
    """(pixels, labels) of a set fetched by `download`."""
    with np.load(path) as table:
        return table["x"], table["y"]


def idx(path) -> np.ndarray:
    """The array of an IDX file (gzip or not), the layout of MNIST's own distribution."""
    with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
        head = file.read(4)
        shape = (
            np.frombuffer(file.read(4 * head[3]), ">u4")
            if len(head) == 4 and head[:3] == b"\0\0\x08"
            else ()
        )
        values = np.frombuffer(file.read(), np.uint8)
    if not len(shape) or values.size != math.prod(map(int, shape)):
        says = "x".join(map(str, shape)) or "nothing"
        raise ValueError(f"{path.name} holds {values.size} bytes where its head says {says}")
    return values.reshape(*map(int, shape))


def _mnist():
    with reading("mnist"):
        files = image_files("mnist")
        if len(files) == 1:
            return _stored(*files)
        pixels, labels = map(idx, files)
        if len(pixels) != len(labels):
            raise ValueError(f"{len(pixels)} images but {len(labels)} labels")
        return pixels.reshape(len(pixels), -1), labels


def _cifar10():
    with reading("cifar10"):
        (path,) = image_files("cifar10")
        if path.parent == data_folder():
            return _stored(path)
        with np.load(path) as table:
            pixels, labels = table["x_train"], table["y_train"]
        return pixels.transpose(0, 3, 1, 2).reshape(len(pixels), -1), labels


def _digits():
    from sklearn.datasets import load_digits

    pixels, targets = load_digits(return_X_y=True)
    return pixels.astype(np.uint8), targets


IMAGES = {"digits": _digits, "mnist": _mnist, "cifar10": _cifar10}
OPENML = {"mnist": "mnist_784", "cifar10": "CIFAR_10"}


def modadd(N: int, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Modular addition (SL Sec. 5): every pair (a, b) of the symbols 0 .. N - 1 and its label (a + b) mod k.

    Returns pairs (N^2, 2) and labels (N^2,), not sorted by class. Two symbols are equivalent when they agree mod k.
    """
    if not 1 <= k <= N:
        raise ValueError(f"k = {k} is not allowed: k must be a whole number >= 1 and <= N = {N}")
    pairs = torch.cartesian_prod(torch.arange(N), torch.arange(N))
    return pairs, pairs.sum(1) % k


def cmodadd(N: int, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Contrastive modular addition (SL Sec. 5): `modadd`'s equations (a, b, c) with a or b masked, each once.

    Returns symbols (2 N^2,), the masked a or b, and contexts (2 N^2, 3), the equation with the mask N in its place. The
    answer c shares its tokens 0 .. k - 1 with the symbols. Every symbol is in 2 N contexts.
    """
    pairs, answers = modadd(N, k)
    equations = torch.column_stack([pairs, answers])
    contexts = equations.repeat(2, 1)
    contexts[: N * N, 0] = contexts[N * N :, 1] = N
    return torch.cat([pairs[:, 0], pairs[:, 1]]), contexts
