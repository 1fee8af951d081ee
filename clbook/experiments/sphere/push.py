"""What the first training step does to the network's output, before it is put back on the sphere."""

from __future__ import annotations

import numpy as np

from clbook.experiments.sphere.experiment import Config, Sphere, coherence
from clbook.training.loop import one_thread


def first_push(config: Config) -> np.ndarray:
    """Returns (n, d): how far one step of gradient descent moves R + g(w, x) - g(w0, x) at each point.

    The step on the sphere is its tangential part, which differs from place to place even where the push does not.
    """
    with one_thread():
        flow = Sphere([config.replace(network=True)]).to("cpu")
        s = flow.start()
        drawn = flow.draw()
        before = flow.embed_points(s)
        _, losses = flow.objective(s, drawn.noise)
        after = flow.embed_points(s.replace(**flow.step(s, drawn, losses, 0)))
        return (after - before).detach()[0].numpy()


def push_coherence(config: Config) -> tuple[float, float]:
    """Returns `coherence` of the first push within the clusters, and of all points together."""
    push, labels = first_push(config), Sphere([config]).labels
    return coherence(push, labels), coherence(push, 0 * labels)
