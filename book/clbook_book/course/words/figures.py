"""Figures of the chapter "Words"."""

from __future__ import annotations

import numpy as np
from matplotlib.patheffects import withStroke
from matplotlib.transforms import Bbox

from clbook.experiments.words.splitting import TWIN
from clbook.style import INK, MUTED, Picture, axes, colour, legend
from clbook_book.course.drawing import square
from clbook_book.course.words.atlas import frequent, marked
from clbook_book.course.words.neighbours import twin_of

KINDS = {
    "injected": colour(7),
    "natural": colour(0),
    "random": colour(4),
}  # the colours of SL Fig. 9


def _kinds(result):
    """{kind: (T, P) distances}; both sets of random pairs together."""
    both = [result.distances[f"random, {kind}"] for kind in ("injected", "natural")]
    kinds = {
        "injected": result.distances["injected"],
        "natural": result.distances["natural"],
        "random": np.concatenate(both, axis=1),
    }
    return {kind: values for kind, values in kinds.items() if values.shape[1]}


def _numbers(result, frame=-1):
    return (
        f"at step {result.steps[frame]} the mean distance is {result.ratio('injected', frame):.2f} of that of "
        f"random pairs for injected twins, {result.ratio('natural', frame):.2f} for natural synonyms"
    )


def distances(result, shown=60) -> Picture:
    """SL Fig. 9a and 9b: distances over training, one by one (the first `shown` of each kind) and their means."""
    fig, ((left, right),) = axes(2, width=7.6, height=3.3, sharex=True, sharey=True)
    kinds = _kinds(result)
    for kind, values in reversed(kinds.items()):
        tone = KINDS[kind]
        left.plot(result.steps, values[:, :shown], color=tone, lw=0.6, alpha=0.35)
        quartiles = np.percentile(values, (25, 75), axis=1)
        right.fill_between(result.steps, *quartiles, color=tone, alpha=0.2, lw=0)
        right.plot(result.steps, values.mean(1), color=tone, lw=2, label=kind, gid=kind)
    left.set(
        xlabel="step",
        ylabel="distance of two symbols",
        ylim=(0, np.percentile(kinds["random"], 99.5)),
        title="single pairs",
    )
    right.set(xlabel="step", title="means and quartiles")
    legend(right, loc="upper left")
    return Picture(fig, "Distances of pairs over training: " + _numbers(result) + ".")


def ratios(runs) -> Picture:
    """Ratio to the random distance over training: twins (left), natural synonyms (right). runs: {name: Result}."""
    fig, ((left, right),) = axes(2, width=7.8, height=3.6, sharex=True, sharey=True)
    ends = []
    for k, (name, result) in enumerate(runs.items()):
        style = {
            "color": colour(k),
            "ls": ("-", "--", ":", "-.")[k % 4],
            "label": name,
            "gid": name,
        }
        for ax, kind in ((left, "injected"), (right, "natural")):
            ratio = [result.ratio(kind, frame) for frame in range(len(result.steps))]
            ax.plot(result.steps, ratio, **style)
        ends.append(f"{name} {result.ratio('injected'):.2f}")
    left.set(
        ylim=(0, 1.1), xlabel="step", ylabel="distance / random distance", title="injected twins"
    )
    right.set(xlabel="step", title="natural synonyms")
    fig.legend(
        *left.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=3,
        frameon=False,
        fontsize=9,
    )
    return Picture(
        fig, f"Distance of twins over that of random pairs at the end: {', '.join(ends)}."
    )


def _bars(ax, names, distances, twin):
    """A bar for each of the nearest symbols, with its name in it; the twin has a colour of its own."""
    tones = [KINDS["injected" if name == twin else "natural"] for name in names]
    place = np.arange(len(names))
    length = np.minimum(distances, 1.2)
    ax.barh(place, length, color=tones, alpha=0.35, height=0.8, label="distance")
    for y, name in zip(place, names, strict=True):
        ax.text(0.02, y, name, va="center", color=INK)
    ax.axvline(1, color=MUTED, lw=1.2, ls=":")
    ax.set_yticks(place, names)  # for the numbers; for the eye they stand in the bars
    ax.tick_params(left=False, labelleft=False)
    ax.set(xlim=(0, 1.25), ylim=(len(place) - 0.4, -0.6), xlabel="distance / mean distance")
    ax.grid(False)


# Of a name on the map: width of a letter and height, in halves of the map.
LETTER, LINE = 0.036, 0.09


