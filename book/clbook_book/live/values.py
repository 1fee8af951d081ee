"""What the writer of JavaScript computes with: numbers in arrays, constants, and operations not yet carried out."""

from __future__ import annotations

import dataclasses
import math

import torch


def empty(shape, dtype: torch.dtype) -> torch.Tensor:
    """A tensor without numbers: it knows its shape, strides and offset, and torch's views of it do."""
    return torch.empty(tuple(shape), dtype=dtype, device="meta")


@dataclasses.dataclass(eq=False)
class Leaf:
    """A view of an array.

    Attributes:
        array: the array's name; "" where the value is the place itself, a whole number.
        view: how the array is seen, a tensor without numbers.
    """

    array: str
    view: torch.Tensor
    args = ()
    cost = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.view.shape)

    @property
    def dtype(self) -> torch.dtype:
        return self.view.dtype


@dataclasses.dataclass(eq=False)
class Constant:
    """One number, `text` in JavaScript, at every place of a shape."""

    text: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    args = ()
    cost = 0


@dataclasses.dataclass(eq=False)
class Operation:
    """An operation on entries, not yet carried out; its arguments all have its shape.

    Attributes:
        template: JavaScript, with {0}, {1} ... in the place of the arguments.
        cost: of an entry, about that of so many sums.
        held: the Leaf that has been filled with it, if it has been carried out.
    """

    template: str
    args: list
    shape: tuple[int, ...]
    dtype: torch.dtype
    cost: int
    held: Leaf | None = None


Value = Leaf | Constant | Operation


def number(x) -> str:
    """A Python number in JavaScript."""
    if isinstance(x, bool):
        return str(int(x))
    if isinstance(x, float) and math.isnan(x):
        return "NaN"
    if isinstance(x, float) and math.isinf(x):
        return "Infinity" if x > 0 else "-Infinity"
    return repr(x).removesuffix(".0")


def single(x) -> float:
    """A number, or its text in JavaScript, as single precision keeps it."""
    return torch.tensor(float(x), dtype=torch.float32).item()


def places(shape, strides, offset: int) -> Leaf:
    """The whole numbers offset + sum of index times stride."""
    reach = offset + 1
    for size, stride in zip(shape, strides, strict=True):
        reach += max(size - 1, 0) * stride
    base = torch.empty(max(reach, 1), dtype=torch.int64, device="meta")
    return Leaf("", base.as_strided(tuple(shape), tuple(strides), offset))


def leaves(value: Value) -> list[Leaf]:
    """The leaves of a value, each once."""
    found, seen = [], set()

    def visit(part):
        if id(part) in seen:
            return
        seen.add(id(part))
        if isinstance(part, Leaf):
            found.append(part)
        for argument in part.args:
            visit(argument)

    visit(value)
    return found


def uses(*values: Value) -> dict[int, int]:
    """{id of a part: how often it is named} of the parts of some values."""
    found = {}

    def visit(part):
        found[id(part)] = found.get(id(part), 0) + 1
        if found[id(part)] > 1:
            return
        for k, argument in enumerate(part.args):
            visit(argument)
            if part.template.count(f"{{{k}}}") > 1:
                found[id(argument)] += 1

    for value in values:
        visit(value)
    return found
