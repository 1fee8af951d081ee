"""What the losses ask of their arguments.

Types, shapes and Python numbers are always checked: that takes microseconds. The values of tensors
are looked at only if the environment variable CLBOOK_CHECK is 1, because to read a value is to wait
for the device. Without it, a NaN in is a NaN out.
"""

from __future__ import annotations

import math
import numbers
import os
import reprlib
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

WIDE = (torch.float32, torch.float64)
FLOATS = (*WIDE, torch.float16, torch.bfloat16)
NUMBERS = (float, int, np.floating, np.integer)
SMALLEST = 1e-30  # of temperatures: float32 holds no larger 1 / tau


def transformed() -> bool:
    """Whether torch.compile traces this call, or vmap or another transform of torch.func runs it."""
    if torch.compiler.is_compiling():
        return True
    return torch._C._are_functorch_transforms_active()


def refused(name: str, value: str, allowed: str) -> ValueError:
    """The error of every argument that is not allowed."""
    return ValueError(f"{name} = {value} is not allowed: {name} must be {allowed}")


def require(fine: bool, name: str, given, allowed: str) -> None:
    """ValueError that names the argument, unless it is fine."""
    if not fine:
        raise refused(name, described(given), allowed)


def described(given) -> str:
    """A value as it stands in an error. Of a tensor or an array these are its type and shape."""
    if not hasattr(given, "shape"):
        return reprlib.repr(given)
    kind = type(given).__name__.lower()
    return f"a {given.dtype} {kind} of shape {tuple(given.shape)}"


def points(least: int = 2, **given: Tensor) -> list[Tensor]:
    """The embeddings that a loss compares, in float32 or float64.

    Args:
        least: how many points are needed.
        given: the arguments by name, all (..., n, d) of one shape, on one device.
    """
    first, *_ = given.values()
    for name, z in given.items():
        fine = is_like(z, first) and is_table(z, least)
        fine = fine and z.shape == first.shape
        if not fine:
            kinds = "float16, bfloat16, float32 or float64 (all or none of them float64)"
            size = f"(..., n, d) with n >= {least}, d >= 1, equal for {' and '.join(given)}"
            raise refused(name, described(z), f"a torch tensor, {kinds}, {size}, on one device")
    return [widened(z) for z in given.values()]


def is_like(x, other) -> bool:
    """Whether x is a tensor of floats as wide as the other's after `widened`, on its device."""
    if not isinstance(x, Tensor) or x.dtype not in FLOATS:
        return False
    if x is other or not isinstance(other, Tensor):
        return True  # where the other is none, it is the one that is refused
    same_width = (x.dtype is torch.float64) == (other.dtype is torch.float64)
    return same_width and x.device == other.device


def is_table(z: Tensor, least: int) -> bool:
    """Whether a tensor is (..., n, d) with n >= least and d >= 1."""
    if z.ndim < 2:
        return False
    n, d = z.shape[-2:]
    return n >= least and d >= 1


def widened(z: Tensor) -> Tensor:
    """z, in float32 if it has 16 bits: sums of exponentials need more."""
    return z if z.dtype in WIDE else z.float()


def views(given: Tensor, z: Tensor) -> Tensor:
    """The argument `views` (..., m, n, d) for points z (..., n, d)."""
    fine = is_like(given, z)
    fine = fine and given.ndim == z.ndim + 1
    fine = fine and given.shape[-3] >= 1
    fine = fine and given.shape[:-3] + given.shape[-2:] == z.shape
    allowed = (
        f"of shape (..., m >= 1, n, d) for z {tuple(z.shape)}, as z float64 or not, on its device"
    )
    require(fine, "views", given, allowed)
    return widened(given)


def negatives(given: Tensor, anchor: Tensor) -> Tensor:
    """The argument `negatives` (M, d) or (..., M, d) for anchors (..., n, d)."""
    *runs, _, d = anchor.shape
    fine = is_like(given, anchor)
    fine = fine and is_table(given, 1)
    fine = fine and given.shape[-1] == d
    fine = fine and given.shape[:-2] in ((), tuple(runs))
    allowed = (
        f"of shape (M >= 1, {d}), or such for each run, as the anchor float64 or not, on its device"
    )
    require(fine, "negatives", given, allowed)
    return widened(given)


