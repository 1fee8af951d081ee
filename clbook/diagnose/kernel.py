"""The trace of the neural kernel for a network of an ordinary size: some outputs and some inputs at a time."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn

from clbook import kernels
from clbook._arguments import dense, refused, whole
from clbook._layerwise import outputs as outputs_of
from clbook.diagnose.collecting import as_found


class _Some(nn.Module):
    """Some of a model's outputs, as a module of its own."""

    def __init__(self, model: nn.Module, outputs: slice):
        super().__init__()
        self.model = model
        self.outputs = outputs

    def forward(self, x):
        """(n, ...) -> (n, outputs)."""
        return self.model(x)[:, self.outputs]


def trace_kernel(
    model: nn.Module,
    x: Tensor,
    *,
    outputs: int = 8,
    samples: int = 1024,
) -> Tensor:
    """sum_k K_ij^{kk} of the neural kernel (LS eq. 8), `kernels.empirical_trace` in pieces.

    The sum over the outputs is taken some at a time. More inputs than `samples` are taken in pairs of blocks. So the
    memory that is used grows with outputs x samples and not with d or n, but for the result itself. Layers that torch
    cannot map over, a GRU say, go sample by sample, which is slow.

    Args:
        model: module (n, ...) -> (n, d). It is put into evaluation mode meanwhile; its weights, modes and `.grad`
            fields and the random state are left as they were found.
        x: (n, ...) inputs, on the model's device.
        outputs: how many outputs are differentiated at a time; fewer take less memory.
        samples: how many inputs are held at a time, >= 2.

    Returns:
        (n, n), in the model's precision.

    Raises:
        ValueError: as for `kernels.empirical`; another number of outputs or samples.

    Examples:
        >>> x, model = torch.eye(4), nn.Linear(4, 3)
        >>> K = trace_kernel(model, x, outputs=2, samples=2)
        >>> K[0].tolist()  # 3 (x_0'x_j + 1)
        [6.0, 3.0, 3.0, 3.0]
        >>> torch.equal(K, kernels.empirical_trace(model, x))
        True
    """
    outputs = whole("outputs", outputs, 1)
    samples = whole("samples", samples, 2)
    n = len(dense("x", x, 1))
    if not isinstance(model, nn.Module):
        raise refused("model", model, "a torch.nn.Module")
    with as_found(model):
        model.eval()
        with torch.no_grad():
            out = outputs_of(model, x[:1])
        chosen = _slices(out.shape[1], outputs)
        inputs = [slice(0, n)] if n <= samples else _slices(n, samples // 2)
        blocks = itertools.combinations_with_replacement(inputs, 2)  # of the upper triangle
        K = out.new_zeros((n, n))
        for (rows, columns), some in itertools.product(blocks, chosen):
            part = _Some(model, some)
            if rows == columns:
                piece = kernels.empirical_trace(part, x[rows])
            else:
                both = kernels.empirical_trace(part, torch.cat([x[rows], x[columns]]))
                piece = both[: len(x[rows]), len(x[rows]) :]
            K[rows, columns] += piece
            if rows != columns:
                K[columns, rows] += piece.T
    return K


def _slices(n, size):
    """Slices of at most `size` that cover n places."""
    return [slice(k, k + size) for k in range(0, n, size)]
