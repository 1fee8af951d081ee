"""One loop nest of JavaScript: a value written into an array, or reduced into it.

Axes that all arrays go through as one are merged. Each part of the value gets a name in the outermost loop that knows
it, unless it is read once alone, in the same loop: then it stands there.

a * b into c, a and c being (2, 3) in b0 and b2, b a column (2, 1) in b1, expanded:

    axes: size 2, strides 3 1 3; size 3, strides 1 0 1        of a, b and the target

    for(let i0=0;i0<2;i0++){const t0=i0*3;const t4=b1[i0];        b does not move along the inner axis: it is read here
    for(let i1=0;i1<3;i1++){const t1=t0+i1;b2[t1]=b0[t1]*t4;}}

a * a has only arrays that go straight through, so that its axes are one, of size 6:

    for(let i0=0;i0<6;i0++){const t0=b0[i0];b2[i0]=t0*t0;}
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable

from clbook_book.live.values import Constant, Leaf, Value, leaves

# {s} is the running result, {v} the entry, {k} the counter of the innermost loop. v !== v holds of NaN alone,
# which torch gives as the largest and as the smallest of entries that it is among.
# {reduction: (start, what is done with an entry)}
REDUCTIONS = {
    "sum": ("0", "{s}+={v}"),
    "amax": ("-Infinity", "if({v}>{s}||{v}!=={v}){s}={v}"),
    "amin": ("Infinity", "if({v}<{s}||{v}!=={v}){s}={v}"),
    "any": ("0", "if({v}){s}=1"),
    "argmax": ("-Infinity", "if({v}>{s}){{{s}={v};{s}i={k}}}"),
}
ARRAY = re.compile(r"\b[bp]\d+\b")  # the names of arrays
NAMED = re.compile(r"const (t\d+)=")
# A name, a number, an entry or a call, which need no parentheses.
PLAIN = re.compile(r"[\w.]+([(\[][^(\[]*[)\]])?")


@dataclasses.dataclass(eq=False)
class Kernel:
    """A piece of JavaScript.

    Attributes:
        text: its statements.
        writes: the arrays that it changes.
        copies: whether all that it does is to write numbers to another place.
    """

    text: str
    writes: set[str]
    copies: bool = False

    @functools.cached_property
    def reads(self) -> set[str]:
        """The arrays that it names, also those that it changes."""
        return set(ARRAY.findall(self.text))


def reached(kernels: Iterable[Kernel], arrays: set[str], by: str, on: str) -> set[Kernel]:
    """The kernels that one comes to from `arrays`, from what each has `by` to what it has `on`: reads and writes."""
    found = set()
    for kernel in kernels:
        if getattr(kernel, by) & arrays:
            arrays = arrays | getattr(kernel, on)
            found.add(kernel)
    return found


# const t1=b0[i0];const t3=t1-t0;const t5=exp(t3);b2[i0]=t5;  ->  b2[i0]=exp(b0[i0]-t0);
def inlined(text: str) -> str:
    """`text`, in which what is named for one place alone, in the same loop, stands at that place."""

    def put(found):
        value, between, after = found.groups()
        alone = after in ";])" and re.search(r"[(\[]$|[^=<>!]=$", between)
        return between + (value if alone or PLAIN.fullmatch(value) else f"({value})") + after

    for name in NAMED.findall(text):
        if len(re.findall(rf"\b{name}\b", text)) == 2:
            # No brace between: else it would be computed in an inner loop, again and again.
            text = re.sub(rf"const {name}=([^;]*);([^{{}}]*)\b{name}\b(.)", put, text)
    return text


@dataclasses.dataclass
class Axis:
    """An axis of the loops: its size, the stride of each array along it, and whether it is reduced."""

    size: int
    strides: list[int]
    reduced: bool

    def goes_on(self, inner: Axis) -> bool:
        """Whether this axis and the next `inner` one are one to all arrays."""
        pairs = zip(self.strides, inner.strides, strict=True)
        # A step outside is as far as all steps inside: strides 3 and 1 over sizes 2 and 3 are stride 1 over size 6.
        same = all(outer == stride * inner.size for outer, stride in pairs)
        return same and self.reduced == inner.reduced


class Nest:
    """Loops that write `value` into `target`.

    Args:
        value: what is written.
        target: where to; without the reduced axes, or with them of size 1.
        reduced: axes over which `how`, a key of REDUCTIONS, is taken.
        address: the places in the target's array, in place of the target's own.
        add: add to what is there.
    """

    def __init__(
        self,
        value: Value,
        target: Leaf,
        reduced: set[int] = frozenset(),
        how: str = "",
        address: Value | None = None,
        add: bool = False,
    ):
        self.value, self.target, self.how = value, target, how
        self.address, self.add = address, add
        inputs = [value] if address is None else [value, address]
        # Which views are read: a column of strides for each, and the last one for the target.
        self.leaves = []
        for part in inputs:
            self.leaves += [leaf for leaf in leaves(part) if leaf not in self.leaves]
        self.axes = self.merged(self.all_axes(reduced))
        self.kept = sum(not axis.reduced for axis in self.axes)
        self.lines = [[] for _ in range(len(self.axes) + 1)]  # what is said within so many loops
        self.names = {}

    def all_axes(self, reduced: set[int]) -> list[Axis]:
        """The axes of more than one entry, the reduced ones last."""
        # The target lacks the reduced axes, unless keepdim has left them at size 1: it does not move along them.
        own = list(self.target.view.stride())
        if len(own) < len(self.value.shape):
            for axis in sorted(reduced):
                own.insert(axis, 0)
        found = []
        for axis, size in enumerate(self.value.shape):
            if size == 1:
                continue
            strides = [leaf.view.stride(axis) for leaf in self.leaves]
            # Where an address says the place, the target's own strides have no part in it.
            moves = self.address is None and axis not in reduced
            found.append(Axis(size, [*strides, own[axis] if moves else 0], axis in reduced))
        # The reduced axes become the inner loops, around which the running result stands.
        return sorted(found, key=lambda axis: axis.reduced)

    @staticmethod
    def merged(axes: list[Axis]) -> list[Axis]:
        """Axes that all arrays go through as one, as one."""
        found = []
        for axis in axes:
            if found and found[-1].goes_on(axis):
                outer = found.pop()
                axis = Axis(outer.size * axis.size, axis.strides, axis.reduced)
            found.append(axis)
        return found

    def kernel(self) -> Kernel:
        """The loops as JavaScript."""
        if self.how:
            after = self.reduction()
        else:
            after = ""
            self.assignment()
        # The lines of a level stand before the loop that it opens; `after` is behind the reduced loops, once a result.
        text = ""
        for level, lines in enumerate(self.lines):
            text += "".join(lines)
            if level < len(self.axes):
                text += f"for(let i{level}=0;i{level}<{self.axes[level].size};i{level}++){{"
        inside = len(self.axes) - self.kept
        text += "}" * inside + after + "}" * self.kept
        return Kernel(inlined(text), {self.target.array})

    def assignment(self) -> None:
        """Write the value to its place."""
        # `of` fills `lines` on its way: what it returns refers to the names that it has given.
        _, text = self.of(self.value)
        if self.address is None:
            _, where = self.own_place()
        else:
            _, where = self.of(self.address)
        sign = "+=" if self.add else "="
        self.lines[-1].append(f"{self.target.array}[{where}]{sign}{text};")

    def reduction(self) -> str:
        """Reduce the value in the inner loops; what is said after them.

        The sum of a (2, 3) array b0 over its last axis, into b3; the last statement is what is returned:

            for(let i0=0;i0<2;i0++){const t0=i0*3;let s=0;for(let i1=0;i1<3;i1++){s+=b0[t0+i1];}b3[i0]=s;}
        """
        start, add = REDUCTIONS[self.how]
        _, text = self.of(self.value)
        index = ",si=0" if self.how == "argmax" else ""
        self.lines[self.kept].append(f"let s={start}{index};")
        counter = f"i{len(self.axes) - 1}"
        self.lines[-1].append(add.format(s="s", v=text, k=counter) + ";")
        _, where = self.own_place()
        result = "si" if self.how == "argmax" else "s"
        return f"{self.target.array}[{where}]={result};"

    def own_place(self) -> tuple[int, str]:
        """(level, text) of the target's place."""
        strides = [axis.strides[-1] for axis in self.axes]
        return self.place(strides, self.target.view.storage_offset())

    def named(self, level: int, text: str) -> str:
        """A name for `text`, said once at this level."""
        if text.isalnum():
            return text  # i0 or 0 need no name
        # Equal text at one level is said once: two arrays of equal strides share the sum of their place.
        key = level, text
        if key not in self.names:
            self.names[key] = f"t{len(self.names)}"
            self.lines[level].append(f"const {self.names[key]}={text};")
        return self.names[key]

    def place(self, strides: list[int], offset: int) -> tuple[int, str]:
        """(level, text) of offset + sum of index times stride, each partial sum at the level of its last index."""
        # Strides 6 3 1: const t0=i0*6 in the first loop, const t1=t0+i1*3 in the second, const t2=t1+i2 in the third.
        text, level = f"{offset}+" if offset else "", 0
        for k, stride in enumerate(strides):
            if stride:
                level = k + 1
                times = f"*{stride}" if stride != 1 else ""
                text = self.named(level, f"{text}i{k}{times}") + "+"
        return level, text[:-1] or "0"

    def of(self, value: Value) -> tuple[int, str]:
        """(level, text) of a value, at the outermost level that knows it."""
        if isinstance(value, Constant):
            return 0, f"({value.text})" if value.text.startswith("-") else value.text
        # A part that the value names twice is the same object, and has been said.
        known = self.names.get(id(value))
        if known:
            return known
        if isinstance(value, Leaf):
            level, text = self.entry(value)
        else:
            # An operation is known as soon as the last of its arguments is.
            levels, texts = zip(*map(self.of, value.args), strict=True)
            level, text = max(levels), value.template.format(*texts)
        # It is said once, in the outermost loop that knows it.
        text = self.named(level, text)
        self.names[id(value)] = level, text
        return level, text

    def entry(self, leaf: Leaf) -> tuple[int, str]:
        """(level, text) of a leaf's entry."""
        column = self.leaves.index(leaf)
        strides = [axis.strides[column] for axis in self.axes]
        level, text = self.place(strides, leaf.view.storage_offset())
        # A leaf without an array is its own place, as of arange.
        return level, f"{leaf.array}[{text}]" if leaf.array else text