def temperature(given, z: Tensor, width: int = 1) -> float | Tensor:
    """The argument `tau` for points z (..., n, d): a number, or a tensor like z.

    Args:
        given: a number > 0, or what makes a tensor that broadcasts against (..., 1, width).
        z: the points, after `points`.
        width: 1, or d where each dimension may have its own temperature.
    """
    if isinstance(given, NUMBERS):
        if SMALLEST < given < math.inf:
            return float(given)
        allowed = f"a finite number > 0, and > {SMALLEST} for 1 / tau in float32"
        raise refused("tau", repr(given), allowed)
    tau = as_tensor(given, z)
    shape = (*z.shape[:-2], 1, width)
    if tau is None or not broadcasts(tau.shape, shape):
        allowed = f"a finite number > 0, or a tensor of such that broadcasts against {shape}"
        raise refused("tau", described(given), allowed)
    return tau if tau.dtype == z.dtype else tau.to(z.dtype)


def broadcasts(shape: Sequence[int], target: Sequence[int]) -> bool:
    """Whether each size is 1 or the target's, from the last on. The shape may have more axes."""
    pairs = zip(reversed(shape), reversed(target), strict=False)
    return all(size in (1, most) for size, most in pairs)


def labels(name: str, given, z: Tensor) -> Tensor:
    """Labels or ids, one for each point of z (..., n, d): a tensor (n,) or (..., n)."""
    n = z.shape[-2]
    allowed = f"numbers, one for each of the {n} points"
    found = as_tensor(given, z)
    if found is None:
        raise refused(name, described(given), allowed)
    if found.shape not in ((n,), z.shape[:-1]):
        raise refused(name, f"of shape {tuple(found.shape)}", allowed)
    return found


def as_tensor(given, z: Tensor) -> Tensor | None:
    """A tensor of real numbers on the device of z, or None where `given` makes none."""
    try:
        found = torch.as_tensor(given, device=z.device)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return None
    return None if found.is_complex() else found


def weights(given: Sequence[float]) -> None:
    """The three `weights` of VICReg."""
    fine = isinstance(given, Sequence | np.ndarray) and len(given) == 3
    for weight in given if fine else ():
        fine = fine and isinstance(weight, numbers.Real)
        fine = fine and 0 <= weight < math.inf
    require(fine, "weights", given, "three finite numbers >= 0")


def values(loss: Tensor, cosine: bool = False, **given: Tensor | float | None) -> Tensor:
    """The loss, as it is. With CLBOOK_CHECK=1, ValueError where it or an argument is not sound.

    Args:
        loss: what the loss returns.
        cosine: whether the directions of points count, so that no row may be 0.
        given: the arguments by name, as the loss has used them.
    """
    if transformed() or os.environ.get("CLBOOK_CHECK", "0") in ("", "0"):
        return loss
    tensors = {name: x for name, x in given.items() if isinstance(x, Tensor)}
    for name, x in tensors.items():
        if name == "tau":
            require(sound_temperature(x), name, x.tolist(), "a finite number > 0, or such a tensor")
            continue
        bad = int((~x.isfinite()).sum())
        if bad:
            raise refused(name, f"a tensor with {bad} of {x.numel()} values not finite", "finite")
        if name in ("labels", "ids"):
            look_for_negatives(name, x)
        elif cosine:
            look_for_directions(name, x)
    if not loss.isfinite().all():
        raise ValueError(
            f"{', '.join(tensors)} give a loss of {loss.tolist()}: their differences, powers or "
            f"products (psi is given a logarithm) must be finite in {loss.dtype}"
        )
    return loss


def sound_temperature(tau: Tensor) -> bool:
    """Reads tau: whether all of it is finite and > 0."""
    return bool((tau.isfinite() & (tau > SMALLEST)).all())


def look_for_negatives(name: str, labels: Tensor) -> None:
    """Reads the labels: ValueError where those of a run are all equal."""
    alike = (labels == labels[..., :1]).all(-1)
    if alike.any():
        value = f"{labels[alike].flatten()[0]} for all points"
        raise refused(name, value, "at least two values: negatives are needed")


def look_for_directions(name: str, z: Tensor) -> None:
    """Reads z: ValueError where a row is 0."""
    zero = (z == 0).all(-1).nonzero().tolist()
    if zero:
        row = ", ".join(map(str, zero[0]))
        value = f"a tensor whose row {row} is zero"
        raise refused(name, value, "without zero rows: the cosine needs a direction")
