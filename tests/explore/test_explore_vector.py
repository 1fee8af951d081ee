"""The display list: what is kept of matplotlib's drawing, and how frames share it."""

from __future__ import annotations

import re

import numpy as np
import pytest
import toy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from matplotlib import pyplot as plt
from matplotlib.path import Path

from clbook import style
from clbook.explore import data, vector


def decode(text, origin):
    """Vertices (n, 2) of relative path data; z takes the place that matplotlib's CLOSEPOLY vertex has."""
    out, (x, y), start = [], origin, origin
    for letter, numbers in re.findall(r"([mlqcz])([-\d ]*)", text):
        if letter == "z":
            out.append(None)
            x, y = start
            continue
        points = np.array([int(v) for v in re.findall(r"-?\d+", numbers)]).reshape(-1, 2) + (x, y)
        out.extend(map(tuple, points.tolist()))
        x, y = out[-1]
        if letter == "m":
            start = x, y
    return out


COORDINATES = st.floats(-2000, 2000)


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(float, st.tuples(st.integers(1, 30), st.just(2)), elements=COORDINATES))
def test_a_polyline_survives_to_half_a_unit(points):
    whole = vector.quantise(points)
    codes = np.array([Path.MOVETO] + [Path.LINETO] * (len(whole) - 1))
    text = vector.encode(whole, codes, whole[0])
    assert np.abs(np.array(decode(text, tuple(whole[0]))) - points).max() <= 0.5


def test_a_line_that_grows_is_the_old_text_and_a_suffix():
    points = vector.quantise(np.random.default_rng(0).normal(0, 300, (20, 2)))
    codes = np.array([Path.MOVETO] + [Path.LINETO] * 19)
    whole = vector.encode(points, codes, points[0])
    assert whole.startswith(vector.encode(points[:9], codes[:9], points[0]))


CIRCLE, SQUARE = Path.unit_circle(), Path.unit_rectangle()
SHAPES = [CIRCLE, SQUARE, Path.wedge(10, 200), Path.make_compound_path(SQUARE, CIRCLE)]


@pytest.mark.parametrize("path", SHAPES)
def test_curves_and_closed_shapes_survive(path):
    path = path.cleaned()
    whole, codes = vector.quantise(path.vertices[:-1] * 1000), path.codes[:-1]
    got = decode(vector.encode(whole, codes, (7, -3)), (7, -3))
    closing = codes == Path.CLOSEPOLY
    assert [v for v in got if v] == [*map(tuple, whole[~closing].tolist())]
    assert [v is None for v in got] == closing.tolist()


def test_what_frames_share_is_stored_once():
    result, scene, pen = toy.run(toy.Config()), vector.Scene(), vector.Pen()
    scene.add(pen.draw(toy.draw(result, 3)))
    alone = len(scene.ops)
    scene.add(pen.draw(toy.draw(result, 3)))
    assert len(scene.ops) == alone and scene.frames[0] == scene.frames[1]
    scene.add(pen.draw(toy.draw(result, 4)))
    assert len(scene.ops) - alone < 0.4 * alone
    assert scene.frames[2][-1] != scene.frames[1][-1]  # but the alt text is its own


def test_hatches_and_other_sizes_are_refused_not_dropped():
    scene, pen = vector.Scene(), vector.Pen()
    fig, ax = style.axes()
    ax[0, 0].bar([1], [1], hatch="/")
    with pytest.raises(ValueError, match="hatch = '/'"):
        pen.draw(style.Picture(fig, "a bar"))
    scene.add(pen.draw(style.Picture(style.axes(height=3)[0], "3 inches")))
    with pytest.raises(ValueError, match="size"):
        scene.add(pen.draw(style.Picture(style.axes(height=2)[0], "2 inches")))


def places(fig):
    return [ax.get_position().bounds for ax in fig.axes]


