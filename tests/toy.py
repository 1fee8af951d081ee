"""A small deterministic experiment for the explorer's tests: a spiral of points that contracts as it turns."""

from __future__ import annotations

import dataclasses
import time

import numpy as np

from clbook import style
from clbook.training.settings import Outcome, Settings, setting


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    a: float = setting(1.0, "how fast the points turn", unit="rad", above=0, high=100, log=True)
    b: int = setting(2, "how many arms the spiral has", low=1, high=6)
    n: int = setting(40, "points", unit="points", low=2, high=2000)
    steps: int = setting(30, "length of the run", unit="iterations", low=1, high=100_000)
    delay: float = setting(0.0, "time that each iteration takes", unit="s", low=0, high=1)
    shape: str = setting("spiral", "the curve the points start on", choices=("spiral", "circle"))
    turn: bool = setting(True, "whether the points turn at all")

    def check(self):
        if self.n < self.b:
            raise self.error("n", f"at least b = {self.b}")


@dataclasses.dataclass
class Result(Outcome):
    """`steps` (T,), `z` (T, n, 2), `labels` (n,), `radius` (T,), the mean distance from the origin."""

    steps: np.ndarray
    z: np.ndarray
    labels: np.ndarray
    radius: np.ndarray


def run(config, *, progress=None, device=None):
    """Turn and contract the points; `progress` is called at every iteration and stops the run by returning False."""
    start = time.perf_counter()
    t = np.linspace(0.1, 1, config.n)
    labels = np.arange(config.n) % config.b
    rho = t if config.shape == "spiral" else np.ones(config.n)
    angle = 4 * t + 2 * np.pi * labels / config.b
    recorded, stopped = [], False

    def result():
        z = np.array(recorded)
        took = time.perf_counter() - start
        how = {"config": config, "seconds": took, "device": device or "cpu", "stopped": stopped}
        radius = np.linalg.norm(z, axis=2).mean(1)
        return Result(**how, steps=np.arange(len(z)), z=z, labels=labels, radius=radius)

    for k in range(config.steps + 1):
        theta = angle + config.turn * config.a * k / config.steps
        recorded.append(
            np.exp(-k / config.steps) * rho[:, None] * np.stack([np.cos(theta), np.sin(theta)], 1)
        )
        if config.delay:
            time.sleep(config.delay)
        if progress is not None and progress(k / config.steps, result()) is False:
            stopped = k < config.steps
            break
    return result()


def swept(run, comparisons, **asked):
    """`sweep` of comparisons {name: settings}, in this process and without the store."""
    results = []
    for named in comparisons:
        results.append({name: run(config, **asked) for name, config in named.items()})
    return results


def draw(result, frame=-1):
    """Scatter of the points, their mean radius over log time, and their cosines, at recorded time `frame`."""
    k = range(len(result.steps))[frame]
    fig, ax = style.axes(3, width=7.2, height=2.6)
    scatter, line, gram = ax[0]
    for c in range(result.config.b):
        scatter.scatter(
            *result.z[k][result.labels == c].T, s=14, color=style.colour(c), gid=f"class {c}"
        )
    scatter.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), xlabel="$z_1$", ylabel="$z_2$", aspect="equal")
    for c in range(result.config.b):
        radius = np.linalg.norm(result.z[: k + 1, result.labels == c], axis=2).mean(1)
        line.plot(result.steps[: k + 1] + 1, radius, color=style.colour(c), gid=f"radius {c}")
    line.axvline(result.steps[k] + 1, color=style.MUTED, lw=0.8, ls="--")
    line.set(xscale="log", xlim=(0.9, len(result.steps) + 1), ylim=(0, 1.1))
    line.set(xlabel="iteration + 1", ylabel=r"mean $\|z_i\|$")
    line.set_title(rf"$a = {result.config.a:g}$, step {result.steps[k]}")
    order = np.argsort(result.labels, kind="stable")
    u = result.z[k][order] / np.linalg.norm(result.z[k][order], axis=1, keepdims=True)
    gram.imshow(u @ u.T, vmin=-1, vmax=1)
    gram.set(title=r"$\cos(z_i, z_j)$", xticks=[], yticks=[])
    gram.grid(False)
    return style.Picture(
        fig,
        f"{result.config.n} points on {result.config.b} arms, turn a = {result.config.a:g}: at "
        f"step {result.steps[k]} their mean distance from the origin is {result.radius[k]:.3f}.",
    )
