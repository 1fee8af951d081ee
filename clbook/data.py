"""Data sets: labelled point clouds; images; tables of the reader's own; modular addition.

A maker of points or images takes a `torch.Generator` and returns

    x (n, D) float32, and labels (n,) int64, sorted by class.

The sizes of two classes differ by at most one. `ball` has no labels. The tables of modular addition, last in this file,
list every case there is, so they draw nothing.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import math
import os
import time
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from clbook._arguments import choice, number, refused, source, whole
from clbook.environment import data_folder

DONUT_RING = (1.8, 2.2)  # radii of the ring; the disc has radius 1
WIDEST = 1e30  # the largest spread or diameter: float32 ends at 3.4e38
LARGEST_ARRAY = 4 * 2**30  # bytes of an array in a reader's own file
FLOAT32 = float(np.finfo(np.float32).max)

Labelled = tuple[Tensor, Tensor]  # x (n, D) and labels (n,)


# Labels.


def balanced_labels(n: int, classes: int) -> Tensor:
    """Labels 0, 0, ..., 1, 1, ...: every class has floor(n / classes) points or one more.

    Args:
        n: number of points, at least `classes`.
        classes: number of classes, at least 1.

    Returns:
        (n,) int64.
    """
    classes = whole("classes", classes, 1)
    n = whole("n", n, 0)
    if n < classes:
        raise refused("n", n, f"at least the number of classes, {classes}")
    # Point i is in class floor(i classes / n): of 10 points in 3 classes, 4, 3 and 3.
    return torch.arange(n) * classes // n


def evenly(most: int, count: int) -> Tensor:
    """At most `most` of the positions 0 .. count - 1, evenly spaced.

    Points that are sorted by class are so represented by some of every class.

    Args:
        most: how many positions are wanted, at least 0.
        count: how many there are, at least 0.

    Returns:
        (min(most, count),) int64, rising.
    """
    some = min(whole("most", most, 0), whole("count", count, 0))
    return torch.arange(some) * count // some


# Clouds of points. Each is a centre for every point, plus normal noise.


def clusters(n: int, classes: int, spread: float, generator: Generator) -> Labelled:
    """Gaussian clusters in the plane, centred on the unit circle (LS Sec. 4.2.1; VA Sec. 4.2).

    The first centre is (1, 0). Up to four centres are a quarter turn apart; more are spread evenly over the circle.

    Args:
        n: number of points.
        classes: number of clusters.
        spread: standard deviation of each coordinate within a cluster.
        generator: source of the noise.

    Returns:
        x (n, 2) and labels (n,).
    """
    labels = balanced_labels(n, classes)
    # Up to four centres stand at quarter turns, more at equal parts of the circle.
    angle = labels * (2 * math.pi / max(classes, 4))
    centres = torch.stack([angle.cos(), angle.sin()], dim=1)
    return centres + _normal(spread, (n, 2), generator), labels


def row(
    n: int,
    classes: int,
    spread: float,
    dim: int,
    generator: Generator,
    *,
    first: float = -1.0,
    gap: float = 1.0,
) -> Labelled:
    """Gaussian clusters in a row along the first axis; the other coordinates have mean 0.

    The defaults are those of LS Fig. 6, which has four clusters at -1, 0, 1, 2. VA Fig. 5 has them at -3, -1, 1, 3.

    Args:
        n: number of points.
        classes: number of clusters.
        spread: standard deviation of each coordinate within a cluster.
        dim: number of coordinates.
        generator: source of the noise.
        first: place of the first centre.
        gap: distance from each centre to the next.

    Returns:
        x (n, dim) and labels (n,).
    """
    labels = balanced_labels(n, classes)
    dim = whole("dim", dim, 1)
    first = _bounded("first", first, -WIDEST)
    gap = _bounded("gap", gap, -WIDEST)
    x = _normal(spread, (n, dim), generator)
    x[:, 0] += first + gap * labels
    return x, labels


def mixture(n: int, classes: int, spread: float, dim: int, generator: Generator) -> Labelled:
    """Gaussian clusters in R^dim around means that are drawn from N(0, I).

    Args:
        n: number of points.
        classes: number of clusters.
        spread: standard deviation of each coordinate within a cluster.
        dim: number of coordinates.
        generator: source of the means, then of the noise.

    Returns:
        x (n, dim) and labels (n,).
    """
    labels = balanced_labels(n, classes)
    dim = whole("dim", dim, 1)
    means = _normal(1.0, (int(classes), dim), generator)
    return means[labels] + _normal(spread, (n, dim), generator), labels


def donut(n: int, generator: Generator) -> Labelled:
    """A disc of radius 1 (label 0) inside a ring (label 1), both uniform in area (LS Fig. 4, left).

    Args:
        n: number of points, at least 2.
        generator: source of radii, then of angles.

    Returns:
        x (n, 2) and labels (n,).
    """
    source("generator", generator)
    labels = balanced_labels(n, 2)
    inner = torch.where(labels == 0, 0.0, DONUT_RING[0])
    outer = torch.where(labels == 0, 1.0, DONUT_RING[1])
    # The area within a radius grows with its square, so it is the square that is uniform.
    share = torch.rand(n, generator=generator)
    radius = (inner**2 + share * (outer**2 - inner**2)).sqrt()
    angle = 2 * math.pi * torch.rand(n, generator=generator)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1), labels


def ball(n: int, d: int, diameter: float, generator: Generator) -> Tensor:
    """Points drawn uniformly from the d-dimensional ball around the origin.

    Args:
        n: number of points, at least 1.
        d: number of coordinates, at least 1.
        diameter: of the ball.
        generator: source of the directions, then of the radii.

    Returns:
        (n, d), without labels.
    """
    n = whole("n", n, 1)
    d = whole("d", d, 1)
    diameter = _bounded("diameter", diameter)
    direction = F.normalize(_normal(1.0, (n, d), generator), dim=1)
    # The volume within a radius grows with its d-th power, so it is that power that is uniform.
    radius = torch.rand(n, 1, generator=generator) ** (1 / d)
    return diameter / 2 * radius * direction


def _normal(spread, shape, generator):
    """Independent normal numbers of standard deviation `spread`."""
    spread = _bounded("spread", spread)
    source("generator", generator)
    return spread * torch.randn(shape, generator=generator)


def _bounded(name, value, least=0.0):
    """`value`, a number that leaves coordinates within the range of float32."""
    found = number(name, value)
    if not least <= found <= WIDEST:
        raise refused(name, value, f"a number >= {least:g} and <= {WIDEST:g}")
    return found


# Images and tables: labelled examples that somebody has collected.


def images(name: str, n: int, classes: int, generator: Generator) -> Labelled:
    """Examples of the first `classes` classes of a set, drawn without replacement.

    The digits come with scikit-learn (8 x 8 pixels). mnist (28 x 28) and cifar10 (32 x 32, three colours) are read from
    `data_folder()`. cifar10_all is all 50,000 training images, from the zip that `cifar10_part` reads. Any other set is
    an .npz file of the reader's own (see `table`).

    Args:
        name: a key of `IMAGES`, or the path of an .npz file.
        n: number of examples.
        classes: number of classes.
        generator: source of the choice.

    Returns:
        x (n, D) and labels (n,). Images are in [0, 1], flattened colour by colour; points are as in the file.

    Raises:
        ValueError: a set with too few classes, or too few examples of one; files that are missing or damaged.
    """
    source("generator", generator)
    name = str(name)
    pixels, targets, names = _labelled(name)
    labels = balanced_labels(n, classes)
    if classes > len(names):
        raise ValueError(f"classes = {classes} is not allowed: {name} has {len(names)} classes")
    chosen = []
    for k in range(classes):
        places = torch.tensor(np.flatnonzero(targets == k))  # of all examples of the class
        wanted = int((labels == k).sum())
        if wanted > len(places):
            raise ValueError(
                f"n = {n} is not allowed: class {names[k]} of {name} has {len(places)} examples, "
                f"{wanted} were asked for"
            )
        chosen.append(places[torch.randperm(len(places), generator=generator)[:wanted]])
    x = torch.from_numpy(pixels[torch.cat(chosen).numpy()].astype(np.float32)).flatten(1)
    return x / _white(name, pixels), labels


def _labelled(name):
    """Pixels or points (m, ...), classes (m,) and names of the classes of a whole set."""
    if _is_file(name):
        return table(name)
    if name not in IMAGES:
        raise refused("name", name, f"one of {', '.join(IMAGES)}, or an .npz file")
    pixels, targets = IMAGES[name]()
    return pixels, targets, range(10)


def _white(name, pixels):
    """The value of a white pixel; 1 for points, which are left as they are."""
    if name == "digits":
        return 16
    return 255 if pixels.dtype == np.uint8 else 1


def _is_file(name):
    """Whether `name` is that of an .npz file."""
    return name.lower().endswith(".npz")


def table(path: str | Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """A set of the reader's own: an .npz file that holds the arrays `x`, points or images, and `y`, their classes.

    In the file, x is (n, D) of any real numbers, or images (n, height, width) or (n, height, width, 1 or 3) of whole
    numbers 0 .. 255 or of truth values. y is (n,): whole numbers or texts. NumPy's files hold a masked array
    without its mask: leave out what is masked before you save it.

    Args:
        path: of the file. A "~" at its beginning is the home folder.

    Returns:
        (x, labels, names). The points x are as they are, but whole numbers other than uint8 become float32; images
        are uint8 (n, colours, height, width). labels (n,) are the classes as numbers 0, 1, ... in the order of their
        names. names are those of the classes, sorted.

    Raises:
        ValueError: a missing or damaged file; arrays of other shapes, or of more than 4 GB; numbers that are not finite
            or beyond the range of float32; classes that are no whole numbers and no texts, or fewer than two.
    """
    path = _path("path", path)
    try:
        x, y = _arrays(path)
        x = _pixels(x) if x.ndim > 2 else _points(x)
        names, labels = np.unique(y, return_inverse=True)
        if len(names) < 2:
            raise ValueError(f"y holds {len(names)} class, it must hold two or more")
    except ValueError as why:
        raise ValueError(f"data = {str(path)!r} is not allowed: {why}") from why
    return x, labels, [str(name) for name in names]


def _path(name, value):
    if not isinstance(value, (str, os.PathLike)):
        raise refused(name, value, "the path of a file")
    return Path(value).expanduser()


def _arrays(path):
    """The arrays x and y of an .npz file, of shapes that a set can have.

    Their sizes are read first. A file of a few megabytes can announce an array of many gigabytes, and NumPy would ask
    for that memory at once.
    """
    for name in ("x", "y"):
        with _sound():
            size = _bytes(path, name)
        if size > LARGEST_ARRAY:
            raise ValueError(f"{name} has {size / 1e9:.1f} GB, it must have at most 4")
    with _sound(), np.load(path) as file:
        x, y = file["x"], file["y"]

    whole_numbers = x.dtype.kind in "biu"
    points = x.ndim == 2 and (whole_numbers or x.dtype.kind == "f")
    grey = x.ndim == 3
    coloured = x.ndim == 4 and x.shape[-1] in (1, 3)
    images = whole_numbers and (grey or coloured)
    if not (points or images) or x.size == 0:
        raise ValueError(
            f"x has shape {x.shape} and type {x.dtype}, it must be floating point or whole numbers "
            "(n, D), or whole numbers 0 .. 255 (n, height, width) or (n, height, width, 1 or 3)"
        )
    if y.shape != (len(x),):
        raise ValueError(f"y has shape {y.shape}, it must be ({len(x)},)")
    if y.dtype.kind == "f" and not (y == np.floor(y)).all():  # NaN is not equal to itself
        raise ValueError("y has numbers that are not whole, and each would be a class of its own")
    return x, y


@contextlib.contextmanager
def _sound():
    """Errors of reading an .npz file become ValueErrors in words."""
    try:
        yield
    except FileNotFoundError:
        raise ValueError(
            "there is no such file; it must be an .npz file with arrays x and y"
        ) from None
    # A damaged file raises a dozen kinds of error, of zipfile, zlib, NumPy and Python.
    except Exception as error:
        raise ValueError("it is damaged, or has no arrays x and y") from error


def _bytes(path, name):
    """How many bytes an array of an .npz file takes, from its head alone."""
    with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as file:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, _, kind = np.lib.format.read_array_header_1_0(file)
        else:
            shape, _, kind = np.lib.format.read_array_header_2_0(file)
    return math.prod(shape) * kind.itemsize


def _points(x):
    """Points (n, D) of floating point numbers, or of uint8, that float32 can hold."""
    if x.dtype == np.uint8:
        return x
    if not np.isfinite(x).all():
        raise ValueError("x has entries that are not finite, it must have none")
    if float(np.abs(x).max()) > FLOAT32:
        raise ValueError(f"x has entries beyond the range of float32, {FLOAT32:.1e}")
    return x if x.dtype.kind == "f" else x.astype(np.float32)


def _pixels(x):
    """Images (n, height, width) or (n, height, width, colours) as uint8 (n, colours, height, width)."""
    if x.dtype == bool:
        x = 255 * x.astype(np.uint8)  # True is white
    if x.min() < 0 or x.max() > 255:
        raise ValueError(f"x has pixels {x.min()} .. {x.max()}, they must be 0 .. 255")
    if x.ndim == 3:
        x = x[..., None]
    return x.astype(np.uint8, copy=False).transpose(0, 3, 1, 2)


# Folders and files.


@contextlib.contextmanager
def written(path: Path) -> Iterator:
    """A file to write the bytes of `path` to.

    The bytes are written beside `path`, under another name, and take its name when all are there. So nobody ever finds
    half a file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Two processes, or two threads, may write the same file at once.
    unique = f"{os.getpid()}.{time.monotonic_ns()}"
    part = path.with_name(f"{path.name}.{unique}.part")
    try:
        with open(part, "wb") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def download(name: str) -> Path:
    """Fetch mnist or cifar10 from OpenML into `data_folder()`, as {name}.npz. Returns its path."""
    choice("name", name, OPENML)
    from sklearn.datasets import fetch_openml  # here, since loading it takes a second

    folder = data_folder()
    x, y = fetch_openml(
        OPENML[name], version=1, return_X_y=True, as_frame=False, data_home=folder / "openml"
    )
    path = folder / f"{name}.npz"
    pixels = x.astype(np.uint8)
    labels = y.astype(np.uint8)  # OpenML sends them as texts
    with written(path) as file:
        np.savez_compressed(file, x=pixels, y=labels)
    return path


