"""Fills the arrays of a report from a torch module, in batches, and leaves the module as it was."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from clbook._arguments import array, error, refused, shown, whole

RAW = 2**26  # numbers of the inputs that are kept for comparison: 256 MB in float32


@contextlib.contextmanager
def as_found(*modules: nn.Module) -> Iterator[None]:
    """Leaves the modes of modules, and the random states of Python, NumPy and torch, as they were before."""
    modes = []
    for module in modules:
        modes += [(part, part.training) for part in module.modules()]
    python_state = random.getstate()
    numpy_state = np.random.get_state()
    try:
        with torch.random.fork_rng():
            yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)
        for part, training in modes:
            part.training = training


def collect(
    encoder: nn.Module,
    data: Tensor | np.ndarray | Iterable,
    views: Callable[[Tensor], Tensor],
    projector: nn.Module | None = None,
    *,
    start: nn.Module | None = None,
    checkpoint: nn.Module | None = None,
    twin: nn.Module | None = None,
    layers: Sequence[str] = (),
    labels: Tensor | np.ndarray | None = None,
    read: Callable | None = None,
    batch: int = 256,
    seed: int = 0,
) -> dict:
    """The arguments of `report` from a network: `report(**collect(encoder, data, views, projector), tau=0.5)`.

    Nothing is trained. Modules are in evaluation mode meanwhile, without gradients; mode, parameters and random states
    are left as they were. Only outputs are kept, in float32, and inputs as long as there are at most 67 million
    numbers of them.

    Args:
        encoder: module: a batch (m, ...) -> features (m, d). Batches go to its device, in its precision.
        data: (n, ...) the points, not used for training; or an iterable of batches, such as a DataLoader, each a
            tensor or a pair (tensor, labels).
        views: views(batch) -> batch, one random view of each point by torch's, NumPy's or Python's global generator.
            It is called twice for each batch.
        projector: module: features -> what the loss compares. None: the loss compares the features.
        start: an encoder as `encoder`, its untrained self.
        checkpoint: an earlier state of it.
        twin: another encoder to compare with, one that was trained with labels say.
        layers: names of modules within the encoder, as `named_modules` has them, whose outputs are kept too. Positions
            are averaged: (m, c, h, w) -> (m, c), (m, length, d) -> (m, d).
        labels: (n,), if the data bring none.
        read: read(output) -> (m, d), for an encoder that returns no tensor (m, d):
            `lambda out: out.last_hidden_state[:, 0]`.
        batch: points at a time, where `data` is one array.
        seed: of the views.

    Returns:
        A dict of those that there are. z1 and z2 (n, d) are what the loss compares, z (n, d') is the encoder's output,
        and so is before, where there is a projector; start, checkpoint and twin are (n, d'). layers is a dict from a
        name to (n, d), raw (n, D) are the inputs, labels are (n,).

    Raises:
        ValueError: data without points; a module that returns something else than a row for each point.

    Examples:
        >>> encoder, projector = nn.Linear(6, 4), nn.Linear(4, 2)
        >>> noisy = lambda batch: batch + torch.randn_like(batch)
        >>> arrays = collect(encoder, torch.ones(10, 6), noisy, projector)
        >>> sorted(arrays)
        ['before', 'raw', 'z', 'z1', 'z2']
        >>> arrays["z1"].shape, arrays["z"].shape  # behind the projector, and before it
        ((10, 2), (10, 4))
    """
    given = {"encoder": encoder, "projector": projector}
    given |= {"start": start, "checkpoint": checkpoint, "twin": twin}
    modules = {}
    for name, module in given.items():
        if isinstance(module, nn.Module):
            modules[name] = module
        elif module is not None or name == "encoder":
            raise refused(name, module, "a torch.nn.Module")
    if not callable(views):
        raise refused("views", views, "a function of a batch that returns one view of each point")
    reader = _Reader(modules, read)
    kept: dict[str, list] = {}
    with as_found(*modules.values()), torch.no_grad(), _watched(encoder, layers, reader.seen):
        for module in modules.values():
            module.eval()
        torch.manual_seed(seed)
        np.random.seed(seed)
        random.seed(seed)
        for x, y in _batches(data, batch):
            for name, rows in reader.rows(x, views).items():
                kept.setdefault(name, []).append(rows)
            if y is not None:
                kept.setdefault("labels", []).append(array("labels", y))
    if not kept:
        raise refused("data", data, "points (n, ...), n >= 2, or batches of them")
    found: dict = {name: np.concatenate(parts) for name, parts in kept.items()}
    if len(found["raw"]) < len(found["z1"]):
        del found["raw"]  # of more inputs than are kept
    if layers:
        found["layers"] = {name: found.pop(f"layers.{name}") for name in layers}
    if labels is not None:
        found["labels"] = labels
    return found


@contextlib.contextmanager
def _watched(encoder, layers, seen):
    """While it lasts, each forward pass leaves the outputs of some modules in `seen`, {name: (m, d)}."""
    known = dict(encoder.named_modules())
    hooks = []

    def keep(name):
        def hook(module, given, out):
            rows = out[0] if isinstance(out, (tuple, list)) else out
            if not isinstance(rows, Tensor) or rows.ndim < 2:
                allowed = "names of modules that return a row for each point"
                raise error("layers", f"{name!r}, which returns {shown(out)}", allowed)
            if rows.ndim > 2:
                rows = rows.flatten(2).mean(2) if rows.ndim > 3 else rows.mean(1)
            seen[name] = rows

        return hook

    for name in layers:
        if name not in known:
            raise refused("layers", name, f"names of the encoder's modules, {', '.join(known)}")
        hooks.append(known[name].register_forward_hook(keep(name)))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _batches(data, batch):
    """(x, labels or None) of each batch."""
    batch = whole("batch", batch, 1)
    if isinstance(data, (Tensor, np.ndarray)):
        points = torch.as_tensor(data)
        for first in range(0, len(points), batch):
            yield points[first : first + batch], None
        return
    if not isinstance(data, Iterable) or isinstance(data, str):
        raise refused("data", data, "a tensor (n, ...), or an iterable of batches of tensors")
    for given in data:
        x, y = given if isinstance(given, (tuple, list)) else (given, None)
        yield torch.as_tensor(x), y


class _Reader:
    """What the modules give for one batch."""

    def __init__(self, modules, read):
        self.modules = modules
        self.seen = {}  # what the watched layers gave last
        self.read = read
        self.raw = RAW

    def rows(self, x: Tensor, views: Callable) -> dict[str, np.ndarray]:
        """The rows that a batch adds to each array."""
        features = self.features("encoder", x)
        found = {
            f"layers.{name}": _checked(f"layers[{name!r}]", rows, len(x))
            for name, rows in self.seen.items()
        }
        for name in ("z1", "z2"):
            seen = views(x)
            if not isinstance(seen, Tensor) or len(seen) != len(x):
                said = f"a function that returned {shown(seen)} for {len(x)} points"
                raise error("views", said, "one that returns a view of each point")
            found[name] = self.projected(self.features("encoder", seen))
        found["z"] = features
        if "projector" in self.modules:
            found["before"] = features
        for name in ("start", "checkpoint", "twin"):
            if name in self.modules:
                found[name] = self.features(name, x)
        arrays = {name: values.float().cpu().numpy() for name, values in found.items()}
        self.raw -= x.numel()
        kept = x if self.raw >= 0 else x[:0]
        arrays["raw"] = kept.float().flatten(1).cpu().numpy()
        return arrays

    def features(self, name: str, x: Tensor) -> Tensor:
        """(m, d) what an encoder gives for a batch."""
        module = self.modules[name]
        like = next(module.parameters(), torch.zeros(()))
        x = x.to(like.device)
        if x.is_floating_point():
            x = x.to(like.dtype)
        try:
            out = module(x)
        except RuntimeError as failed:
            if x.is_floating_point():
                raise
            allowed = f"numbers that {name} takes, images as floating point ones perhaps: {failed}"
            raise error("data", f"batches of {x.dtype}", allowed) from failed
        if self.read is not None:
            out = self.read(out)
        if not isinstance(out, Tensor):
            said = f"a module that returns {shown(out)}"
            allowed = (
                "one that returns a tensor (n, d): say with read=... where in its output that is"
            )
            raise error(name, said, allowed)
        return _checked(name, out, len(x))

    def projected(self, features: Tensor) -> Tensor:
        """(m, d) what the loss compares."""
        if "projector" not in self.modules:
            return features
        return _checked("projector", self.modules["projector"](features), len(features))


def _checked(name, out, rows):
    """The output of a module as (rows, d)."""
    if out.ndim < 2 or len(out) != rows:
        said = f"a module that returned {shown(out)} for {rows} points"
        raise error(name, said, "one that returns a row for each point of a batch")
    rows = out.flatten(1)
    if rows.shape[1] != out.shape[1]:
        said = f"a module that returned a map, {shown(out)}"
        allowed = "one that returns (n, d): take a mean over its places, by read=... or a module of your own"
        raise error(name, said, allowed)
    return rows
