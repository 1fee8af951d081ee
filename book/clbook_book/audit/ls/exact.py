"""What LS say that needs no training: identities, derivatives and bounds, each beside its definition, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import nn
from torch.func import functional_call, jvp

from clbook import augment, kernels
from clbook.experiments.landscape.curves import ETA, PSI, even
from clbook.losses import generalized, nt_xent_mean, simplified, softplus
from clbook.models import MLP, Averaging

DOUBLE = torch.float64


def numbers(seed: int, *shape: int) -> torch.Tensor:
    """Standard normal numbers, float64."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=DOUBLE)


# Section 2: the losses.


def cosine(u: list[float], v: list[float]) -> float:
    """Cosine of two vectors."""
    product = math.fsum(map(math.prod, zip(u, v, strict=True)))
    return product / math.hypot(*u) / math.hypot(*v)


def losses_by_numbers(a: list, b: list, tau: float) -> tuple[float, float, float]:
    """Eqs. 1, 3 and 12 of views a and b, lists of n vectors, as loops over numbers."""
    n = len(a)

    def eta(u, v):
        return math.exp(-(math.dist(u, v) ** 2) / (2 * tau))

    one = three = twelve = 0.0
    for i in range(n):
        terms = []
        for other in (a, b):
            terms += [math.exp(cosine(a[i], other[j]) / tau) for j in range(n) if j != i]
        repel = sum(terms) / n
        one += math.log(1 + repel / math.exp(cosine(a[i], b[i]) / tau)) / n
        crowd = sum(eta(a[i], b[j]) for j in range(n)) / n
        three += math.log(1 + crowd / eta(a[i], b[i])) / n
        twelve += math.log(crowd / eta(a[i], b[i])) / n
    return one, three, twelve


def written_out(
    seed: int, n: int = 6, d: int = 3, tau: float = 0.3
) -> dict[str, tuple[float, float]]:
    """{item: (the book's function, its formula as loops over numbers)} at random points, for LS's definitions."""
    z1 = numbers(seed, n, d)
    z2 = numbers(seed + 1, n, d)
    one, three, twelve = losses_by_numbers(z1.tolist(), z2.tolist(), tau)
    net = Averaging(d, 1, 4, "tanh", 0.5, torch.Generator().manual_seed(seed)).double()
    first = [torch.autograd.grad(net(x[None]).sum(), net.inner.weight)[0] for x in z1[:2]]
    product = (first[0] * first[1]).sum().item()
    point = z1[0].tolist()
    units = []
    for row in net.inner.weight.tolist():
        units.append(sum(w * x for w, x in zip(row, point, strict=True)))
    outer = 0.5 * sum(map(math.tanh, units))
    found = {"eq. 1": (nt_xent_mean(z1, z2, tau).item(), one)}
    found["eq. 3"] = (generalized(z1, z2, lambda t: -t / tau, softplus).item(), three)
    found["eq. 12"] = (simplified(z1, z2[None], tau).item(), twelve)
    found["eq. 8"] = (kernels.empirical(net, z1)[0, 1].item(), product)
    found["eq. 30"] = (net(z1)[0].item(), outer)
    return found


def rescaled(seed: int, factors=(1e-3, 0.1, 10.0, 1e3)) -> float:
    """The largest change of eq. 1 where both views (8, 3) are multiplied by a factor, tau = .3."""
    z1 = numbers(seed, 8, 3)
    z2 = numbers(seed + 1, 8, 3)
    plain = nt_xent_mean(z1, z2, 0.3)
    return max(abs(nt_xent_mean(k * z1, k * z2, 0.3) - plain).item() for k in factors)


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


def pushed(seed: int, n: int = 50) -> dict[str, float]:
    """How far the embedded views of n points in the plane are from the embedded points, as sets, for three maps.

    Views turn a point about the origin. "radius" and "invariant network" do not see the angle; "network" does.
    """
    x = numbers(seed, n, 2)
    views = augment.rotation(x, torch.Generator().manual_seed(seed))
    net = MLP((2, 20, 1), "tanh", torch.Generator().manual_seed(seed)).double()

    def squared(x):
        return torch.cat([x.square().sum(1, keepdim=True), torch.zeros_like(x[:, :1])], 1)

    maps = {
        "radius": lambda x: x.norm(dim=1, keepdim=True),
        "invariant network": lambda x: net(squared(x)),
        "network": net,
    }
    with torch.no_grad():
        return {
            name: (f(x).sort(0).values - f(views).sort(0).values).abs().max().item()
            for name, f in maps.items()
        }


# Appendix B: first and second variation.