def image_files(name: str) -> tuple[Path, ...]:
    """The files that `images(name, ...)` reads.

    Of mnist and cifar10 that is what `download` has stored; else MNIST's own two files, or a subset of CIFAR-10; for
    cifar10_all, the zip that `cifar10_part` reads. Files that are missing are named as they should be. The digits come
    with scikit-learn: no file.
    """
    name = str(name)
    if _is_file(name):
        return (_path("name", name),)
    if name not in IMAGES or name == "digits":
        return ()
    folder = data_folder()
    stored = folder / f"{name}.npz"
    if stored.exists():
        return (stored,)
    if name == "cifar10":
        return (folder / "cifar10_subset" / "cifar10_subset.npz",)
    if name == "cifar10_all":
        return (folder / "cifar10" / "cifar10_jpeg.zip",)
    found = []
    for part in ("images-idx3", "labels-idx1"):
        packed = folder / "MNIST" / "raw" / f"train-{part}-ubyte.gz"
        found.append(packed if packed.exists() else packed.with_suffix(""))
    return tuple(found)


@contextlib.contextmanager
def reading(name: str) -> Iterator:
    """Errors of reading the set `name` become a ValueError that names the file and says what to do."""
    folder = f"CLBOOK_DATA = {str(data_folder())!r}"
    again = f"set CLBOOK_DATA to the folder that holds it, or call clbook.data.download({name!r})"
    try:
        yield
    except FileNotFoundError as error:
        raise ValueError(f"{folder} has no file {error.filename}: {again}") from None
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ValueError(
            f"{folder}: the file of {name} is damaged ({error}): replace it, {again}"
        ) from error


