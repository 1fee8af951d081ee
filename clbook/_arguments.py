"""Checks of arguments. One that is not allowed is a ValueError that names it, its value and what is allowed.

Types, shapes and Python numbers are always checked: that takes microseconds. The values of a loss's
tensors are looked at only if the environment variable CLBOOK_CHECK is 1, because to read a value is
to wait for the device. Without it, a NaN in is a NaN out.
"""

from __future__ import annotations

import math
import numbers
import reprlib
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from clbook import environment

WIDE = (torch.float32, torch.float64)
FLOATS = (*WIDE, torch.float16, torch.bfloat16)
NUMBERS = (float, int, np.floating, np.integer)
LARGEST = 2**63 - 1  # of whole numbers: int64 holds no larger one
SMALLEST = 1e-30  # of temperatures: float32 holds no larger 1 / tau


def refused(name: str, value, allowed: str) -> ValueError:
    """The error, to be raised."""
    return error(name, shown(value), allowed)


def error(name: str, value: str, allowed: str) -> ValueError:
    """The same, of a value in words."""
    return ValueError(f"{name} = {value} is not allowed: {name} must be {allowed}")


def shown(value) -> str:
    """`value` as a message shows it: an array by its shape, since its numbers would hide the sentence."""
    kind = type(value).__name__
    if hasattr(value, "shape"):
        return f"{kind} {tuple(value.shape)}"
    if isinstance(value, (str, int, float, list, tuple, dict, type(None))):
        return reprlib.repr(value)
    return kind


# One number.


def number(name: str, value) -> float:
    """`value` as a float. NaN and infinity are numbers here: what was measured may be either."""
    if isinstance(value, float):
        return value  # itself: a setting that is traced is a kind of float
    try:
        if isinstance(value, numbers.Real):
            return float(value)
    except OverflowError:  # an integer above the range of float64
        pass
    raise refused(name, value, "a number")


def positive(name: str, value) -> float:
    """`value`, a finite number > 0."""
    found = number(name, value)
    if not 0 < found < math.inf:
        raise refused(name, value, "a finite number > 0")
    return found


def at_least(least: float, name: str, value) -> float:
    """`value`, a finite number >= `least`."""
    found = number(name, value)
    if not least <= found < math.inf:
        raise refused(name, value, f"a finite number >= {least}")
    return found


def measured(name: str, value) -> float:
    """`value`, a measured number >= 0. One that could not be measured is NaN, and passes."""
    found = number(name, value)
    if found < 0:
        raise refused(name, value, "a number >= 0")
    return found


def chance(name: str, value) -> float:
    """`value`, a number between 0 and 1, both left out."""
    found = number(name, value)
    if not 0 < found < 1:
        raise refused(name, value, "a number between 0 and 1")
    return found


def whole(name: str, value, least: int, most: int = LARGEST) -> int:
    """`value`, a whole number between `least` and `most`, within the range of int64."""
    number(name, value)
    upper = "" if most == LARGEST else f" and <= {most}"
    fine = isinstance(value, numbers.Integral) and least <= value <= most
    if not fine:
        raise refused(name, value, f"a whole number >= {least}{upper}")
    return int(value)


# Names, generators, tensors.


def choice(name: str, value, allowed) -> str:
    """`value`, one of the texts in `allowed`."""
    if not isinstance(value, str) or value not in allowed:
        names = ", ".join(allowed)
        raise refused(name, value, f"one of {names}")
    return value


def source(name: str, value) -> torch.Generator:
    """`value`, the generator of random numbers. None would be torch's global one, which nothing here may use."""
    if not isinstance(value, torch.Generator):
        raise refused(name, value, "a torch.Generator")
    return value


# Tensors in general.


def dense(name: str, value, axes: int = 0) -> Tensor:
    """`value`, a tensor with at least so many axes that has values: no sparse one, none on device "meta"."""
    holds = isinstance(value, Tensor) and value.ndim >= axes
    holds = holds and value.layout == torch.strided
    if not holds or value.is_meta:
        raise refused(
            name, value, f"a Tensor (n, ...), n >= 1, with values, of {axes} axes or more"
        )
    return value


def floats(name: str, value, axes: int = 0) -> Tensor:
    """`value`, such a tensor of floating point numbers."""
    if not dense(name, value, axes).is_floating_point():
        raise refused(name, value, "of floating point numbers")
    return value


