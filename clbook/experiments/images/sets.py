"""Image sets as tensors (n, channels, height, width) in [0, 1] with labels, cut into training and test images.

MNIST and the subset of CIFAR-10 come with test images of their own; of other sets, test images are held out. Sets are
`digits`, `mnist` and `cifar10` (see `clbook.data`), a folder with one folder of images a class, or an `.npz` with `x`
(n, height, width) or (n, height, width, channels), uint8, and `y` (n,).
"""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from clbook import data

NAMED = {
    "digits": (1, 8, 8),
    "mnist": (1, 28, 28),
    "cifar10": (3, 32, 32),
    "cifar10_all": (3, 32, 32),
}
KINDS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp")


@dataclasses.dataclass
class Images:
    """x (n, channels, height, width), y (n,) to train with; x_test, y_test held out; classes: their names."""

    x: Tensor
    y: Tensor
    x_test: Tensor
    y_test: Tensor
    classes: list[str]


def files(name: str) -> tuple[pathlib.Path, ...]:
    """What the set is read from; of a folder, its images."""
    folder = name not in NAMED and pathlib.Path(name).is_dir()
    return tuple(pictures(pathlib.Path(name))) if folder else data.image_files(name)


def pictures(folder: pathlib.Path) -> list[pathlib.Path]:
    """The images in the class folders of `folder`, sorted."""
    return sorted(path for path in folder.glob("*/*") if path.suffix.lower() in KINDS)


def load(
    name: str, n: int, test: int, classes: int, side: int, generator: torch.Generator
) -> Images:
    """The set `name`: n images to train with and `test` held out, drawn without replacement, as many of each class.

    Args:
        n: 0 takes all that are not held out. classes: the first so many; 0 takes all. side: images of a folder are
            made square, of so many pixels.
    Raises ValueError: unknown set, files that are missing, damaged or of a wrong shape, fewer than two classes, or too
        few images; names the file and what is allowed.
    """
    pixels, labels, names = _read(name, side)
    own_test = _own_test(name)
    classes = classes or len(names)
    if not 2 <= classes <= len(names):
        raise ValueError(
            f"classes = {classes} is not allowed: {name} has {len(names)} classes, and two are needed"
        )
    if own_test:
        train, _ = _drawn(name, labels, n, 0, names[:classes], generator)
        held, _ = _drawn(name, own_test[1], test, 0, names[:classes], generator)
        tests = *own_test, held
    else:
        train, held = _drawn(name, labels, n, test, names[:classes], generator)
        tests = pixels, labels, held
    return Images(*_tensors(name, pixels, labels, train), *_tensors(name, *tests), names[:classes])


def _drawn(name, labels, n, test, names, generator):
    """Rows of n images (0: all that are left) and of `test` others, as many of each class."""
    train, held, classes = [], [], len(names)
    for k, label in enumerate(names):
        own = np.flatnonzero(labels == k)
        own = own[torch.randperm(len(own), generator=generator).numpy()]
        out, into = (total // classes + (k < total % classes) for total in (test, n))
        if out + max(into, 1) > len(own):
            raise ValueError(
                f"train = {n} with test = {test} is not allowed: class {label} of {name} has {len(own)} "
                f"images, {out + max(into, 1)} were asked for"
            )
        held.append(own[:out])
        train.append(own[out : out + into] if n else own[out:])
    return np.concatenate(train), np.concatenate(held)


def _tensors(name, pixels, labels, rows):
    """The images and labels of some rows, as tensors."""
    x = torch.from_numpy(np.ascontiguousarray(pixels[rows])).float() / (
        16 if name == "digits" else 255
    )
    return x, torch.from_numpy(labels[rows].astype(np.int64))


def _own_test(name):
    """(pixels (n, channels, height, width), labels (n,)) of a set's own test images, where its files have them."""
    if name == "cifar10_all":
        return data.cifar10_part("test")
    if name == "cifar10" and (path := data.image_files(name)[0]).parent.name == "cifar10_subset":
        with np.load(path) as table:
            return table["x_test"].transpose(0, 3, 1, 2), table["y_test"]
    if name == "mnist" and len(paths := data.image_files(name)) == 2:
        with data.reading(name):
            pixels, labels = (
                data.idx(path.with_name(path.name.replace("train", "t10k"))) for path in paths
            )
        return pixels[:, None], labels
    return None


def _read(name, side):
    """(pixels (n, channels, height, width), labels (n,), class names) of a whole set."""
    if name in NAMED:
        pixels, labels = data.IMAGES[name]()
        return pixels.reshape(-1, *NAMED[name]), labels, [str(k) for k in range(10)]
    path = pathlib.Path(name)
    if path.is_dir():
        return _folder(path, side)
    if path.suffix == ".npz" and path.exists():
        return _table(path)
    raise ValueError(
        f"data = {name!r} is not allowed: it must be one of {', '.join(NAMED)}, a folder with a folder of "
        "images for each class, or an .npz file"
    )


def _table(path):
    x, labels, names = data.table(path)
    if x.ndim != 4:
        raise ValueError(
            f"data = {str(path)!r} is not allowed: x has shape {x.shape} and type {x.dtype}, it must be "
            "uint8 (n, height, width) or (n, height, width, 1 or 3)"
        )
    return x, labels, names


def _folder(path, side):
    paths = pictures(path)
    if not paths:
        raise ValueError(
            f"data = {str(path)!r} is not allowed: it has no folders with images ({', '.join(KINDS)})"
        )
    names = sorted({p.parent.name for p in paths})
    pixels = np.empty((len(paths), 3, side, side), np.uint8)
    for k, p in enumerate(paths):
        try:
            with Image.open(p) as image:
                pixels[k] = np.asarray(image.convert("RGB").resize((side, side))).transpose(2, 0, 1)
        except OSError as error:
            raise ValueError(f"data = {str(path)!r}: {p} is damaged: {error}") from error
    return pixels, np.array([names.index(p.parent.name) for p in paths]), names
