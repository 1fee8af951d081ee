"""Figures of the exact optimum, in the chapter "Contrastive learners are semantic learners"."""

from __future__ import annotations

import numpy as np
import scipy
import torch

from clbook import theory
from clbook.experiments.modadd import lookup
from clbook.experiments.modadd.equivalence import SAME
from clbook.style import INK, MUTED, Picture, axes, colour, legend, plane

SAME_TONE, DIFFERENT_TONE = colour(7), colour(1)  # purple and orange, as in the paper


def gaps(alignment, names) -> Picture:
    """How different all pairs of symbols are: downstream, then in each contrastive distribution. alignment: a list."""
    columns = [alignment[0].semantic, *(a.conditional for a in alignment)]
    fig, (row,) = axes(len(columns), width=7.8, height=2.9)
    shown = [""] + [
        f"\n{'aligned' if a.aligned else f'not aligned: {len(a.misses)} pairs'}" for a in alignment
    ]
    for ax, gap, name, says in zip(row, columns, names, shown, strict=True):
        image = ax.imshow(gap, vmin=0, vmax=1)
        ax.plot(*np.nonzero(gap <= SAME), ls="", marker="o", ms=2.5, color="white", gid="equal")
        ax.set(title=name + says, xlabel="$v$", ylabel="$u$" if ax is row[0] else "")
        ax.grid(False)
    fig.colorbar(image, ax=row[-1], label="total variation")
    says = (name + said.replace("\n", ": ") for name, said in zip(names, shown, strict=True))
    return Picture(fig, "; ".join(says) + ".")


def twins(result):
    """Distances of the symbols 2 i and 2 i + 1 of the random table, and of all other pairs."""
    u, v = np.triu_indices(len(result.joint), 1)
    length = np.linalg.norm(result.z[-1, u] - result.z[-1, v], axis=1)
    mine = (u % 2 == 0) & (v == u + 1)
    return length[mine], length[~mine]


def optimum(result, others) -> Picture:
    """Left: logits of `result` against PMI, both less their mean over contexts. Right: distances in {name: result}."""
    fig, ((left, right),) = axes(2, width=7.8, height=3.2, width_ratios=(1, 1.5))
    known, found = (
        part - part.mean(1, keepdims=True)
        for part in (lookup.pmi(result.joint), result.z[-1] @ result.c[-1].T)
    )
    left.axline((0, 0), slope=1, color=MUTED, lw=0.8, ls="--")
    left.scatter(known, found, s=5, color=colour(0), linewidths=0, gid="logits")
    left.set(
        xlabel="PMI less its mean",
        ylabel=r"$\mathcal{E}^*(u)\cdot E^*(\rho)$ less its mean",
        aspect="equal",
    )
    for y, run in enumerate(others.values()):
        kinds = ("twins", SAME_TONE, -0.14), ("other pairs", DIFFERENT_TONE, 0.14)
        for far, (name, tone, shift) in zip(twins(run), kinds, strict=True):
            right.scatter(
                far,
                np.full_like(far, y + shift),
                s=12,
                color=tone,
                label=None if y else name,
                gid=name,
            )
    right.set(
        yticks=range(len(others)),
        yticklabels=others,
        ylim=(len(others) - 0.5, -0.8),
        xlim=(-0.3, None),
        xlabel="distance at the optimum",
    )
    legend(right, ncols=2, loc="upper right")
    worst = np.abs(known - found).max()
    return Picture(
        fig,
        f"Logits equal PMI up to {worst:.0e}. Largest distance of twins: "
        + "; ".join(f"{name}: {twins(run)[0].max():.1g}" for name, run in others.items()).replace(
            "\n", " "
        )
        + ".",
    )


