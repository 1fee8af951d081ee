"""The figures of landscape and separability on small results: axes say what they show, data have names, the alt text is
true. And what all figures are drawn with: axes, bands, names of lines, typeset formulas."""

import functools
import inspect
import itertools
import re

import numpy as np
import pytest
from sklearn.decomposition import PCA

from clbook import style, theory
from clbook.experiments import landscape, separability
from clbook.experiments.separability.condition import Check
from clbook.style import Picture
from clbook_book.course.landscape import descent, quiz
from clbook_book.course.landscape import figures as landscape_figures
from clbook_book.course.landscape.shuffle import Shuffle
from clbook_book.course.separability import figures as separability_figures


def of_landscape():
    few = landscape.Config(clusters=3, copies=2)
    random = landscape.Config(clusters=4, copies=1, arrangement="random", jitter=0.1)
    asked = few, random, few.replace(tau=0.5), few.replace(tolerance=0.1)
    one, two, warm, coarse = map(landscape.run, asked)
    both = [one, two], ["even", "random"]
    return {
        "landscape": (one,), "threshold": (one,), "indicator": (one,),
        "arrows": both, "spectra": both[:1], "measures": both,
        "three_panels": ([one, warm], [one, coarse]), "two_orders": (Shuffle(12), one),
        "forgetting": (landscape.forget(landscape.MapsConfig(n=12)),),
        "quiz": (quiz.run(quiz.Config()),),
        "descending": (descent.run(descent.Config(n=12, steps=8)),),
    }  # fmt: skip


def checked(epses=(0.1, 1.0), taus=(0.01, 1.0), seeds=(0, 1)):
    """What `condition.check` gives for runs of which one never separated, with made-up numbers."""
    eps, tau, seed = map(np.array, zip(*itertools.product(epses, taus, seeds), strict=True))
    separated = np.arange(len(eps)) != 4
    left, right = 2.0 + eps, 1.0 + np.arange(len(eps))
    terms = {"gamma": eps / 2, "theta": np.full(len(eps), 3.0), "sigma2": eps / 4, "delta": tau / 2}
    sides = {"left": left, "right": right, "ratio": left / right}
    sides["ratio_frozen"] = left / (right - tau / 2)
    steps = np.where(separated, 10 + 3 * np.arange(len(eps)), np.nan)
    return Check(eps=eps, tau=tau, seed=seed, separated=separated, steps=steps, **terms, **sides)


def of_separability():
    config = separability.Config(n=12, eps=0.01, hidden=(30,), lr_over_tau=0.05, steps=60)
    check = checked()
    asked = ("kernel", "alignment", "theta")
    configs = config.compared(separability.PAIR)
    pair = {name: separability.run(each, record=asked) for name, each in configs.items()}
    result = pair["network"]
    return {
        "trajectories": (result,), "kernel_story": (result,),
        "race": ([result],), "panels": ([result, result], ["one", "two"]), "side_by_side": (pair,),
        "condition": (check,), "views": (config,),
        "phase_diagram": (check, (0.1, 1.0), (0.01, 1.0)),
    }  # fmt: skip


CHAPTERS = {
    "landscape": (landscape_figures, of_landscape),
    "separability": (separability_figures, of_separability),
}


@functools.cache
def arguments(chapter):
    return CHAPTERS[chapter][1]()


def figures(module):
    """The names of a module's functions that give a Picture."""
    own = inspect.getmembers(module, inspect.isfunction)
    own = [(name, f) for name, f in own if f.__module__ == module.__name__]
    return [name for name, f in own if f.__annotations__.get("return") in (Picture, "Picture")]


def drawn(chapter, name):
    """The figure, at its first and its last frame where it has frames."""
    draw = getattr(CHAPTERS[chapter][0], name)
    has_frames = "frame" in inspect.signature(draw).parameters
    frames = ({"frame": 0}, {"frame": -1}) if has_frames else ({},)
    return [draw(*arguments(chapter)[name], **frame) for frame in frames]


