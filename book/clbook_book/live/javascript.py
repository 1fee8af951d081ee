"""A traced graph as plain JavaScript: typed arrays of fixed size, one function for each loop nest.

Operations on entries are not carried out one by one: they wait until their value is reduced, multiplied, or written. A
view is a view of an array, which torch itself makes on a tensor without numbers. What is not in the tables below is
refused, by name.
"""

from __future__ import annotations

import binascii
import dataclasses
import math
import operator
import re

import torch

from clbook_book.live.graph import Graph
from clbook_book.live.loops import ARRAY, REDUCTIONS, Kernel, Nest, reached
from clbook_book.live.values import (
    Constant,
    Leaf,
    Operation,
    Value,
    empty,
    leaves,
    number,
    parts,
    places,
    single,
)

aten = torch.ops.aten

# What an operation is at one entry. The third of x > 0, a, b, by "where": "{0}?{1}:{2}", becomes
# (p0[i0]>0)?p1[i0]:p2[i0]. The two tables differ in cost alone, which decides whether a result is kept in an array or
# computed anew (SPREAD).
CHEAP = {
    "add": "{0}+{1}",
    "sub": "{0}-{1}",
    "mul": "{0}*{1}",
    "div": "{0}/{1}",
    "ge": "{0}>={1}",
    "gt": "{0}>{1}",
    "le": "{0}<={1}",
    "lt": "{0}<{1}",
    "eq": "{0}==={1}",
    "ne": "{0}!=={1}",
    "bitwise_and": "{0}&{1}",
    "bitwise_or": "{0}|{1}",
    "logical_and": "({0}&&{1})?1:0",
    "logical_or": "({0}||{1})?1:0",
    "remainder": "({0}%{1}+{1})%{1}",
    "fmod": "{0}%{1}",
    "where": "{0}?{1}:{2}",
    "neg": "-{0}",
    "relu": "{0}<0?0:{0}",
    "maximum": "{0}<{1}?{1}:{0}",
    "minimum": "{0}>{1}?{1}:{0}",
    "abs": "Math.abs({0})",
    "logical_not": "!{0}",
    "bitwise_not": "!{0}",
    "sign": "Math.sign({0})",
    "sqrt": "Math.sqrt({0})",
    "floor": "Math.floor({0})",
    "reciprocal": "1/{0}",
}
COSTLY = {
    "exp": "exp({0})",
    "log": "Math.log({0})",
    "log1p": "Math.log1p({0})",
    "expm1": "Math.expm1({0})",
    "tanh": "tanh({0})",
    "sigmoid": "1/(1+exp(-{0}))",
    "sin": "Math.sin({0})",
    "cos": "Math.cos({0})",
    "erf": "erf({0})",
    "special_ndtri": "ndtri({0})",
    "pow": "Math.pow({0},{1})",
}
POWERS = {
    -1: "1/{0}",
    -0.5: "1/Math.sqrt({0})",
    0.5: "Math.sqrt({0})",
    1: "{0}",
    2: "{0}*{0}",
    3: "{0}*{0}*{0}",
}
ROUNDED = {"floor": "Math.floor({0}/{1})", "trunc": "Math.trunc({0}/{1})"}
# Operations whose result jumps: they see each number as torch keeps it, in single precision, and not as JavaScript has
# computed it, in double. Else `x + b === m`, m being the largest x + b in an array of single precision, is never true.
JUMPS = {"ge", "gt", "le", "lt", "eq", "ne", "remainder", "fmod", "floor"}
# Other views of the same numbers: nothing is computed, only shape, strides and offset change. All others, such as a
# transpose, are made of these by then.
VIEWS = {
    "view",
    "unsqueeze",
    "squeeze",
    "expand",
    "permute",
    "slice",
    "select",
    "diagonal",
    "unfold",
}
# Operations that give their argument, of another type perhaps: a graph changes no tensor in place, so needs no copies.
SAME = {"alias", "clone", "lift_fresh_copy", "_to_copy", "copy"}
FILLS = {"full": 1, "full_like": 1, "scalar_tensor": 0}  # which argument is the number
TYPES = {
    torch.float32: "Float32Array",
    torch.float64: "Float64Array",
    torch.bool: "Uint8Array",
    torch.uint8: "Uint8Array",
}
EXPENSIVE = 10  # the cost of one of COSTLY
SLOW = 4  # of a root or a division
SPREAD = 3  # cost from which an operation is carried out before it is spread out or used twice
MANY = 64  # numbers of a constant; of more, their bytes stand there as base64


