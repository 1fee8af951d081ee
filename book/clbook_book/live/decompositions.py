"""What larger operations of torch are made of, where torch's own list leaves them whole or takes them too far apart.

Each function here is torch's of that name, written with operations that the writer of JavaScript has. make_fx runs it
in the place of the operation, and what it calls is what stands in the graph:

    roll(x, [1], [0]) of four numbers    ->    end = slice(x, 0, 3, 4)
                                               begin = slice(x, 0, 0, 3)
                                               cat([end, begin])

So it may ask for shapes, which a trace knows, but for no value. All loops over sizes are written out in the graph.
"""

from __future__ import annotations

import functools

import torch
from torch._decomp import core_aten_decompositions, get_decompositions

aten = torch.ops.aten


def lerp(x, y, weight):
    """x + weight (y - x)."""
    return x + weight * (y - x)


def split(x, sizes, axis=0):
    """`torch.split`, a view for each size."""
    return [x.narrow(axis, sum(sizes[:k]), size) for k, size in enumerate(sizes)]


def roll(x, shifts, dims=()):
    """`torch.roll` by two pieces."""
    if not dims:
        return roll(x.flatten(), shifts, (0,)).reshape(x.shape)
    for shift, axis in zip(shifts, dims, strict=True):
        size = x.shape[axis]
        shift %= size
        end = x.narrow(axis, size - shift, shift)
        begin = x.narrow(axis, 0, size - shift)
        x = torch.cat([end, begin], axis)
    return x