def idx(path: str | Path) -> np.ndarray:
    """The array of an IDX file, packed by gzip or not: the layout of MNIST's own distribution.

    Such a file begins with the bytes 0, 0, 8 (for uint8) and the number of axes. The size of each axis follows in four
    bytes, then all the values.
    """
    path = _path("path", path)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rb") as file:
        head = file.read(4)
        shape = []
        if len(head) == 4 and head[:3] == b"\0\0\x08":
            shape = np.frombuffer(file.read(4 * head[3]), ">u4").tolist()
        values = np.frombuffer(file.read(), np.uint8)
    if not shape or values.size != math.prod(shape):
        says = "x".join(map(str, shape)) or "nothing"
        raise ValueError(f"{path.name} holds {values.size} bytes where its head says {says}")
    return values.reshape(shape)


def _stored(path):
    """Pixels (m, D) and classes (m,) of a set fetched by `download`."""
    with np.load(path) as table:
        return table["x"], table["y"]


def _mnist():
    with reading("mnist"):
        files = image_files("mnist")
        if len(files) == 1:
            return _stored(files[0])
        pixels = idx(files[0])
        labels = idx(files[1])
        n = len(pixels)
        if len(labels) != n:
            raise ValueError(f"{n} images but {len(labels)} labels")
        return pixels.reshape(n, -1), labels