def vocabulary(result, frame=-1) -> Picture:
    """The vocabulary in the plane in which the table at the end varies most (left), and who is nearest to one word.

    result: from `atlas.look`. Grey: the most frequent words. Thick lines join the most frequent twins and natural
    synonyms; twins have one name, synonyms two, where there is room. The word on the right is the most frequent of
    those that were split; thin lines join it to its nearest in all dimensions.
    """
    fig, ((ax, beside),) = axes(2, width=7.8, height=4.4, width_ratios=(2, 1))
    at = result.plane.astype(np.float32)
    often = frequent(result)
    now = at[frame]
    ax.scatter(*now[often].T, s=5, color=MUTED, alpha=0.3, linewidths=0, gid="vocabulary")
    # Few, so that the names can be read.
    joined = {kind: marked(result, kind)[:3] for kind in ("injected", "natural")}
    shown = np.concatenate([often, *map(np.ravel, joined.values())])
    whole, here = (1.03 * np.abs(places[..., shown, :]).max() for places in (at, now))
    edge = here if here < whole / 10 else whole  # a start that would be a dot is enlarged
    _pairs(ax, result, now, joined, edge)
    square(ax, edge, xlabel="first direction", ylabel="second direction")
    ax.locator_params(nbins=5)
    enlarged = f", enlarged {whole / edge:.0f} times" if edge < whole else ""
    std = result.config.std
    title = f"step {result.steps[frame]}{enlarged}\nstart with standard deviation {std:g}"
    ax.set(title=title, gid="own scale")
    if ax.lines:
        legend(ax, loc="lower right")
    ringed, near = result.ringed, result.near[frame]
    for k in near:
        ax.plot(*now[[ringed, k]].T, color=INK, lw=0.6, zorder=1.5)
    ax.plot(*now[ringed], "o", ms=9, mfc="none", mec=INK, mew=1.4, zorder=5)
    word, names = result.words[ringed], [result.words[k] for k in near]
    _bars(beside, names, result.away[frame], twin_of(word))
    beside.set_title(f"nearest to {word}")
    words_split = f"{result.first[frame]} of {len(result.pairs['injected'])} split words"
    beside.annotate(
        f"{words_split}: twin nearest",
        (0.5, 0),
        (0, -36),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="center",
        va="top",
    )
    return Picture(
        fig,
        f"Map of the vocabulary, standard deviation of the start {std:g}: "
        f"{_numbers(result, frame)}. Nearest to {word}: {', '.join(names)}. "
        f"For {words_split} the twin is the nearest symbol.",
    )


def _pairs(ax, result, at, joined, edge):
    """Lines that join pairs of words on a map that reaches from -edge to edge, and their names where there is room."""
    taken = []
    for kind, pairs in joined.items():
        for k, pair in enumerate(pairs):
            names = ", ".join(result.words[word] for word in pair)
            ax.plot(
                *at[pair].T,
                color=KINDS[kind],
                marker="o",
                ms=3,
                lw=1.4,
                label=None if k else kind,
                gid=f"{kind}: {names}",
            )
            for word in pair[:1] if kind == "injected" else pair:
                _name(ax, result.words[word].rstrip(TWIN[0]), at[word], edge, taken, KINDS[kind])


def _name(ax, name, place, edge, taken, tone):
    """Write a word at its place, unless it would reach over the map's edge or over a name in `taken`, boxes so far."""
    x, y = place / edge
    box = Bbox.from_bounds(x, y, LETTER * len(name) + 0.04, LINE)
    if box.x1 > 1 or box.count_overlaps(taken):
        return
    taken.append(box)
    said = ax.annotate(
        name, place, xytext=(3, 3), textcoords="offset points", fontsize=9, color=tone, zorder=4
    )
    said.set_path_effects([withStroke(linewidth=2.5, foreground="white")])


def occurrences(results) -> Picture:
    """Distance of each pair of twins over that of its random pair, against how often the rarer twin occurs."""
    fig, ((ax,),) = axes(1, width=7.2, height=3.3)
    count = np.concatenate([r.counts[r.pairs["injected"]].min(1) for r in results])
    ratio = np.concatenate(
        [r.distances["injected"][-1] / r.distances["random, injected"][-1] for r in results]
    )
    ax.scatter(count, ratio, s=14, color=KINDS["injected"], linewidths=0, alpha=0.6)
    ax.axhline(1, color=KINDS["random"], lw=1.2)
    ax.set(
        xscale="log",
        ylim=(0, 1.2),
        xlabel="occurrences of the rarer twin",
        ylabel="distance / random distance",
    )
    ax.minorticks_off()
    half = np.median(count)
    ax.axvline(half, color=MUTED, lw=0.8, ls=":")
    return Picture(
        fig,
        f"Twins that occur less than {half:.0f} times are at {ratio[count < half].mean():.2f} of the "
        f"random distance, the others at {ratio[count >= half].mean():.2f}.",
    )
