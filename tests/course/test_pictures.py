"""What the course's pictures show, held to the values that the package computes: places, colours, lists and words."""

import base64
import io

import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb
from PIL import Image

from clbook import kernels, metrics, style, theory
from clbook.experiments import alignment, content_style, overlap, separability, words
from clbook.experiments.modadd import lookup
from clbook_book.course.alignment import figures as alignment_figures
from clbook_book.course.content_style import figures as content_figures
from clbook_book.course.kernel import figures as kernel_figures
from clbook_book.course.landscape import figures as landscape_figures
from clbook_book.course.landscape import quiz
from clbook_book.course.modadd import lookup_figures
from clbook_book.course.overlap import figures as overlap_figures
from clbook_book.course.separability import figures as separability_figures
from clbook_book.course.words import atlas
from clbook_book.course.words import figures as word_figures


def artists(ax):
    """{gid: artist} of an axes."""
    return {artist.get_gid(): artist for artist in ax.get_children() if artist.get_gid()}


def words_of(ax):
    return [text.get_text() for text in ax.texts]


# Pictures that misled: what they show now.


def test_the_top_eigenvector_is_shown_where_its_points_are():
    config = separability.Config(n=24, data="donut", augmentation="rotation", steps=4, hidden=(30,))
    result = separability.run(config, record=kernel_figures.BLOCKS)
    fig = kernel_figures.blocks(result).fig
    matrix, plane, scores = fig.axes
    vector, _ = kernels.top_eigenvector(result.kernel[-1], result.labels)
    (dots,) = plane.collections
    np.testing.assert_allclose(dots.get_offsets(), result.x, atol=1e-6)
    shown = dots.get_array()
    np.testing.assert_allclose(abs(shown), abs(vector) / abs(vector).max(), atol=1e-6)
    assert [tick.get_text() for tick in matrix.get_xticklabels()] == ["disc", "ring"]
    (cells,) = matrix.images
    assert cells.get_array().shape == (24, 24)
    fig.draw_without_rendering()
    assert matrix.get_window_extent().width > 2.4 * fig.dpi, "a matrix that one can read"


def test_few_colours_keep_those_of_thin_lines_beside_a_large_matrix():
    fig, ((left, right),) = style.axes(2, width=7.2, height=3.2)
    values = np.random.default_rng(0).normal(size=(100, 100))
    left.imshow(values, cmap="RdBu_r", vmin=-3, vmax=3)
    for k in range(5):
        right.plot([0, 1], [k, k + 1], color=style.colour(k), lw=1.5)
    picture = style.Picture(fig, "A matrix and five lines.")
    picture.png(144)  # a first drawing may set the panels elsewhere
    kind, _, inline = picture.inline().partition(",")
    assert kind == "data:image/webp;base64"
    files = picture.png(144), *map(base64.b64decode, (picture.small(), inline))
    opened = (Image.open(io.BytesIO(file)).convert("RGB") for file in files)
    whole, few, in_page = (np.asarray(image).astype(int) for image in opened)
    assert abs(whole - few).max() < 40, "of 255 levels"
    assert (in_page == few).all() and len(inline) < len(picture.small())


def test_the_word_separable_stands_there_from_that_time_on():
    config = separability.Config(n=24, eps=0.1, steps=300)
    result = separability.run(config, record=kernel_figures.BLOCKS)
    at = int(np.searchsorted(result.steps, result.separable_at))
    for frame, told in ((0, []), (at - 1, []), (at, ["separable"]), (-1, ["separable"])):
        scores = kernel_figures.blocks(result, frame).fig.axes[2]
        words = [text.get_text() for text in scores.texts if text.get_visible()]
        assert [word for word in words if word == "separable"] == told


def test_a_strip_does_not_sort_the_points_by_their_class_and_has_the_coordinate_of_the_paths():
    result = separability.run(separability.Config(n=12, d=2, steps=5, hidden=(30,)))
    strip = artists(separability_figures.trajectories(result).fig.axes[1])
    dots = np.array([strip[f"class {k} now"].get_offsets() for k in (0, 1)])
    (a, b), heights = dots[..., 0], dots[..., 1:]
    assert a.min() < b.max() and b.min() < a.max()
    first = [result.z[-1][result.labels == k, :1] / result.config.eps for k in (0, 1)]
    np.testing.assert_allclose(heights, first, rtol=1e-5)


def test_strokes_join_the_neighbours_on_the_ring_whose_views_overlap():
    result = overlap.run(overlap.Config(steps=1))
    _, start = overlap_figures.beginning(result).fig.axes
    strokes = artists(start)["share views"].get_segments()
    gaps = np.diff(result.x, append=result.x[0] + 360)
    assert 0 < len(strokes) == (gaps < result.config.width).sum() < len(gaps)


