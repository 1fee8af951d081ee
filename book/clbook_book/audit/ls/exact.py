"""What LS say that needs no training: identities, derivatives and bounds, each beside its definition, in float64."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from clbook import kernels
from clbook.experiments.landscape.curves import ETA, PSI, even
from clbook.experiments.separability.experiment import VIEWS, Config, Separability
from clbook.losses import generalized, nt_xent_mean, simplified, softplus

DOUBLE = torch.float64


def numbers(seed: int, *shape: int) -> torch.Tensor:
    """Standard normal numbers, float64."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=DOUBLE)


# Section 2: the losses.


def on_the_sphere(seed: int, n: int = 40, d: int = 3, tau: float = 0.3) -> dict[str, float]:
    """What eq. 3 has in common with eq. 1 at n random points of the sphere; all are 0 where LS are right.

    similarity: eta against C exp(sim / tau), relative. loss: eq. 1 against eq. 3 with two repelling views and without
    the anchor's own term, the two differences. scale: eq. 3's change when the points are doubled, per loss.
    """
    z = nn.functional.normalize(numbers(seed, n, d), dim=1)
    eta = torch.exp(-torch.cdist(z, z).square() / (2 * tau))
    similar = torch.exp((z @ z.T - 1) / tau)
    others = 2 * (eta.mean(1) - 1 / n)
    eq3 = generalized(z, z, lambda t: -t / tau, softplus)
    doubled = generalized(2 * z, 2 * z, lambda t: -t / tau, softplus)
    similarity = (eta / similar - 1).abs().max().item()
    loss = abs(torch.log1p(others).mean() - nt_xent_mean(z, z, tau)).item()
    scale = abs(doubled / eq3 - 1).item()
    return {"similarity": similarity, "loss": loss, "scale": scale}


# Appendix B: first and second variation.


def first_variation(
    seed: int, n: int = 5, views: int = 3, d: int = 2, tau: float = 0.5
) -> dict[str, float]:
    """The derivative of eq. 3 along a random direction h at a random map, by autograd and by LS eq. 13.

    Psi(t) = log(1 + t), eta(t) = e^{-t/tau}. The mean over all pairs of views T, T' is of pairs (u, v): u_i is the
    embedding of Tx_i, v_i that of T'x_i, (n, d) each.
    Returns "autograd", "printed", and "corrected": with G_{T',T} at y.
    """
    e = numbers(seed, views, n, d)
    h = numbers(seed + 1, views, n, d)

    def similarity(u, v):  # eta of T x_i and T' x_j, [i, j]
        return torch.exp(-torch.cdist(u, v).square() / (2 * tau))

    def ratio(eta):  # G_{T,T'}(x_i), [i]
        return eta.mean(1) / eta.diagonal()

    def gradient(u, v, corrected):
        """The integrand of eq. 13 at each T x_i, (n, d)."""
        eta = similarity(u, v)
        own = eta.diagonal()
        G, G_back = ratio(eta), ratio(eta.T)  # G_{T,T'} and G_{T',T}
        steep, steep_back = 1 / (1 + G), 1 / (1 + G_back)  # Psi' of both
        from_partner = (steep * G + steep_back * G_back)[:, None] * (u - v)
        at_y = steep_back if corrected else steep
        weight = ((steep / own)[:, None] + at_y / own) * eta
        from_others = (weight[..., None] * (u[:, None] - v)).mean(1)
        return (from_partner - from_others) / tau

    def formula(corrected):
        along = [
            (gradient(u, v, corrected) * of_u).sum(1)
            for u, of_u in zip(e, h, strict=True)
            for v in e
        ]
        return torch.stack(along).mean().item()

    e.requires_grad_()
    losses = [torch.log1p(ratio(similarity(u, v))) for u in e for v in e]
    (slope,) = torch.autograd.grad(torch.stack(losses).mean(), e)
    e = e.detach()
    return {
        "autograd": (slope * h).sum().item(),
        "printed": formula(corrected=False),
        "corrected": formula(corrected=True),
    }


def pairwise(seed: int, n: int = 6, d: int = 3, tau: float = 0.5) -> tuple[float, float, float]:
    """Relative errors of eq. 14, at n random points of an invariant map, against automatic differentiation.

    The largest over Psi and eta with eta(0) = 1; the smallest over Psi for eta(t) = 3 e^(-t/tau); and the largest of
    these with eq. 14 divided by eta(0).
    """
    found = {1.0: [], 3.0: []}
    for height, etas in ((1.0, tuple(ETA)), (3.0, ("exp",))):
        for psi in PSI.values():
            for eta in etas:
                z = numbers(seed, n, d).requires_grad_()
                loss = generalized(
                    z, z, lambda t, eta=eta, k=height: ETA[eta](t, tau) + math.log(k), psi
                )
                (slope,) = torch.autograd.grad(n * loss, z)
                at = z.detach()
                apart = at[:, None] - at
                half = (apart.square().sum(-1) / 2).requires_grad_()
                similar = height * ETA[eta](half, tau).exp()
                (steep,) = torch.autograd.grad(similar.sum(), half)
                log_G = (similar.mean(1) / height).log().detach().requires_grad_()
                (outer,) = torch.autograd.grad(psi(log_G).sum(), log_G)
                outer = outer / log_G.detach().exp()  # Psi'(G)
                formula = (((outer[:, None] + outer) * steep)[..., None] * apart).mean(1)
                errors = [(formula / k - slope).norm() / slope.norm() for k in (1.0, height)]
                found[height].append([error.item() for error in errors])
    plain = np.array(found[1.0])
    high = np.array(found[3.0])
    return plain[:, 0].max(), high[:, 0].min(), high[:, 1].max()


