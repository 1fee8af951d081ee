"""Figures of the chapter "Is self-supervision secretly supervised?" (those of SA's theory are in the room `sa`)."""

from __future__ import annotations

import numpy as np
from matplotlib.patches import Circle, Rectangle

from clbook.style import INK, MUTED, Picture, axes, band, colour, legend, mosaic, name_lines, so_far

NAMES = {"dcl": "DCL", "nscl": "NSCL", "supcon": "SCL", "ce": "CE", "cl": "CL"}
TONES = {"dcl": INK, "nscl": colour(0), "supcon": colour(1), "ce": colour(2), "cl": colour(4)}
MARKS = {"nscl": "o", "supcon": "s", "ce": "^", "cl": "D"}
SHOWN, APART = 150, 2.4  # most points in a scatter; distance of the networks in it


def _about(config):
    kind = "synthetic points" if config.data == "synthetic" else config.data
    return f"{kind}, {config.classes} classes, tau = {config.tau:g}, B = {config.batch}, lr = {config.rate:.3g}"


def _log_steps(ax, **kwargs):
    ax.set(xscale="log", xlabel="iteration + 1", **kwargs)
    ax.minorticks_off()


def _scores(runs, frame=-1):
    """The CKA with DCL of each other loss, mean over runs, in words."""
    means = np.mean([r.cka[frame] for r in runs], 0)
    return ", ".join(
        f"{NAMES[n]} {v:.2f}" for n, v in zip(runs[0].config.names[1:], means[1:], strict=True)
    )


def _unit(z):
    return z / np.linalg.norm(z, axis=-1, keepdims=True)


def _some(labels):
    """Positions of at most SHOWN points, evenly spaced, so from every class."""
    return np.linspace(0, len(labels) - 1, min(SHOWN, len(labels))).round().astype(int)


def matrices(result) -> Picture:
    """Cosine similarities of the test points, sorted by class, after training with each loss."""
    count = min(len(result.config.names), 4)
    fig, (row,) = axes(count, width=7.8, height=2.5)
    near = _some(result.labels)
    for k, ax in enumerate(row):
        unit = _unit(result.z[-1, k, near])
        image = ax.imshow(
            unit @ unit.T, vmin=-1, vmax=1, cmap="RdBu_r", interpolation="nearest", gid="similarity"
        )
        name = NAMES[result.config.names[k]]
        likeness = f"CKA {result.cka[-1, k]:.2f}" if k else "reference"
        ax.set(xticks=[], yticks=[], title=f"{name}\n{likeness}")
        ax.grid(False)
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
    for shade in range(min(10, classes)):
        mine = labels % 10 == shade
        gid = f"classes {shade}, ..." if classes > 10 else f"class {shade}"
        ax.scatter(
            *plane[:, mine].reshape(-1, 2).T,
            s=8,
            color=colour(shade),
            linewidths=0,
            alpha=0.7,
            gid=gid,
        )
    ax.set(
        xlim=(-1.1, centres[:, 0].max() + 1.1),
        ylim=(centres[:, 1].min() - 1.35, 1.1),
        xticks=[],
        yticks=[],
        aspect="equal",
    )
    ax.grid(False)
    ax.spines[:].set_visible(False)


def sides(result, frame=-1) -> Picture:
    """The embeddings of each network at one recorded time (left); similarity, weight and loss gap over time (right)."""
    config, names, now = result.config, result.config.names[:4], result.steps[frame]
    pair = len(names) == 2  # the weight gap is small
    fig, ax = mosaic([["z", "cka"], ["z", "gap"], ["z", "loss"]], width=7.4, height=4.4)
    chosen = _some(result.labels)
    shown, last = (result.z[k][: len(names)][:, chosen] for k in (frame, -1))
    _discs(ax["z"], shown, last, result.labels[chosen], names, config.classes)
    ax["z"].set_title(f"C = {config.classes}, τ = {config.tau:g}, iteration {now}")
    for k, name in enumerate(config.names):
        style = {"color": TONES[name], "label": NAMES[name], "gid": NAMES[name]}
        for panel, values in (("cka", result.cka), ("gap", result.gap), ("loss", result.loss_gap)):
            if k or panel == "loss":
                ax[panel].plot(result.steps + 1, values[:, k], **style)
    for panel, label, limits in (
        ("cka", "CKA with DCL", (0, 1.03)),
        ("loss", "DCL $-$ NSCL loss", (0.01, 30)),
        ("gap", "weight gap to DCL", (0, 0.35 if pair else 1.3)),
    ):
        so_far(ax[panel], now + 1)
        _log_steps(ax[panel], ylabel=label, ylim=limits, xlim=(0.9, 1.2 * (config.steps + 1)))
    for panel in ("cka", "gap"):
        ax[panel].set_xlabel("")
        ax[panel].tick_params(labelbottom=False)
    ax["loss"].set_yscale("log")
    ax["loss"].minorticks_off()
    for panel in ("cka", "gap", "loss"):
        name_lines(ax[panel])
    return Picture(
        fig,
        f"{_about(config)}, scaling {config.scaling}, iteration {now}. CKA with DCL: "
        f"{_scores([result], frame)}. Weight gap "
        f"of NSCL {result.gap[frame, 1]:.2f}.",
    )


