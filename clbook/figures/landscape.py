"""Figures of the chapter "The loss alone does not decide"."""

from __future__ import annotations

import numpy as np

from clbook import theory
from clbook.figures.style import INK, MUTED, Picture, axes, colour, legend, mosaic

CIRCLE = np.linspace(0, 2 * np.pi, 200)
EQ1, EQ3, MARK = colour(0), colour(1), colour(2)


def _circle(ax, *, limit=1.25, title=None):
    ax.plot(np.cos(CIRCLE), np.sin(CIRCLE), color=MUTED, lw=0.8)
    ax.set(aspect="equal", xlim=(-limit, limit), ylim=(-limit, limit), xticks=[], yticks=[], title=title)
    ax.grid(False)
    ax.spines[:].set_visible(False)


def _spread_copies(z, step=0.07):
    """Points z (n, 2) with the copies of a place pushed outwards one behind the other, so that each can be seen."""
    keys = [tuple(np.round(p, 9)) for p in z]
    order = np.array([keys[:i].count(key) for i, key in enumerate(keys)])
    return z * (1 + step * order[:, None])


def forgetting(maps) -> Picture:
    """The data (left) and four invariant maps to the circle, coloured by class, each with its loss and readout."""
    layout = [["data", "0", "1"], ["data", "2", "3"]]
    fig, ax = mosaic(layout, width=9.2, height=5.6, width_ratios=(1.15, 1, 1))
    loss = maps.losses["NT-Xent, eq. 1"]
    for k in np.unique(maps.labels):
        mine = maps.labels == k
        ax["data"].scatter(*maps.x[mine, :2].T, s=14, color=colour(k), linewidths=0, gid=f"class {k}")
        x, y = maps.x[mine, :2].mean(0)
        ax["data"].text(x, y - 0.4, f"class {k}", color=colour(k), ha="center", va="top")
    ax["data"].set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal", title="input ($x_3$ not shown)", ylim=(-0.75, 1.45))
    for i, name in enumerate(maps.names):
        here = ax[str(i)]
        _circle(here, limit=1.75 if i < 2 else 1.25,
                title=f"{name}\nloss {loss[i]:.4f}, readout {maps.accuracy[i]:.0%}")
        shown = _spread_copies(maps.z[i], 0.017)
        for k in np.unique(maps.labels):
            mine = maps.labels == k
            here.scatter(*shown[mine].T, s=13 if i < 2 else 18, color=colour(k), linewidths=0, gid=f"{name}, class {k}")
    text = "; ".join(f"{name}: loss {value:.6f}, accuracy of the nearest class centre {accuracy:.0%}"
                     for name, value, accuracy in zip(maps.names, loss, maps.accuracy))
    return Picture(fig, f"Three clusters in the plane and four invariant maps of them to the circle. {text}.")


def _places_axis(ax):
    """A logarithmic axis over the number of places."""
    ax.set(xscale="log", xlabel="places $K$", xlim=(0.9, 70))
    ax.set_xticks([1, 2, 4, 8, 16, 32, 64], labels=["1", "2", "4", "8", "16", "32", "64"])
    ax.minorticks_off()


def _gap_axis(ax):
    """A logarithmic axis over the smallest squared distance, from far apart to close."""
    ax.set(xscale="log", xlabel="smallest squared distance", xlim=(4.6, 0.008))
    ax.set_xticks([4, 1, 0.3, 0.1, 0.03, 0.01], labels=["4", "1", "0.3", "0.1", "0.03", "0.01"])
    ax.minorticks_off()


def _curves(ax, result):
    """Loss against the number of places, eq. 1 and the chosen eq. 3, with both plateaus and this configuration."""
    config = result.config
    name = f"eq. 3, $\\Psi$ = {config.psi}"
    ax.axhline(result.plateau_mean, color=EQ1, lw=0.8, ls=":")
    ax.axhline(result.plateau, color=EQ3, lw=0.8, ls=":")
    ax.plot(result.counts, result.curve_mean, ".-", ms=4, color=EQ1, label="eq. 1", gid="eq. 1")
    ax.plot(result.counts, result.curve, ".-", ms=4, color=EQ3, label=name, gid="eq. 3")
    ax.scatter([config.clusters], [result.loss], s=60, facecolors="none", edgecolors=INK, linewidths=1.4, zorder=3,
               label="this configuration", gid="this configuration")
    ax.set_ylabel("loss")
    _places_axis(ax)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.45 * (high - low))  # room for the legend above the curves, wherever they lie
    legend(ax, loc="upper right")


def _spectrum(ax, result):
    """Eigenvalues in order, by whether they part copies or move whole places."""
    ax.axhline(0, color=MUTED, lw=1)
    for values, start, k, name in ((result.split, 1, 3, "parts copies"),
                                   (result.whole, len(result.split) + 1, 5, "moves whole places")):
        ax.plot(start + np.arange(len(values)), values, "o", ms=4.5, color=colour(k), label=name, gid=name)
    ax.set(xlabel="direction", ylabel="curvature")