def test_axes_are_laid_out_once_for_equal_surroundings():
    known, result = {}, toy.run(toy.Config())
    drawn, first, later = (toy.draw(result, k).fig for k in (3, 3, 4))
    drawn.draw_without_rendering()
    data.arrange(first, known)
    np.testing.assert_allclose(places(first), places(drawn), atol=1e-3)
    data.arrange(later, known)
    assert len(known) == 1 and places(later) == places(first)  # limits and titles are as large
    higher, wider = (toy.draw(result, 3).fig for _ in range(2))
    higher.axes[1].set_ylim(0, 1.11)
    data.arrange(higher, known)
    assert len(known) == 1 and places(higher) == places(first)  # ticks take no more room
    wider.axes[1].set_ylim(0, 11000)
    data.arrange(wider, known)
    assert len(known) == 2 and places(wider)[1][0] > places(first)[1][0]
    taller = toy.draw(result, 3).fig
    taller.axes[0].set_title("two\nlines")
    data.arrange(taller, known)
    assert len(known) == 3 and places(taller) != places(first)


CHANGES = {
    "limits": lambda ax: ax.set(xlim=(0, 2)),
    "places of ticks": lambda ax: ax.set_xticks([0.1, 0.4]),
    "words at ticks": lambda ax: ax.set_xticks([0, 1], ["low", "high"]),
    "no words": lambda ax: ax.tick_params(labelleft=False),
    "an offset above": lambda ax: ax.set(ylim=(1e6, 1e6 + 1)),
    "a scale": lambda ax: ax.set(yscale="log", ylim=(0.1, 10)),
    "a label": lambda ax: ax.set_ylabel("height"),
    "a label's colour": lambda ax: ax.yaxis.label.set_color("red"),
    "no grid": lambda ax: ax.grid(False),
    "another direction": lambda ax: ax.invert_yaxis(),
    "none": lambda ax: ax.set_axis_off(),
    "no axis": lambda ax: ax.xaxis.set_visible(False),
    "another title": lambda ax: ax.set_title("two"),
}


def changed(change):
    fig, ((ax,),) = style.axes()
    ax.plot([0, 1], [0, 1])
    ax.set(xlabel="x", ylabel="y", xlim=(0, 1), ylim=(0, 1), title="one")
    change(ax)
    return style.Picture(fig, "a line")


@pytest.mark.parametrize("what", CHANGES)
def test_axes_that_look_alike_are_drawn_once_and_others_anew(what):
    kept, drawn = vector.Pen(), {}
    for change in (lambda ax: None, CHANGES[what]) * 2:
        found = kept.draw(changed(change))
        fresh = vector.Pen()
        fresh.layout = kept.layout
        wanted = fresh.draw(changed(change))
        assert found.marks == wanted.marks
        drawn[change] = found.marks
    first, second = drawn.values()
    assert first != second and len(kept.ticks) <= 4  # of eight axes


def test_a_panel_without_a_label_has_that_of_the_same_axis_beside_it():
    fig, ((left, right), (below, other)) = plt.subplots(2, 2)
    for ax in (left, right, below):
        ax.set(xlim=(0, 1), ylim=(0, 2))
    other.set(xlim=(0, 1), ylim=(0, 3))
    left.set_ylabel("loss")
    below.set(xlabel="time", ylabel="height")
    found = [data.names(ax)[1:3] for ax in (left, right, below, other)]
    assert found == [("time", "loss"), ("", "loss"), ("time", "height"), ("", "")]
    plt.close(fig)


def test_ticks_stand_for_words_and_for_other_numbers_than_their_places():
    fig, ax = plt.subplots()
    ax.set_xticks([0, 1, 2], ["cat", "-1.0", "2"])
    ax.set_yticks([0, 1])
    ax.tick_params(labelbottom=False)  # for the numbers they are there
    *_, x, y = data.names(ax)
    assert x == ((0.0, "cat"), (1.0, "-1.0")) and y == ()
    plt.close(fig)
