"""The map that LS and VA are about: f(w, x) = R + g(w, x) - g(w0, x), with g a network and w0 its first weights.

A point x and all its views share the point R, so that f starts invariant: it ignores the augmentations until the
weights move. Its kernel is that of g. The ordinary start is f = g: then a view starts elsewhere than its point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from clbook.training.loop import State


def anchor(
    output: Callable, weights: list[torch.Tensor], x: torch.Tensor, R: torch.Tensor | None
) -> dict:
    """What the embeddings need of the start, as attributes of a `State`.

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


def alike(seeds: Sequence[int], *parts: torch.Tensor) -> tuple | None:
    """Which runs have one start and draw the same views: those of one seed that agree in all `parts`.

    In a grid over eps and tau each seed has one start, so that g(w0, views) needs to be computed once a seed.

    Args:
        seeds: of the runs.
        parts: (runs, ...), on which the start and the views depend besides.

    Returns:
        (first, group): first (k,), the number of the first run of each kind; group (runs,), which kind each run is of.
        None where every run is of its own kind.
    """
    known, of_each = {}, []
    for run, seed in enumerate(seeds):
        bits = [part[run].cpu().numpy().tobytes() for part in parts]
        of_each.append(known.setdefault((seed, *bits), run))
    first, group = torch.tensor(of_each, device=parts[0].device).unique(return_inverse=True)
    return None if len(first) == len(group) else (first, group)


def embed_points(output: Callable, s: State, x: torch.Tensor) -> torch.Tensor:
    """f of the points.

    Args:
        output: as for `anchor`.
        s: the state of the runs, with `weights` and what `anchor` gave.
        x: (runs, n, D), the points that `anchor` was given.

    Returns:
        (runs, n, d).
    """
    g = output(s.weights, x)
    return g if s.frozen is None else g + s.shift


def embed_views(
    output: Callable, s: State, views: torch.Tensor, same: tuple | None = None
) -> torch.Tensor:
    """f of views of the points, which share the point R of theirs.

    Args:
        output, s: as for `embed_points`.
        views: (runs, m, n, D), m views of each point.
        same: which runs have one start and these views in common, as `alike` says.

    Returns:
        (runs, m, n, d).
    """
    flat = views.flatten(1, 2)  # (runs, m n, D)
    g = output(s.weights, flat)
    if s.frozen is not None:
        g = g - _at_start(output, s.frozen, flat, same)
    moved = g.unflatten(1, views.shape[1:3])
    return moved if s.frozen is None else moved + s.R[:, None]


def _at_start(output, frozen, x, same):
    """g(w0, x) of x (runs, m, D): for runs of one kind once."""
    if same is None:
        return output(frozen, x)
    first, group = same
    return output([w[first] for w in frozen], x[first])[group]