def _cifar10():
    with reading("cifar10"):
        (path,) = image_files("cifar10")
        if path.parent == data_folder():
            return _stored(path)
        with np.load(path) as table:
            pixels = table["x_train"]
            labels = table["y_train"]
        # The subset has the colours last; the whole set, as OpenML sends it, one colour after the other.
        return pixels.transpose(0, 3, 1, 2).reshape(len(pixels), -1), labels


def cifar10_part(part: str) -> tuple[np.ndarray, np.ndarray]:
    """All images of CIFAR-10 of one part, from a zip of JPEG files "part/class/0000.jpg".

    Args:
        part: "train" (50,000 images) or "test" (10,000).

    Returns:
        pixels (n, 3, 32, 32) and labels (n,), both uint8. Classes are in the order of the alphabet, images in the order
        of their names.

    Raises:
        ValueError: another part, a file that is missing or damaged.
    """
    choice("part", part, ("train", "test"))
    from PIL import Image  # here: nothing else of this module needs it

    with reading("cifar10_all"):
        (path,) = image_files("cifar10_all")
        with zipfile.ZipFile(path) as packed:
            names = sorted(name for name in packed.namelist() if name.endswith(".jpg"))
            classes = sorted({name.split("/")[1] for name in names})
            own = [name for name in names if name.startswith(f"{part}/")]
            pixels = np.empty((len(own), 32, 32, 3), np.uint8)
            for k, name in enumerate(own):
                with Image.open(io.BytesIO(packed.read(name))) as image:
                    pixels[k] = np.asarray(image.convert("RGB"))
    labels = [classes.index(name.split("/")[1]) for name in own]
    return pixels.transpose(0, 3, 1, 2), np.array(labels, np.uint8)


