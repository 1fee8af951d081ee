"""Figures of the chapter "Is self-supervision secretly supervised?" (those of SA's theory are in `audit.sa`)."""

from __future__ import annotations

import numpy as np
from matplotlib.patches import Circle, Rectangle

from clbook.experiments.alignment.experiment import DISCS, some_points, unit
from clbook.explore import Cell
from clbook.style import (
    INK,
    MUTED,
    Picture,
    axes,
    band,
    colour,
    legend,
    name_lines,
    needs,
    so_far,
)
from clbook_book.course.drawing import bare, between_classes

NAMES = {"dcl": "DCL", "nscl": "NSCL", "supcon": "SCL", "ce": "CE", "cl": "CL"}
TONES = {"dcl": INK, "nscl": colour(0), "supcon": colour(1), "ce": colour(2), "cl": colour(4)}
MARKS = {"nscl": "o", "supcon": "s", "ce": "^", "cl": "D"}
SIMILARITIES = ("cka", "rsa")
UNIT = (0, 1.03)  # limits of a similarity
APART = 2.4  # distance of the networks in a scatter


def _about(config):
    """The settings of a run, in words."""
    c = config
    kind = "synthetic points" if c.data == "synthetic" else c.data
    return f"{kind}, {c.classes} classes, tau = {c.tau:g}, B = {c.batch}, lr = {c.rate:.3g}"


def _log_steps(ax, **kwargs):
    ax.set_xscale("log")
    ax.set_xlabel("iteration, from 1")
    ax.set(**kwargs)
    ax.minorticks_off()


def _scores(runs, frame=-1):
    """The CKA with DCL of each other loss, mean over runs, in words."""
    means = np.mean([run.cka[frame] for run in runs], 0)
    names = runs[0].config.names
    said = [f"{NAMES[name]} {mean:.2f}" for name, mean in zip(names, means, strict=True)]
    return ", ".join(said[1:])


def _of_seeds(runs, key, network=1):
    """(S, T) the quantity `key` of a network over time, a row a run."""
    return np.stack([getattr(run, key) for run in runs])[..., network]


def _cosines(ax, z, **look):
    """The cosines of all pairs of points z (n, d), as cells."""
    vectors = unit(z)
    cosines = vectors @ vectors.T
    ax.set(xticks=[], yticks=[])
    ax.grid(False)
    return ax.imshow(cosines, vmin=-1, vmax=1, cmap="RdBu_r", **look)


def matrices(result) -> Picture:
    """Cosine similarities of the test points, sorted by class, after training with each loss."""
    config = result.config
    names = config.names[:4]
    fig, (row,) = axes(len(names), width=7.8, height=2.5)
    near = some_points(result.labels)
    z = result.z[-1]
    cka = result.cka[-1]
    for k, name in enumerate(names):
        ax = row[k]
        image = _cosines(ax, z[k, near], interpolation="nearest", gid="similarity")
        likeness = f"CKA {cka[k]:.2f}" if k else "reference"
        ax.set_title(f"{NAMES[name]}\n{likeness}")
    fig.colorbar(image, ax=row, shrink=0.8, label="cosine", ticks=[-1, 0, 1])
    about = _about(config)
    scores = _scores([result])
    return Picture(fig, f"Cosines of test points by class, {about}. CKA with DCL: {scores}.")


def _discs(ax, plane, labels, names, classes):
    """Points (m, k, 2) of the networks `names` on two axes, each in its own unit disc, coloured by class."""
    count = len(names)
    across = 1 if count < 3 else 2
    at = np.arange(count)
    column = at % across
    row = at // across
    centres = APART * np.stack([column, -row], axis=-1)
    plane = plane + centres[:, None]
    for centre, name in zip(centres, names, strict=True):
        ax.add_patch(Circle(centre, 1, fill=False, color=MUTED, lw=0.5))
        x, y = centre
        ax.text(x, y - 1.05, NAMES[name], ha="center", va="top", color=MUTED)
    shades = labels % 10
    for k in range(min(10, classes)):
        x, y = plane[:, shades == k].reshape(-1, 2).T
        gid = f"classes {k}, ..." if classes > 10 else f"class {k}"
        ax.scatter(x, y, s=8, color=colour(k), linewidths=0, alpha=0.7, gid=gid)
    right = column.max() * APART
    low = -row.max() * APART
    ax.set(xlim=(-1.1, right + 1.1), ylim=(low - 1.35, 1.1), aspect="equal")
    bare(ax)


