"""Figures of SA's theorems: which pairs a loss moves, the coupled recursion and its bounds, where they say nothing."""

from __future__ import annotations

import numpy as np

from clbook import theory
from clbook.style import (
    ACCENT,
    INK,
    MUTED,
    Picture,
    axes,
    band,
    colour,
    legend,
    log_axis,
    name_lines,
)
from clbook_book.audit.judging import listed
from clbook_book.audit.sa.measures import cosines

DRIFT = ACCENT
CAREFUL = colour(2)
BOUND = colour(0)
TRIANGLE = colour(1)
SHADE = {"color": "#eceff2", "lw": 0}  # where a bound says nothing
FLOOR = 1e-6  # of the logarithmic axis: drifts start at 0


def coupled(result, frame=-1) -> Picture:
    """Drift and three bounds, bold up to a recorded time (left); CKA and what each bound certifies (right)."""
    config = result.config
    shown = slice(1, len(result.steps) if frame == -1 else frame + 1)
    fig, ((left, right),) = axes(2, width=7.8, height=3.3)
    t = result.steps[shown]
    all_t = result.steps[1:]
    curves = {
        "Theorem 1": (result.bound, BOUND, 3),
        "triangle\ninequality": (result.triangle, TRIANGLE, 1.5),
        "measured": (result.drift, DRIFT, 3),
        "a posteriori": (result.posterior, CAREFUL, 1.5),
    }
    left.fill_between(all_t, result.triangle[1:], 1e9, **SHADE)
    right.axhspan(-1, 0, **SHADE)
    # Thin on wide: both are seen where they meet.
    for name, (values, tone, width) in curves.items():
        bounds = [theory.cka_lower_bound(*v) for v in zip(values, result.gram_norm, strict=True)]
        cka = result.cka if name == "measured" else bounds
        for ax, line in ((left, np.clip(values, FLOOR, 1e12)), (right, np.array(cka))):
            later = f"{name}, later"
            ax.plot(all_t, line[1:], color=tone, lw=0.8, alpha=0.4, label=name, gid=later)
            ax.plot(t, line[shown], color=tone, lw=width, gid=name)
    left.set(yscale="log", ylim=(1e-5, 1e7), ylabel="drift")
    right.set(ylim=(-1, 1.05), ylabel="CKA, measured and certified")
    for ax in (left, right):
        ax.set(xscale="log", xlim=(1, config.steps), xlabel="steps $t$")
        ax.minorticks_off()
        name_lines(ax, 24)
    now = result.steps[frame]
    drift = result.drift[frame]
    bound = result.bound[frame]
    triangle = result.triangle[frame]
    quotient = f"Theorem 1 / triangle inequality = {bound / triangle:.3g}" if now else "start"
    left.set_title(quotient)
    right.set_title(f"measured CKA = {result.cka[frame]:.4f}")
    settings = (
        f"C = {config.classes}, tau = {config.tau:g}, B = {config.batch}, eta = {config.eta:g}"
    )
    limits = f"Theorem 1 {bound:.2g}, triangle inequality {triangle:.2g}"
    return Picture(
        fig,
        f"{settings}, step {now}: drift {drift:.2g}, {limits}, CKA {result.cka[frame]:.4f}.",
    )


def ending(result) -> tuple[float, str, str]:
    """(shade, sign, words) of a run for a cell: Theorem 1 over the triangle inequality, dark if vacuous."""
    quotient = float(result.bound[-1] / result.triangle[-1])
    if quotient < 10:
        said = f"{quotient:.2g}"
    elif quotient < 1000:
        said = f"{quotient:.0f}"
    else:
        said = ">1000"
    return float(quotient > 1), said, f"Theorem 1 over the triangle inequality {said} at the end"


def vacuous(panels) -> Picture:
    """Maps of log10(Theorem 1 / triangle inequality): shaded where it is above 0 and Theorem 1 says nothing.

    panels: rows (x name, x values, y name, y values, ratio (y, x), title), both axes logarithmic.
    """
    fig, (row,) = axes(len(panels), width=7.8, height=3.2)
    shares = []
    for ax, (xname, x, yname, y, ratio, title) in zip(row, panels, strict=True):
        log_axis(ax, axis="xy")
        ax.set(xlabel=xname, ylabel=yname, title=title)
        share = (ratio >= 1).mean()
        shares.append(f"{title}: {share:.0%}")
        power = np.clip(np.log10(ratio), -3, 6)
        ax.contourf(x, y, power, levels=[0, 7], colors=[SHADE["color"]])
        ax.contour(x, y, power, levels=[0], colors=[TRIANGLE], linewidths=1.6)
        lines = ax.contour(
            x,
            y,
            power,
            levels=[-2, -1, 1, 2, 3, 4],
            colors=[MUTED],
            linewidths=0.7,
            linestyles="solid",
        )
        # On the right the other lines lie too close together for a name.
        ax.clabel(lines, [-1, 1], fmt=lambda power: f"{10**power:g}", fontsize=9, colors=[INK])
        ax.grid(False)
    shares = ", ".join(shares)
    return Picture(
        fig,
        "Theorem 1 over the triangle inequality; the shaded part, where it is above 1, covers "
        f"{shares}.",
    )


def replacement(rows) -> Picture:
    """Drift over Theorem 1 after one step: rows (name, batch sizes (k,), ratio (seeds, k), repaired / Theorem 1)."""
    fig, ((ax,),) = axes(1, width=6.2, height=3.0)
    says = []
    ax.axhspan(1, 1e3, **SHADE)
    for k, (name, B, ratio, repaired) in enumerate(rows):
        ax.plot(B, ratio.T, "os"[k], ms=4, color=colour(k), gid=name)
        ax.plot(
            B,
            repaired,
            color=colour(k),
            lw=1,
            label=f"{name}, and repaired bound",
            gid=f"{name}, repaired",
        )
        says.append(f"{name}: drift over bound from {ratio.min():.2g} to {ratio.max():.2g}")
    log_axis(ax, axis="xy")
    ax.set(ylim=(3e-3, 100), xlabel="batch size $B$", ylabel="drift / Theorem 1")
    legend(ax, loc="upper left")
    return Picture(fig, "; ".join(says) + ".")


def dimensions(free: dict, near: dict, networks: list) -> Picture:
    """How nearly the surrogate goes an encoder's way, against d: {d: runs} of free embeddings; networks of one d."""
    fig, ((ax,),) = axes(1, width=6.2, height=3.0)
    says = []
    embeddings = {"free, unrelated": free, "free, views near": near}
    for k, (name, runs) in enumerate(embeddings.items()):
        d = [*runs]
        ends = np.array([cosines(of_d) for of_d in runs.values()])  # (d, seeds)
        band(ax, d, ends.T, color=colour(k), label=name, gid=name, marker="o", ms=3.5)
        says.append(f"{name}: {listed(ends.mean(1))} at d = {listed(d, 'd')}")
    shared = cosines(networks)
    outputs = max(d for d in free if d <= 128)
    places = [outputs] * len(shared)
    ax.plot(places, shared, "s", ms=4, color=INK, label="network", gid="network")
    says.append(f"a network of 512 units: {shared.mean():.2f} at d = {outputs}")
    ax.axhline(1, color=MUTED, lw=0.8, ls=":")
    log_axis(ax, [*free])
    ax.set(
        ylim=(0, 1.05),
        xlabel="dimensions $d$ of the embeddings",
        ylabel="cosine of the two movements",
    )
    legend(ax, loc="upper left")
    return Picture(fig, "Cosine of encoder and surrogate. " + "; ".join(says) + ".")
