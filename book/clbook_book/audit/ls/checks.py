"""Checks of LS on one step, and on what a run separated."""

from __future__ import annotations

import torch

from clbook import kernels
from clbook.experiments.separability.experiment import Config, Separability
from clbook.losses import simplified


def constant_gradient(n: int, tau: float) -> float:
    """Returns the largest derivative of LS eq. 12, in points and in views, where all n of each are embedded at 0."""
    z = torch.zeros(n, 1, requires_grad=True)
    v = torch.zeros(1, n, 1, requires_grad=True)
    loss = simplified(z, v, tau)
    gradients = torch.autograd.grad(loss, (z, v))
    largest = [gradient.abs().max() for gradient in gradients]
    return float(max(largest))


def block_error(config: Config) -> tuple[float, float]:
    """(sigma^2, max |K_ij(0) - block mean|): what the proof of Theorem 4.3 (Step 2) says is O(sigma^2).

    The cross terms <mu_q, xi_j> of K = <mu + xi, mu + xi> are first order in xi, so the entries differ by O(sigma).
    """
    flow = Separability([config])
    labels = flow.shared.labels
    K = flow.tangent_kernel(flow.state, flow.state.weights)[0]  # (n, n, d, d)
    kernel = K.diagonal(dim1=2, dim2=3).mean(-1)
    one_hot = torch.nn.functional.one_hot(labels).to(kernel)
    average = one_hot / one_hot.sum(0) @ one_hot.T
    blocks = average @ kernel @ average
    error = (kernel - blocks).abs().max()
    _, sigma2 = kernels.gradient_structure(kernel, labels)
    return float(sigma2), float(error)
