"""The map that LS and VA are about: f(w, x) = R + g(w, x) - g(w0, x), with g a network and w0 its first weights.

A point x and all its views share the point R, so that f starts invariant: it ignores the augmentations until the
weights move. Its kernel is that of g. The ordinary start is f = g: then a view starts elsewhere than its point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from clbook.models import mlp
from clbook.training.loop import State, Training
from clbook.training.streams import Draws, streams


class Anchored(Training):
    """R runs that train f. A subclass calls `gather` and `anchor` in its `setup`."""

    config: Any  # has an `activation`, where `output` is not another

    def output(self, weights: list[Tensor], x: Tensor) -> Tensor:
        """g (R, m, d) of points x (R, m, D): fully connected networks, unless a subclass has others."""
        return mlp(weights, x, self.config.activation)

    def gather(self, points: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
        """Put the points of all runs into the state.

        Args:
            points: x (n, D) and labels (n,) of each run; all have the same labels.

        Returns:
            The labels.
        """
        inputs, labels = zip(*points, strict=True)
        self.state.x = torch.stack(inputs)  # (R, n, D)
        self.inputs = [x.numpy() for x in inputs]
        return labels[0]

    def normal(self, purpose: int, count: int) -> Draws:
        """The noise (R, count, n, D) of `count` views of each point at each step."""
        shape = self.state.x.shape[1:]

        def draw(generator):
            return torch.stack([torch.randn(shape, generator=generator) for _ in range(count)])

        return Draws(streams(self.configs, purpose), draw)

    def anchor(self, x: Tensor, R: Tensor | None) -> None:
        """Put what the embeddings need of the start into the state, which has its x, noise and weights already.

        These are R; frozen, the weights w0; and shift (R, n, d), R - g(w0, x). All are None for the ordinary start.

        Args:
            x: (R, n, D) the points, as g takes them.
            R: (R, n, d) where they start; None for the ordinary start.
        """
        s = self.state
        s.R, s.frozen, s.shift = R, None, None
        if R is not None:
            s.frozen = [w.clone() for w in s.weights]
            s.shift = R - self.output(s.frozen, x)

    def anchored_points(self, s: State, x: Tensor) -> Tensor:
        """f (R, n, d) of the points that `anchor` was given."""
        g = self.output(s.weights, x)
        return g if s.frozen is None else g + s.shift

    def anchored_views(self, s: State, views: Tensor) -> Tensor:
        """f (R, m, n, d) of m views of each point, (R, m, n, D), which share the point R of theirs."""
        flat = views.flatten(1, 2)  # (R, m n, D)
        g = self.output(s.weights, flat)
        if s.frozen is not None:
            g = g - self.output(s.frozen, flat)
        moved = g.unflatten(1, views.shape[1:3])
        return moved if s.frozen is None else moved + s.R[:, None]