def _verdict(result):
    """In words: how many directions go down, and of which kind."""
    config = result.config
    return (f"K = {config.clusters} places, m = {config.copies}: {result.negative(result.eigenvalues)} of "
            f"{len(result.eigenvalues)} directions go down, {result.negative(result.whole)} of those that move whole "
            f"places; K(m - 1) = {config.clusters * (config.copies - 1)}")


def landscape(result) -> Picture:
    """One configuration: where it lies, its loss among those of K even places, and its curvature in every direction."""
    config = result.config
    fig, ax = mosaic([["where", "curves", "spectrum"]], width=9.0, height=3.3, width_ratios=(0.85, 1.2, 1.1))
    _circle(ax["where"], limit=1.45, title=f"$K$ = {config.clusters}, $m$ = {config.copies}, $\\tau$ = {config.tau:g}")
    ax["where"].scatter(*_spread_copies(result.z)[:, :2].T, s=16, color=INK, linewidths=0, gid="points")
    _curves(ax["curves"], result)
    ax["curves"].set_title(f"uniform: {result.plateau_mean:.4f} and {result.plateau:.4f}")
    _spectrum(ax["spectrum"], result)
    ax["spectrum"].set_title(f"{result.negative(result.eigenvalues)} of {len(result.eigenvalues)} go down")
    low, high = ax["spectrum"].get_ylim()
    ax["spectrum"].set_ylim(low, high + 0.3 * (high - low))
    legend(ax["spectrum"], loc="upper left")
    return Picture(fig, f"Places: {config.arrangement}; tau = {config.tau:g}, Psi = {config.psi}, eta {config.eta}. "
                        f"Eq. 1 for many copies goes from {result.curve_mean[0]:.4f} at one place to the plateau "
                        f"{result.plateau_mean:.4f}; the chosen eq. 3 is {result.loss:.4f} here, its plateau "
                        f"{result.plateau:.4f}. {_verdict(result)}.")


def three_panels(results, tolerances) -> Picture:
    """LS Figure 2: loss against K and against the smallest squared distance, for several tau; threshold against tau.

    Args:
        results: one result a temperature. tolerances: one result a tolerance.
    """
    fig, ((left, middle, right),) = axes(3, width=10.2, height=3.5)
    for k, result in enumerate(results):
        tau, look = result.config.tau, {"ms": 3.5, "color": colour(k)}
        for ax, x in ((left, result.counts), (middle, result.distances)):
            ax.plot(x, result.curve_mean, ".-", label=f"{tau:g}", gid=f"eq. 1, tau {tau:g}", **look)
            ax.plot(x, result.curve, "--", lw=1, color=colour(k), gid=f"eq. 3, tau {tau:g}")
        left.axhline(result.plateau_mean, color=colour(k), lw=0.8, ls=":")
    left.set_ylabel("loss")
    _places_axis(left)
    _gap_axis(middle)
    legend(left, title=r"$\tau$", loc="upper right", ncols=2)
    left.set_title("eq. 1 (solid), eq. 3 (dashed)")
    middle.set_title("the same, against the gap")
    for k, result in enumerate(tolerances):
        tolerance = result.config.tolerance
        right.plot(result.taus, result.thresholds, "o", ms=4, color=colour(k), label=f"{tolerance:g}",
                   gid=f"tolerance {tolerance:g}")
        line = np.array([0, 1.05 * result.taus.max()])
        right.plot(line, theory.threshold_slope(tolerance) * line, color=colour(k), lw=1)
    right.set(xlabel=r"$\tau$", ylim=(0, 3.3), title="gap at the plateau")
    legend(right, title="tolerance", loc="upper left")
    plateaus = ", ".join(f"{r.plateau_mean:.5f} at tau {r.config.tau:g}" for r in results)
    slopes = ", ".join(f"{theory.threshold_slope(r.config.tolerance):.2f} for {r.config.tolerance:g}"
                       for r in tolerances)
    return Picture(fig, f"Loss of K even points on the circle: falls with K to the plateaus {plateaus} (eq. 1). "
                        f"The gap at which the plateau is reached grows with tau, with slope by tolerance {slopes}.")