class Writer:
    """JavaScript of a graph: `Writer(graph).text()`.

    The nodes are walked once, in order, and each becomes a value. Of softmax of a (2, 3) input x, in p0:

        top = amax(x, [1], True)    a kernel that fills b1                for ... b1[i0]=s;
        d = sub(x, top)             an Operation, and no kernel
        e = exp(d)                  costly and read twice: fills b2       for ... b2[t1]=exp(p0[t1]-t4);
        z = sum(e, [1], True)       a kernel that fills b3                for ... b3[i0]=s;
        y = div(e, z)               an Operation; an output: fills b4     for ... b4[t1]=b2[t1]/t4;

    Attributes:
        arrays: {name: (size, type)} of the arrays.
        kernels: what is done, in order.
        inputs, outputs: {name of the graph: name of the array}.
    """

    def __init__(self, graph: Graph):
        self.graph, self.arrays, self.kernels, self.constants = graph, {}, [], {}
        self.inputs, self.outputs, self.refilled = {}, {}, set()
        known = {}
        names = iter(graph.inputs)
        for node in graph.module.graph.nodes:
            if node.op == "placeholder":
                known[node] = self.placeholder(next(names), node.meta["val"])
            elif node.op == "get_attr":
                known[node] = self.constant(getattr(graph.module, node.target))
            elif node.op == "output":
                self.finish([known[result] for result in node.args[0]])
            else:
                known[node] = self.call(node, known)

    # Arrays.

    def array(self, shape, dtype: torch.dtype, name: str = "") -> Leaf:
        """A new array."""
        leaf = Leaf(name or f"b{len(self.arrays)}", empty(shape, dtype))
        self.arrays[leaf.array] = max(1, leaf.view.numel()), TYPES.get(dtype, "Int32Array")
        return leaf

    def placeholder(self, name: str, like: torch.Tensor) -> Leaf:
        """The array of an input."""
        leaf = self.array(like.shape, like.dtype, f"p{len(self.inputs)}")
        self.inputs[name] = leaf.array
        return leaf

    def constant(self, tensor: torch.Tensor) -> Value:
        """A tensor that is the same in all runs."""
        if tensor.numel() == 1:
            return self.literal(tensor.item(), tensor.shape, tensor.dtype)
        # One that is there already, as the labels of points at each of their neighbours, is not written again.
        for array, known in self.constants.items():
            if known.dtype == tensor.dtype and torch.equal(known, tensor):
                return Leaf(array, empty(tensor.shape, tensor.dtype))
        leaf = self.array(tensor.shape, tensor.dtype)
        self.constants[leaf.array] = tensor
        return leaf

    def write(self, value: Value, target: Leaf, **how) -> Leaf:
        """Write a value into an array."""
        # A target with an address is set in part, or added to: its other entries must be copied anew each time,
        # so that all kernels that write it are done at every step (see `parted`).
        nest = Nest(value, target, **how)
        kernel = nest.kernel()
        kernel.copies = isinstance(value, Leaf) and not how
        self.kernels.append(kernel)
        if nest.address is not None:
            self.refilled.add(target.array)
        return target

    def realize(self, value: Value) -> Leaf:
        """A view of an array that holds the value."""
        if isinstance(value, Leaf) and value.array:
            return value
        if not isinstance(value, Operation):
            return self.copied(value)
        # An operation that several read is carried out once.
        if value.held is None:
            value.held = self.copied(value)
        return value.held

    def copied(self, value: Value) -> Leaf:
        """An array of its own that holds the value."""
        return self.write(value, self.array(value.shape, value.dtype))

    # Values.

    def literal(self, x, shape=(), dtype=torch.float32) -> Constant:
        return Constant(number(x), tuple(shape), dtype)

    def operation(self, template: str, args: list, shape, dtype, cost: int = 1) -> Operation:
        """An operation on entries of values or numbers, which are expanded to its shape."""
        values = []
        for argument in args:
            if not isinstance(argument, Value):
                argument = self.literal(argument, shape, dtype)
            values.append(self.expanded(argument, shape))
        total = cost + sum(value.cost for value in values)
        return Operation(template, values, tuple(shape), dtype, total)

    # x + b === m, all in single precision, is written (Math.fround(p0[t1]+p1[i1]))===t10: m was rounded when it was put
    # into its array, and the sum beside it must be rounded alike.
    def kept(self, args: list) -> list:
        """The arguments of an operation of JUMPS: in single precision, where torch has them so."""
        given = [empty(a.shape, a.dtype) if isinstance(a, Value) else a for a in args]
        kind = torch.result_type(given[0], given[-1])
        found = []
        for value in args:
            if torch.float32 not in (kind, getattr(value, "dtype", kind)):
                pass  # of double precision, or whole
            elif isinstance(value, Constant):
                value = self.literal(single(value.text), value.shape)
            elif not isinstance(value, Value):
                value = single(value)
            elif value.dtype == torch.float64 or isinstance(value, Operation):
                value = self.operation("Math.fround({0})", [value], value.shape, torch.float32, 0)
            found.append(value)
        return found

    def expanded(self, value: Value, shape) -> Value:
        """The value at every place of a larger shape."""
        shape = tuple(shape)
        if value.shape == shape:
            return value
        # a[:, None] * exp(b) of (2,) and (3,): exp is taken of three entries first, and not at each of the six places.
        if value.cost >= SPREAD and math.prod(shape) > math.prod(value.shape):
            value = self.realize(value)
        return self.viewed(value, lambda tensor: tensor.expand(shape), shape)

    def viewed(self, value: Value, view, shape) -> Value:
        """A view of a value; of a copy where its strides do not allow it."""
        try:
            return self.pushed(value, view, tuple(shape))
        except RuntimeError:
            # As x.mT.reshape(6) of a (2, 3) array: no strides go through it in that order.
            held = self.realize(value) if isinstance(value, Operation) else self.copied(value)
            return Leaf(held.array, view(held.view))

    # (x + 1).mT is x.mT + 1: no array is made for x + 1, and the loop reads x by turned strides, p0[t0+i1*2].
    def pushed(self, value: Value, view, shape) -> Value:
        """A view of an operation is the operation on views of its arguments."""
        if isinstance(value, Leaf):
            return Leaf(value.array, view(value.view))
        if isinstance(value, Constant):
            return Constant(value.text, shape, value.dtype)
        args = [self.pushed(argument, view, shape) for argument in value.args]
        return dataclasses.replace(value, args=args, shape=shape, held=None)

    # Operations of the graph.

    def call(self, node, known):
        """The value of a node; of a list of values, a list."""
        args = list(torch.fx.map_arg(node.args, lambda argument: known[argument]))
        if node.target is operator.getitem:
            return args[0][args[1]]
        # "aten::add" -> "add", whichever overload: of tensors, of a number, of both.
        name = node.target._schema.name.split("::")[1]
        result = self.apply(name, node, args)
        # What is costly and read twice is put into an array; what is cheap is computed anew by each reader.
        shared = isinstance(result, Operation) and len(node.users) > 1
        return self.realize(result) if shared and result.cost >= SPREAD else result

    def apply(self, name: str, node, args: list):
        """The value of the operation `name`; NotImplementedError for one that is not in the tables."""
        if name in SAME:
            return self.cast(args[-1] if name == "copy" else args[0], node.meta["val"])
        if name in VIEWS:
            return self.view(node, args[0])
        if name == "empty":
            return self.literal(0, node.meta["val"].shape, node.meta["val"].dtype)
        if name in FILLS:
            result = node.meta["val"]
            return self.literal(args[FILLS[name]], result.shape, result.dtype)
        if name in CHEAP or name in COSTLY:
            return self.entrywise(name, node, args)
        if name in REDUCTIONS:
            return self.reduced(name, node, args)
        method = getattr(self, f"of_{name}", None)
        # A tensor that was changed in place, which tracing has made a copy with one view replaced.
        if name.endswith("_scatter"):
            method = self.scattered
        if method is None:
            raise NotImplementedError(f"{node.target} is no operation that a page can do")
        return method(node, args)

    def cast(self, value: Value, result: torch.Tensor) -> Value:
        """The value as numbers of another kind."""
        value = self.expanded(value, result.shape)
        if result.dtype == value.dtype or isinstance(value, Constant):
            return value
        whole = not result.is_floating_point() and value.dtype.is_floating_point
        # The plus makes numbers of JavaScript's true and false.
        if result.dtype == torch.bool:
            template = "+!!{0}"
        elif whole:
            template, (value,) = "Math.trunc({0})", self.kept([value])
        else:
            template = "+{0}"
        return self.operation(template, [value], result.shape, result.dtype, 0)

    def view(self, node, value: Value) -> Value:
        """A view."""

        def seen(tensor):
            return node.target(tensor, *node.args[1:], **node.kwargs)

        return self.viewed(value, seen, node.meta["val"].shape)

    def entrywise(self, name: str, node, args: list) -> Value:
        """An operation on entries."""
        shape, dtype = node.meta["val"].shape, node.meta["val"].dtype
        if name == "pow" and args[1] in POWERS:
            cost = 1 if args[1] in (1, 2, 3) else SLOW
            return self.operation(POWERS[args[1]], args[:1], shape, dtype, cost)
        if name in COSTLY:
            return self.operation(COSTLY[name], args, shape, dtype, EXPENSIVE)
        template = CHEAP[name]
        if name in JUMPS or node.kwargs.get("rounding_mode"):
            args = self.kept(args)
        # torch.add(a, b, alpha=2) is a + 2 b.
        if name in ("add", "sub"):
            factor = node.kwargs.get("alpha", args[2] if len(args) > 2 else 1)
            if factor != 1:
                args[1] = self.operation("{0}*{1}", [args[1], factor], shape, dtype)
        if name == "div":
            template = ROUNDED.get(node.kwargs.get("rounding_mode"), template)
        # What follows are options, such as alpha.
        count = 3 if name == "where" else 2
        cost = SLOW if name in ("sqrt", "div", "reciprocal") else 1
        return self.operation(template, args[:count], shape, dtype, cost)

    def of_arange(self, node, args: list) -> Value:
        """Numbers in a row."""
        start, step = args[0], args[2] if len(args) > 2 else 1
        result = node.meta["val"]
        count = places(result.shape, [1], 0)
        if (start, step) == (0, 1):
            return count
        return self.operation("{0}*{1}+{2}", [count, step, start], result.shape, result.dtype)

    def reduced(self, name: str, node, args: list) -> Value:
        """A reduction over some axes, or all."""
        value, result = args[0], node.meta["val"]
        axes = args[1] if len(args) > 1 and args[1] not in (None, []) else range(len(value.shape))
        axes = [axes] if isinstance(axes, int) else axes
        axes = {axis % len(value.shape) for axis in axes}
        target = self.array(result.shape, result.dtype)
        count = math.prod(value.shape[axis] for axis in axes)
        # Over one entry nothing is reduced: its index is 0, and all else is the entry itself.
        if count == 1 and name == "argmax":
            return self.literal(0, result.shape, result.dtype)
        if count == 1:
            shape = tuple(result.shape)
            return self.write(self.viewed(value, lambda x: x.reshape(shape), shape), target)
        if name == "argmax":
            (value,) = self.kept([value])
        return self.write(value, target, reduced=axes, how=name)

    def of_bmm(self, node, args: list) -> Leaf:
        """The product of matrices, or of matrices side by side."""
        result = node.meta["val"]
        target = self.array(result.shape, result.dtype)
        three = [target, *map(self.realize, args)]
        views = [leaf.view if leaf.view.ndim == 3 else leaf.view[None] for leaf in three]
        # Each matrix goes to `mm` of runtime.js as array, offset and two strides: a transposed one needs no copy.
        rows, columns, inner = *views[0].shape[1:], views[1].shape[2]
        for run in range(len(views[0])):
            given = [
                f"{leaf.array},{view[run].storage_offset()},{view.stride(1)},{view.stride(2)}"
                for leaf, view in zip(three, views, strict=True)
            ]
            text = f"mm({','.join(given)},{rows},{inner},{columns});"
            self.kernels.append(Kernel(text, {target.array}))
        return target

    of_mm = of_bmm

    def of__linalg_eigh(self, node, args: list) -> list[Leaf]:
        """Eigenvalues, ascending, and eigenvectors of symmetric matrices."""
        values, vectors = (self.array(result.shape, result.dtype) for result in node.meta["val"])
        # `eigenvalues` uses its matrices up, so it gets some of its own.
        matrices = self.copied(args[0])
        call, asked = "eigh", [values, vectors, matrices]
        if all(user.args[1] == 0 for user in node.users):  # nobody reads the vectors
            call, asked = "eigenvalues", [values, matrices]
        names = [leaf.array for leaf in asked]
        text = f"{call}({','.join(names)},{matrices.shape[-1]});"
        self.kernels.append(Kernel(text, set(names)))
        return [values, vectors]

    def of_cat(self, node, args: list) -> Leaf:
        """Tensors one after the other."""
        result = node.meta["val"]
        target = self.array(result.shape, result.dtype)
        axis = args[1] % result.ndim if len(args) > 1 else 0
        start = 0
        # Each tensor is written into its own stretch of the result: a view of the target, as a view of a source.
        for part in args[0]:
            size = part.shape[axis]
            if math.prod(part.shape):
                self.write(part, Leaf(target.array, target.view.narrow(axis, start, size)))
            start += size
        return target

    def scattered(self, node, args: list) -> Leaf:
        """A copy, in which a view is replaced."""
        name = node.target._schema.name.split("::")[1]
        view = getattr(aten, name.removesuffix("_scatter"))
        target = self.copied(args[0])
        # x.slice_scatter(y, 0, 1, 3): slice(x, 0, 1, 3) says where in the copy of x the entries of y belong.
        part = view(target.view, *node.args[2:], **node.kwargs)
        self.write(self.expanded(args[1], part.shape), Leaf(target.array, part))
        return target

    # Indices.

    def of_index(self, node, args: list) -> Operation:
        """Entries at given indices along some axes.

        x[i] of x (4, 3) and i (2,) is p0[i1+t3*3], t3 being entry i0 of i, plus 4 where it is below 0.
        """
        base, result = self.realize(args[0]), node.meta["val"]
        where = self.address(base.view, args[1], result.shape)
        # Dear enough to be kept where it is used twice: reading here and there is slow.
        cost = SPREAD + where.cost
        text, shape = f"{base.array}[{{0}}]", tuple(result.shape)
        return Operation(text, [where], shape, result.dtype, cost, array=base.array)

    def of_index_put(self, node, args: list) -> Leaf:
        """A copy, in which entries at given indices are set, or added to."""
        base, indices, source = args[:3]
        target = self.copied(base)
        # torch tells the shape of base[indices] from the shapes alone.
        chosen = [slice(None) if i is None else empty(i.shape, torch.int64) for i in indices]
        shape = empty(base.shape, base.dtype)[tuple(chosen)].shape
        where = self.address(target.view, indices, shape)
        add = len(args) > 3 and args[3]
        return self.write(self.expanded(source, shape), target, address=where, add=bool(add))

    def address(self, base: torch.Tensor, indices: list, shape) -> Value:
        """The places in `base` of base[indices], an index or None for each axis.

        x[k] of x (4, 3) in p0, with two rows k in p1: row t3 begins at t3*3, and i1 goes along it.

            const t1=p1[i0];const t3=t1<0?t1+4:t1; ... b2[t9+i1]=p0[i1+t3*3];
        """
        axes = [axis for axis, index in enumerate(indices) if index is not None]
        wide = torch.broadcast_shapes(*(indices[axis].shape for axis in axes))
        # NumPy's rule: the axes of the indices stand where the indexed ones stood, or first, where those are apart.
        # The other axes are walked by their strides, and each index adds its own stride times its value.
        side_by_side = axes == list(range(axes[0], axes[0] + len(axes)))
        first = axes[0] if side_by_side else 0
        strides = [base.stride(axis) for axis in range(base.ndim) if axis not in axes]
        strides[first:first] = [0] * len(wide)
        total = places(shape, strides, base.storage_offset())
        after = (1,) * (len(shape) - first - len(wide))
        for axis in axes:
            index = self.expanded(indices[axis], wide)
            index = self.viewed(index, lambda x: x.reshape(x.shape + after), wide + after)
            # Negative indices count from the end; those of `places` are none.
            if not isinstance(index, Leaf) or index.array:
                given = [index, base.shape[axis]]
                index = self.operation("{0}<0?{0}+{1}:{0}", given, index.shape, torch.int64, 0)
            given = [total, index, base.stride(axis)]
            total = self.operation("{0}+{1}*{2}", given, shape, torch.int64)
        return total

    # The end of the graph.

    def finish(self, results: list[Value]) -> None:
        """Write what goes on to the next step to where it is read.

        Of w in p0, with the outputs "loss" and "state.w" = w - lr * grad:

            b7[0]=b4[0];                      "loss", for seeing, has an array of its own
            p0[i0]=p0[i0]-b6[i0]*t3;          "state.w" goes back into the input: the next step begins from it
        """
        late = []
        for name, value in zip(self.graph.outputs, results, strict=True):
            if name in self.inputs:
                late.append((Leaf(self.inputs[name], empty(value.shape, value.dtype)), value))
            else:
                self.outputs[name] = self.copied(value).array
        written = {target.array for target, _ in late}

        def crosses(value, target):
            """Whether a value reads what is written here, but for its own target's entries in their order."""
            own = target.array, target.view.stride()
            strides = {part: part.view.stride() for part in leaves(value)}
            read = {part.array for part in parts(value) if (part.array, strides.get(part)) != own}
            return written & read

        # b, a of a, b, or w.mT of w: such a value is made elsewhere before anything is written.
        ready = []
        for target, value in late:
            ready.append((self.copied(value) if crosses(value, target) else value, target))
        for value, target in ready:
            self.write(value, target)

    # Text.

    def text(self) -> str:
        """A function that gives {inputs, outputs, apart, prepare, step}: arrays by name, and what is done.

        `apart` says whether what is done at each step reads no setting. `step(due)` goes on; where it is due, it also
        fills the outputs that are no inputs, which are for seeing alone.

        Of the softmax x -> "x", an input and an output, shortened:

            function(){
            const b1=new Float32Array(2);const b2=new Float32Array(6);const p0=new Float32Array(6);
            function prepare(due){}function step(due){f0();f1();f2();f3();}
            function f0(){for(let i0=0;i0<2;i0++){... let s=-Infinity; ... b1[i0]=s;}}
            function f1(){...}function f2(){...}function f3(){...}
            return{inputs:{'x':p0},outputs:{},apart:true,prepare,step};}
        """
        often, seen = self.parted()
        done = {"prepare": [], "step": []}
        for kernel in self.kernels:
            done["step" if kernel in often else "prepare"].append(kernel)
        kept = {*self.inputs.values(), *self.outputs.values(), *self.constants}
        kept = kept.union(*(kernel.reads for kernel in done["prepare"]))
        shared = self.shared(done["step"], kept)
        used = kept.union(*(kernel.reads for kernel in often)) - shared.keys()
        lines = ["function(){", *map(self.declared, sorted(used))]
        names = {}
        for part, kernels in done.items():
            calls = ""
            for kernel in kernels:
                # A function for each text, since a browser compiles function by function; of 600 pictures that are
                # embedded 100 by 100 it is the same one six times.
                text = ARRAY.sub(lambda found: shared.get(found[0], found[0]), kernel.text)
                name = names.setdefault(text, f"f{len(names)}")
                calls += f"due&&{name}();" if kernel in seen else f"{name}();"
            lines.append(f"function {part}(due){{{calls}}}")
        lines += [f"function {name}(){{{text}}}" for text, name in names.items()]
        settings = {self.inputs[name] for name in self.inputs if name.startswith("setting.")}
        following = reached(self.kernels, settings, "reads", "writes")
        apart = str(following.isdisjoint(often)).lower()
        held = f"inputs:{self.inputs},outputs:{self.outputs}"  # {'state.w': 'p0'}, and {'state.w':p0} in the text
        held = re.sub(r": '(\w+)'", r":\1", held)
        lines.append(f"return{{{held},apart:{apart},prepare,step}};}}")
        return "\n".join(lines)

    def declared(self, array: str) -> str:
        """The declaration of an array."""
        size, kind = self.arrays[array]
        if array not in self.constants:
            return f"const {array}=new {kind}({size});"
        values = self.constants[array].flatten()
        if size <= MANY:
            return f"const {array}={kind}.from([{','.join(map(number, values.tolist()))}]);"
        # Of small whole numbers, as grey levels, labels and masks are, two stand in a byte.
        small = (
            not values.is_floating_point()
            and 0 <= values.min() <= values.max() < 16
            and size % 2 == 0
        )
        if small:
            values = values.byte()  # of a mask, sixteen times a bool would be an int64
            values = 16 * values[::2] + values[1::2]
        elif kind == "Int32Array":
            values = values.int()
        text = binascii.b2a_base64(values.numpy().tobytes(), newline=False).decode()
        return f"const {array}={'halves' if small else 'bytes'}({kind},'{text}');"

    def parted(self) -> tuple[set[Kernel], set[Kernel]]:
        """What is done at every step, all that depends on what a step changes or draws; and what of it is for seeing.

        Of a state w, a setting lr, and "seen" = 2 lr + sum(w), which no step goes on from (`text` writes the calls):

            function prepare(due){f0();}                     2 lr: of settings alone
            function step(due){due&&f1();due&&f2();f3();}    sum(w) and "seen", where it is due; the new w
        """
        # Settings and what is computed from them alone stay through a run: that is done once, by `prepare`. A kernel
        # that reads what moves is done at every step, and what it writes moves as well.
        moving = set(self.refilled)
        for name, array in self.inputs.items():
            left = name.startswith("state.") and name not in self.graph.outputs
            if not (left or name.startswith("setting.")):
                moving.add(array)
        often = reached(self.kernels, moving, "reads", "writes")
        # Backwards from the state: what it does not come from is for seeing, as the loss without its gradient.
        state = {self.inputs[name] for name in self.graph.outputs if name in self.inputs}
        if not state:
            return often, set()
        seen = often - reached(reversed(self.kernels), state, "writes", "reads")
        # A copy that serves only what is seen is made anew where that is due, and not kept: of 600 pictures all patches
        # are 25 times as large as they are.
        copies = {kernel for kernel in self.kernels if kernel.copies} - often
        needed = set().union(*(kernel.reads for kernel in {*self.kernels} - seen - copies))
        anew = {kernel for kernel in copies if seen and not kernel.writes & needed}
        return often | anew, seen | anew

    def shared(self, kernels: list[Kernel], kept: set[str]) -> dict[str, str]:
        """{array: the one that it stands in}: arrays of one size and type that do not live at the same time."""
        # In the softmax, top (b1) is last read before the sum (b3) is written, so that both are in b1. Arrays that live
        # on, as inputs, outputs and what `prepare` has filled, are in `kept`.
        last = {array: k for k, kernel in enumerate(kernels) for array in kernel.reads}
        free, found = {}, {}
        for k, kernel in enumerate(kernels):
            for array in sorted(kernel.writes & last.keys() - kept - found.keys()):
                pool = free.setdefault(self.arrays[array], [])
                found[array] = pool.pop() if pool else array
            for array in sorted(kernel.reads & found.keys()):
                if last[array] == k:
                    free[self.arrays[array]].append(found[array])
        return {array: other for array, other in found.items() if other != array}