def first_variation(
    seed: int, invariant: bool = False, n: int = 5, views: int = 3, d: int = 2, tau: float = 0.5
) -> dict[str, float]:
    """The derivative of eq. 3 along a random direction h at a random map, by autograd and by LS eq. 13.

    e[a, i] is the embedding of view a of point i; Psi(t) = log(1 + t), eta(t) = e^{-t/tau}.
    Returns "autograd", "printed", and "corrected": with G_{T',T} at y.
    """
    e = numbers(seed, views, n, d)
    h = numbers(seed + 1, views, n, d)
    if invariant:
        e, h = e[:1].expand_as(e).clone(), h[:1].expand_as(h).clone()

    def eta(e):  # [a, b, i, j]
        return torch.exp(-(e[:, None, :, None] - e[None, :, None]).square().sum(-1) / (2 * tau))

    def ratio(e):  # G_{T_a, T_b}(x_i), [a, b, i]
        own = eta(e)
        return own.mean(3) / own.diagonal(dim1=2, dim2=3)

    e.requires_grad_()
    (slope,) = torch.autograd.grad(torch.log1p(ratio(e)).mean(), e)
    e = e.detach()
    similar, apart = eta(e), e[:, None, :, None] - e[None, :, None]  # [a, b, i, j, d]
    own = similar.diagonal(dim1=2, dim2=3)
    change = -similar / tau
    steep = 1 / (1 + ratio(e))

    def formula(partner):
        """partner[a, b, j]: Psi' of G at y_j, divided by eta(T y, T' y)."""
        pull = (
            ((steep / own)[..., None] + partner[:, :, None])[..., None] * change[..., None] * apart
        )
        both = steep[..., None] * similar + steep.transpose(0, 1)[..., None] * similar.transpose(
            0, 1
        )
        back = (change.diagonal(dim1=2, dim2=3) / own.square())[..., None] * apart.diagonal(
            dim1=2, dim2=3
        ).mT
        inner = pull.mean(3) - both.mean(3)[..., None] * back  # [a, b, i, d]
        return (inner.mean(1) * h).sum(-1).mean().item()

    return {
        "autograd": (slope * h).sum().item(),
        "printed": formula(steep / own),
        "corrected": formula(steep.transpose(0, 1) / own),
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


def growing_scale(eta: str, factors=(1, 2, 4, 8, 16, 32, 64), tau: float = 0.5) -> np.ndarray:
    """(factors,) the largest derivative of eq. 3 at k f, f onto 8 even places of the circle, two points at each."""
    z = even(8, 2).repeat(2, 1)
    found = []
    for k in factors:
        points = (k * z).requires_grad_()
        loss = generalized(points, points, lambda t: ETA[eta](t, tau), softplus)
        found.append(len(z) * torch.autograd.grad(loss, points)[0].norm(dim=1).max().item())
    return np.array(found)


def multiplier(z: torch.Tensor, tau: float = 0.2) -> tuple[float, float]:
    """Of LS eq. 18 at places z (K, d): how far the integrals differ from place to place, and how far each is from
    lambda z with one lambda for all, both divided by their size."""
    apart = z[:, None] - z
    integral = -(torch.exp(-apart.square().sum(2, keepdim=True) / (2 * tau)) / tau * apart).mean(1)
    along = (integral * z).sum(1).mean()
    size = integral.norm(dim=1).max()
    return ((integral - integral[:1]).norm(dim=1).max() / size).item(), (
        (integral - along * z).norm() / size
    ).item()


def lower_bounds(count: int, share: float, draws: int = 300) -> np.ndarray:
    """(r, 3): the second variation, the last line of Lemma B.4's proof, and the bound with its factors put right.

    At `count` even places, along random h that meet eq. 20 with sigma = .3 |xi_i - xi_j|^2 of neighbours; tau is
    `share` of the largest one that the lemma allows, sigma / 3 K^2.
    """
    z = even(count, 2)
    sigma = 0.3 * 4 * math.sin(math.pi / count) ** 2
    tau = share * sigma / (3 * count**2)
    angle = torch.atan2(z[:, 1], z[:, 0]) + numbers(count, draws, count)
    h = torch.stack([angle.cos(), angle.sin()], 2) - z
    apart, change = z[:, None] - z, h[:, :, None] - h[:, None]  # (K, K, 2), (draws, K, K, 2)
    square = change.square().sum(-1)
    inside = ((apart * change).sum(-1).square() >= sigma * square - 1e-12).flatten(1).all(1)
    similar = torch.exp(-apart.square().sum(-1) / (2 * tau))
    inner = (apart * change).sum(-1)
    G, mean = similar.mean(1), (similar * square).mean(-1)  # (K,), (draws, K)
    found = (
        -((similar * inner).mean(-1) / (2 + G)).square()
        + (similar * inner.square()).mean(-1) / (2 + G)
    ) / tau**2
    found = (found - mean / (2 + G) / tau).mean(
        1
    )  # of Psi(t) = log(1 + t/2), as in `variation.second_variation`
    printed = ((sigma / (3 * count**2) - tau) / tau**2 * mean / (1 + G.square() / 2)).sum(1) / count
    right = ((sigma / 2 - tau) / tau**2 * mean / (2 + G)).mean(1)
    return torch.stack([found, printed, right], 1)[inside].numpy()


# Section 4.1: any parametrised map.


class Bumps(nn.Module):
    """Radial basis functions whose centres, widths and weights all move: (n, 2) -> (n, d)."""

    def __init__(self, d: int, generator: torch.Generator, count: int = 5):
        super().__init__()
        self.centres = nn.Parameter(torch.randn(count, 2, generator=generator))
        self.widths = nn.Parameter(1 + torch.rand(count, generator=generator))
        self.weights = nn.Parameter(torch.randn(count, d, generator=generator))

    def forward(self, x):
        return (
            torch.exp(-(x[:, None] - self.centres).square().sum(-1) / self.widths.square())
            @ self.weights
        )


class Polynomial(nn.Module):
    """All monomials of two coordinates up to degree 3, with weights: linear in them, (n, 2) -> (n, d)."""

    def __init__(self, d: int, generator: torch.Generator):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(10, d, generator=generator))

    def forward(self, x):
        terms = [x[:, 0] ** p * x[:, 1] ** q for p in range(4) for q in range(4 - p)]
        return torch.stack(terms, 1) @ self.weights