def balance(runs) -> Picture:
    """{name: flow on CModAdd}: the size of M over time with the law exp(-2 decay t), and the distance ratio."""
    fig, ((left, right),) = axes(2, width=7.8, height=3.1)
    says = []
    for i, (name, run) in enumerate(runs.items()):
        t = run.config.lr * run.steps
        size = np.array([np.linalg.norm(run.imbalance(frame)) for frame in range(len(t))])
        ratio = [
            equivalent.mean() / different.mean()
            for equivalent, different in map(run.distances, range(len(t)))
        ]
        left.plot(t, size / size[0], color=colour(i), label=name)
        left.plot(t, np.exp(-2 * run.config.decay * t), color=INK, lw=0.8, ls=":")
        right.plot(t + 1, ratio, color=colour(i), label=name)
        says.append(
            f"{name}: |M| falls to {size[-1] / size[0]:.2g} of its start, the ratio to {ratio[-1]:.2g}"
        )
    left.set(xlabel="time", ylabel=r"$\|M(t)\| \,/\, \|M(0)\|$", ylim=(0, 1.1))
    right.set(
        xscale="log", xlabel="time + 1", ylabel="ratio: equivalent / different", ylim=(0, 1.35)
    )
    right.minorticks_off()
    legend(right, loc="upper center", ncols=2, columnspacing=1)
    return Picture(fig, "; ".join(says) + ".")


def bands(result) -> Picture:
    """The symbols at the optimum on their two main axes, coloured by class mod k, and the distances of all pairs."""
    config, z = result.config, result.z[-1]
    fig, ((left, right),) = axes(2, width=7.6, height=3.2, width_ratios=(1, 1.3))
    screen = (z - z.mean(0)) @ plane(z)
    for u, point in enumerate(screen):
        left.scatter(
            *point,
            s=30,
            color=colour(u % config.k),
            linewidths=0,
            alpha=0.7,
            gid=f"class {u % config.k}",
        )
    left.set(
        xlim=(-8.8, 8.8),
        ylim=(-8.8, 8.8),
        aspect="equal",
        xlabel="first axis",
        ylabel="second axis",
        title=f"d = {config.d}, decay {config.decay:g}",
    )
    equivalent, different = result.distances()
    for length, tone, name in (
        (equivalent, SAME_TONE, "equivalent"),
        (different, DIFFERENT_TONE, "different"),
    ):
        place, pairs = np.unique(length.round(2), return_counts=True)
        right.vlines(
            place,
            0,
            pairs,
            color=tone,
            lw=3,
            label=name,
            gid=name,
            zorder=3 if length is equivalent else 2,
        )
    law = theory.l2_distance(config.decay, config.N, config.k)
    right.axvline(law, color=INK, lw=0.8, ls=":", label="one band, by the formula")
    right.set(xlim=(-0.4, 17), ylim=(0, 120), xlabel="distance", ylabel="pairs")
    legend(
        right,
        loc="lower center",
        bbox_to_anchor=(0.5, 1),
        ncols=3,
        columnspacing=1,
        handlelength=1.2,
    )
    found = np.unique(different.round(2))
    return Picture(
        fig,
        f"d = {config.d}, decay {config.decay:g}: equivalent pairs at most "
        f"{equivalent.max(initial=0):.1g} apart, different pairs at "
        f"{', '.join(f'{x:g}' for x in found)}. One band would be at {law:.2f}.",
    )


def counted(result) -> tuple[float, str, str]:
    """(shade, sign, words) of an optimum for a cell: how many distances different symbols have; 0 in one point."""
    count = int((np.unique(result.distances()[1].round(2)) > 0).sum())
    return count / 8, str(count), f"distances: {count}" if count else "all symbols in one point"


