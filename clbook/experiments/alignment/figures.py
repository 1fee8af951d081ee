"""Figures of the chapter "Is self-supervision secretly supervised?" (those of SA's theory are in the room `sa`)."""

from __future__ import annotations

import numpy as np
from matplotlib.patches import Circle, Rectangle

from clbook.experiments.drawing import bare, between_classes
from clbook.style import INK, MUTED, Picture, axes, band, colour, legend, mosaic, name_lines, so_far

NAMES = {"dcl": "DCL", "nscl": "NSCL", "supcon": "SCL", "ce": "CE", "cl": "CL"}
TONES = {"dcl": INK, "nscl": colour(0), "supcon": colour(1), "ce": colour(2), "cl": colour(4)}
MARKS = {"nscl": "o", "supcon": "s", "ce": "^", "cl": "D"}
SHOWN, APART = 150, 2.4  # most points in a scatter; distance of the networks in it


def _about(config):
    """The settings of a run, in words."""
    c = config
    kind = "synthetic points" if c.data == "synthetic" else c.data
    training = f"tau = {c.tau:g}, B = {c.batch}, lr = {c.rate:.3g}"
    return f"{kind}, {c.classes} classes, {training}"


def _log_steps(ax, **kwargs):
    ax.set(xscale="log", xlabel="iteration + 1", **kwargs)
    ax.minorticks_off()


def _scores(runs, frame=-1):
    """The CKA with DCL of each other loss, mean over runs, in words."""
    means = np.mean([r.cka[frame] for r in runs], 0)
    said = []
    for name, mean in zip(runs[0].config.names, means, strict=True):
        said.append(f"{NAMES[name]} {mean:.2f}")
    return ", ".join(said[1:])


def _unit(z):
    return z / np.linalg.norm(z, axis=-1, keepdims=True)


def _some(labels):
    """Positions of at most SHOWN points, evenly spaced, so from every class."""
    n = len(labels)
    places = np.linspace(0, n - 1, min(SHOWN, n))
    return places.round().astype(int)


def _of_seeds(runs, key, network=1):
    """(S, T) the quantity `key` of a network over time, a row a run."""
    return np.stack([getattr(r, key)[:, network] for r in runs])


def _cosines(ax, z, **look):
    """The cosines of all pairs of points z (n, d), as cells."""
    unit = _unit(z)
    ax.set(xticks=[], yticks=[])
    ax.grid(False)
    return ax.imshow(unit @ unit.T, vmin=-1, vmax=1, cmap="RdBu_r", **look)


def matrices(result) -> Picture:
    """Cosine similarities of the test points, sorted by class, after training with each loss."""
    names = result.config.names[:4]
    fig, (row,) = axes(len(names), width=7.8, height=2.5)
    near = _some(result.labels)
    for k, (ax, name) in enumerate(zip(row, names, strict=True)):
        z = result.z[-1, k, near]
        image = _cosines(ax, z, interpolation="nearest", gid="similarity")
        likeness = f"CKA {result.cka[-1, k]:.2f}" if k else "reference"
        ax.set_title(f"{NAMES[name]}\n{likeness}")
    fig.colorbar(image, ax=row, shrink=0.8, label="cosine", ticks=[-1, 0, 1])
    return Picture(
        fig,
        f"Cosines of test points by class, {_about(result.config)}. CKA with DCL: {_scores([result])}.",
    )


def _plane(z, last):
    """(M, n, 2) the embeddings z (M, n, d) of all networks, as unit vectors, on two common principal axes of `last`.

    One plane a run: nothing turns from one time to the next. Not centred: points stay within their network's unit disc.
    """
    flat = _unit(last.astype(np.float64)).reshape(-1, z.shape[-1])
    _, vectors = np.linalg.eigh(np.cov(flat.T))
    top = vectors[:, -2:][:, ::-1]
    largest = top[np.abs(top).argmax(0), [0, 1]]  # entry of each axis, positive in the end
    top = top * np.sign(largest)
    return _unit(z.astype(np.float64)) @ top


