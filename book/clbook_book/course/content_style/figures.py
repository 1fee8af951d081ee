"""Figures of "Small is not lost" and "Layers and projectors": content is one colour and style the other throughout."""

from __future__ import annotations

import numpy as np

from clbook.experiments.content_style.experiment import gains, singular
from clbook.explore import Cell
from clbook.style import INK, MUTED, Picture, axes, colour, legend, name_lines, needs, so_far

CONTENT, STYLE = colour(0), colour(1)
LAYER = "layer of $f$ (0 is $x$)"
SHARES = (-0.03, 1.03)  # limits of what lies between 0 and 1


def _kinds(config):
    """[(name, colour, the latents of that kind)], kinds without latents left out."""
    kinds = []
    if config.d_c > 0:
        kinds.append(("content", CONTENT, slice(0, config.d_c)))
    if config.d_c < config.d:
        kinds.append(("style", STYLE, slice(config.d_c, config.d)))
    return kinds


def _settings(c):
    """The settings that all figures of a run tell."""
    where = f"{c.space}, $d_c$ = {c.d_c} of {c.d}, style sd {c.style_sd:g}"
    if c.tau_c == c.tau_s == 1:
        return where
    return f"{where}, $\\tau_c$ = {c.tau_c:g}, $\\tau_s$ = {c.tau_s:g}"


def linear(result, frame=-1) -> Picture:
    """A linear run at one recorded time: gain of each latent (filled as trained, hollow with the temperatures undone),
    singular values, and the mean gains over training."""
    fig, ((left, middle, right),) = axes(3, width=6.7, height=2.9)
    config = result.config
    now = int(result.steps[frame])
    changed = (config.temperatures != 1).any()
    trained = gains(result.map)
    undone = gains(result.undone)
    index = np.arange(1, config.d + 1)
    time = result.steps + 1
    for name, tone, rows in _kinds(config):
        place = index[rows]
        left.scatter(place, trained[frame, rows], s=30, color=tone, label=name, gid=name, zorder=3)
        for at in zip(place, trained[frame, rows], strict=True):
            left.annotate(f"{at[1]:.2g}", at, (0, 5), textcoords="offset points", ha="center")
        mean = trained[:, rows].mean(1)
        right.plot(time, mean, color=tone, label=name, gid=name)
        if changed:
            gid = f"{name}, undone"
            hollow = {"facecolors": "none", "edgecolors": tone}
            left.scatter(place, undone[frame, rows], s=34, gid=gid, **hollow)
            mean = undone[:, rows].mean(1)
            right.plot(time, mean, color=tone, ls="--", gid=gid)
    values = singular(result.map[frame])
    middle.plot(index, values, "o-", ms=4, color=INK, gid="singular values")
    limits = (0.008, 8000) if changed else (0.1, 100)
    for ax in (left, right):
        ax.set(yscale="log", ylim=limits)
    left.set(xlabel="latent", ylabel="gain", title=f"iteration {now}")
    middle.set(ylim=(-0.03, 1.05), xlabel="index", ylabel="/ largest", title="singular values")
    right.set(xscale="log", xlabel="iteration, from 1", title="mean gain")
    if changed:
        left.set_xlabel("latent (hollow: undone)")
        right.set_title("mean gain (undone - -)")
    so_far(right, now + 1)
    for ax in (left, middle):
        ax.set_xticks(index[::2])
    for ax in (left, right):
        ax.minorticks_off()
    name_lines(right)
    means = _means(config, trained[frame], undone[frame] if changed else None)
    return Picture(
        fig,
        f"{_settings(config)}, iteration {now}: mean gain {', '.join(means)}; "
        f"smallest singular value {values[-1]:.3f} of the largest.",
    )


def _means(config, trained, undone) -> list[str]:
    """The mean gain of each kind of latents, in words.

    Args:
        trained: (d,) gains. undone: the same with the temperatures undone, None where they are 1.
    """
    means = []
    for name, _, rows in _kinds(config):
        mean = f"{name} {trained[rows].mean():.2f}"
        if undone is not None:
            mean += f" (undone {undone[rows].mean():.2f})"
        means.append(mean)
    return means


def stretch(result) -> Cell:
    """(shade, sign, words) of a linear run for a cell: the style's mean gain at the end; the larger, the darker."""
    gain = gains(result.map[-1])[result.config.d_c :].mean()
    sign = f"{gain:.2g}"
    return Cell(float(gain / (gain + 2)), sign, f"style's gain {sign} at the end")