def push_pull(result, frame=-1, symbol=0) -> Picture:
    """SL A.5 for one symbol in the plane: contexts, as large as their softmax weights, both means, push and pull.

    The arrows at the symbol are drawn at half the size that they would have in the left panel.
    """
    config, joint = result.config, torch.from_numpy(result.joint)
    z, c = result.z[frame], result.c[frame]
    pull, push = (
        part[symbol].numpy()
        for part in lookup.update(torch.from_numpy(z), torch.from_numpy(c), joint)
    )
    fig, ((left, right),) = axes(2, width=7.6, height=3.7)
    weight = torch.softmax(torch.from_numpy(c @ z[symbol]) + joint.sum(0).log(), 0).numpy()
    fits = result.joint.argmax(0) % config.k  # the class of the symbols that a context is seen with
    left.scatter(
        *c.T,
        s=3 + 1500 * weight,
        color=[colour(k) for k in fits],
        linewidths=0,
        alpha=0.6,
        gid="contexts",
    )
    edges = [1.6 * np.abs(table).max() for table in (result.c, result.z)]
    for ax, start, step, tone, name in (
        (left, push, pull - push, INK, "pull - push"),
        (right, z[symbol], pull, colour(2), "pull"),
        (right, z[symbol], -push, colour(1), "push"),
        (right, z[symbol], pull - push, INK, "pull - push"),
    ):
        units = 1 if ax is left else 2 * edges[0] / edges[1]
        ax.quiver(
            *start,
            *step,
            angles="xy",
            scale_units="xy",
            scale=units,
            width=0.009,
            color=tone,
            zorder=3,
            gid=name,
        )
    for mean, marker, tone, name in (
        (pull, "^", colour(2), "mean of its contexts (pull)"),
        (push, "v", colour(1), "softmax mean (push)"),
    ):
        left.plot(
            *mean, ls="", marker=marker, ms=9, color=tone, mfc="none", mew=1.8, label=name, gid=name
        )
    right.scatter(
        *z.T, s=30, color=[colour(u % config.k) for u in range(len(z))], linewidths=0, gid="symbols"
    )
    right.plot(*z[symbol], ls="", marker="o", ms=9, mfc="none", mec=INK, gid="the symbol")
    for ax, edge, title in (
        (left, edges[0], "contexts"),
        (right, edges[1], f"arrows for symbol {symbol}"),
    ):
        ax.set(
            xlim=(-edge, edge),
            ylim=(-edge, edge),
            aspect="equal",
            title=f"{title}, step {result.steps[frame]}",
            xlabel="first coordinate",
            ylabel="second coordinate",
        )
    legend(left, loc="upper left")
    return Picture(
        fig,
        f"Step {result.steps[frame]}, symbol {symbol}: pull of length {np.linalg.norm(pull):.2f}, "
        f"push {np.linalg.norm(push):.2f}, together {np.linalg.norm(pull - push):.3f}. "
        f"Loss {result.loss[frame]:.3f}.",
    )


def bowl(result, symbol, z) -> np.ndarray:
    """F_u of a symbol at points z (..., d), with the context vectors held still."""
    joint, c = result.joint, result.c[-1]
    own = joint[symbol] / joint[symbol].sum()
    scores = z @ c.T
    return scipy.special.logsumexp(scores, axis=-1, b=joint.sum(0)) - scores @ own


def bowls(result, names) -> Picture:
    """F_u over the plane (d = 2), a panel for each symbol: lines of equal height, and where the table has its vector.

    Args:
        names: {symbol: words for its title}.
    """
    fig, (row,) = axes(len(names), width=7.8, height=3.1, sharex=True, sharey=True)
    vectors = result.z[-1]
    middle, reach = vectors.mean(0), 1.8 * np.ptp(vectors, axis=0).max() / 2
    x, y = (np.linspace(m - reach, m + reach, 81) for m in middle)
    grid = np.stack(np.meshgrid(x, y), -1)
    heights = {}
    for symbol in names:
        heights[symbol] = bowl(result, symbol, grid) - bowl(result, symbol, vectors[symbol])
    levels = np.quantile(np.stack([*heights.values()]), np.linspace(0.02, 0.9, 9))
    for ax, (symbol, name) in zip(row, names.items(), strict=True):
        ax.contourf(x, y, heights[symbol], [0, *levels], cmap="Purples_r", extend="max", alpha=0.8)
        ax.plot(*vectors[symbol], "*", ms=13, color=DIFFERENT_TONE, gid="vector")
        ax.set(title=name, xlabel="$z^1$", aspect="equal")
        ax.grid(False)
    row[0].set_ylabel("$z^2$")
    said = []
    for symbol, name in names.items():
        place = " and ".join(f"{v:.2f}" for v in vectors[symbol])
        said.append(f"{name}: lowest at {place}")
    return Picture(fig, "Bowls over the plane, one for each symbol. " + "; ".join(said) + ".")