def _discs(ax, z, last, labels, names, classes):
    """Embeddings z (M, n, d) of the networks `names`, each in its own unit disc, coloured by class."""
    across = 1 if len(names) < 3 else 2
    at = np.arange(len(names))
    column = at % across
    row = at // across
    centres = APART * np.stack([column, -row], axis=-1)
    plane = _plane(z, last) + centres[:, None]
    for (x, y), name in zip(centres, names, strict=True):
        ax.add_patch(Circle((x, y), 1, fill=False, color=MUTED, lw=0.5))
        ax.text(x, y - 1.05, NAMES[name], ha="center", va="top", color=MUTED)
    shades = labels % 10
    for k in range(min(10, classes)):
        mine = plane[:, shades == k].reshape(-1, 2)
        gid = f"classes {k}, ..." if classes > 10 else f"class {k}"
        ax.scatter(*mine.T, s=8, color=colour(k), linewidths=0, alpha=0.7, gid=gid)
    right, _ = centres.max(0)
    _, low = centres.min(0)
    ax.set(xlim=(-1.1, right + 1.1), ylim=(low - 1.35, 1.1), aspect="equal")
    bare(ax)


def sides(result, frame=-1) -> Picture:
    """The embeddings of each network at one recorded time (left); similarity, weight and loss gap over time (right)."""
    config = result.config
    now = result.steps[frame]
    names = config.names[:4]
    fig, ax = mosaic([["z", "cka"], ["z", "gap"], ["z", "loss"]], width=7.4, height=4.4)
    right = [ax[name] for name in ("cka", "gap", "loss")]
    cka, gap, loss = right
    chosen = _some(result.labels)
    z = result.z[:, : len(names), chosen]
    _discs(ax["z"], z[frame], z[-1], result.labels[chosen], names, config.classes)
    ax["z"].set_title(f"C = {config.classes}, τ = {config.tau:g}, iteration {now}")
    time = result.steps + 1
    for k, name in enumerate(config.names):
        look = {"color": TONES[name], "label": NAMES[name], "gid": NAMES[name]}
        loss.plot(time, result.loss_gap[:, k], **look)
        if k:
            cka.plot(time, result.cka[:, k], **look)
            gap.plot(time, result.gap[:, k], **look)
    largest = 0.35 if len(names) == 2 else 1.3  # of a pair the weight gap is small
    _log_steps(cka, ylabel="CKA with DCL", ylim=(0, 1.03))
    _log_steps(gap, ylabel="weight gap to DCL", ylim=(0, largest))
    _log_steps(loss, ylabel="DCL $-$ NSCL loss", ylim=(0.01, 30), yscale="log")
    for panel in (cka, gap):
        panel.set_xlabel("")
        panel.tick_params(labelbottom=False)
    for panel in right:
        so_far(panel, now + 1)
        panel.set_xlim(0.9, 1.2 * (config.steps + 1))
        name_lines(panel)
    return Picture(
        fig,
        f"{_about(config)}, scaling {config.scaling}, iteration {now}. CKA with DCL: "
        f"{_scores([result], frame)}. Weight gap "
        f"of NSCL {result.gap[frame, 1]:.2f}.",
    )


def ending(result) -> tuple[float, str, str]:
    """(shade, sign, words) of a run for a cell: CKA of NSCL with DCL at the end; the nearer, the darker."""
    cka = float(result.cka[-1, 1])
    sign = f"{cka:.2f}"
    return cka, sign, f"CKA of NSCL with DCL {sign} at the end"


def parted(result) -> tuple[float, str, str]:
    """(shade, sign, words) of a run for a cell: weight gap of NSCL to DCL at the end; the larger, the darker."""
    gap = float(result.gap[-1, 1])
    sign = f"{gap:.2f}"
    return min(1.0, gap / 0.35), sign, f"weight gap {sign} at the end"


def _band(ax, x, values, name):
    """`style.band` in a loss's colour, with its mark."""
    band(ax, x, values, color=TONES[name], label=NAMES[name], marker=MARKS[name], ms=3.5)


def over_training(runs) -> Picture:
    """SA Fig. 2: CKA and RSA with DCL over training, mean and range over the seeds in `runs`."""
    fig, (row,) = axes(2, width=7.6, height=2.9, sharey=True)
    first = runs[0]
    for ax, key in zip(row, ("cka", "rsa"), strict=True):
        for k, name in enumerate(first.config.names[1:], 1):
            values = _of_seeds(runs, key, k)
            _band(ax, first.steps + 1, values, name)
        _log_steps(ax, ylabel=f"{key.upper()} with DCL", ylim=(0, 1.03))
    legend(row[0], loc="lower left")
    return Picture(
        fig,
        f"{_about(first.config)}, {len(runs)} seeds. CKA with DCL at the end: {_scores(runs)}.",
    )


