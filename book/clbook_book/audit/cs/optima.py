"""What is optimal: ranks, collapsed encoders and their losses (CS App. A and D, Table 1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch.nn.functional import leaky_relu

from clbook import latents
from clbook.experiments.content_style.experiment import Config, fresh_pairs
from clbook.losses import infonce
from clbook.metrics import r2
from clbook.training.loop import one_thread
from clbook.training.streams import stream
from clbook_book.audit.cs.collapse import DIM, loss, pairs
from clbook_book.audit.cs.encoders import terms

PARTS = 10**9  # purpose of the stream of `parts`


@one_thread()
def sphere_identity(
    scaling: Sequence[float], classes: int = 5, n: int = 200, tau: float = 0.5, seed: int = 0
) -> tuple[float, float, int, int, float]:
    """CS Prop. 6: f has a corner of a simplex for each class as content, random style, and is seen through a scaling.

    Returns: InfoNCE of the content alone, of D f; rank of f, of D f; largest gradient in the style of f.
    """
    generator = stream(seed, 0)
    corners = torch.linalg.svd(torch.eye(classes, dtype=torch.float64) - 1 / classes)[0][
        :, : classes - 1
    ]
    content = corners[torch.arange(n) % classes]
    style = torch.randn(2, n, DIM - classes + 1, generator=generator, dtype=torch.float64)
    f = torch.cat([content.expand(2, -1, -1), style], 2).requires_grad_()
    seen = f * torch.tensor(scaling, dtype=torch.float64)
    through = infonce(*seen, tau=tau, normalize=True)
    (gradient,) = torch.autograd.grad(through, f)
    ranks = [int(torch.linalg.matrix_rank(z[0].detach())) for z in (f, seen)]
    alone = infonce(content, content, tau=tau, normalize=True).item()
    return alone, through.item(), *ranks, gradient[..., classes - 1 :].abs().max().item()


@one_thread()
def parts(
    maps: np.ndarray, config: Config, samples: int = 10_000, anchors: int = 1000
) -> np.ndarray:
    """Alignment, uniformity and total of linear maps f o g as in CS Table 1, on fresh latents of config's kind.

    Args: maps (..., d, d). samples: negatives from the marginal. anchors: pairs.
    Returns: (3, ...).
    """
    maps = torch.as_tensor(maps, dtype=torch.float32)
    generator = stream(config.seed, PARTS)
    points = (
        *fresh_pairs(config, anchors, generator),
        latents.marginal(samples, config.d, config.space, generator),
    )
    return terms(*(z @ maps.mT for z in points), config).double().numpy()


def best_scale(encoder: np.ndarray, config: Config) -> float:
    """The s, of 65 between 0.01 and 100, for which s times a linear map `encoder` (d, d) has the lowest InfoNCE."""
    scales = np.geomspace(0.01, 100, 65)
    return float(
        scales[parts(scales[:, None, None] * encoder, config, samples=500, anchors=500)[2].argmin()]
    )


def product_ranks(seed: int = 0) -> tuple[int, int]:
    """How often, in 81 products of 8 x 8 matrices of all ranks, "singular" is not "both are" (CS Lemma 3), and is not
    "one of them is"."""
    generator = stream(seed, 0)
    both = 0
    one = 0
    for r in range(DIM + 1):
        for s in range(DIM + 1):
            A, B = (
                torch.randn(2, DIM, DIM, generator=generator, dtype=torch.float64)[:, :, :k]
                for k in (r, s)
            )
            A = A[0] @ A[1].T
            B = B[0] @ B[1].T
            rank = int(torch.linalg.matrix_rank(A @ B, rtol=1e-10))
            both += (rank < DIM) != (r < DIM and s < DIM)
            one += (rank < DIM) != (r < DIM or s < DIM)
    return both, one


def unmixed(x: torch.Tensor, inverses: Sequence[torch.Tensor]) -> torch.Tensor:
    """z = g^-1(x), (..., d), of `latents.mixed` with the inverses of its matrices, the last one first."""
    for i, matrix in enumerate(inverses):
        x = (leaky_relu(x, 1 / latents.SLOPE) if i else x) @ matrix.T
    return x


@one_thread()
def layer_spectra(layers: int, d_c: int = 3, seed: int = 0, scale: float = 2) -> list[np.ndarray]:
    """Singular values (8,) of the gradient of CS eq. 4 in each weight matrix of f, seen through D (CS Prop. 5).

    f is the inverse of a generator of so many layers; D then scales the content and drops the style.
    """
    generator, ends = stream(seed, 0), []
    matrices = latents.rotations(DIM, layers, generator)
    weights = [torch.linalg.inv(matrix.double()).requires_grad_() for matrix in reversed(matrices)]
    for z in pairs(200, d_c, 0.3, generator):
        x = unmixed(latents.mixed(z, matrices), weights)
        ends.append(scale * x * (torch.arange(DIM) < d_c))
    gradients = torch.autograd.grad(loss(*ends).sum(), weights)
    return [torch.linalg.svdvals(gradient).numpy() for gradient in gradients]


@one_thread()
def collapsed(scales, d_c: int, n: int = 512, seed: int = 0) -> np.ndarray:
    """Mean of CS eq. 4 for f = c D g^-1, g of three layers, D dropping the style, at each c of `scales`."""
    generator = stream(seed, 0)
    matrices = [matrix.double() for matrix in latents.rotations(DIM, 3, generator)]
    inverses = [torch.linalg.inv(matrix) for matrix in reversed(matrices)]
    ends = []
    for z in pairs(n, d_c, 0.3, generator):
        found = unmixed(latents.mixed(z, matrices), inverses)
        ends.append(found * (torch.arange(DIM) < d_c))
    z, views = ends
    return np.array([float(loss(c * z, c * views).mean()) for c in scales])


def keeping(config: Config, scales=(0, 0.1, 0.2, 0.4, 0.7, 1)) -> tuple[np.ndarray, np.ndarray]:
    """Losses (len(scales),) of linear maps that keep the content and scale the style; and (2, 2) R^2 of content and
    style read from such a map that drops the style, and from one that keeps it."""
    content = np.arange(config.d) < config.d_c
    maps = np.stack([np.diag(np.where(content, 1.0, s)) for s in scales])
    z, _ = fresh_pairs(config, 2000, stream(config.seed, PARTS))
    fits = [
        r2(z, z @ torch.tensor(np.diag(1.0 * keep)).float()) for keep in (content, content | True)
    ]
    return parts(maps, config)[2], np.array(
        [[fit[content].mean(), fit[~content].mean()] for fit in fits]
    )