@needs("plane", "cka")
def sides(result, frame=-1) -> Picture:
    """The embeddings of each network at one recorded time (left), and their CKA with the first over time (right)."""
    config = result.config
    now = result.steps[frame]
    names = config.names[:DISCS]
    fig, ((left, cka),) = axes(2, width=7.4, height=3.3, width_ratios=(3, 2))
    labels = result.labels
    _discs(left, result.plane[frame], labels[some_points(labels)], names, config.classes)
    left.set_title(f"C = {config.classes}, τ = {config.tau:g}, iteration {now}")
    for k, name in enumerate(config.names[1:], 1):
        said = NAMES[name]
        cka.plot(result.steps + 1, result.cka[:, k], color=TONES[name], label=said, gid=said)
    _log_steps(cka, ylabel="alike (CKA with DCL)", ylim=UNIT)
    so_far(cka, now + 1)
    cka.set_xlim(0.9, 1.2 * (config.steps + 1))
    name_lines(cka)
    about = f"{_about(config)}, scaling {config.scaling}"
    scores = _scores([result], frame)
    return Picture(fig, f"{about}, iteration {now}. CKA with DCL: {scores}.")


def ending(result) -> Cell:
    """(shade, sign, words) of a run for a cell: CKA of NSCL with DCL at the end; the nearer, the darker."""
    cka = float(result.cka[-1, 1])
    sign = f"{cka:.2f}"
    return Cell(cka, sign, f"CKA of NSCL with DCL {sign} at the end")


def _band(ax, x, values, name):
    """`style.band` in a loss's colour, with its mark."""
    band(ax, x, values, color=TONES[name], label=NAMES[name], marker=MARKS[name], ms=3.5)


def over_training(runs) -> Picture:
    """SA Fig. 2: CKA and RSA with DCL over training, mean and range over the seeds in `runs`."""
    fig, (row,) = axes(2, width=7.6, height=2.9, sharey=True)
    first = runs[0]
    config = first.config
    time = first.steps + 1
    others = config.names[1:]
    for ax, key in zip(row, SIMILARITIES, strict=True):
        for k, name in enumerate(others, 1):
            _band(ax, time, _of_seeds(runs, key, k), name)
        _log_steps(ax, ylabel=f"{key.upper()} with DCL", ylim=UNIT)
    legend(row[0], loc="lower left")
    about = f"{_about(config)}, {len(runs)} seeds"
    return Picture(fig, f"{about}. CKA with DCL at the end: {_scores(runs)}.")


def _ticked(ax, values, **words):
    """A logarithmic x axis with ticks at these values alone."""
    ax.set_xscale("log")
    ax.set_xticks(values, labels=values)
    ax.set(**words)
    ax.minorticks_off()


def by_classes(counts, runs) -> Picture:
    """CKA and RSA with DCL at the end against the number of classes; runs[i][j]: counts[i] classes, seed j."""
    fig, (row,) = axes(2, width=7.6, height=2.9, sharey=True)
    others = runs[0][0].config.names[1:]
    for ax, key in zip(row, SIMILARITIES, strict=True):
        for k, name in enumerate(others, 1):
            ends = np.stack([_of_seeds(seeds, key, k) for seeds in runs], 1)[..., -1]
            _band(ax, counts, ends, name)
        _ticked(ax, counts, xlabel="classes $C$", ylim=UNIT)
        ax.set_ylabel(f"{key.upper()} with DCL")
    legend(row[0], loc="lower right")
    says = [f"C = {count}: {_scores(seeds)}" for count, seeds in zip(counts, runs, strict=True)]
    return Picture(fig, f"CKA with DCL at the end. {'; '.join(says)}.")


def _each_seed(ax, x, runs, key, words, **look):
    """The quantity `key` of NSCL, a thin line a run, with one name for all."""
    line, *_ = ax.plot(x, _of_seeds(runs, key).T, lw=1.1, **look)
    line.set_label(words)