def mean(x, dim=None, keepdim=False, dtype=None):
    """`torch.mean` by a sum."""
    total = x.sum(dim, keepdim)
    return total / (x.numel() // total.numel())


def var_mean(x, dim=None, *, correction=1, keepdim=False):
    """Variance and mean."""
    mean = x.mean(dim, keepdim=True)
    count = x.numel() // mean.numel()
    variance = ((x - mean) * (x - mean)).sum(dim, keepdim=keepdim) / (count - correction)
    return variance, mean if keepdim else x.mean(dim)


def qr(a, mode="reduced"):
    """Orthonormal columns and how `a` (..., n, n) is made of them, by Gram and Schmidt, twice as good as once."""
    q = torch.zeros_like(a)
    columns = torch.arange(a.shape[-1])
    for k in range(a.shape[-1]):
        v = a[..., k : k + 1]
        # The second time takes away what rounding has left of the earlier columns.
        for _ in range(2):
            v = v - q @ (q.mT @ v)
        unit = v / v.square().sum((-2, -1), keepdim=True).sqrt()
        # Column k of q is set. `q[:, k] = ...` would change a tensor in place.
        q = torch.where(columns == k, unit, q)
    return q, (q.mT @ a).triu()


def sort(x, dim=-1, descending=False):
    """The entries of `x` in a row, ascending, and where they stood."""
    # Of 3, 1, 2: how many entries come before each one is its rank, 2, 0, 1. Turned round, place 0 is taken by entry 1,
    # place 1 by entry 2, place 2 by entry 0. Equal entries keep their order. n**2 comparisons do for short rows.
    row = x.movedim(dim, -1)
    places = torch.arange(row.shape[-1])
    before = (row[..., None, :] < row[..., None]) | (
        (row[..., None, :] == row[..., None]) & (places < places[:, None])
    )
    rank = before.sum(-1)
    here = rank[..., None, :] == places[:, None]  # of each place, who stands there
    order = here.to(row.dtype).argmax(-1)
    return row.gather(-1, order).movedim(-1, dim), order.movedim(-1, dim)


# sizes 1, 1, 2, 2 put a column before and one after, then two rows above and two below.
def pad(x, sizes, value=0.0):
    """`F.pad` with one value, from the last axis on; a size below 0 cuts off."""
    for k, (before, after) in enumerate(zip(sizes[::2], sizes[1::2], strict=True)):
        axis = x.ndim - 1 - k
        kept = x.shape[axis] + min(before, 0) + min(after, 0)
        x = x.narrow(axis, max(-before, 0), kept)
        ends = []
        for size in (before, after):
            shape = (*x.shape[:axis], max(size, 0), *x.shape[axis + 1 :])
            ends.append(x.new_full(shape, value))
        x = torch.cat([ends[0], x, ends[1]], axis)
    return x


def clamp(x, low=None, high=None):
    """`torch.clamp`, one bound after the other."""
    for bound, bent in ((low, torch.maximum), (high, torch.minimum)):
        if bound is not None:
            x = bent(x, torch.as_tensor(bound, dtype=x.dtype))
    return x


# Of an index (2, 1) along axis 1: the indices [[0], [1]] and it, by which x[i, index[i, j]] are meant.
def places(index, axis):
    """The indices of a gather: along all axes but one, where each entry stands."""
    found = list(torch.meshgrid(*map(torch.arange, index.shape), indexing="ij"))
    found[axis] = index
    return tuple(found)


def gather(x, axis, index, sparse_grad=False):
    """`torch.gather`, by indices along all axes."""
    return x[places(index, axis)]


def scatter_add(x, axis, index, source):
    """`torch.scatter_add`, by indices along all axes."""
    source = source[tuple(map(slice, index.shape))]
    return x.index_put(places(index, axis), source, accumulate=True)


def flip(x, dims):
    """`torch.flip`, by index."""
    for axis in dims:
        size = x.shape[axis]
        x = x.movedim(axis, 0)[size - 1 - torch.arange(size)].movedim(0, axis)
    return x


# What is taken apart by the functions above, in the place of torch's own way where it has one.
WHOLE = {
    aten.split_with_sizes.default: split,
    aten.lerp.Scalar: lerp,
    aten.roll.default: roll,
    aten.max.default: torch.amax,
    aten.min.default: torch.amin,
    aten.mean.default: mean,
    aten.mean.dim: mean,
    aten.var_mean.correction: var_mean,
    aten.rsqrt.default: lambda x: 1 / x.sqrt(),
    aten.constant_pad_nd.default: pad,
    aten.clamp.default: clamp,
    aten.clamp.Tensor: clamp,
    aten.embedding.default: lambda weight, index, *_: weight[index],
    aten.gather.default: gather,
    aten.scatter_add.default: scatter_add,
    aten.flip.default: flip,
    aten.linalg_qr.default: qr,
    aten.sort.default: sort,
    aten.argmin.default: lambda x, dim=None, keepdim=False: (-x).argmax(dim, keepdim),
}

# Operations that torch can take apart, and its own list leaves whole.
TORCH_OWN = (
    "_log_softmax",
    "_softmax",
    "addcmul",
    "baddbmm",
    "rsub",
    "native_layer_norm",
    "silu",
    "gelu",
    "softplus",
    "grid_sampler_2d",
    "linalg_vector_norm",
    "leaky_relu",
    "repeat",
)


FOR_EACH = ("addcmul", "lerp", "add", "sub", "mul", "div", "sqrt")
ONE_BY_ONE = torch._C.DispatchKey.CompositeExplicitAutograd


@functools.cache
def table() -> dict:
    """{operation: what it is made of} for the second pass."""
    each = {}
    # _foreach_add([a, b], [c, d]) -> [add(a, c), add(b, d)]: optimizers of torch work on all weights by one call, and
    # this is how torch has it where there is no faster way. `_op_dk` is not public: it may change.
    for name in FOR_EACH:
        packet = getattr(aten, f"_foreach_{name}")
        for overload in packet.overloads():
            operation = getattr(packet, overload)
            each[operation] = functools.partial(operation._op_dk, ONE_BY_ONE)
    # Torch's list first, with what it leaves whole; the functions of this file replace its entries.
    left_whole = get_decompositions([getattr(aten, name) for name in TORCH_OWN])
    known = left_whole | core_aten_decompositions() | each | WHOLE
    # None: torch has no formula for it here; such an operation stays whole, and the writer refuses it by name.
    return {operation: made for operation, made in known.items() if made is not None}
