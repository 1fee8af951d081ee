"""The kernel's closed forms against autograd and against finite width (VA Prop. 4.3, 4.4; LS Prop. B.5, B.6)."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn.functional import normalize

from clbook import kernels
from clbook.models import Averaging
from clbook.runs import one_thread


def explicit_errors(width: int = 64, D: int = 5, d: int = 3, n: int = 12, activation: str = "tanh",
                    seed: int = 0) -> dict[tuple[str, str], float]:
    """Relative error of the explicit kernel against autograd, for both papers' outer weights and both prefactors.

    Returns:
        {(entries of A, prefactor): error}: VA has 1/sqrt(M) and 1/M, LS 1/sqrt(M D) and 1/(M D).
    """
    x = torch.randn(n, D, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    errors = {}
    for entries, square in (("1/sqrt(M)", 1 / width), ("1/sqrt(M D)", 1 / (width * D))):
        net = Averaging(D, d, width, activation, square**0.5, torch.Generator().manual_seed(seed + 1)).double()
        truth = kernels.autograd(net, x)
        for name, prefactor in (("1/M", 1 / width), ("1/(M D)", 1 / (width * D))):
            explicit = kernels.one_hidden(net.inner.weight, x, activation, d, prefactor)
            errors[entries, name] = float((explicit - truth).norm() / truth.norm())
    return errors


@one_thread()
def width_errors(widths, seeds, stretch=(1.0, 1.0, 1.0), shift=(0.0, 0.0, 0.0),
                 angles_after=(1.0, 1.0, 1.0)) -> np.ndarray:
    """Relative errors of the infinite-width kernel (VA Proposition 4.4) for ReLU, on 20 points of R^3.

    Args:
        widths: hidden units. seeds: of the inner weights; the points are always the same.
        stretch, shift: a row of B is stretch * g + shift, with g standard Gaussian.
        angles_after: the limit takes its angles between the points multiplied by this. With `stretch` it is the right
            limit for rows of unequal variances, since b x = g (stretch * x).

    Returns:
        (widths, seeds).
    """
    x = torch.randn(20, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    stretch, shift, angles_after = (torch.tensor(v, dtype=torch.float64) for v in (stretch, shift, angles_after))
    u = normalize(x * angles_after, dim=1)
    limit = (x @ x.T) * kernels.infinite_width(u) / (u @ u.T)
    errors = np.empty((len(widths), len(seeds)))
    for column, seed in enumerate(seeds):
        g = torch.randn(max(widths), 3, generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64)
        for row, width in enumerate(widths):
            K = kernels.one_hidden(g[:width] * stretch + shift, x, "relu", 1, 1 / width)[..., 0, 0]
            errors[row, column] = (K - limit).norm() / limit.norm()
    return errors
