"""Checks of arguments. One that is not allowed is a ValueError that names it, its value and what is allowed."""

from __future__ import annotations

import math
import numbers
import reprlib

import numpy as np
import torch


def refused(name: str, value, allowed: str) -> ValueError:
    """The error, to be raised."""
    return ValueError(f"{name} = {shown(value)} is not allowed: {name} must be {allowed}")


def shown(value) -> str:
    """`value` as a message shows it: an array by its shape, since its numbers would hide the sentence."""
    kind = type(value).__name__
    if hasattr(value, "shape"):
        return f"{kind} {tuple(value.shape)}"
    if isinstance(value, (str, int, float, list, tuple, dict)) or value is None:
        return reprlib.repr(value)
    return kind


# One number.


def number(name: str, value) -> float:
    """`value` as a float. NaN and infinity are numbers here: what was measured may be either."""
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


def whole(name: str, value, least: int, most: float = math.inf) -> int:
    """`value`, a whole number between `least` and `most`, within the range of float64."""
    number(name, value)
    upper = "" if most == math.inf else f" and <= {most}"
    if not isinstance(value, numbers.Integral) or not least <= value <= most:
        raise refused(name, value, f"a whole number >= {least}{upper}")
    return int(value)


# Names, generators, tensors.


def choice(name: str, value, allowed) -> str:
    """`value`, one of the texts in `allowed`."""
    if not isinstance(value, str) or value not in allowed:
        raise refused(name, value, f"one of {', '.join(allowed)}")
    return value


def source(name: str, value) -> torch.Generator:
    """`value`, the generator of random numbers. None would be torch's global one, which nothing here may use."""
    if not isinstance(value, torch.Generator):
        raise refused(name, value, "a torch.Generator")
    return value


def floats(name: str, value, axes: int = 0) -> torch.Tensor:
    """`value`, a dense tensor of floating point numbers with at least so many axes."""
    holds = (
        isinstance(value, torch.Tensor)
        and value.is_floating_point()
        and value.ndim >= axes
        and value.layout == torch.strided
        and not value.is_meta  # which has a shape but no numbers
    )
    if not holds:
        raise refused(name, value, f"a tensor of floating point numbers with {axes} axes or more")
    return value


# Arrays.


def array(name: str, values) -> np.ndarray:
    """A tensor, an array or a sequence as an array on the CPU."""
    try:
        if not isinstance(values, torch.Tensor):
            return np.asarray(values)
        values = values.detach().cpu()
        if values.dtype == torch.bfloat16:  # which NumPy does not have
            values = values.float()
        return values.numpy()
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists, tensors without values
        allowed = "a tensor, an array or a sequence of equal rows"
        raise refused(name, values, allowed) from error


def reals(name: str, values) -> np.ndarray:
    """`values` as a float64 array."""
    found = array(name, values)
    if found.dtype.kind not in "biuf":
        raise refused(name, values, "real numbers")
    return found.astype(np.float64, copy=False)