def table(name: str, value) -> Tensor:
    """`value`, a float32 or float64 tensor (n, D)."""
    if dense(name, value).ndim != 2 or value.dtype not in WIDE:
        raise refused(name, value, "a float32 or float64 tensor with two axes")
    return value


def tensor(name: str, value, device=None) -> Tensor:
    """Numbers, an array or a tensor as a tensor of real numbers, on its own device or the one that is named."""
    try:
        found = torch.as_tensor(value, device=device)
    except (TypeError, ValueError, RuntimeError, OverflowError) as failed:
        raise refused(name, value, "real numbers") from failed
    if found.is_complex() or found.layout != torch.strided:
        raise refused(name, value, "real numbers")
    return found


# Arrays.


def array(name: str, values) -> np.ndarray:
    """A tensor, an array or a sequence as an array on the CPU."""
    if np.ma.is_masked(values):
        raise refused(name, values, "an array without masked entries")
    try:
        if not isinstance(values, Tensor):
            return np.asarray(values)
        values = values.detach().cpu()
        if values.dtype == torch.bfloat16:  # which NumPy does not have
            values = values.float()
        return values.numpy()
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists, tensors without values
        raise refused(name, values, "a tensor, an array or a sequence of equal rows") from error


def reals(name: str, values) -> np.ndarray:
    """`values` as a float64 array."""
    found = array(name, values)
    if found.dtype.kind not in "biuf":
        raise refused(name, values, "real numbers")
    return found.astype(np.float64, copy=False)


# What the losses ask of their points z (..., n, d), and of what goes with them.


def require(fine: bool, name: str, value, allowed: str) -> None:
    """ValueError that names the argument, unless it is fine."""
    if not fine:
        raise error(name, described(value), allowed)


def described(value) -> str:
    """`value` in words: of a tensor or an array its type and shape."""
    if not hasattr(value, "shape"):
        return reprlib.repr(value)
    kind = type(value).__name__.lower()
    shape = tuple(value.shape)
    return f"a {value.dtype} {kind} of shape {shape}"


def points(least: int = 2, **given: Tensor) -> list[Tensor]:
    """The embeddings that a loss compares, in float32 or float64.

    Args:
        least: how many points are needed.
        given: the arguments by name, all (..., n, d) of one shape, on one device.
    """
    first, *_ = given.values()
    found = []
    for name, z in given.items():
        found.append(like(name, z, first))
        fits = z.shape == first.shape and z.ndim >= 2
        fits = fits and z.shape[-2] >= least
        fits = fits and z.shape[-1] >= 1
        if not fits:
            allowed = f"(..., n, d) with n >= {least}, d >= 1, equal for {' and '.join(given)}"
            raise error(name, described(z), allowed)
    return found


def like(name: str, given: Tensor, z: Tensor) -> Tensor:
    """`given`, a tensor of floats on the device of z; either both are float64 or none is.

    It comes back in float32 or float64: sums of exponentials need more than 16 bits.
    """
    fine = isinstance(given, Tensor) and given.dtype in FLOATS
    if fine and z.dtype != given.dtype:
        fine = torch.float64 not in (z.dtype, given.dtype)
    fine = fine and given.device == z.device and given.layout == torch.strided
    allowed = (
        "a torch tensor, dense, float16, bfloat16, float32 or float64 (all or none float64), "
        "on the device of the others"
    )
    require(fine, name, given, allowed)
    return given if given.dtype in WIDE else given.float()


def views(given: Tensor, z: Tensor) -> Tensor:
    """The argument `views` (..., m, n, d) for points z (..., n, d)."""
    found = like("views", given, z)
    fits = found.ndim == z.ndim + 1 and found.numel() > 0
    fits = fits and found.shape[:-3] + found.shape[-2:] == z.shape
    require(fits, "views", given, f"of shape (..., m >= 1, n, d) for z {tuple(z.shape)}")
    return found


def negatives(given: Tensor, anchor: Tensor) -> Tensor:
    """The argument `negatives` (M, d) or (..., M, d) for anchors (..., n, d)."""
    *runs, _, d = anchor.shape
    found = like("negatives", given, anchor)
    fits = found.ndim >= 2 and found.numel() > 0
    fits = fits and found.shape[-1] == d
    fits = fits and found.shape[:-2] in ((), tuple(runs))
    require(fits, "negatives", given, f"of shape (M >= 1, {d}), or such for each run")
    return found