def spectra(groups, dashed) -> Picture:
    """CS Fig. 1, left, and the same runs over time.

    `groups`: {d_c: runs}, averaged over seeds; `dashed`: {label: runs} with other temperatures, in the left panel.
    """
    fig, ((left, middle, right),) = axes(3, width=7.8, height=3.2)
    says = []
    for k, (d_c, runs) in enumerate(groups.items()):
        tone = colour(k)
        first = runs[0]
        steps = first.steps[1:]
        of_runs = [singular(run.map) for run in runs]
        values = np.mean(of_runs, 0)
        index = np.arange(1, first.config.d + 1)
        name = f"$d_c$ = {d_c}"
        left.plot(index, values[-1], "o-", ms=3.5, color=tone, label=name, gid=f"d_c {d_c}")
        middle.plot(steps, values[1:, -1], color=tone)
        of_runs = [gains(run.map) for run in runs]
        gain = np.mean(of_runs, 0)
        style = gain[:, d_c:].mean(1)
        right.plot(steps, style[1:], color=tone, label=f"style, {name}")
        if d_c:
            content = gain[:, :d_c].mean(1)
            right.plot(steps, content[1:], color=tone, ls="--")
        says.append(f"d_c = {d_c}: smallest {values[-1, -1]:.3f}, style gain {style[-1]:.2f}")
    for k, (label, runs) in enumerate(dashed.items()):
        of_runs = [singular(run.map[-1]) for run in runs]
        values = np.mean(of_runs, 0)
        tone = colour(6 + k)
        left.plot(index, values, "s--", ms=3, color=tone, label=label, gid=label)
        says.append(f"{label}: smallest {values[-1]:.3f}")
    left.set(xlabel="index", ylabel="singular value / largest", title="at the end")
    middle.set_title("smallest / largest")
    right.set(yscale="log", title="gain: style —, content - -")
    for ax in (left, middle):
        ax.set_ylim(-0.03, 1.05)
    for ax in (middle, right):
        ax.set(xscale="log", xlabel="iteration")
        ax.minorticks_off()
    legend(left, loc="center right", bbox_to_anchor=(1.08, 0.62), handlelength=1)
    return Picture(
        fig, "Normalised singular values of trained linear maps. " + "; ".join(says) + "."
    )


@needs("r2")
def depth(panels) -> Picture:
    """CS Fig. 1, middle and right: R^2 of the style by depth, the input x at depth 0 (dotted).

    `panels`: {title: {name: runs}}, at most four names; a line is the mean of the runs of its name.
    """
    fig, (row,) = axes(len(panels), width=7.8, height=3.4, sharey=True)
    says = []
    tones = INK, STYLE, colour(2), colour(4)
    for ax, (title, lines) in zip(row, panels.items(), strict=True):
        for tone, (name, runs) in zip(tones, lines.items(), strict=False):
            style = np.mean([run.style_r2[-1] for run in runs], 0)
            ax.plot(style, "o-", ms=4, color=tone, label=name)
            told = name.replace("\n", " ")
            says.append(f"{title}, {told}: {style[0]:.2f} in x, {style[-1]:.2f} at the output")
        ax.axhline(style[0], color=MUTED, lw=0.9, ls=":")
        ax.set(ylim=SHARES, xlabel=LAYER, title=title, xticks=range(len(style)))
        name_lines(ax, 24)
    row[0].set_ylabel("$R^2$ of style")
    return Picture(fig, f"{'; '.join(says)}.")


@needs("r2")
def by_depth(result, frame=-1) -> Picture:
    """A deep run at one recorded time: R^2 by depth, and the R^2 of the output over training."""
    fig, ((left, right),) = axes(2, width=7.4, height=3.0, sharey=True)
    now = int(result.steps[frame])
    content = result.content_r2
    style = result.style_r2
    for name, tone, values in [("content", CONTENT, content), ("style", STYLE, style)]:
        look = {"ms": 4, "color": tone, "label": name}
        left.plot(values[frame], "o-", gid=name, **look)
        left.axhline(values[0, 0], color=tone, lw=0.9, ls=":")
        right.plot(result.steps, values[:, -1], "o-", gid=f"{name}, output", **look)
    so_far(right, now)
    left.set(ylim=SHARES, xlabel=LAYER, ylabel="$R^2$", title=f"iteration {now}")
    right.set(xlabel="iteration", title="at the output")
    for ax in (left, right):
        name_lines(ax)
    c = result.config
    normalised = "with" if c.normalize else "without"
    settings = f"{_settings(c)}, tau = {c.tau:g}, {normalised} normalisation"
    at_output = f"{content[frame, -1]:.2f} for content, {style[frame, -1]:.2f} for style"
    return Picture(
        fig,
        f"{settings}, iteration {now}: R2 at the output {at_output}; "
        f"in x {style[0, 0]:.2f} for style.",
    )


@needs("r2")
def kept(result) -> Cell:
    """(shade, sign, words) of a deep run for a cell: R^2 of style at the output, at the end; the more, the darker."""
    style = float(result.style_r2[-1, -1])
    sign = f"{style:.2f}"
    return Cell(max(0.0, style), sign, f"R² of style at the output {sign}")