def by_temperature(taus, runs) -> Picture:
    """SA Fig. 4: CKA and RSA of NSCL with DCL over training; runs[i][j]: temperature taus[i], seed j."""
    fig, (row,) = axes(2, width=7.6, height=2.8, sharey=True)
    lines = ("-", "--", ":")
    says = []
    for k, tau in enumerate(taus):
        seeds = runs[k]
        look = {"color": colour(k), "ls": lines[k]}
        time = seeds[0].steps + 1
        name = rf"$\tau$ = {tau:g}"
        for ax, key in zip(row, SIMILARITIES, strict=True):
            _each_seed(ax, time, seeds, key, name, **look)
        ends = _of_seeds(seeds, "cka")[:, -1]
        listed = ", ".join(f"{cka:.2f}" for cka in ends)
        says.append(f"tau = {tau:g}: {listed}")
    for ax, key in zip(row, SIMILARITIES, strict=True):
        _log_steps(ax, ylabel=f"{key.upper()}, DCL and NSCL", ylim=UNIT)
    legend(row[0], loc="lower left")
    listed = "; ".join(says)
    return Picture(fig, f"CKA of NSCL with DCL at the end: {listed}.")


def by_batch(ends) -> Picture:
    """SA Fig. 5: CKA of NSCL with DCL at the end, an array (budget, law, batch, seed), against B, a panel a law."""
    laws = ends.law.values
    sizes = ends.batch.values
    fig, (row,) = axes(len(laws), width=7.8, height=2.7, sharey=True)
    says = []
    marks = "os"
    lines = ("-", "--")
    for k, budget in enumerate(ends.budget.values):
        look = {"marker": marks[k], "ls": lines[k], "ms": 4, "label": budget}
        for ax, law in zip(row, laws, strict=True):
            values = ends.sel(budget=budget, law=law).transpose("seed", "batch")
            band(ax, sizes, values, color=colour(k), **look)
            first, last = values.mean("seed")[[0, -1]]
            says.append(f"{law}, {budget}: {first:.2f} to {last:.2f}")
    for ax, law in zip(row, laws, strict=True):
        _ticked(ax, sizes, xlabel="batch size $B$", ylim=(0.6, 1))
        ax.set_title(f"lr: {law}")
    row[0].set_ylabel("CKA, DCL and NSCL")
    legend(row[0], loc="lower left")
    return Picture(fig, f"CKA from the smallest to the largest batch. {'; '.join(says)}.")


def apart(runs) -> Picture:
    """SA Fig. 1 and 6: weight gap, similarity and angles between DCL and NSCL over a long run, a line a seed."""
    fig, (row,) = axes(3, width=7.8, height=2.9)
    weights, similarity, angles = row
    first = runs[0]
    steps = first.steps
    solid = {"color": colour(0)}
    dashed = {"color": colour(1), "ls": "--"}
    dotted = {"color": colour(2), "ls": ":"}
    _each_seed(weights, steps, runs, "gap", "mean of layers", **solid)
    thin, *_ = weights.plot(steps, first.layer_gap[:, 1], color=MUTED, lw=0.7)
    thin.set_label("each layer, one seed")
    weights.set(ylabel="weight gap", ylim=(0, 1))
    _each_seed(similarity, steps, runs, "cka", "CKA", **solid)
    _each_seed(similarity, steps, runs, "rsa", "RSA", **dashed)
    similarity.set(ylabel="similarity", ylim=UNIT)
    _each_seed(angles, steps, runs, "weight_angle", "weights", **solid)
    _each_seed(angles, steps, runs, "class_angle", "class means", **dashed)
    _each_seed(angles, steps, runs, "pca_angle", "first class", **dotted)
    angles.set(ylabel="angle of the changes, degrees", ylim=(0, 100), yticks=[0, 30, 60, 90])
    for ax in row:
        ax.set_xlabel("iteration")
        legend(ax, loc="lower right" if ax is similarity else "upper left")
    about = f"{_about(first.config)}, {len(runs)} seeds"
    gaps = _of_seeds(runs, "gap").mean(0)
    early = f"{gaps[1]:.3f} at iteration {steps[1]}"
    late = f"{gaps[-1]:.2f} at {steps[-1]}"
    scores = _scores(runs)
    return Picture(fig, f"{about}. Weight gap {early}, {late}; CKA with DCL ends at {scores}.")


def _squares(ax, weights):
    """A square for each entry of `weights` that is not 0: blue where it pulls, orange where it pushes."""
    for i, j in np.argwhere(weights):
        weight = weights[i, j]
        size = 0.25 + 0.63 * abs(weight) ** 0.5
        half = size / 2
        corner = (j - half, i - half)
        tone = colour(4 if weight > 0 else 0)
        ax.add_patch(Rectangle(corner, size, size, color=tone, lw=0))


def _along_both_sides(ax, pictures):
    """Small pictures above the columns of a matrix, and beside its rows."""
    for k, picture in enumerate(pictures):
        above = (k - 0.45, k + 0.45, -0.65, -1.55)
        beside = (-1.55, -0.65, k + 0.45, k - 0.45)
        for extent in (above, beside):
            ax.imshow(picture, cmap="gray_r", extent=extent, vmin=0, vmax=1)