def _ticked(ax, values, **words):
    """A logarithmic x axis with ticks at these values alone."""
    ax.set(xscale="log", xticks=values, xticklabels=values, **words)
    ax.minorticks_off()


def by_classes(counts, runs) -> Picture:
    """CKA and RSA with DCL at the end against the number of classes; runs[i][j]: counts[i] classes, seed j."""
    fig, (row,) = axes(2, width=7.6, height=2.9, sharey=True)
    names = runs[0][0].config.names
    for ax, key in zip(row, ("cka", "rsa"), strict=True):
        for k, name in enumerate(names[1:], 1):
            ends = [_of_seeds(seeds, key, k)[:, -1] for seeds in runs]
            _band(ax, counts, np.stack(ends, 1), name)
        _ticked(ax, counts, xlabel="classes $C$", ylim=(0, 1.03))
        ax.set_ylabel(f"{key.upper()} with DCL")
    legend(row[0], loc="lower right")
    says = [f"C = {c}: {_scores(seeds)}" for c, seeds in zip(counts, runs, strict=True)]
    return Picture(fig, f"CKA with DCL at the end. {'; '.join(says)}.")


def _each_seed(ax, x, runs, key, words, **look):
    """The quantity `key` of NSCL, a thin line a run, with one name for all."""
    values = _of_seeds(runs, key)
    line, *_ = ax.plot(x, values.T, lw=1.1, **look)
    line.set_label(words)


def by_temperature(taus, runs) -> Picture:
    """SA Fig. 4: CKA and RSA of NSCL with DCL over training; runs[i][j]: temperature taus[i], seed j."""
    fig, (row,) = axes(2, width=7.6, height=2.8, sharey=True)
    lines = ("-", "--", ":")
    says = []
    for k, (tau, seeds) in enumerate(zip(taus, runs, strict=True)):
        look = {"color": colour(k), "ls": lines[k]}
        time = seeds[0].steps + 1
        for ax, key in zip(row, ("cka", "rsa"), strict=True):
            _each_seed(ax, time, seeds, key, rf"$\tau$ = {tau:g}", **look)
        ends = _of_seeds(seeds, "cka")[:, -1]
        listed = ", ".join(f"{cka:.2f}" for cka in ends)
        says.append(f"tau = {tau:g}: {listed}")
    for ax, name in zip(row, ("CKA", "RSA"), strict=True):
        _log_steps(ax, ylabel=f"{name}, DCL and NSCL", ylim=(0, 1.03))
    legend(row[0], loc="lower left")
    return Picture(fig, f"CKA of NSCL with DCL at the end: {'; '.join(says)}.")


def by_batch(ends) -> Picture:
    """SA Fig. 5: CKA of NSCL with DCL at the end, an array (budget, law, batch, seed), against B, a panel a law."""
    laws = ends.law.values
    sizes = ends.batch.values
    fig, (row,) = axes(len(laws), width=7.8, height=2.7, sharey=True)
    says = []
    for k, budget in enumerate(ends.budget.values):
        look = {"marker": "os"[k], "ls": ("-", "--")[k], "ms": 4, "label": budget}
        for ax, law in zip(row, laws, strict=True):
            values = ends.sel(budget=budget, law=law).transpose("seed", "batch")
            band(ax, sizes, values, color=colour(k), **look)
            first, last = values.mean("seed")[[0, -1]]
            says.append(f"{law}, {budget}: {first:.2f} to {last:.2f}")
    for ax, law in zip(row, laws, strict=True):
        _ticked(ax, sizes, xlabel="batch size $B$", ylim=(0.6, 1), title=f"lr: {law}")
    row[0].set_ylabel("CKA, DCL and NSCL")
    legend(row[0], loc="lower left")
    return Picture(fig, "CKA from the smallest to the largest batch. " + "; ".join(says) + ".")


