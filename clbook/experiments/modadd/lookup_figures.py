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
    shown = [""]
    for one in alignment:
        verdict = "aligned" if one.aligned else f"not aligned: {len(one.misses)} pairs"
        shown.append("\n" + verdict)
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


def _centred(table):
    """A table (S, P) less its mean over the contexts."""
    return table - table.mean(1, keepdims=True)


def optimum(result, others) -> Picture:
    """Left: logits of `result` against PMI, both less their mean over contexts. Right: distances in {name: result}."""
    fig, ((left, right),) = axes(2, width=7.8, height=3.2, width_ratios=(1, 1.5))
    known = _centred(lookup.pmi(result.joint))
    found = _centred(result.z[-1] @ result.c[-1].T)
    left.axline((0, 0), slope=1, color=MUTED, lw=0.8, ls="--")
    left.scatter(known, found, s=5, color=colour(0), linewidths=0, gid="logits")
    left.set(
        xlabel="PMI less its mean",
        ylabel=r"$\mathcal{E}^*(u)\cdot E^*(\rho)$ less its mean",
        aspect="equal",
    )
    largest = []
    for y, (name, run) in enumerate(others.items()):
        of_twins, of_others = twins(run)
        largest.append(f"{name}: {of_twins.max():.1g}".replace("\n", " "))
        kinds = (
            ("twins", of_twins, SAME_TONE, -0.14),
            ("other pairs", of_others, DIFFERENT_TONE, 0.14),
        )
        for kind, length, tone, shift in kinds:
            right.scatter(
                length,
                np.full_like(length, y + shift),
                s=12,
                color=tone,
                label=None if y else kind,
                gid=kind,
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
        f"Logits equal PMI up to {worst:.0e}. Largest distance of twins: {'; '.join(largest)}.",
    )


def balance(runs) -> Picture:
    """{name: flow on CModAdd}: the size of M over time with the law exp(-2 decay t), and the distance ratio."""
    fig, ((left, right),) = axes(2, width=7.8, height=3.1)
    says = []
    for i, (name, run) in enumerate(runs.items()):
        t = run.config.lr * run.steps
        size = np.array([np.linalg.norm(run.imbalance(frame)) for frame in range(len(t))])
        ratio = []
        for frame in range(len(t)):
            equivalent, different = run.distances(frame)
            ratio.append(equivalent.mean() / different.mean())
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
    largest = equivalent.max(initial=0)
    found = ", ".join(f"{x:g}" for x in np.unique(different.round(2)))
    return Picture(
        fig,
        f"d = {config.d}, decay {config.decay:g}: equivalent pairs at most {largest:.1g} apart, "
        f"different pairs at {found}. One band would be at {law:.2f}.",
    )


def counted(result) -> tuple[float, str, str]:
    """(shade, sign, words) of an optimum for a cell: how many distances different symbols have; 0 in one point."""
    _, different = result.distances()
    count = int((np.unique(different.round(2)) > 0).sum())
    return count / 8, str(count), f"distances: {count}" if count else "all symbols in one point"


def push_pull(result, frame=-1, symbol=0) -> Picture:
    """SL A.5 for one symbol in the plane: contexts, as large as their softmax weights, both means, push and pull.

    The arrows at the symbol are drawn at half the size that they would have in the left panel.
    """
    config, joint = result.config, torch.from_numpy(result.joint)
    z, c = result.z[frame], result.c[frame]
    pulls, pushes = lookup.update(torch.from_numpy(z), torch.from_numpy(c), joint)
    pull, push = pulls[symbol].numpy(), pushes[symbol].numpy()
    both = pull - push
    fig, ((left, right),) = axes(2, width=7.6, height=3.7)
    scores = torch.from_numpy(c @ z[symbol]) + joint.sum(0).log()
    weight = torch.softmax(scores, 0).numpy()
    fits = result.joint.argmax(0) % config.k  # the class of the symbols that a context is seen with
    left.scatter(
        *c.T,
        s=3 + 1500 * weight,
        color=[colour(k) for k in fits],
        linewidths=0,
        alpha=0.6,
        gid="contexts",
    )
    left_edge, right_edge = 1.6 * np.abs(result.c).max(), 1.6 * np.abs(result.z).max()
    halved = 2 * left_edge / right_edge  # for arrows of half the size that they have on the left
    _arrow(left, push, both, 1, INK, "pull - push")
    _arrow(right, z[symbol], pull, halved, colour(2), "pull")
    _arrow(right, z[symbol], -push, halved, colour(1), "push")
    _arrow(right, z[symbol], both, halved, INK, "pull - push")
    _mark(left, pull, "^", colour(2), "mean of its contexts (pull)")
    _mark(left, push, "v", colour(1), "softmax mean (push)")
    tones = [colour(u % config.k) for u in range(len(z))]
    right.scatter(*z.T, s=30, color=tones, linewidths=0, gid="symbols")
    right.plot(*z[symbol], ls="", marker="o", ms=9, mfc="none", mec=INK, gid="the symbol")
    step, loss = result.steps[frame], result.loss[frame]
    _coordinates(left, left_edge, f"contexts, step {step}")
    _coordinates(right, right_edge, f"arrows for symbol {symbol}, step {step}")
    legend(left, loc="upper left")
    lengths = [np.linalg.norm(arrow) for arrow in (pull, push, both)]
    return Picture(
        fig,
        f"Step {step}, symbol {symbol}: pull of length {lengths[0]:.2f}, "
        f"push {lengths[1]:.2f}, together {lengths[2]:.3f}. Loss {loss:.3f}.",
    )


def _arrow(ax, start, step, scale, tone, name):
    """An arrow from `start` along `step`, as long as `step` divided by `scale`."""
    ax.quiver(
        *start,
        *step,
        angles="xy",
        scale_units="xy",
        scale=scale,
        width=0.009,
        color=tone,
        zorder=3,
        gid=name,
    )


def _mark(ax, place, marker, tone, name):
    """A hollow mark, named in the legend."""
    ax.plot(
        *place, ls="", marker=marker, ms=9, color=tone, mfc="none", mew=1.8, label=name, gid=name
    )


def _coordinates(ax, edge, title):
    """A square panel of the plane, `edge` from its middle to each side."""
    ax.set(
        xlim=(-edge, edge),
        ylim=(-edge, edge),
        aspect="equal",
        title=title,
        xlabel="first coordinate",
        ylabel="second coordinate",
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