class Angles(nn.Module):
    """R(w) x, a rotation by w_1 and a stretch by w_2, two parameters in all: (n, 2) -> (n, 2)."""

    def __init__(self, d: int, generator: torch.Generator):
        super().__init__()
        self.w = nn.Parameter(torch.randn(2, generator=generator))

    def forward(self, x):
        cos = self.w[0].cos()
        sin = self.w[0].sin()
        stretch = self.w[1].exp()
        first = cos * x[:, 0] - sin * x[:, 1]
        second = sin * x[:, 0] + cos * x[:, 1]
        return stretch * torch.stack([first, second], 1)


MAPS: dict[str, Callable] = {
    "network of 3 units": lambda d, g: MLP((2, 3, d), "tanh", g),
    "radial basis": Bumps,
    "polynomial": Polynomial,
    "a rotation and a stretch": Angles,
}


def velocity_error(name: str, seed: int, n: int = 12, d: int = 2, tau: float = 0.5) -> float:
    """Relative error of LS eq. 7 at a map of `MAPS`, eq. 12 with views held still.

    The velocity of the embeddings, by the chain rule with w' = -grad of the mean loss, against eq. 7 with the kernel.
    """
    generator = torch.Generator().manual_seed(seed)
    net = MAPS[name](d, generator).double()
    x = numbers(seed + 1, n, 2)
    views = net(x + 0.1 * numbers(seed + 2, n, 2)).detach()
    weights = {key: value.detach() for key, value in net.named_parameters()}
    z = net(x)
    loss = simplified(z, views[None], tau)
    flow = torch.autograd.grad(loss, list(net.parameters()), retain_graph=True)
    (slope,) = torch.autograd.grad(n * loss, z)
    tangent = {key: -part for key, part in zip(weights, flow, strict=True)}
    _, moving = jvp(lambda w: functional_call(net, w, (x,)), (weights,), (tangent,))
    predicted = -torch.einsum("ijkl,jl->ik", kernels.autograd(net, x), slope) / n
    return ((moving - predicted).norm() / moving.norm()).item()


def invariance_after(
    sees_angle: bool, seed: int, steps: int = 20, n: int = 12, tau: float = 0.5
) -> float:
    """Appendix B.5: largest distance of a point and a view of it after steps of descent on eq. 12, lr = .05.

    Views turn a point. The map starts invariant: R + g(w, x) - g(w_0, x). g is a network of the point, or of its radius
    alone: then its gradients in the weights agree at a point and its views, too.
    """
    generator = torch.Generator().manual_seed(seed)
    x = numbers(seed + 1, n, 2)
    R = 0.1 * numbers(seed + 2, n, 1)
    turned = augment.rotation(x, generator)
    seen = (
        (lambda x: x)
        if sees_angle
        else (lambda x: torch.cat([x.norm(dim=1, keepdim=True), 0 * x[:, :1]], 1))
    )
    net = MLP((2, 20, 1), "tanh", generator).double()
    with torch.no_grad():
        first = {name: net(seen(points)) for name, points in (("x", x), ("view", turned))}
    for _ in range(steps):
        z, view = (
            R + net(seen(points)) - first[name] for name, points in (("x", x), ("view", turned))
        )
        loss = simplified(z, view.detach()[None], tau)
        for p, slope in zip(
            net.parameters(), torch.autograd.grad(loss, list(net.parameters())), strict=True
        ):
            p.data -= 0.05 * slope
    with torch.no_grad():
        return (net(seen(x)) - first["x"] - net(seen(turned)) + first["view"]).abs().max().item()


# Appendix C, Step 1, and Section 4.2.1.


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


def steepness(distance: float) -> tuple[float, float]:
    """|grad_w f(w, x) - grad_w f(w, y)| / |x - y| for x, y on two sides of 0 at this distance.

    For f = w sign(x), smooth in w and not in x, and for f = tanh(w x) at w = 1.
    """
    x = distance / 2
    return 2 / distance, abs(2 * x / math.cosh(x) ** 2) / distance