def temperature(given, z: Tensor, width: int = 1) -> float | Tensor:
    """The argument `tau` for points z (..., n, d): a number, or a tensor like z.

    Args:
        given: a number > 0, or what makes a tensor that broadcasts against (..., 1, width).
        z: the points, after `points`.
        width: 1, or d where each dimension may have its own temperature.
    """
    if isinstance(given, NUMBERS):
        if not isinstance(given, bool) and SMALLEST < number("tau", given) < math.inf:
            return float(given)
        allowed = f"a finite number > 0, and > {SMALLEST} for 1 / tau in float32"
        raise refused("tau", given, allowed)
    tau = tensor("tau", given, z.device)
    shape = (*z.shape[:-2], 1, width)
    # From the last axis on, each size is 1 or that of the points. There may be more axes.
    fine = tau.dtype != torch.bool
    for size, most in zip(reversed(tau.shape), reversed(shape), strict=False):
        fine = fine and size in (1, most)
    require(fine, "tau", given, f"a finite number > 0, or such that broadcast against {shape}")
    return tau.to(z.dtype)


def labels(name: str, given, z: Tensor) -> Tensor:
    """Labels or ids, one for each point of z (..., n, d): a tensor (n,) or (..., n)."""
    n = z.shape[-2]
    found = tensor(name, given, z.device)
    if found.shape not in ((n,), z.shape[:-1]):
        shape = tuple(found.shape)
        raise error(name, f"of shape {shape}", f"numbers, one for each of the {n} points")
    return found


def weights(given: Sequence[float]) -> None:
    """The three `weights` of VICReg."""
    fine = isinstance(given, Sequence | np.ndarray) and len(given) == 3
    for weight in given if fine else ():
        fine = fine and isinstance(weight, numbers.Real)
        fine = fine and 0 <= weight < math.inf
    require(fine, "weights", given, "three finite numbers >= 0")


def applied(name: str, function: Callable[[Tensor], Tensor], t: Tensor) -> Tensor:
    """function(t), of an argument that is a function of a tensor, entry by entry."""
    require(callable(function), name, function, "a function of a tensor")
    found = function(t)
    fine = isinstance(found, Tensor) and found.shape == t.shape
    require(fine, name, found, "a function that returns a tensor of the shape it is given")
    return found


def undefined(loss: Tensor, labels: Tensor) -> Tensor:
    """The loss (...), NaN where one of its labels (..., n) is NaN: such a point has no class."""
    if not labels.is_floating_point():
        return loss
    return loss.masked_fill(labels.isnan().any(-1), math.nan)


def check_values(loss: Tensor, cosine: bool = False, **given: Tensor | float | None) -> Tensor:
    """The loss, as it is. With CLBOOK_CHECK=1, ValueError where it or an argument is not sound.

    Args:
        loss: what the loss returns.
        cosine: whether the directions of points count, so that no row may be 0.
        given: the arguments by name, as the loss has used them.
    """
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return loss  # there are no values to be read
    if not environment.values_checked():
        return loss
    tensors = {name: x for name, x in given.items() if isinstance(x, Tensor)}
    for name, x in tensors.items():
        _check_values_of(name, x, cosine)
    if not loss.isfinite().all():
        names = ", ".join(tensors)
        raise ValueError(
            f"{names} give a loss of {loss.tolist()}: their differences, powers or "
            f"products (psi is given a logarithm) must be finite in {loss.dtype}"
        )
    return loss


def _check_values_of(name: str, x: Tensor, cosine: bool) -> None:
    """Reads an argument of a loss: ValueError where its values are not allowed."""
    bad = ~x.isfinite()
    if name == "tau":
        bad = bad | (x <= SMALLEST)
        require(not bad.any(), name, x.tolist(), "a finite number > 0, or such a tensor")
    if bad.any():
        value = f"a tensor with {bad.sum()} of {x.numel()} values not finite"
        raise error(name, value, "finite")
    if name in ("labels", "ids"):
        alike = (x == x[..., :1]).all(-1)  # of each run
        if alike.any():
            value = f"{x[alike].flatten()[0]} for all points"
            raise error(name, value, "at least two values: negatives are needed")
    elif cosine:
        zero = (x == 0).all(-1)
        if zero.any():
            row = ", ".join(map(str, zero.nonzero()[0].tolist()))
            allowed = "without zero rows: the cosine needs a direction"
            raise error(name, f"a tensor whose row {row} is zero", allowed)