def vocabulary() -> words.Result:
    """Seven symbols in three dimensions; of two split words one has its twin nearest."""
    table = [[0, 0, 9], [1, 0, 0], [1, 0.1, 0], [3, 0, 0], [9, 0, 0], [3, 0.5, 0], [0, 4, 0]]
    counts = {"injected": 2, "natural": 0, "random, injected": 2, "random, natural": 1}
    return words.Result(
        config=words.Config(),
        seconds=0.0,
        device="cpu",
        stopped=False,
        steps=np.array([0]),
        words=["a", "b₁", "b₂", "c₁", "c₂", "d", "e"],
        counts=np.array([9, 8, 8, 7, 7, 3, 1]),
        pairs={"injected": np.array([[3, 4], [1, 2]]), "natural": np.zeros((0, 2), int)},
        distances={name: np.ones((1, count)) for name, count in counts.items()},
        table=np.array([table], float),
    )


def test_the_map_of_words_lists_who_is_nearest_in_all_dimensions():
    result = vocabulary()
    picture = word_figures.vocabulary(atlas.map_of(result))
    plane, beside = picture.fig.axes
    away = np.linalg.norm(result.table[0] - result.table[0, 1], axis=1)
    expected = [result.words[k] for k in np.argsort(away, kind="stable")[1:]]
    *names, below = words_of(beside)
    assert names == expected and expected[0] == "b₂"
    (bars,) = beside.containers
    unit = away.sum() / (len(away) - 1)
    lengths = [bar.get_width() for bar in bars]
    np.testing.assert_allclose(lengths, np.minimum(np.sort(away)[1:] / unit, 1.2), rtol=1e-5)
    assert to_rgb(bars[0].get_facecolor()) == to_rgb(word_figures.KINDS["injected"])
    assert "1 of 2 split words" in below and "1 of 2 split words" in picture.alt


def test_no_name_on_the_map_of_words_stands_on_another():
    fig = word_figures.vocabulary(atlas.map_of(vocabulary())).fig
    fig.draw_without_rendering()
    boxes = [text.get_window_extent() for text in fig.axes[0].texts]
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[k + 1 :])


# Pictures that were missing.


@pytest.mark.parametrize("tau, rival", [(0.02, 15.0), (0.02, 45.0), (0.5, 45.0)])
def test_the_bars_of_the_quiz_are_the_softmax_and_its_loss_is_that_of_the_book(tau, rival):
    result = quiz.run(quiz.Config(tau=tau, rival=rival))
    angles = np.radians([30, rival, *np.linspace(75, 285, 10)])
    weights = np.exp((np.cos(angles) - 1) / tau)
    np.testing.assert_allclose(result.chances, weights / weights.sum(), rtol=1e-9, atol=1e-300)
    assert result.loss == pytest.approx(-np.log(weights[0] / weights.sum()))
    circle, bars = landscape_figures.quiz(result).fig.axes
    negatives, partner = bars.containers
    assert [bar.get_height() for bar in partner] == pytest.approx(result.chances[:1])
    assert [bar.get_height() for bar in negatives] == pytest.approx(result.chances[1:])
    places = np.array([bar.get_x() for bar in (*partner, *negatives)])
    assert (np.diff(result.cosines[places.argsort()]) <= 1e-12).all(), "the most similar first"
    np.testing.assert_allclose(artists(circle)["partner"].get_offsets(), result.views[:1])


def test_the_graph_of_the_ring_is_the_chance_that_two_views_of_one_point_fall_there():
    config = overlap.Config(n=6, classes=2, jitter=0.4, width=18.0)
    arcs, matrix = overlap_figures.graph(config).fig.axes
    (image,) = matrix.images
    A = np.asarray(image.get_array())
    x = overlap.points(config)[0].numpy()[:3]
    edges = np.array([line.get_xdata()[0] for line in arcs.lines if line.get_linestyle() == ":"])
    assert len(A) == len(edges) - 1
    # By hand: a view of a point is even on its interval, so a piece has its length over the width, or nothing.
    middle, length = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    chances = np.where(abs(middle - x[:, None]) < 9, length / 18, 0)
    np.testing.assert_allclose(chances.sum(1), 1, atol=1e-9)
    np.testing.assert_allclose(A, chances.T @ chances / 6, atol=1e-9)
    assert A[0, -1] == 0 and (A[3] > 0).all()