def ending(result) -> tuple[float, str, str]:
    """(shade, sign, words) of a run for a cell: CKA of NSCL with DCL at the end; the nearer, the darker."""
    cka = float(result.cka[-1, 1])
    return cka, f"{cka:.2f}", f"CKA of NSCL with DCL {cka:.2f} at the end"


def parted(result) -> tuple[float, str, str]:
    """(shade, sign, words) of a run for a cell: weight gap of NSCL to DCL at the end; the larger, the darker."""
    gap = float(result.gap[-1, 1])
    return min(1.0, gap / 0.35), f"{gap:.2f}", f"weight gap {gap:.2f} at the end"


def _band(ax, x, values, name):
    """`style.band` in a loss's colour, with its mark."""
    band(ax, x, values, color=TONES[name], label=NAMES[name], marker=MARKS[name], ms=3.5)


def over_training(runs) -> Picture:
    """SA Fig. 2: CKA and RSA with DCL over training, mean and range over the seeds in `runs`."""
    fig, (row,) = axes(2, width=7.6, height=2.9, sharey=True)
    for ax, key in zip(row, ("cka", "rsa"), strict=True):
        for k, name in enumerate(runs[0].config.names[1:], 1):
            _band(ax, runs[0].steps + 1, np.stack([getattr(r, key)[:, k] for r in runs]), name)
        _log_steps(ax, ylabel=f"{key.upper()} with DCL", ylim=(0, 1.03))
    legend(row[0], loc="lower left")
    return Picture(
        fig,
        f"{_about(runs[0].config)}, {len(runs)} seeds. CKA with DCL at the end: {_scores(runs)}.",
    )


def by_classes(counts, runs) -> Picture:
    """CKA and RSA with DCL at the end against the number of classes; runs[i][j]: counts[i] classes, seed j."""
    fig, (row,) = axes(2, width=7.6, height=2.9, sharey=True)
    for ax, key in zip(row, ("cka", "rsa"), strict=True):
        for k, name in enumerate(runs[0][0].config.names[1:], 1):
            ends = []
            for seeds in runs:
                ends.append([getattr(r, key)[-1, k] for r in seeds])
            _band(ax, counts, np.array(ends).T, name)
        ax.set(
            xscale="log",
            xticks=counts,
            xticklabels=counts,
            xlabel="classes $C$",
            ylabel=f"{key.upper()} with DCL",
            ylim=(0, 1.03),
        )
        ax.minorticks_off()
    legend(row[0], loc="lower right")
    says = "; ".join(f"C = {c}: {_scores(seeds)}" for c, seeds in zip(counts, runs, strict=True))
    return Picture(fig, f"CKA with DCL at the end. {says}.")