def numbers(text):
    """All numbers in a text, in order."""
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", text)]


FIGURES = [(chapter, name) for chapter, (module, _) in CHAPTERS.items() for name in figures(module)]


@pytest.mark.parametrize("chapter, name", FIGURES)
def test_axes_are_labelled_and_not_empty_and_data_has_one_name(chapter, name):
    for picture in drawn(chapter, name):
        assert picture.png(dpi=40).startswith(b"\x89PNG") and numbers(picture.alt)
        for ax in picture.fig.axes:
            assert ax.has_data(), "an empty panel"
            if ax.get_label() == "<colorbar>":
                assert ax.get_xlabel() or ax.get_ylabel()
                continue
            words = ax.get_xlabel(), ax.get_ylabel() or ax.get_title()
            for axis, said in zip((ax.xaxis, ax.yaxis), words):
                ticks = [label.get_text() for label in axis.get_ticklabels() if label.get_visible()]
                of_classes = any("class" in tick for tick in ticks)
                assert said or of_classes or not any(map(numbers, ticks)), axis
            gids = [each.get_gid() for each in ax.get_children() if each.get_gid() is not None]
            assert len(gids) == len(set(gids)), gids


@pytest.mark.parametrize("tau, tolerance", [(0.2, 0.01), (0.05, 0.1)])
def test_alt_text_of_the_landscape_chapter_says_the_numbers_of_its_figure(tau, tolerance):
    """The threshold by brute force: the first K whose mean of exp(-|a - b|^2 / 2 tau) is near that of the circle."""

    def loss(count):
        return np.log1p(2 * np.exp((np.cos(2 * np.pi * np.arange(count) / count) - 1) / tau).mean())

    plateau = loss(4096)
    count = next(k for k in range(1, 100) if loss(k) <= (1 + tolerance) * plateau)
    result = landscape.run(landscape.Config(tau=tau, tolerance=tolerance))
    chord, slope = 4 * np.sin(np.pi / count) ** 2, theory.threshold_slope(tolerance)
    said = [tau, tolerance, count, plateau, chord, slope]
    assert numbers(landscape_figures.threshold(result).alt) == pytest.approx(said, rel=5e-3)


@pytest.mark.parametrize("frame", [0, -1])
def test_alt_text_of_the_separability_chapter_says_the_numbers_of_its_figure(frame):
    (result,) = arguments("separability")["trajectories"]
    shown, config = result.z[frame], result.config
    assert result.separable_at > 0
    known = [result.separable_at] if frame else []  # at the start nobody knows when it will be
    said = [config.n, config.eps, config.tau, *known, result.steps[frame], np.ptp(shown)]
    alt = separability_figures.trajectories(result, frame).alt
    assert numbers(alt) == pytest.approx(said, rel=5e-3)


# What figures share.


def test_plane_holds_the_two_principal_axes_and_keeps_their_sign():
    z = np.random.default_rng(0).normal(size=(3, 40, 5)) * [1, 5, 0.1, 3, 1]
    axes = style.plane(z)
    expected = PCA(2).fit(z.reshape(-1, 5)).components_.T
    np.testing.assert_allclose(np.abs(axes), np.abs(expected), atol=1e-12)
    assert (axes[np.abs(axes).argmax(0), [0, 1]] > 0).all()
    np.testing.assert_array_equal(style.plane(-z), axes)
    np.testing.assert_array_equal(style.plane(z[0, :, :1]), [[1.0, 0.0]])


def test_band_is_the_mean_and_the_range_or_what_half_width_it_is_given():
    _, ((left, right),) = style.axes(2)
    values = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 7.0]])
    for ax, half, edges in ((left, None, (1.0, 7.0)), (right, np.full(3, 0.5), (1.5, 5.5))):
        style.band(ax, range(3), values, half, color=style.colour(1), gid="band")
        (line,) = ax.lines
        assert line.get_ydata().tolist() == [2.0, 2.0, 5.0] and line.get_gid() == "band"
        extent = ax.collections[0].get_paths()[0].vertices[:, 1]
        assert (extent.min(), extent.max()) == edges