def threshold(result) -> Picture:
    """Loss against the smallest squared distance with the threshold, and thresholds against tau, for one tolerance."""
    config = result.config
    fig, ((left, right),) = axes(2, width=8.2, height=3.3)
    top = (1 + config.tolerance) * result.plateau_mean
    left.axhspan(result.plateau_mean, top, color=MARK, alpha=0.25, lw=0)
    left.axhline(result.plateau_mean, color=EQ1, lw=0.8, ls=":")
    left.plot(result.distances, result.curve_mean, ".-", ms=4, color=EQ1, label="eq. 1", gid="eq. 1")
    left.axvline(result.threshold, color=MARK, lw=1.2, label=f"threshold {result.threshold:.3g}")
    _gap_axis(left)
    left.set(ylabel="loss", title=f"$\\tau$ = {config.tau:g}: plateau from $K$ = {result.threshold_count}")
    legend(left, loc="upper right")
    slope = theory.threshold_slope(config.tolerance)
    line = np.array([0, 0.52])
    right.plot(line, slope * line, color=MUTED, lw=1, label=f"slope {slope:.2f} (for small $\\tau$)")
    right.plot(result.taus, result.thresholds, "o", ms=5, color=EQ1, label="measured", gid="thresholds")
    right.scatter([config.tau], [result.threshold], s=70, facecolors="none", edgecolors=MARK, linewidths=1.6, zorder=3,
                  gid="this temperature")
    right.set(xlabel=r"$\tau$", ylabel="threshold", ylim=(0, 3.3), title=f"tolerance {config.tolerance:g}")
    legend(right, loc="upper left")
    return Picture(fig, f"tau = {config.tau:g}, tolerance {config.tolerance:g}: {result.threshold_count} even points "
                        f"reach the plateau {result.plateau_mean:.5f}, with smallest squared distance "
                        f"{result.threshold:.4g}. Thresholds follow a line of slope {slope:.3g} while tau is small.")


def indicator(result) -> Picture:
    """Eq. 1 of K even places with the indicator on data points, on embedded points, and for one data point a place."""
    fig, ((ax,),) = axes(width=6.0, height=3.2)
    ax.axhline(result.plateau_mean, color=MUTED, lw=0.8, ls=":", label="plateau")
    ax.plot(result.counts, result.curve_mean, ".-", ms=5, color=EQ1, gid="data",
            label="indicator on data points, many copies")
    ax.plot(result.counts, result.curve_finite, ".-", ms=5, color=colour(3), gid="embedded",
            label="indicator on embedded points (or one copy)")
    ax.set(ylabel="eq. 1", ylim=(-0.05, 1.2))
    _places_axis(ax)
    legend(ax, loc="upper right")
    return Picture(fig, f"Eq. 1 at tau = {result.config.tau:g} against K. Indicator on data points: falls from "
                        f"{result.curve_mean[0]:.4f} to {result.plateau_mean:.4f}. On embedded points: rises from "
                        f"{abs(result.curve_finite[0]):.4f} to {result.curve_finite[-1]:.4f}.")


def arrows(results, titles) -> Picture:
    """Points on the circle and the downhill direction of eq. 3 at each: straight out where nothing is to be gained."""
    fig, grid = axes(len(results), width=2.7 * len(results), height=3.0)
    text = []
    for ax, result, title in zip(grid[0], results, titles):
        largest = result.tangential.max()
        _circle(ax, limit=1.75, title=f"{title}\ntangential part {largest:.0e}")
        length = np.linalg.norm(result.gradient, axis=1).max()
        step = -result.gradient / length * 0.55 if length > 1e-12 else np.zeros_like(result.z)
        ax.quiver(*result.z.T, *step.T, angles="xy", scale_units="xy", scale=1, width=0.012, color=EQ3)
        ax.scatter(*result.z.T, s=28, color=INK, zorder=3, linewidths=0, gid=title)
        text.append(f"{title}: largest tangential gradient {largest:.1e}")
    return Picture(fig, "Points on the circle with arrows downhill. " + "; ".join(text) + ".")


def spectra(results) -> Picture:
    """Curvature in every direction at several numbers of places and copies."""
    fig, grid = axes(len(results), width=3.1 * len(results), height=3.1)
    text = []
    for ax, result in zip(grid[0], results):
        down = result.negative(result.eigenvalues)
        _spectrum(ax, result)
        ax.set_title(f"$K$ = {result.config.clusters}, $m$ = {result.config.copies}: {down} down")
        text.append(_verdict(result))
    for ax in grid[0][1:]:
        ax.set_ylabel("")
    legend(grid[0][0], loc="center left")
    return Picture(fig, "Eigenvalues of the Hessian. " + "; ".join(text) + ".")


def measures(results, names) -> Picture:
    """Alignment and uniformity of configurations, each labelled with its loss (eq. 1)."""
    fig, ((ax,),) = axes(width=6.4, height=3.8)
    text = []
    for k, (result, name) in enumerate(zip(results, names)):
        ax.scatter([result.alignment], [result.uniformity], s=45, color=colour(k), zorder=3, linewidths=0, gid=name)
        ax.annotate(f"{name}: {result.loss_mean:.3f}", (result.alignment, result.uniformity), va="center", fontsize=9,
                    xytext=(8, 5 if k % 2 else -5), textcoords="offset points")
        text.append(f"{name}: alignment {result.alignment:.3f}, uniformity {result.uniformity:.3f}, "
                    f"loss {result.loss_mean:.3f}")
    ax.set(xlabel="alignment (0: views agree)", ylabel="uniformity (lower: more even)")
    ax.set_xlim(-0.03, 1.75 * max(r.alignment for r in results))
    ax.margins(y=0.12)
    return Picture(fig, "; ".join(text) + ".")