def apart(runs) -> Picture:
    """SA Fig. 1 and 6: weight gap, similarity and angles between DCL and NSCL over a long run, a line a seed."""
    fig, (row,) = axes(3, width=7.8, height=2.9)
    weights, similarity, angles = row
    first = runs[0]
    steps = first.steps
    _each_seed(weights, steps, runs, "gap", "mean of layers", color=colour(0))
    layers = first.layer_gap[:, 1]
    thin, *_ = weights.plot(steps, layers, color=MUTED, lw=0.7)
    thin.set_label("each layer, one seed")
    weights.set(ylabel="weight gap", ylim=(0, 1))
    _each_seed(similarity, steps, runs, "cka", "CKA", color=colour(0))
    _each_seed(similarity, steps, runs, "rsa", "RSA", color=colour(1), ls="--")
    similarity.set(ylabel="similarity", ylim=(0, 1.03))
    _each_seed(angles, steps, runs, "weight_angle", "weights", color=colour(0))
    _each_seed(angles, steps, runs, "class_angle", "class means", color=colour(1), ls="--")
    _each_seed(angles, steps, runs, "pca_angle", "first class", color=colour(2), ls=":")
    angles.set(ylabel="angle of the changes, degrees", ylim=(0, 100), yticks=[0, 30, 60, 90])
    for ax in row:
        ax.set_xlabel("iteration")
        legend(ax, loc="lower right" if ax is similarity else "upper left")
    gaps = _of_seeds(runs, "gap").mean(0)
    grown = f"{gaps[1]:.3f} at iteration {steps[1]}, {gaps[-1]:.2f} at {steps[-1]}"
    return Picture(
        fig,
        f"{_about(first.config)}, {len(runs)} seeds. Weight gap {grown}; "
        f"CKA with DCL ends at {_scores(runs)}.",
    )


def _squares(ax, weights):
    """A square for each entry of `weights` that is not 0: blue where it pulls, orange where it pushes."""
    for i, j in np.argwhere(weights):
        weight = weights[i, j]
        size = 0.25 + 0.63 * abs(weight) ** 0.5
        corner = j - size / 2, i - size / 2
        tone = colour(4) if weight > 0 else colour(0)
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
    order = np.arange(2 * n).reshape(2, n).T.ravel()  # the two views of a point side by side
    side = int(np.sqrt(images.shape[1]))
    pictures = images[order].reshape(-1, side, side)
    fig, (row,) = axes(len(panels), width=7.8, height=2.2)
    says = []
    for ax, (name, weights) in zip(row, panels.items(), strict=True):
        weights = np.nan_to_num(weights[np.ix_(order, order)])
        weights = weights / np.abs(weights).max()
        weights[np.abs(weights) < 1e-9] = 0  # rounding
        _squares(ax, weights)
        between_classes(ax, np.repeat(labels, 2), 0.6)
        _along_both_sides(ax, pictures)
        last = 2 * n - 0.5
        ax.set(xlim=(-1.6, last), ylim=(last, -1.6), title=name, facecolor="#f4f5f7")
        bare(ax)
        pulled = (weights < 0).sum() // 2
        pushed = (weights > 0).sum() // 2
        says.append(f"{name} pulls {pulled} pairs and pushes {pushed} of {n * (2 * n - 1)}")
    return Picture(fig, f"A batch of {n} digits, two views each. " + "; ".join(says) + ".")


def loss_gap(C, gaps) -> Picture:
    """Loss gaps against the number of classes C (k,): {tau: (seeds, k, 2) of DCL - NSCL and CL - NSCL}, with slopes."""
    fig, (row,) = axes(len(gaps), width=7.8, height=3.2, sharey=True)
    says = []
    for ax, (tau, values) in zip(row, gaps.items(), strict=True):
        for k, name in enumerate(("DCL - NSCL", "CL - NSCL")):
            found = values[..., k]
            mean = found.mean(0)
            slope, _ = np.polyfit(np.log(C), np.log(mean), 1)
            ax.plot(C, found.T, "os"[k], ms=4, color=colour(k), gid=name)
            ax.plot(C, mean, color=colour(k), lw=1, label=f"{name}, slope {slope:.2f}")
            says.append(f"tau = {tau:g}: {name} has slope {slope:.2f}")
        between = np.diff(values).mean()
        ax.axhline(between, color=MUTED, ls=":", label="CL - DCL")
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
    said = []
    for (above, below), (name, W) in zip(grid.T, weights.items(), strict=True):
        apart = gap(matrices[0], W)
        above.imshow(W, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto", gid="weights")
        above.set(title=f"{name}\nweight gap {apart:.2f}", xticks=[], yticks=[])
        above.grid(False)
        _cosines(below, hidden @ W.T, gid="cosines")
        said.append(f"{name}: weight gap {apart:.2f}")
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
