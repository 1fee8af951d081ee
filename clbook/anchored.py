"""The map that LS and VA are about: f(w, x) = R + g(w, x) - g(w0, x), with g a network and w0 its first weights.

A point x and all its views share the point R, so that f starts invariant: it ignores the augmentations until the
weights move. Its kernel is that of g. The ordinary start is f = g: then a view starts elsewhere than its point.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from clbook.runs import State


def anchor(
    output: Callable, weights: list[torch.Tensor], x: torch.Tensor, R: torch.Tensor | None
) -> dict:
    """What `embed` needs of the start, as attributes of a `State`.

    Args:
        output: `output(weights, x)` -> g (runs, m, d) of points x (runs, m, D).
        weights: those at the start.
        x: (runs, n, D) the points.
        R: (runs, n, d) where they start; None for the ordinary start.

    Returns:
        R; frozen, the weights w0, None for the ordinary start; shift (runs, n, d), R - g(w0, x).
    """
    if R is None:
        return {"R": None, "frozen": None, "shift": None}
    frozen = [w.clone() for w in weights]
    return {"R": R, "frozen": frozen, "shift": R - output(frozen, x)}


def embed(
    output: Callable, s: State, x: torch.Tensor, views: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """f of points and of views of them, by one pass through the networks.

    Args:
        output: as for `anchor`.
        s: the state of the runs, with `weights` and what `anchor` gave.
        x: (runs, n, D).
        views: (runs, m, n, D), m views of each point.

    Returns:
        (runs, n, d) and (runs, m, n, d).
    """
    n = x.shape[1]
    flat = views.flatten(1, 2)  # (runs, m n, D)
    g = output(s.weights, torch.cat([x, flat], 1))
    points = g[:, :n] if s.frozen is None else g[:, :n] + s.shift
    return points, _anchored(output, s, flat, g[:, n:], n)


def embed_views(output: Callable, s: State, views: torch.Tensor) -> torch.Tensor:
    """f of views (runs, m, n, D) alone, (runs, m, n, d); arguments as for `embed`."""
    flat = views.flatten(1, 2)
    return _anchored(output, s, flat, output(s.weights, flat), views.shape[2])


def _anchored(
    output: Callable, s: State, flat: torch.Tensor, g: torch.Tensor, n: int
) -> torch.Tensor:
    """f (runs, m, n, d) of views `flat` (runs, m n, D), of which the network says g (runs, m n, d)."""
    if s.frozen is None:
        return g.unflatten(1, (-1, n))
    moved = (g - output(s.frozen, flat)).unflatten(1, (-1, n))
    return moved + s.R[:, None]