def pairs(panels, images, labels) -> Picture:
    """Which pairs each loss pulls (blue), pushes (orange) and leaves out (blank), the digits along both sides.

    Args:
        panels: {name: (2n, 2n) `pair_weights`}. images: (2n, pixels) the 2n views, first views first. labels: (n,).
    """
    n = len(labels)
    count = 2 * n
    views = np.arange(count).reshape(2, n)
    order = views.T.ravel()  # the two views of a point side by side
    own = np.repeat(labels, 2)
    side = int(np.sqrt(images.shape[1]))
    pictures = images[order].reshape(-1, side, side)
    fig, (row,) = axes(len(panels), width=7.8, height=2.2)
    says = []
    for ax, (name, weights) in zip(row, panels.items(), strict=True):
        weights = np.nan_to_num(weights[np.ix_(order, order)])
        size = np.abs(weights)
        weights = weights / size.max()
        size = np.abs(weights)
        weights[size < 1e-9] = 0  # rounding
        _squares(ax, weights)
        between_classes(ax, own, 0.6)
        _along_both_sides(ax, pictures)
        last = count - 0.5
        ax.set(xlim=(-1.6, last), ylim=(last, -1.6), title=name, facecolor="#f4f5f7")
        bare(ax)
        pulled = (weights < 0).sum() // 2
        pushed = (weights > 0).sum() // 2
        whole = n * (count - 1)
        says.append(f"{name} pulls {pulled} pairs and pushes {pushed} of {whole}")
    return Picture(fig, f"A batch of {n} digits, two views each. {'; '.join(says)}.")


def loss_gap(C, gaps) -> Picture:
    """Loss gaps against the number of classes C (k,): {tau: (seeds, k, 2) of DCL - NSCL and CL - NSCL}, with slopes."""
    fig, (row,) = axes(len(gaps), width=7.8, height=3.2, sharey=True)
    says = []
    for ax, (tau, values) in zip(row, gaps.items(), strict=True):
        for k, name in enumerate(("DCL - NSCL", "CL - NSCL")):
            tone = colour(k)
            found = values[..., k]
            mean = found.mean(0)
            slope, _ = np.polyfit(np.log(C), np.log(mean), 1)
            ax.plot(C, found.T, "os"[k], ms=4, color=tone, gid=name)
            ax.plot(C, mean, color=tone, lw=1, label=f"{name}, slope {slope:.2f}")
            says.append(f"tau = {tau:g}: {name} has slope {slope:.2f}")
        ax.axhline(np.diff(values).mean(), color=MUTED, ls=":", label="CL - DCL")
        ax.set(yscale="log", ylim=(1e-3, 1.5), title=rf"$\tau = {tau:g}$")
        _ticked(ax, C, xlabel="classes $C$")
        legend(ax, loc="upper right")
    row[0].set_ylabel("loss gap")
    return Picture(fig, "; ".join(says) + ".")


def one_table(hidden, weights) -> Picture:
    """The same cosines from different last layers: each matrix (above), and the table of its embeddings' cosines.

    Args:
        hidden: (n, h) what the layer before gives. weights: {name: (d, h) last layer}; the first is compared with.
    """
    fig, grid = axes(len(weights), 2, width=7.6, height=5.4)
    matrices = list(weights.values())
    limit = np.abs(matrices).max()
    shades = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}
    said = []
    for (above, below), (name, W) in zip(grid.T, weights.items(), strict=True):
        above.imshow(W, **shades, aspect="auto", gid="weights")
        apart = f"weight gap {gap(matrices[0], W):.2f}"
        above.set(title=f"{name}\n{apart}", xticks=[], yticks=[])
        above.grid(False)
        _cosines(below, hidden @ W.T, gid="cosines")
        said.append(f"{name}: {apart}")
    grid[0, 0].set_ylabel("last layer")
    grid[1, 0].set_ylabel("cosines of the points")
    return Picture(
        fig,
        "Matrices of a last layer above, and below each the table of cosines of the embeddings that it makes. "
        + "; ".join(said)
        + ". The tables are equal.",
    )


def gap(one, other) -> float:
    """The weight gap of two matrices: 2 |W - W'| / (|W| + |W'|)."""
    size = np.linalg.norm(one) + np.linalg.norm(other)
    return float(2 * np.linalg.norm(one - other) / size)
