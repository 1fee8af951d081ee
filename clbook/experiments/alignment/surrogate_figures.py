"""Figures of SA's theorems: which pairs a loss moves, the coupled recursion and its bounds, where they say nothing."""

from __future__ import annotations

import numpy as np
from matplotlib.patches import Rectangle

from clbook import theory
from clbook.style import ACCENT, INK, MUTED, Picture, axes, colour, legend

DRIFT, CAREFUL, BOUND, TRIANGLE = ACCENT, colour(2), colour(0), colour(1)
SHADE = {"color": "#eceff2", "lw": 0}  # where a bound says nothing
FLOOR = 1e-6  # of the logarithmic axis: drifts start at 0


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
        for i, j in np.argwhere(np.abs(np.nan_to_num(weights)) > 1e-9 * top):
            size = 0.25 + 0.63 * (abs(weights[i, j]) / top) ** 0.5
            tone = tones[int(np.sign(weights[i, j]))]
            ax.add_patch(Rectangle((j - size / 2, i - size / 2), size, size, color=tone, lw=0))
        for edge in np.flatnonzero(np.diff(np.repeat(labels, 2))) + 0.5:
            ax.axhline(edge, color=INK, lw=0.6)
            ax.axvline(edge, color=INK, lw=0.6)
        for k, picture in enumerate(images[order].reshape(-1, side, side)):
            for extent in ((k - 0.45, k + 0.45, -0.65, -1.55), (-1.55, -0.65, k + 0.45, k - 0.45)):
                ax.imshow(picture, cmap="gray_r", extent=extent, vmin=0, vmax=1)
        ax.set(xlim=(-1.6, 2 * n - 0.5), ylim=(2 * n - 0.5, -1.6), xticks=[], yticks=[], title=name,
               facecolor="#f4f5f7")
        ax.grid(False)
        ax.spines[:].set_visible(False)
        counts = [int(((weights * s) > 1e-9 * top).sum()) // 2 for s in (-1, 1)]
        says.append(f"{name} pulls {counts[0]} pairs and pushes {counts[1]} of {n * (2 * n - 1)}")
    return Picture(fig, f"A batch of {n} digits, two views each. " + "; ".join(says) + ".")


def coupled(result, frame=-1) -> Picture:
    """Drift and three bounds, bold up to a recorded time (left); CKA and what each bound certifies (right)."""
    config, shown = result.config, slice(1, len(result.steps) if frame == -1 else frame + 1)
    fig, ((left, right),) = axes(2, width=7.8, height=3.3)
    t, all_t = result.steps[shown], result.steps[1:]
    curves = {"Theorem 1": (result.bound, BOUND), "triangle inequality": (result.triangle, TRIANGLE),
              "a posteriori": (result.posterior, CAREFUL), "measured": (result.drift, DRIFT)}
    left.fill_between(all_t, result.triangle[1:], 1e9, **SHADE)
    right.axhspan(-1, 0, **SHADE)
    for name, (values, tone) in curves.items():
        bounds = [theory.cka_lower_bound(*v) for v in zip(values, result.gram_norm, strict=True)]
        cka = result.cka if name == "measured" else bounds
        for ax, curve in ((left, np.clip(values, FLOOR, 1e12)), (right, np.array(cka))):
            ax.plot(all_t, curve[1:], color=tone, lw=0.8, alpha=0.4, gid=f"{name}, later")
            ax.plot(t, curve[shown], color=tone, lw=2, label=name, gid=name)
    left.set(xscale="log", yscale="log", xlim=(1, config.steps), ylim=(1e-5, 1e7), xlabel="steps $t$", ylabel="drift")
    right.set(xscale="log", xlim=(1, config.steps), ylim=(-1, 1.05), xlabel="steps $t$",
              ylabel="CKA, measured and certified")
    for ax in (left, right):
        ax.minorticks_off()
    legend(left, loc="upper left", ncols=2)
    now = t[-1] if len(t) else 0
    drift, bound, triangle = (v[shown][-1] if len(t) else 0.0 for v in (result.drift, result.bound, result.triangle))
    return Picture(fig, f"C = {config.classes}, tau = {config.tau:g}, B = {config.batch}, eta = {config.eta:g}, "
                        f"step {now}: drift {drift:.2g}, Theorem 1 {bound:.2g}, triangle inequality "
                        f"{triangle:.2g}, CKA {result.cka[frame]:.4f}.")


def difference(result) -> Picture:
    """Where the two tables differ at the end: Sigma^NSCL - Sigma^CL between points (left) and towards views (right)."""
    n = result.config.n
    gap = result.final[1] - result.final[0]
    top = np.quantile(np.abs(gap), 0.999)
    fig, (row,) = axes(2, width=6.6, height=3.2, sharey=True)
    for ax, part, name in zip(row, (gap[:, :n], gap[:, n:]), ("points $x_k$", "views $x'_k$"), strict=True):
        image = ax.imshow(part, cmap="PuOr_r", vmin=-top, vmax=top, interpolation="nearest")
        ax.set(xlabel=f"key: {name}", xticks=[], yticks=[])
        ax.grid(False)
    row[0].set_ylabel("anchor $x_i$, sorted by class")
    fig.colorbar(image, ax=row, label=r"$\Sigma^{\mathrm{NSCL}} - \Sigma^{\mathrm{CL}}$", shrink=0.9)
    same = np.arange(n) * result.config.classes // n
    same = np.tile(same[:, None] == same, 2)
    share = (gap[same] ** 2).sum() / (gap**2).sum()
    return Picture(fig, f"Difference of the two tables. Pairs of one class are {same.mean():.0%} of all and carry "
                        f"{share:.0%} of the squared drift.")


def vacuous(panels) -> Picture:
    """Maps of log10(Theorem 1 / triangle inequality): shaded where it is above 0 and Theorem 1 says nothing.

    panels: rows (x name, x values, y name, y values, ratio (y, x), title), both axes logarithmic.
    """
    fig, (row,) = axes(len(panels), width=7.8, height=3.2)
    for ax, (xname, x, yname, y, ratio, title) in zip(row, panels, strict=True):
        power = np.clip(np.log10(ratio), -3, 6)
        ax.contourf(x, y, power, levels=[0, 7], colors=[SHADE["color"]])
        ax.contour(x, y, power, levels=[0], colors=[TRIANGLE], linewidths=1.6)
        ax.contour(x, y, power, levels=[-2, -1, 1, 2, 3, 4], colors=[MUTED], linewidths=0.7, linestyles="solid")
        ax.set(xscale="log", yscale="log", xlabel=xname, ylabel=yname, title=title)
        ax.minorticks_off()
        ax.grid(False)
    shares = ", ".join(f"{title}: {(ratio >= 1).mean():.0%}" for *_, ratio, title in panels)
    return Picture(fig, "Theorem 1 over the triangle inequality; the shaded part, where it is above 1, covers "
                        f"{shares}.")


def replacement(rows) -> Picture:
    """Drift over Theorem 1 after one step: rows (name, batch sizes (k,), ratio (seeds, k), repaired / Theorem 1)."""
    fig, ((ax,),) = axes(1, width=6.2, height=3.0)
    ax.axhspan(1, 1e3, **SHADE)
    for k, (name, B, ratio, repaired) in enumerate(rows):
        ax.plot(B, ratio.T, "os"[k], ms=4, color=colour(k), gid=name)
        ax.plot(B, repaired, color=colour(k), lw=1, label=f"{name}, and repaired bound", gid=f"{name}, repaired")
    ax.set(xscale="log", yscale="log", ylim=(3e-3, 100), xlabel="batch size $B$", ylabel="drift / Theorem 1")
    ax.minorticks_off()
    legend(ax, loc="upper left")
    return Picture(fig, "; ".join(f"{name}: drift over bound from {ratio.min():.2g} to {ratio.max():.2g}"
                                  for name, _, ratio, _ in rows) + ".")


def loss_gap(C, gaps) -> Picture:
    """Loss gaps against the number of classes C (k,): {tau: (seeds, k, 2) of DCL - NSCL and CL - NSCL}, with slopes."""
    fig, (row,) = axes(len(gaps), width=7.8, height=3.2, sharey=True)
    says = []
    for ax, (tau, values) in zip(row, gaps.items(), strict=True):
        for k, name in enumerate(("DCL - NSCL", "CL - NSCL")):
            slope = np.polyfit(np.log(C), np.log(values[..., k].mean(0)), 1)[0]
            ax.plot(C, values[..., k].T, "os"[k], ms=4, color=colour(k), gid=name)
            ax.plot(C, values[..., k].mean(0), color=colour(k), lw=1, label=f"{name}, slope {slope:.2f}")
            says.append(f"tau = {tau:g}: {name} has slope {slope:.2f}")
        ax.axhline((values[..., 1] - values[..., 0]).mean(), color=MUTED, ls=":", label="CL - DCL")
        ax.set(xscale="log", yscale="log", ylim=(1e-3, 1.5), xlabel="classes $C$", title=rf"$\tau = {tau:g}$")
        ax.minorticks_off()
        legend(ax, loc="upper right")
    row[0].set_ylabel("loss gap")
    return Picture(fig, "; ".join(says) + ".")