def by_temperature(taus, runs) -> Picture:
    """SA Fig. 4: CKA and RSA of NSCL with DCL over training; runs[i][j]: temperature taus[i], seed j."""
    fig, (row,) = axes(2, width=7.6, height=2.8, sharey=True)
    for ax, key in zip(row, ("cka", "rsa"), strict=True):
        for k, (tau, seeds) in enumerate(zip(taus, runs, strict=True)):
            for j, r in enumerate(seeds):
                ax.plot(
                    r.steps + 1,
                    getattr(r, key)[:, 1],
                    color=colour(k),
                    ls=("-", "--", ":")[k],
                    lw=1.1,
                    label=None if j else rf"$\tau$ = {tau:g}",
                )
        _log_steps(ax, ylabel=f"{key.upper()}, DCL and NSCL", ylim=(0, 1.03))
    legend(row[0], loc="lower left")
    says = []
    for tau, seeds in zip(taus, runs, strict=True):
        ends = ", ".join(f"{r.cka[-1, 1]:.2f}" for r in seeds)
        says.append(f"tau = {tau:g}: {ends}")
    return Picture(fig, f"CKA of NSCL with DCL at the end: {'; '.join(says)}.")


def by_batch(ends) -> Picture:
    """SA Fig. 5: CKA of NSCL with DCL at the end, an array (budget, law, batch, seed), against B, a panel a law."""
    laws, sizes = ends.law.values, ends.batch.values
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
        ax.set(
            xscale="log",
            xticks=sizes,
            xticklabels=sizes,
            xlabel="batch size $B$",
            ylim=(0.6, 1),
            title=f"lr: {law}",
        )
        ax.minorticks_off()
    row[0].set_ylabel("CKA, DCL and NSCL")
    legend(row[0], loc="lower left")
    return Picture(fig, "CKA from the smallest to the largest batch. " + "; ".join(says) + ".")


def apart(runs) -> Picture:
    """SA Fig. 1 and 6: weight gap, similarity and angles between DCL and NSCL over a long run, a line a seed."""
    fig, (row,) = axes(3, width=7.8, height=2.9)
    panels = (
        ("weight gap", [("gap", "mean of layers", "-")]),
        ("similarity", [("cka", "CKA", "-"), ("rsa", "RSA", "--")]),
        (
            "angle of the changes, degrees",
            [
                ("weight_angle", "weights", "-"),
                ("class_angle", "class means", "--"),
                ("pca_angle", "first class", ":"),
            ],
        ),
    )
    for ax, (label, keys) in zip(row, panels, strict=True):
        for k, (key, words, style) in enumerate(keys):
            for j, r in enumerate(runs):
                ax.plot(
                    r.steps,
                    getattr(r, key)[:, 1],
                    color=colour(k),
                    ls=style,
                    lw=1.1,
                    label=None if j else words,
                )
        ax.set(xlabel="iteration", ylabel=label)
        legend(ax, loc="lower right" if ax is row[1] else "upper left")
    row[0].plot(runs[0].steps, runs[0].layer_gap[:, 1], color=MUTED, lw=0.7)
    row[0].plot([], [], color=MUTED, lw=0.7, label="each layer, one seed")
    legend(row[0], loc="upper left")
    row[0].set(ylim=(0, 1))
    row[1].set(ylim=(0, 1.03))
    row[2].set(ylim=(0, 100), yticks=[0, 30, 60, 90])
    first, last = runs[0].steps[1], runs[0].steps[-1]
    early = np.mean([r.gap[1, 1] for r in runs])
    late = np.mean([r.gap[-1, 1] for r in runs])
    return Picture(
        fig,
        f"{_about(runs[0].config)}, {len(runs)} seeds. Weight gap {early:.3f} at iteration "
        f"{first}, {late:.2f} at {last}; CKA with DCL ends at {_scores(runs)}.",
    )


