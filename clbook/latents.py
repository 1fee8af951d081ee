"""Latents with content and style, and the maps that hide them: the controlled data-generating process of CS Sec. 4.1.

Latents z live in the hyperbox [0, 1]^d or on the unit sphere S^{d-1}; the first d_c dimensions are content, which a positive
pair shares, the rest is style, which varies. Observations are x = g(z), with g an invertible linear or leaky-ReLU network.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

SPACES = ("box", "sphere")
PROPOSALS = 4  # draws offered at once to the rejection sampler
MOST_CONDITION = 1e6  # a matrix worse than this is not invertible in float32


def _random(make, shape, generator):
    """make(shape), or for `generator` = (generators, which): (R, *shape), run i taking the numbers of generators[which[i]]."""
    if isinstance(generator, torch.Generator):
        return make(*shape, generator=generator)
    return torch.stack([make(*shape, generator=g) for g in generator[0]])[generator[1]]


def marginal(n: int, d: int, space: str, generator) -> torch.Tensor:
    """z (n, d): uniform in the box [0, 1]^d, or on the unit sphere. (R, n, d) for `generator` = (generators, which)."""
    if space not in SPACES:
        raise ValueError(f"space = {space!r} is not allowed: space must be one of {', '.join(SPACES)}")
    if space == "box":
        return _random(torch.rand, (n, d), generator)
    return F.normalize(_random(torch.randn, (n, d), generator), dim=-1)


def positives(z, d_c, style_sd, space, generator, content_sd=0.0):
    """A positive partner for each row of z (..., n, d), drawn from the conditional of CS Sec. 2 and 4.1.

    Box: every dimension is normal around z, with standard deviation `content_sd` in the first d_c dimensions (0, the default:
    they stay) and `style_sd` in the others, truncated to [0, 1]. Sphere: von Mises-Fisher around z with concentration
    1 / style_sd^2, given that the first d_c dimensions stay; then a single style dimension stays too.

    Several runs at once: d_c, style_sd and content_sd may be tensors (..., 1, 1) that broadcast against z, and `generator` a
    pair: a list of generators, and for each run which of them is its own. Runs with the same one differ by their settings
    alone, and what a run gets does not depend on the others.

    Raises ValueError: d_c outside 0 .. d, a style_sd that is not above 0, a content_sd below 0, or above 0 on the sphere.
    """
    shape, d = z.shape[:-2] + (1, 1), z.shape[-1]
    d_c, style_sd, content_sd = (torch.as_tensor(v, dtype=z.dtype, device=z.device).expand(shape)
                                 for v in (d_c, style_sd, content_sd))
    for name, value, fine, allowed in (
            ("d_c", d_c, (d_c >= 0) & (d_c <= d), f"between 0 and d = {d}"), ("style_sd", style_sd, style_sd > 0, "> 0"),
            ("content_sd", content_sd, (content_sd == 0) | ((content_sd > 0) & (space == "box")), ">= 0, and 0 on the sphere")):
        if not fine.all():
            raise ValueError(f"{name} = {value[~fine][0]:g} is not allowed: {name} must be {allowed}")
    style = torch.arange(d, device=z.device) >= d_c  # (..., 1, d)
    if space == "box":
        sd = torch.where(style, style_sd, content_sd)
        low, high = (torch.special.ndtr((edge - z) / sd.clamp(min=1e-6)) for edge in (0, 1))
        u = _random(torch.rand, z.shape[-2:], generator).to(z)
        step = torch.special.ndtri((low + u * (high - low)).clamp(1e-7, 1 - 1e-7))
        return torch.where(sd > 0, (z + sd * step).clamp(0, 1), z)
    return _von_mises_fisher(z, style, style_sd, generator)


def _von_mises_fisher(z, style, sd, generator):
    """von Mises-Fisher around z, concentration 1 / sd^2, on the sphere of the style dimensions through z (Wood 1994)."""
    own = z * style
    radius = own.norm(dim=-1, keepdim=True)
    axis = own / radius.clamp(min=1e-12)
    count = style.sum(-1, keepdim=True)  # (..., 1, 1) style dimensions, m
    kappa, m1 = radius**2 / sd**2, (count - 1).to(z)
    root = (4 * kappa**2 + m1**2).sqrt()
    b = m1 / (2 * kappa + root).clamp(min=1e-12)
    x0 = (1 - b) / (1 + b)
    c = kappa * x0 + m1 * torch.log1p(-x0**2 + 1e-12)
    cosine, waiting = torch.ones_like(radius), (radius > 0) & (count > 1)
    n, d = z.shape[-2:]
    side = _random(torch.randn, (n, d), generator).to(z) * style  # drawn first: how often the loop draws depends on the runs
    last = (count - 1).clamp(min=0).expand(z.shape[:-1] + (1,))[..., None, :].expand(z.shape[:-1] + (PROPOSALS, 1))
    while waiting.any():
        # The first coordinate of a uniform direction in R^m is distributed as Wood's proposal.
        g = _random(torch.randn, (n, PROPOSALS, d), generator).to(z)
        length = g.square().cumsum(-1).sqrt().expand(*z.shape[:-1], PROPOSALS, d).gather(-1, last)[..., 0]
        beta = (1 + g[..., 0] / length) / 2
        w = (1 - (1 + b) * beta) / (1 - (1 - b) * beta)  # (..., n, PROPOSALS)
        u = _random(torch.rand, (n, PROPOSALS), generator).to(z)
        good = kappa * w + m1 * torch.log1p(-x0 * w) - c >= u.log()
        found = good.any(-1, keepdim=True) & waiting
        cosine = torch.where(found, w.gather(-1, good.to(torch.uint8).argmax(-1, keepdim=True)), cosine)
        waiting = waiting & ~found
    side = F.normalize(side - (side * axis).sum(-1, keepdim=True) * axis, dim=-1)
    moved = cosine * axis + (1 - cosine**2).clamp(min=0).sqrt() * side
    return torch.where(style, radius * moved, z)


class Mixing:
    """g(z), an invertible network without biases: matrices (d, d) with a leaky ReLU between two (CS Sec. 4.1).

    Args:
        matrices: a sequence of (..., d, d) tensors, the first one is applied first; one makes g linear. Leading axes are
            separate networks, for z (..., n, d).
        slope: of the leaky ReLU below 0, > 0.
    Raises ValueError: matrices that are not square, of different sizes, or not invertible; a slope that is not above 0.
    """

    def __init__(self, matrices, slope=0.2):
        self.matrices, self.slope = [torch.as_tensor(m) for m in matrices], slope
        for i, matrix in enumerate(self.matrices):
            if matrix.ndim < 2 or matrix.shape != self.matrices[0].shape or matrix.shape[-1] != matrix.shape[-2]:
                raise ValueError(f"matrices[{i}] has shape {tuple(matrix.shape)}: it must be square, and all of one shape")
            if not (torch.linalg.cond(matrix.double()) < MOST_CONDITION).all():
                raise ValueError(f"matrices[{i}] is not invertible: its condition number must be below {MOST_CONDITION:g}")
        if not self.matrices or not slope > 0:
            raise ValueError("matrices must hold at least one matrix" if not self.matrices else
                             f"slope = {slope!r} is not allowed: slope must be > 0, else the leaky ReLU has no inverse")

    def __call__(self, z):
        """x = g(z), (..., d)."""
        for i, matrix in enumerate(self.matrices):
            z = (F.leaky_relu(z, self.slope) if i else z) @ matrix.mT.to(z)
        return z

    def inverse(self, x):
        """z = g^-1(x), (..., d)."""
        for i, matrix in reversed([*enumerate(self.matrices)]):
            x = x @ torch.linalg.inv(matrix.double()).mT.to(x)
            x = F.leaky_relu(x, 1 / self.slope) if i else x
        return x


def mixing(d: int, layers: int, generator: torch.Generator, slope=0.2) -> Mixing:
    """A `Mixing` of random rotations: the spectrum of an encoder's weights is then that of the map from the latents."""
    return Mixing([torch.nn.init.orthogonal_(torch.empty(d, d), generator=generator) for _ in range(layers)], slope)
