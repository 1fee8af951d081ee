"""A CUDA device without values, for machines that have none: what reads a value from it, or mixes devices, raises."""

import contextlib

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode


@contextlib.contextmanager
def fake_cuda():
    """FakeTensorMode in which programs can run on "cuda:0" in a build of torch without CUDA too.

    Such a build has no device guard for CUDA. Indexing and the like ask for one, so they are done by operators here; so
    does autograd, and gradients are zeros here: `Reads` counts what the backward pass reads.
    """
    methods = {
        "__getitem__": _get,
        "__setitem__": _set,
        "__invert__": lambda x: torch.bitwise_not(x),
        "contiguous": lambda x: torch.clone(x, memory_format=torch.contiguous_format),
    }
    before, grad = {name: getattr(torch.Tensor, name) for name in methods}, torch.autograd.grad
    torch.autograd.grad = _zeros
    for name, method in methods.items():
        setattr(torch.Tensor, name, method)
    try:
        with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
            yield
    finally:
        torch.autograd.grad = grad
        for name, method in before.items():
            setattr(torch.Tensor, name, method)


def _zeros(loss, inputs):
    return [torch.zeros_like(w) for w in ([inputs] if isinstance(inputs, torch.Tensor) else inputs)]


class Reads(TorchDispatchMode):
    """Lists the calls, backward passes included, for which a GPU would have to be waited for."""

    WAITS = {
        "_local_scalar_dense", "item", "nonzero", "masked_select", "unique_dim", "_unique2",
        "unique_consecutive", "is_nonzero", "equal", "repeat_interleave.Tensor",
    }  # fmt: skip

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = str(func).removeprefix("aten.")
        if name.split(".")[0] in self.WAITS or name in self.WAITS:
            self.found.append(name)
        elif name.split(".")[0] in ("index", "index_put", "index_put_") and any(
            t is not None and t.dtype == torch.bool for t in args[1]
        ):
            self.found.append("index with a mask")  # its result's shape depends on values
        return func(*args, **(kwargs or {}))


def _get(x, key):
    """x[key] by operators: the binding of indexing asks for a real device, which a build for CPUs does not know."""
    view, tensors = _view(x, key)
    return torch.ops.aten.index(view, tensors) if any(t is not None for t in tensors) else view


def _set(x, key, value):
    view, tensors = _view(x, key)
    value = (
        torch.as_tensor(value, dtype=x.dtype, device=x.device)
        if not isinstance(value, torch.Tensor)
        else value
    )
    if any(t is not None for t in tensors):
        torch.ops.aten.index_put_(view, tensors, value)
    else:
        torch.ops.aten.copy_(view, value)


def _view(x, key):
    """x with all of `key` applied but its index tensors, and these, one entry (or None) for each axis."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if not any(k is Ellipsis for k in keys):
        keys.append(Ellipsis)
    taken = sum(
        k.ndim if isinstance(k, torch.Tensor) and k.dtype == torch.bool else 1
        for k in keys
        if k is not None and k is not Ellipsis
    )
    at = next(i for i, k in enumerate(keys) if k is Ellipsis)
    keys[at : at + 1] = [slice(None)] * (x.ndim - taken)
    tensors, axis = [], 0
    for k in keys:
        if k is None:
            x = x.unsqueeze(axis)
        elif isinstance(k, slice):
            x = (
                x
                if k == slice(None)
                else torch.ops.aten.slice(x, axis, k.start, k.stop, k.step or 1)
            )
        elif isinstance(k, torch.Tensor):
            assert k.device == x.device, (
                f"an index on {k.device} into a tensor on {x.device}: a copy in every step"
            )
        elif isinstance(k, int):
            x = x.select(axis, k)
            continue
        else:
            raise AssertionError(f"index {k!r} is copied to the device in every step")
        tensors.append(k if isinstance(k, torch.Tensor) else None)
        axis += k.ndim if isinstance(k, torch.Tensor) and k.dtype == torch.bool else 1
    return x, tensors