def _cifar10_all():
    pixels, labels = cifar10_part("train")
    return pixels.reshape(len(pixels), -1), labels


def _digits():
    from sklearn.datasets import load_digits

    pixels, targets = load_digits(return_X_y=True)
    return pixels.astype(np.uint8), targets


IMAGES = {"digits": _digits, "mnist": _mnist, "cifar10": _cifar10, "cifar10_all": _cifar10_all}
OPENML = {"mnist": "mnist_784", "cifar10": "CIFAR_10"}


# Modular addition.


def modadd(N: int, k: int) -> Labelled:
    """Modular addition (SL Sec. 5): every pair (a, b) of the symbols 0 .. N - 1, and its label (a + b) mod k.

    Two symbols are equivalent when they agree mod k.

    Args:
        N: number of symbols.
        k: modulus, 1 .. N.

    Returns:
        pairs (N^2, 2) and labels (N^2,), not sorted by class.
    """
    N = whole("N", N, 1)
    k = whole("k", k, 1, N)
    symbols = torch.arange(N)
    pairs = torch.cartesian_prod(symbols, symbols)
    return pairs, pairs.sum(1) % k


def cmodadd(N: int, k: int) -> Labelled:
    """Contrastive modular addition (SL Sec. 5): the equations of `modadd` with a or b masked, each once.

    An equation is (a, b, c), with the answer c = (a + b) mod k. The context of a is (mask, b, c); the context of b is
    (a, mask, c). The mask is the token N. The answer shares the tokens 0 .. k - 1 with the symbols. Every symbol is in
    2 N contexts.

    Args:
        N: number of symbols.
        k: modulus, 1 .. N.

    Returns:
        symbols (2 N^2,), the masked a or b, and contexts (2 N^2, 3).
    """
    pairs, answers = modadd(N, k)
    equations = torch.column_stack([pairs, answers])
    without_a = equations.clone()
    without_a[:, 0] = N
    without_b = equations.clone()
    without_b[:, 1] = N
    # All first symbols, then all second ones.
    return pairs.T.flatten(), torch.cat([without_a, without_b])
