"""What the writer of JavaScript computes with: numbers in arrays, constants, and operations not yet carried out.

Of e = exp(x - top), x being (2, 3) in the array p0 and top (2, 1) in the array b1, nothing is computed at first:

    Operation("exp({0})", [
        Operation("{0}-{1}", [
            Leaf("p0", a view of strides (3, 1)),
            Leaf("b1", a view of strides (1, 0))])])    stride 0: all three columns read one entry

Once its numbers are needed, one loop nest writes the whole tree: b2[t1]=exp(p0[t1]-t4); at each entry.
"""

from __future__ import annotations

import dataclasses
import json

import torch


# The rules of views (which strides a transpose, a slice or an expand has, and which reshape needs a copy) are torch's
# own: it is asked on such a tensor, and no second version of them is written here.
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
    # No arguments and no cost, so that each kind of value can be walked through alike.
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
    array = ""
    args = ()
    cost = 0


@dataclasses.dataclass(eq=False)
class Operation:
    """An operation on entries, not yet carried out; its arguments all have its shape.

    Attributes:
        template: JavaScript, with {0}, {1} ... in the place of the arguments.
        cost: of an entry, about that of so many sums.
        held: the Leaf that has been filled with it, if it has been carried out.
        array: the one whose entries it reads at computed places, which is no argument.
    """

    template: str
    args: list
    shape: tuple[int, ...]
    dtype: torch.dtype
    cost: int
    held: Leaf | None = None
    array: str = ""


Value = Leaf | Constant | Operation


# 2.0 -> "2", 1e-07 -> "1e-07", True -> "1", float("inf") -> "Infinity"
def number(x) -> str:
    """A Python number in JavaScript."""
    return json.dumps(+x).removesuffix(".0")


def single(x) -> float:
    """A number, or its text in JavaScript, as single precision keeps it."""
    return torch.tensor(float(x), dtype=torch.float32).item()


# places((2, 3), (3, 1), 0) is 0 1 2, 3 4 5: the places of a (2, 3) array themselves. It is a Leaf without an array, and
# its "entry" is the index that would be looked up. So indices are computed in the same loops as all other values.
def places(shape, strides, offset: int) -> Leaf:
    """The whole numbers offset + sum of index times stride."""
    reach = offset + 1
    for size, stride in zip(shape, strides, strict=True):
        reach += max(size - 1, 0) * stride
    # As long as the largest place: as_strided checks that a view stays inside.
    base = torch.empty(max(reach, 1), dtype=torch.int64, device="meta")
    return Leaf("", base.as_strided(tuple(shape), tuple(strides), offset))


def parts(value: Value) -> list[Value]:
    """A value and all that it is computed from, each once."""
    found = [value]
    for part in found:  # which grows meanwhile
        found += [each for each in dict.fromkeys(part.args) if each not in found]
    return found


def leaves(value: Value) -> list[Leaf]:
    """The leaves of a value, each once."""
    return [part for part in parts(value) if isinstance(part, Leaf)]