def test_the_race_has_the_gap_the_room_and_the_predicted_growth():
    config = separability.Config(n=12, eps=0.01, hidden=(30,), lr_over_tau=0.05, steps=60)
    result = separability.run(config, record=("theta",))
    (ax,) = separability_figures.race([result]).fig.axes
    shown = {line.get_gid(): line.get_ydata() for line in ax.lines if line.get_gid()}
    one, other = (result.z[:, result.labels == k, 0] for k in (0, 1))
    np.testing.assert_allclose(shown["gap"], abs(one.mean(1) - other.mean(1)))
    widths = np.maximum(np.ptp(one, axis=1), np.ptp(other, axis=1))
    np.testing.assert_allclose(shown["width of a class"], widths)
    rate = theory.growth_rate(result.theta[0], config.tau, config.gradient) * config.lr
    grown = shown["gap"][0] * np.exp(rate * result.steps)
    drawn = np.isfinite(shown["linear phase"])
    np.testing.assert_allclose(shown["linear phase"][drawn], grown[drawn])
    rooms = [line.get_ydata()[0] for line in ax.lines if line.get_linestyle() == "--"]
    assert rooms == [pytest.approx(config.tau**0.5)]


def test_two_equivalent_symbols_share_a_bowl_whose_lowest_point_is_their_vector():
    result = lookup.run(lookup.Config(d=2))
    z, c = (torch.tensor(table[-1]) for table in (result.z, result.c))
    joint = torch.tensor(result.joint)
    _, slope = lookup.infonce(z, c, joint)
    slopes = slope @ c / joint.sum(1, keepdim=True)  # of F_u at the vector of u
    torch.testing.assert_close(slopes, torch.zeros_like(slopes), atol=1e-5, rtol=0)
    around = np.random.default_rng(0).normal(size=(50, 2))
    first, twin, another = (lookup_figures.bowl(result, u, around) for u in (0, 1, 2))
    np.testing.assert_allclose(first, twin, atol=1e-9)
    assert abs(first - another).max() > 0.1
    assert (first >= lookup_figures.bowl(result, 0, result.z[-1, 0])).all()
    fig = lookup_figures.bowls(result, {0: "one", 2: "another"}).fig
    stars = [artists(ax)["vector"].get_xydata()[0] for ax in fig.axes]
    np.testing.assert_allclose(stars, result.z[-1, [0, 2]])
    own = result.joint[0] / result.joint[0].sum()
    scores = result.c[-1] @ around[0]
    by_hand = -own @ scores + np.log(result.joint.sum(0) @ np.exp(scores))
    assert first[0] == pytest.approx(by_hand)


def test_turned_weights_have_the_table_of_the_first_ones():
    draws = np.random.default_rng(0)
    hidden, last = draws.normal(size=(9, 5)), draws.normal(size=(4, 5))
    turned = np.linalg.qr(draws.normal(size=(4, 4)))[0] @ last
    fig = alignment_figures.one_table(hidden, {"one": last, "turned": turned}).fig
    tables = [np.asarray(ax.images[0].get_array()) for ax in fig.axes]
    np.testing.assert_allclose(tables[2], tables[3], atol=1e-12)
    assert abs(tables[0] - tables[1]).max() > 0.5
    layers = [torch.nn.Linear(5, 4, bias=False) for _ in range(2)]
    for layer, matrix in zip(layers, (last, turned), strict=True):
        layer.weight.data = torch.tensor(matrix)
    assert alignment_figures.gap(last, turned) == pytest.approx(metrics.weight_gap(*layers))


def test_similarity_of_networks_stands_at_its_iterations_counted_from_1():
    config = alignment.Config(n=200, test=40, width=16, d=8, batch=20, steps=12, warmup=2)
    result = alignment.run(config, record=("plane", "cka"))
    curve = np.stack([result.steps + 1, result.cka[:, 1]], 1)
    shown = artists(alignment_figures.sides(result).fig.axes[1])["NSCL"].get_xydata()
    np.testing.assert_allclose(shown, curve)


def test_in_the_box_content_grows_and_on_the_sphere_it_takes_from_the_style():
    small = {"n": 32, "d": 4, "steps": 30}
    box = content_style.run(content_style.Config(d_c=2, **small))
    ball = content_style.run(content_style.Config(space="sphere", normalize=True, d_c=2, **small))
    left, right = content_figures.box_and_sphere(box, ball).fig.axes
    gain = content_style.gains(box.map)
    expected = np.sqrt((gain[:, :2] ** 2).sum(1)), np.sqrt((gain[:, 2:] ** 2).sum(1))
    path = artists(left)["over training"].get_xydata()
    np.testing.assert_allclose(path, np.stack(expected, 1))
    on_circle = artists(right)["over training"].get_xydata()
    np.testing.assert_allclose(np.linalg.norm(on_circle, axis=1), 1)
    ratio = content_figures.lengths(ball)
    np.testing.assert_allclose(on_circle[:, 1] / on_circle[:, 0], ratio[1] / ratio[0])