def test_names_of_lines_stand_in_the_lines_order_apart_and_are_led_to_from_where_each_ends():
    fig, ((ax,),) = style.axes(height=2.5)
    x = np.linspace(1, 0, 5)  # the right end is the first point
    for name, height in (("low", 0.1), ("high", 0.9), ("middle", 0.12)):
        ax.plot(x, height * x, color=style.colour(1), label=name)
    ax.plot(x, np.where(x > 0.5, 5.0, x / 2), label="leaves")
    ax.plot(x, np.where(x > 0.5, np.nan, x / 4), label="ends", gid="a run")
    ax.axhline(0.6, label="bound")
    ax.plot(x, x)
    dots = ax.scatter(x, x, label="dots")
    ax.set(xlim=(0, 1.2), ylim=(0, 1))
    style.name_lines(ax, 12)
    said = sorted(ax.texts, key=lambda text: text.xyann[1])
    names = ["low", "middle", "ends", "leaves", "bound", "high"]
    assert [text.get_text() for text in said] == names
    at = [(1, 0.1), (1, 0.12), (0.5, 0.125), (0.5, 0.25), (1, 0.6), (1, 0.9)]
    assert [tuple(text.xy) for text in said] == at
    ax.set_ylim(-1, 1)  # wider axes, as of another run
    ends = {text.get_text(): text.xycoords.transform(text.xy)[1] for text in said}
    assert ends["bound"] == pytest.approx(ax.transData.transform((0, 0.6))[1])
    high = said[-1]
    end = ax.transAxes.inverted().transform(high.xycoords.transform(high.xy))
    assert (end[1], high.xyann[1]) == pytest.approx((0.95, 0.95)), "the names have followed"
    points = ax.get_window_extent().height * 72 / fig.dpi
    places = np.array([text.xyann[1] for text in said]) * points
    assert (np.diff(places) > 12 - 1e-6).all() and places.min() >= -1e-6
    assert style.legend(ax).legend_handles[0].get_label() == "dots" == dots.get_label()
    gids = ["low", "high", "middle", "leaves", "a run", "bound", None]
    assert [line.get_gid() for line in ax.lines] == gids


def test_log_axis_has_plain_ticks_and_no_small_ones():
    _, ((ax,),) = style.axes()
    ax.plot([1, 100], [1e-3, 10])
    style.log_axis(ax, (1, 3, 0.5))
    style.log_axis(ax, axis="y")
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "3", "0.5"]
    assert not len(ax.xaxis.get_minorticklocs()) and not len(ax.yaxis.get_minorticklocs())


@pytest.mark.parametrize(
    ("typed", "set_"),
    [
        ("eps^2/tau < 1e-05", "ε<sup>2</sup>/τ &lt; 10<sup>−5</sup>"),
        ("tau_c", "τ<sub>c</sub>"),
        ("beta, zeta", "β, zeta"),
        ("R2 of d_c", "R<sup>2</sup> of d<sub>c</sub>"),
        ("2.4e+00, 0e+00", "2.4, 0"),
        ("3.6e+84", "3.6·10<sup>84</sup>"),
        ("1.1e-16, 2e-07", "1.1·10<sup>−16</sup>, 2·10<sup>−7</sup>"),
        ("|p - q|_1 to -1.5", "|p − q|<sub>1</sub> to −1.5"),
        ("n_test, batch_size, 3-5", "n_test, batch_size, 3-5"),
        ("1/sqrt(M) <= Theta", "1/√(M) ≤ Θ"),
        ("it is inf", "it is ∞"),
        ("inference", "inference"),
        ("<b>", "&lt;b&gt;"),
    ],
)
def test_formulas_in_tables_are_typeset(typed, set_):
    assert style.typeset(typed) == set_
    table = style.Table((typed,), [("x",)])
    assert style.typeset(typed) in table._repr_html_() and typed in str(table)