def pairs(panels, images, labels) -> Picture:
    """Which pairs each loss pulls (blue), pushes (orange) and leaves out (blank), the digits along both sides.

    Args:
        panels: {name: (2n, 2n) `pair_weights`}. images: (2n, pixels) the 2n views, first views first. labels: (n,).
    """
    n, side = len(labels), int(np.sqrt(images.shape[1]))
    order = np.arange(2 * n).reshape(2, n).T.ravel()  # the two views of a point side by side
    fig, (row,) = axes(len(panels), width=7.8, height=2.2)
    tones = {-1: colour(0), 1: colour(4)}
    says = []
    for ax, (name, weights) in zip(row, panels.items(), strict=True):
        weights = weights[np.ix_(order, order)]
        top = np.nanmax(np.abs(weights))
        least = 1e-9 * top  # less is rounding
        for i, j in np.argwhere(np.abs(np.nan_to_num(weights)) > least):
            size = 0.25 + 0.63 * (abs(weights[i, j]) / top) ** 0.5
            tone = tones[int(np.sign(weights[i, j]))]
            ax.add_patch(Rectangle((j - size / 2, i - size / 2), size, size, color=tone, lw=0))
        for edge in np.flatnonzero(np.diff(np.repeat(labels, 2))) + 0.5:
            ax.axhline(edge, color=INK, lw=0.6)
            ax.axvline(edge, color=INK, lw=0.6)
        for k, picture in enumerate(images[order].reshape(-1, side, side)):
            above = (k - 0.45, k + 0.45, -0.65, -1.55)
            beside = (-1.55, -0.65, k + 0.45, k - 0.45)
            for extent in (above, beside):
                ax.imshow(picture, cmap="gray_r", extent=extent, vmin=0, vmax=1)
        ax.set(
            xlim=(-1.6, 2 * n - 0.5),
            ylim=(2 * n - 0.5, -1.6),
            xticks=[],
            yticks=[],
            title=name,
            facecolor="#f4f5f7",
        )
        ax.grid(False)
        ax.spines[:].set_visible(False)
        pulled = int((weights < -least).sum()) // 2
        pushed = int((weights > least).sum()) // 2
        says.append(f"{name} pulls {pulled} pairs and pushes {pushed} of {n * (2 * n - 1)}")
    return Picture(fig, f"A batch of {n} digits, two views each. " + "; ".join(says) + ".")


def loss_gap(C, gaps) -> Picture:
    """Loss gaps against the number of classes C (k,): {tau: (seeds, k, 2) of DCL - NSCL and CL - NSCL}, with slopes."""
    fig, (row,) = axes(len(gaps), width=7.8, height=3.2, sharey=True)
    says = []
    for ax, (tau, values) in zip(row, gaps.items(), strict=True):
        for k, name in enumerate(("DCL - NSCL", "CL - NSCL")):
            mean = values[..., k].mean(0)
            slope = np.polyfit(np.log(C), np.log(mean), 1)[0]
            ax.plot(C, values[..., k].T, "os"[k], ms=4, color=colour(k), gid=name)
            ax.plot(C, mean, color=colour(k), lw=1, label=f"{name}, slope {slope:.2f}")
            says.append(f"tau = {tau:g}: {name} has slope {slope:.2f}")
        ax.axhline((values[..., 1] - values[..., 0]).mean(), color=MUTED, ls=":", label="CL - DCL")
        ax.set(
            xscale="log",
            yscale="log",
            ylim=(1e-3, 1.5),
            xlabel="classes $C$",
            title=rf"$\tau = {tau:g}$",
        )
        ax.minorticks_off()
        ax.set_xticks(C, labels=C)
        legend(ax, loc="upper right")
    row[0].set_ylabel("loss gap")
    return Picture(fig, "; ".join(says) + ".")


def said(name, values) -> str:
    """A curve's name and end, mean and range over seeds, in words."""
    end = values[:, -1]
    return f"{plain(name)} {end.mean():.2f} ({end.min():.2f} to {end.max():.2f})"


def plain(text) -> str:
    """A label without its formula's signs."""
    return text.replace("$", "").replace("\\tau", "tau")


def one_table(hidden, weights) -> Picture:
    """The same cosines from different last layers: each matrix (above), and the table of its embeddings' cosines.

    Args:
        hidden: (n, h) what the layer before gives. weights: {name: (d, h) last layer}; the first is compared with.
    """
    fig, grid = axes(len(weights), 2, width=7.6, height=5.4)
    reference = next(iter(weights.values()))
    limit = max(np.abs(W).max() for W in weights.values())
    said = []
    for (above, below), (name, W) in zip(grid.T, weights.items(), strict=True):
        z = hidden @ W.T
        z = z / np.linalg.norm(z, axis=1, keepdims=True)
        apart = gap(reference, W)
        above.imshow(W, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto", gid="weights")
        above.set(title=f"{name}\nweight gap {apart:.2f}", xticks=[], yticks=[])
        below.imshow(z @ z.T, cmap="RdBu_r", vmin=-1, vmax=1, gid="cosines")
        below.set(xticks=[], yticks=[])
        above.grid(False)
        below.grid(False)
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
    return float(2 * np.linalg.norm(one - other) / (np.linalg.norm(one) + np.linalg.norm(other)))