def parted(seed: int, n: int = 5, step: float = 0.03, tau: float = 0.2) -> list[float]:
    """How much eq. 3 of a constant map changes where its n points of the circle are parted at random, for 12 losses."""
    angle = step * numbers(seed, n)
    z = torch.stack([angle.cos(), angle.sin()], 1)
    one = torch.tensor([[1.0, 0.0]], dtype=DOUBLE).expand(n, 2)
    found = []
    for psi in PSI.values():
        for eta in ETA.values():
            at, before = (generalized(p, p, lambda t, eta=eta: eta(t, tau), psi) for p in (z, one))
            found.append((at - before).item())
    return found


def growing_scale(eta: str, factors=(1, 2, 4, 8, 16, 32, 64)) -> np.ndarray:
    """(factors,) the largest derivative of eq. 3 at k f, f onto 8 even places of the circle, two points at each."""
    z = even(8, 2).repeat(2, 1)
    found = []
    for k in factors:
        points = (k * z).requires_grad_()
        loss = generalized(points, points, lambda t: ETA[eta](t, 0.5), softplus)
        found.append(len(z) * torch.autograd.grad(loss, points)[0].norm(dim=1).max().item())
    return np.array(found)


def apart_after(step: float, agree: bool, seed: int, n: int = 12, tau: float = 0.5) -> float:
    """Appendix B.5: how far a view is from its point after a step of descent on eq. 12, divided by the step.

    f = R + w phi + w^2 c with one weight, at w = 0. R is the same at a point and its view, and so is phi if `agree`;
    c is another.
    """
    R, phi, phi_of_view, c, c_of_view = numbers(seed, 5, n)
    if agree:
        phi_of_view = phi
    w = torch.zeros((), dtype=DOUBLE, requires_grad=True)
    z = R + w * phi + w**2 * c
    view = (R + w * phi_of_view + w**2 * c_of_view).detach()
    (slope,) = torch.autograd.grad(simplified(z[:, None], view[None, :, None], tau), w)
    after = -step * slope
    apart = after * (phi - phi_of_view) + after**2 * (c - c_of_view)
    return apart.abs().max().item() / step


# Section 4: Proposition 4.1.


def step_error(config: Config) -> float:
    """Relative error of LS Proposition 4.1 for one step of the run: |dz - predicted| / |dz|, in float64.

    The prediction is -(lr/n) sum_j K_ij grad L_j with the kernel and gradient before the step. It is exact for a flow,
    so the error is first order in lr for the gradient that the proposition means: the one with respect to z_j with the
    views held still.
    """
    config = config.replace(gradient="partial")
    flow = Separability([config]).to("cpu", DOUBLE)
    # Not those of float32.
    exact = {name: flow.column(name, DOUBLE) for name in ("tau", "lr")}
    s = flow.start().replace(**exact)
    drawn = flow.draw()
    views = flow.views(s, drawn.views, VIEWS).double()
    with torch.no_grad():
        z = flow.embed_points(s)
        v = flow.embed_views(s, views)

    # The gradient of n times the loss at each point, the views held still.
    z.requires_grad_()
    (g,) = torch.autograd.grad(config.n * simplified(z, v, config.tau).sum(), z)
    pull = torch.einsum("ijkl,jl->ik", flow.tangent_kernel(s, s.weights)[0], g[0])
    predicted = -config.lr / config.n * pull

    _, losses = flow.objective(s, views)
    later = s.replace(**flow.step(s, drawn, losses, 0))
    with torch.no_grad():
        moved = (flow.embed_points(later) - z)[0]
        error = (moved - predicted).norm() / moved.norm()
    return float(error)


# Appendix C, Step 1.


def linear_error(eps: float, gamma: float, tau: float, seed: int, n: int = 40) -> float:
    """max_i |grad of eq. 12 - (mean of all - mean of its cluster) / tau|, two clusters in an interval of length eps.

    The view of a point is its cluster's mean, give or take at most gamma.
    """
    generator = torch.Generator().manual_seed(seed)
    z = eps * (torch.rand(n, 1, generator=generator, dtype=DOUBLE) - 0.5)
    z = torch.cat(
        [z[: n // 2].sub(eps / 2).div(2), z[n // 2 :].add(eps / 2).div(2)]
    )  # halves of the interval
    means = z.unflatten(0, (2, -1)).mean(1, keepdim=True).expand(2, n // 2, 1).flatten(0, 1)
    views = means + gamma * (2 * torch.rand(n, 1, generator=generator, dtype=DOUBLE) - 1)
    z.requires_grad_()
    (slope,) = torch.autograd.grad(n * simplified(z, views[None], tau), z)
    return (slope - (z.detach().mean(0) - means) / tau).abs().max().item()


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