def threshold(rows) -> Picture:
    """Style gain over content gain on the sphere. `rows`: (d_c, tau, tau d_c (1 - rho), measured, predicted)."""
    fig, ((left, right),) = axes(2, width=7.6, height=3.2)
    kinds, _, scaled, measured, predicted = np.array(rows).T
    for k, d_c in enumerate(np.unique(kinds)):
        mine = kinds == d_c
        gain = measured[mine]
        look = {"s": 22, "color": colour(k), "marker": "os^D"[k % 4], "gid": f"d_c {d_c:g}"}
        left.scatter(scaled[mine], gain, label=f"$d_c$ = {d_c:g}", **look)
        right.scatter(predicted[mine], gain, **look)
    left.axvline(1, color=INK, lw=0.8, ls="--")
    left.set(
        xscale="log",
        xlabel=r"$\tau \, d_c \, (1 - \rho)$",
        ylabel="style gain / content gain",
        ylim=SHARES,
    )
    left.minorticks_off()
    right.plot([0, 1], [0, 1], color=INK, lw=0.8, ls="--")
    right.set(xlabel="predicted", xlim=SHARES, ylim=SHARES)
    legend(left, loc="upper right")
    above = measured[scaled >= 1]
    distance = np.abs(measured - predicted).max()
    return Picture(
        fig,
        f"{len(rows)} linear runs on the sphere. Right of the threshold {len(above)} runs, "
        f"style gain at most {above.max():.2f} of the content's; largest distance to the prediction "
        f"{distance:.2f}.",
    )


def by_layer(deep, spreads) -> Picture:
    """Mean R^2 of style by layer of the deep runs {(width, world, sd, label): a record's three seeds}: with
    content (solid), without (dashed), a colour each of the `spreads`; dotted: in x."""
    fig, (row,) = axes(4, width=7.8, height=3.0, sharey=True)
    kinds = [("box", 50), ("sphere", 50), ("box", 10), ("sphere", 10)]
    said = []
    for ax, (world, width) in zip(row, kinds, strict=True):
        title = f"{world}, {width} wide"
        for k, sd in enumerate(spreads):
            content = deep.get((width, world, sd, "content"))
            if not content:
                continue
            tone = colour(k)
            spread = f"sd {sd:g}"
            style = content.style.mean("seed").values
            ax.plot(style, "o-", ms=3, color=tone, gid=f"content {sd:g}", label=spread)
            said.append(f"{title}, {spread}, content {style[-1]:.2f}")
            style = deep[width, world, sd, "no content"].style.mean("seed").values
            ax.plot(style, "--", color=tone, gid=f"no content {sd:g}")
            said.append(f"{title}, {spread}, no content {style[-1]:.2f}")
        ax.axhline(style[0], color=MUTED, lw=0.9, ls=":")
        ax.set(ylim=SHARES, xlabel="layer (0 is $x$)", title=title, xticks=range(0, 8, 2))
    row[0].set_ylabel("$R^2$ of style")
    legend(row[0], loc="lower left")
    return Picture(fig, f"R2 of style at the output: {'; '.join(said)}.")


def lengths(result) -> tuple[np.ndarray, np.ndarray]:
    """(T,) how much of the embedding is content, and (T,) style: the root of the sum of their squared gains."""
    gain = gains(result.map)
    d_c = result.config.d_c
    content = np.linalg.norm(gain[:, :d_c], axis=1)
    return content, np.linalg.norm(gain[:, d_c:], axis=1)


def box_and_sphere(box, sphere) -> Picture:
    """Style against content over training: in the box (left), and on the sphere (right), where they share length 1.

    On the sphere only the ratio of the two counts, so both are divided by their common length.
    """
    fig, ((left, right),) = axes(2, width=7.8, height=3.8, width_ratios=(1.3, 1))
    content, style = lengths(box)
    _path(left, content, style)
    left.set(title="box: no limit", xlim=(0, 1.05 * content.max()), ylim=(0, 1.25 * style.max()))
    c, s = lengths(sphere)
    whole = np.hypot(c, s)
    c = c / whole
    s = s / whole
    turn = np.linspace(0, np.pi / 2, 100)
    right.plot(np.cos(turn), np.sin(turn), color=MUTED, lw=1)
    _path(right, c, s)
    right.set(title="sphere: length 1 for both", aspect="equal", xlim=(0, 1.1), ylim=(0, 1.1))
    in_box = (
        f"content goes from {content[0]:.2g} to {content[-1]:.3g} "
        f"and style from {style[0]:.2g} to {style[-1]:.2g}"
    )
    on_sphere = (
        f"content goes from {c[0]:.2f} to {c[-1]:.2f} and style from {s[0]:.2f} to {s[-1]:.2f}"
    )
    return Picture(
        fig,
        "How long the content's and the style's part of a linear map are over training. "
        f"In the box {in_box}. On the sphere, as parts of length 1, {on_sphere}.",
    )


def _path(ax, content, style):
    """A path from its start, a ring, to its end, a disc."""
    ax.plot(content, style, color=INK, lw=1.6, gid="over training")
    ring = {"mfc": "white", "mec": INK}
    ax.plot(content[0], style[0], "o", ms=9, gid="start", label="start", **ring)
    ax.plot(content[-1], style[-1], "o", ms=9, color=INK, gid="end", label="end")
    ax.set_xlabel("content", color=CONTENT)
    ax.set_ylabel("style", color=STYLE)
    legend(ax, loc="lower left")
