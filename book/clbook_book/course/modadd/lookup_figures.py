"""Figures of the exact optimum, in "Same contexts, same vector" and "What training remembers"."""

from __future__ import annotations

import numpy as np
import scipy

from clbook import theory
from clbook.experiments.modadd import lookup
from clbook.experiments.modadd.equivalence import SAME
from clbook.explore import Cell
from clbook.style import INK, MUTED, Picture, axes, colour, legend, plane
from clbook_book.course.drawing import by_class, square

SAME_TONE, DIFFERENT_TONE = colour(7), colour(1)  # purple and orange, as in the paper


def gaps(alignment, names) -> Picture:
    """How different all pairs of symbols are: downstream, then in each contrastive distribution. alignment: a list."""
    verdicts = [""]  # of the task itself there is none
    columns = [alignment[0].semantic]
    for one in alignment:
        columns.append(one.conditional)
        verdicts.append("aligned" if one.aligned else f"not aligned: {len(one.misses)} pairs")
    fig, (row,) = axes(len(columns), width=7.8, height=2.9)
    says = []
    for ax, gap, name, verdict in zip(row, columns, names, verdicts, strict=True):
        image = ax.imshow(gap, vmin=0, vmax=1)
        u, v = np.nonzero(gap <= SAME)
        ax.plot(u, v, ls="", marker="o", ms=2.5, color="white", gid="equal")
        ax.set(title=f"{name}\n{verdict}" if verdict else name, xlabel="$v$")
        ax.grid(False)
        says.append(f"{name}: {verdict}" if verdict else name)
    row[0].set_ylabel("$u$")
    fig.colorbar(image, ax=row[-1], label="total variation")
    return Picture(fig, f"{'; '.join(says)}.")


def twins(result):
    """Distances of the symbols 2 i and 2 i + 1 of the random table, and of all other pairs."""
    u, v, length = lookup.all_distances(result.z[-1])
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
        _row(right, of_twins, y - 0.14, SAME_TONE, "twins")
        _row(right, of_others, y + 0.14, DIFFERENT_TONE, "other pairs")
        largest.append(f"{name}: {of_twins.max():.1g}".replace("\n", " "))
    right.set(
        yticks=range(len(others)),
        yticklabels=others,
        ylim=(len(others) - 0.5, -0.8),
        xlim=(-0.3, None),
        xlabel="distance at the optimum",
    )
    kinds = right.collections[:2]
    legend(right, handles=kinds, labels=("twins", "other pairs"), ncols=2, loc="upper right")
    worst = np.abs(known - found).max()
    return Picture(
        fig,
        f"Logits equal PMI up to {worst:.0e}. Largest distance of twins: {'; '.join(largest)}.",
    )


def _row(ax, lengths, height, tone, kind):
    """A dot for each of the lengths, in a row at this height."""
    ax.scatter(lengths, np.full_like(lengths, height), s=12, color=tone, gid=kind)


def balance(runs) -> Picture:
    """{name: flow on CModAdd}: the size of M over time with the law exp(-2 decay t), and the distance ratio."""
    fig, ((left, right),) = axes(2, width=7.8, height=3.1)
    says = []
    for i, (name, run) in enumerate(runs.items()):
        t = run.config.lr * run.steps
        size = []
        ratio = []
        for frame in range(len(t)):
            size.append(np.linalg.norm(run.imbalance(frame)))
            equivalent, different = run.distances(frame)
            ratio.append(equivalent.mean() / different.mean())
        share = np.array(size) / size[0]
        law = np.exp(-2 * run.config.decay * t)
        tone = colour(i)
        left.plot(t, share, color=tone, label=name)
        left.plot(t, law, color=INK, lw=0.8, ls=":")
        right.plot(t + 1, ratio, color=tone, label=name)
        says.append(
            f"{name}: |M| falls to {share[-1]:.2g} of its start, the ratio to {ratio[-1]:.2g}"
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
    config = result.config
    z = result.z[-1]
    fig, ((left, right),) = axes(2, width=7.6, height=3.2, width_ratios=(1, 1.3))
    by_class(left, (z - z.mean(0)) @ plane(z), np.arange(config.N) % config.k, 30, alpha=0.7)
    about = f"d = {config.d}, decay {config.decay:g}"
    square(left, 8.8, xlabel="first axis", ylabel="second axis", title=about)
    equivalent, different = result.distances()
    _counts(right, equivalent, SAME_TONE, "equivalent", zorder=3)
    _counts(right, different, DIFFERENT_TONE, "different")
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
        f"{about}: equivalent pairs at most {largest:.1g} apart, "
        f"different pairs at {found}. One band would be at {law:.2f}.",
    )


def counted(result) -> Cell:
    """(shade, sign, words) of an optimum for a cell: how many distances different symbols have; 0 in one point."""
    _, different = result.distances()
    count = int((np.unique(different.round(2)) > 0).sum())
    words = f"distances: {count}" if count else "all symbols in one point"
    return Cell(count / 8, str(count), words)


def bowl(result, symbol, z) -> np.ndarray:
    """F_u of a symbol at points z (..., d), with the context vectors held still."""
    joint = result.joint
    c = result.c[-1]
    mine = joint[symbol]
    own = mine / mine.sum()
    contexts = joint.sum(0)
    scores = z @ c.T
    return scipy.special.logsumexp(scores, axis=-1, b=contexts) - scores @ own


def bowls(result, names) -> Picture:
    """F_u over the plane (d = 2), a panel for each symbol: lines of equal height, and where the table has its vector.

    Args:
        names: {symbol: words for its title}.
    """
    fig, (row,) = axes(len(names), width=7.8, height=3.1, sharex=True, sharey=True)
    vectors = result.z[-1]
    middle = vectors.mean(0)
    reach = 0.9 * np.ptp(vectors, axis=0).max()
    lowest = middle - reach
    x, y = np.linspace(lowest, middle + reach, 81).T
    grid = np.stack(np.meshgrid(x, y), -1)
    heights = []
    for symbol in names:
        lowest = bowl(result, symbol, vectors[symbol])
        heights.append(bowl(result, symbol, grid) - lowest)
    levels = np.quantile(heights, np.linspace(0.02, 0.9, 9))
    said = []
    for ax, height, (symbol, name) in zip(row, heights, names.items(), strict=True):
        vector = vectors[symbol]
        ax.contourf(x, y, height, [0, *levels], cmap="Purples_r", extend="max", alpha=0.8)
        ax.plot(*vector, "*", ms=13, color=DIFFERENT_TONE, gid="vector")
        ax.set(title=name, xlabel="$z^1$", aspect="equal")
        ax.grid(False)
        place = " and ".join(f"{v:.2f}" for v in vector)
        said.append(f"{name}: lowest at {place}")
    row[0].set_ylabel("$z^2$")
    return Picture(fig, "Bowls over the plane, one for each symbol. " + "; ".join(said) + ".")


def _counts(ax, lengths, tone, name, **look):
    """How many pairs have which distance, to two digits, as vertical lines."""
    place, pairs = np.unique(lengths.round(2), return_counts=True)
    ax.vlines(place, 0, pairs, color=tone, lw=3, label=name, gid=name, **look)
