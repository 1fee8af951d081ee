"""What the text says beside an explorer, held to the runs that it shows; and the right answers of predictions.

A test an explorer, called after its page and its name. The sentences stand below it, under "What to see". Those whose
runs are in no record are long: without a build these runs take minutes.
"""

import ast
import functools
import itertools
import os
import re
from pydoc_data.topics import topics
from unittest import mock

import numpy as np
import pytest
from clbook_predict import Predict
from sources import PREDICTED, markdown
from sources import cells as cells_of

from clbook import kernels, sweep
from clbook.experiments import content_style, kernel, modadd, overlap, why
from clbook.explore import static
from clbook.results.sweep import combined
from clbook_book import records
from clbook_book.course.sphere import play
from clbook_book.course.why import figures
from clbook_book.course.words import halves


@functools.cache
def statements(page):
    """The statements of a page's code."""
    code = [text for kind, text, _ in cells_of(f"book/{page}") if kind == "code"]
    return [statement for text in code for statement in ast.parse(text).body]


def explorer_of(statement):
    """The name of the explorer that a statement makes; None where it makes none."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "explore":
        return next(each.value.value for each in call.keywords if each.arg == "name")


def needed(page, names, before):
    """{name: value} of `names`, by those of the statements of a page before a number that they depend on."""
    kept, found = [], {}
    for statement in statements(page)[:before][::-1]:
        nodes = [*ast.walk(statement)] if not isinstance(statement, ast.Expr) else []
        aliases = [(node.asname or node.name) for node in nodes if isinstance(node, ast.alias)]
        stored = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        given = {*aliases, *stored, getattr(statement, "name", "")}
        if given & names:
            kept.insert(0, statement)
            names = names | {node.id for node in nodes if isinstance(node, ast.Name)}
    exec(compile(ast.Module(kept, []), page, "exec"), found)
    return found


def value(page, name):
    """What a page's code calls `name`."""
    return needed(page, {name}, len(statements(page)))[name]


class Runs(dict):
    """{settings: result} of an explorer, in the order of its cells; of one slider the settings are one value.

    `cells` has the numbers that the cells show, infinity for words and signs; `shape` is that of the sliders.
    """

    def table(self, read):
        """`read(result)` of all runs, with an axis for each slider."""
        return np.array([*map(read, self.values())]).reshape(self.shape)


@functools.cache
def runs(page, name):
    """The runs of an explorer, from the store where the build has left them there."""
    place = next(k for k, each in enumerate(statements(page)) if explorer_of(each) == name)
    made = statements(page)[place]
    names = {node.id for node in ast.walk(made) if isinstance(node, ast.Name)}
    call = compile(ast.Expression(made.value), page, "eval")
    with (
        mock.patch.dict(os.environ, CLBOOK_STATIC="1"),
        mock.patch.object(static, "player", lambda *given, **how: (*given, how)),
    ):
        subject, base, how = eval(call, needed(page, names, place))
    points = itertools.product(*how["axes"].values())
    keys = [point[0] if len(point) == 1 else point for point in points]
    found = Runs(zip(keys, static.run_grid(subject, combined(base, **how["axes"]))))
    found.shape = [len(values) for values in how["axes"].values()]
    if cells := how["cells"]:
        found.cells = found.table(lambda result: static._number(cells(result)[1]))
    return found


def answer(page, name):
    """The number of the answer that a prediction calls right."""
    body = dict(PREDICTED.findall(markdown(f"book/{page}")))[name]
    return Predict.read(body).right + 1


def says(page, words):
    """Whether a sentence of the page has these words, in which a number was computed."""
    text = re.sub(r"<[^>]+>|[*$]", "", markdown(f"book/{page}"))
    return words in " ".join(text.split())


def when(result, name="separable_at"):
    """The iteration that a result names; infinity where there is none."""
    at = getattr(result, name)
    return np.inf if at is None else at


def parted(points, labels):
    """Whether one threshold separates the two classes of points (n, 1)."""
    a, b = points[labels == 0, 0], points[labels == 1, 0]
    return a.max() < b.min() or b.max() < a.min()


def accuracy(points, labels):
    """Share of points (n, 2) whose own class's mean is the nearest."""
    means = np.stack([points[labels == k].mean(0) for k in np.unique(labels)])
    return (np.linalg.norm(points[:, None] - means, axis=2).argmin(1) == labels).mean()


def angles(points):
    """Angles of points (n, 2)."""
    return np.arctan2(*points.T[::-1])


def test_intro_quiz():
    it = runs("intro", "quiz")
    partner = {at: r.chances[0] for at, r in it.items()}
    assert 0.05 < partner[2, 45] < 0.2 and partner[0.02, 45] > 0.99
    assert partner[0.02, 15] < 0.05 and it[0.02, 15].chances[1:].max() > 0.95
    assert it[0.02, 45].loss < 0.5 * it[2, 45].loss and answer("intro", "quiz") == 1


@pytest.mark.long
def test_intro_first():
    it = runs("intro", "first")
    at, first = it.table(when), it[0.1, 0.03]
    np.testing.assert_allclose(it.cells, at, 0)
    assert not parted(first.z[0], first.labels) and parted(first.z[-1], first.labels)
    assert np.argwhere(np.isinf(at)).tolist() == [[3, 0]] and at[3, 1] > at[1, 1]
    assert np.ptp(at[[0, 1, 2], [0, 1, 2]]) <= 0.1 * at[1, 1]  # alike: ε times 3, τ times 10
    assert answer("intro", "colours") == answer("intro", "wider") == 2


def test_separability_clusters():
    it = runs("separability", "clusters")
    at = it.table(when)
    np.testing.assert_allclose(it.cells, at, 0)
    assert (at[1:] >= 0.95 * at[:-1]).all()  # a wider start separates later
    assert np.isinf(at[-1, 0]) and np.isfinite(at[:, -1]).all() and (np.diff(at[:, 2]) > 0).all()
    assert abs(at[1, 0] / at[3, 2] - 1) < 0.1 and abs(at[2, 0] / at[4, 2] - 1) < 0.1
    assert abs(np.log(at[3, 1:4] / at[1, 0])).argmin() == 1  # of the factors 10, 100 and 1000
    assert answer("separability", "group") == 2


def test_separability_flows():
    (pair,) = runs("separability", "flows").values()
    z = {name: r.z[..., 0] for name, r in pair.items()}
    ahead = {name: np.sign(x[:, :, None] - x[:, None]) for name, x in z.items()}
    assert (ahead["network"][0] * ahead["network"][-1] < 0).mean() > 0.2
    assert (ahead["vanilla"] == ahead["vanilla"][0]).all()  # no line crosses another
    assert np.isfinite(when(pair["network"])) and np.isinf(when(pair["vanilla"]))


def test_separability_donut():
    at = {k: [when(r) for r in found] for k, found in value("separability", "donuts").items()}
    assert np.isfinite(at.pop("rotation")).all() and np.isinf([*at.values()]).all()
    assert answer("separability", "donut") == 1


def test_kernel_step():
    partial, full = (records.value("va-step-errors")[kind].mean(1) for kind in ("partial", "full"))
    assert (partial[1:] / partial[:-1] > 9.5).all() and (abs(full - 0.5) < 0.1).all()


@pytest.mark.long
def test_kernel_orbits():
    """The sentences below the block that trains the three flows."""
    block = value("kernel", "turning").replace(n=24, width=32, steps=400)
    (flows,) = sweep(kernel.run, [block.compared(kernel.FLOWS)])
    network, radius, vanilla = (flows[name] for name in ("network", "radius", "vanilla"))
    assert network.spread[1] > 1e-6 > 1e-12 > radius.spread.max() and not vanilla.spread.any()
    assert min(flow.moved[-1] for flow in flows.values()) > 0.1
    turned = [block.replace(angle=angle) for angle in (0.0, 1.0, 90.0)]
    still, little, wide = (run.spread for run in sweep(kernel.run, turned))
    assert not still.any() and little[-1] == pytest.approx(0.07, abs=0.01) and wide[-1] > 1
    assert little[1] < network.spread[1] < wide[1]


@pytest.mark.long
def test_kernel_imbalance():
    it = runs("kernel", "imbalance")
    speed = {at: r.speeds() for at, r in it.items()}
    np.testing.assert_allclose(
        it.cells, it.table(lambda r: r.speeds()[-1] / max(r.speeds()[:-1])), 0, 0.006
    )
    for (_, centres), (*others, last) in speed.items():
        assert centres == "axes" or last == pytest.approx(max(others), rel=0.02)
    assert 0.07 < speed[0.05, "axes"][-1] / speed[1, "axes"][-1] < 0.14  # a tenth, no twentieth
    other, one = np.median(records.value("va-cluster-speeds")[2], axis=1).T  # of two clusters
    assert one == pytest.approx(other, rel=0.07) and one[0] / one[-1] == pytest.approx(6, abs=0.5)
    assert answer("kernel", "small") == 2


@pytest.mark.long
def test_kernel_donut():
    for result in runs("kernel", "donut").values():
        aligned = result.alignment
        then = aligned[np.searchsorted(result.steps, result.separable_at)]
        assert then < 1.1 * aligned[0] and aligned.max() > 1.5 * then, "it rises afterwards"
        assert kernels.top_eigenvector(result.kernel[0], result.labels)[1] < 0.1
    assert answer("kernel", "blocks") == 3


CHANCE = 0.35  # 10-NN accuracy up to which four classes count as mixed


def test_numbers_of_the_first_sections_of_two_pages():
    free = [play.run(play.Config(classes=k)) for k in (4, 2, 6)]
    ends, right = [run.free_loss[-1] for run in free], 100 * free[0].free_accuracy
    assert np.ptp(ends) < 1e-3 and says("sphere", f"free points ends at {ends[0]:.2f} each time")
    said = f"for {right.min():.0f} to {right.max():.0f} % of the free points they are right"
    assert says("sphere", said)
    config, share = modadd.Config(), f"{100 * modadd.Config().fraction:.0f} %"
    assert says("modadd", f"trains for {config.epochs} epochs on {share} of the samples")
    pairs, alike = config.N * (config.N - 1) // 2, config.N * (config.N // config.k - 1) // 2
    words = f"N = {config.N} symbols and k = {config.k}, so {config.N**2} pairs"
    for each in (words, f"gives {2 * config.N**2} samples", f"other {pairs - alike} pairs"):
        assert says("modadd", each)


def test_sphere_rate():
    it = runs("sphere", "rate")
    still, jumped, large = (it[rate] for rate in (0.15, 0.5, 5))
    assert still["network"].accuracy[-1] < CHANCE and np.ptp(still["network"].loss) < 0.05
    assert jumped["network"].accuracy[-1] > 0.95 and large["network"].accuracy[-1] > 0.95
    for flow in (jumped["network"], large["vanilla"]):
        assert flow.loss.max() > flow.loss[0] + 0.02
    assert max(pair["vanilla"].accuracy[-1] for pair in it.values()) < CHANCE
    assert answer("sphere", "rates") == 3


def test_sphere_start():
    it = runs("sphere", "start")
    cap, uniform = at = it.table(lambda pair: when(pair["network"], "clustered_at"))
    np.testing.assert_allclose(it.cells, at, 0)
    assert cap[0] < cap[1] < np.inf and np.isinf(uniform).all()
    assert says("sphere", f"apart at iteration {cap[0]:.0f}.")
    mixed = [it[at]["network"] for at in it if "uniform" in at]
    mixed += [pair["vanilla"] for pair in it.values()]
    assert max(flow.accuracy.max() for flow in mixed) < 0.5
    assert {flow.clustered_at for flow in mixed} == {None} and answer("sphere", "layers") == 1


def test_va_turn():
    def best(flow, frame=-1):
        """Accuracy from the side from which the colours are furthest apart."""
        x, y, up = flow.z[frame].T
        turns = np.radians(range(0, 360, 60))
        seen = [np.stack([y * np.cos(a) - x * np.sin(a), up], 1) for a in turns]
        return max(accuracy(points, flow.labels) for points in seen)

    it = runs("papers/va", "turn")
    assert best(it[1]["network"]) > 0.95
    assert max(best(pair["vanilla"]) for pair in it.values()) < 0.5
    deep = it[4]["network"]
    assert best(deep) < best(deep, len(deep.z) // 2)  # at the end they run into each other


def middles(flow):
    """Angle of each class's middle at the end."""
    return angles(np.stack([flow.z[-1][flow.labels == k].mean(0) for k in np.unique(flow.labels)]))


def test_sphere_temperature():
    it = runs("sphere", "temperature")
    first, last = (it[tau, 2]["network"] for tau in (0.05, 0.2))
    assert it.cells[0, 0] == first.clustered_at < last.clustered_at == it.cells[2, 0]
    assert np.cos(np.diff(middles(first)))[0] > np.cos(np.diff(middles(last)))[0]
    steps = np.sin(np.diff(middles(it[0.1, 6]["network"])))
    assert abs(np.sign(steps).sum()) == 5, "six colours in the order of the row"
    at = np.array([r.clustered_at for r in value("sphere", "slow")])
    least, most = (f(at[:-1] / at[1:]) for f in (min, max))
    assert says("sphere", f"by a factor between {least:.1f} and {most:.1f}")
    assert answer("sphere", "halve") == 2


@pytest.mark.long
def test_landscape_shuffle():
    it, shuffle, losses = runs("landscape", "shuffle"), value("landscape", "shuffle"), []
    for K, tau in it:
        z = shuffle.places(K)
        mixed = z[shuffle.order]
        losses.append(shuffle.loss(z, tau))
        assert losses[-1] == pytest.approx(shuffle.loss(mixed, tau), abs=1e-12)
        assert K < 3 or shuffle.readout(z) > 0.95 and shuffle.readout(mixed) < 0.5
    losses = np.reshape(losses, (-1, 4))
    assert (np.diff(losses, axis=0) < 1e-6).all()
    np.testing.assert_allclose(
        it.cells, losses - [*map(shuffle.uniform, (0.05, 0.1, 0.2, 0.5))], 0, 0.006
    )


@pytest.mark.long
def test_overlap_overlap():
    it = runs("overlap", "overlap")

    base, moved, taus = value("overlap", "base"), ("shuffled", "exchanged"), (0.1, 0.2, 0.5)

    def price(start, width, tau=0.2):
        config = base.replace(width=width, tau=tau)
        loss = [overlap.lookup_loss(config.replace(start=each)) for each in (start, "sorted")]
        return loss[0] - loss[1]

    trained = {at: (pair["random"], pair["shuffled"]) for at, pair in it.items()}
    np.testing.assert_allclose(it.cells, it.table(lambda pair: pair["random"].accuracy()), 0, 0.006)
    islands = {width: random.islands for (width, tau), (random, _) in trained.items()}
    assert [*islands.values()] == [24, 24, 12, 4, 4, 4, 1, 1, 1]
    assert says("overlap", f"10 degrees, {islands[10]} islands.")
    for width in (5, 8):
        random, shuffled = trained[width, 0.2]
        assert max(random.accuracy(), shuffled.accuracy()) < 0.6
        assert random.loss[-1] == pytest.approx(shuffled.loss[-1], abs=0.01)
    shuffle, exchange = ([price(start, w) for w in (5, 8, 10, 20, 30, 45)] for start in moved)
    assert max(map(abs, [*shuffle[:2], *exchange[:5]])) < 1e-6
    assert shuffle[2] > 0.01 and exchange[5] > 0.01
    assert min(trained[width, 0.2][0].accuracy() for width in (15, 20, 30)) == 1
    assert trained[20, 0.2][1].accuracy() < 0.9  # from the shuffled table
    wide = [r for tau in taus for r in trained[45, tau]]
    apart = [np.linalg.norm(r.z[-1][:, None] - r.z[-1], axis=2) for r in wide]
    strokes = [lengths[r.shares > 0].max() for r, lengths in zip(wide, apart)]
    assert np.mean(np.array(strokes) > 1.2) >= 0.5, "often strokes cross the circle"
    arcs = [np.degrees(np.sort(angles(r.z[-1]))) for tau in taus for r in trained[180, tau]]
    widest = [np.diff(arc, append=arc[0] + 360).max() for arc in arcs]
    assert [k for k, gap in enumerate(widest) if gap < 180] == [4], "a ring only at 0.5"
    assert trained[180, 0.5][0].loss[-1] > trained[180, 0.5][1].loss[-1] + 0.05
    assert (np.diff([price("shuffled", 30, tau) for tau in taus]) < 0).all()
    assert trained[45, 0.2][0].accuracy() > 0.9 and answer("overlap", "chained") == 2


def test_ls_threshold():
    it = runs("papers/ls", "threshold")
    gaps = it.table(lambda r: r.thresholds.gap)
    assert (np.diff(gaps, axis=1) <= 0).all() and (gaps[:, 0] > gaps[:, -1]).all()
    near = it[0.2, 0.01].thresholds
    off = abs(near.gaps / near.taus / (near.gaps / near.taus)[near.taus <= 0.02].mean() - 1)
    assert off[near.taus < 0.06].max() < 0.1 < 0.15 < off[near.taus > 0.11].min()


def test_content_style_content():
    it = runs("content_style", "content")
    style = it.table(lambda r: content_style.gains(r.map[-1])[r.config.d_c :].mean())
    np.testing.assert_allclose(it.cells, style, 0.05)
    assert (np.diff(style, axis=1) < 0).all() and 0.7 < style[3, 1] / style[0, 1] < 0.8
    content = content_style.gains(it[4, 0.3].map)[:, :4].mean(1)
    assert content[-1] > 3 * style[3, 1] and content[-1] > content[-2]


def test_projectors_depth():
    it = runs("projectors", "depth")
    on, off = it.table(lambda r: r.style_r2[-1, -1]).T
    np.testing.assert_allclose(it.cells, np.stack([on, off], 1), 0, 0.006)
    assert (np.diff(on) < 0).all() and np.ptp(off) < 0.1 and off.min() > 0.6
    for result in (it[tau, True] for tau in (0.1, 0.25, 0.5)):
        assert result.style_r2[-1, -5] > 0.8 * result.style_r2[-1, 0]
        content, fading = result.content_r2[:, -1], result.style_r2[:, -1]
        assert content[1] > 0.8 * content[-1] and (np.diff(fading[1:]) < 0).all()
    assert answer("projectors", "depth-tau") == 1


def test_projectors_projector():
    it = runs("projectors", "projector")
    on, off = it.table(lambda r: r.rank[-1, -1]).T
    np.testing.assert_allclose(it.cells, np.stack([on, off], 1), 0, 0.51)
    assert says("projectors", f"from {on[2]:.0f} to {on[0]:.0f} at length 1")
    assert abs(on - off).max() <= 2
    lead = it.table(lambda r: r.readout[-1, 0] - r.readout[-1, 1])[:, 0]
    assert lead[0] < 0.5 * lead[2] and answer("projectors", "projector-rank") == 1


@pytest.mark.long
def test_remembers_ma_decay():
    it = runs("remembers", "ma-decay")
    ratio = {at: r.ratio[-1] for at, r in it.items()}
    assert ratio[0, 1] > ratio[0.001, 1] and ratio[0, 0.02] < 0.8 * ratio[0, 1]
    crawling = it[0, 1].equivalent
    assert crawling[-1] < crawling[0] and ratio[0, 1] > 0.3
    for decay in (0, 0.001):  # all leave the centre, with their partner
        far = it[decay, 0.02].different
        assert far[0] < 0.2 < far[-1] and ratio[decay, 0.02] < 0.5
    large, small = (it[0.03, init].different for init in (1, 0.02))
    assert large[-1] < 0.2 * large[0] and small[-1] < 0.05
    assert [at for at in it if it[at].collapsed] == [(0.03, 0.02)] and np.isinf(it.cells[2, 0])
    np.testing.assert_allclose(it.cells[:2], it.table(lambda r: r.ratio[-1])[:2], 0, 0.006)
    assert answer("remembers", "start") == 1


@pytest.mark.long
def test_remembers_ma_bands():
    it = runs("remembers", "ma-bands")
    bands = {at: np.unique(r.distances()[1].round(2)) for at, r in it.items()}
    counts = [len(bands[0.001, d]) for d in (8, 6, 4, 2)]
    assert counts == [1, 3, 2, 4] == [*it.cells[1, [4, 3, 2, 0]]]
    assert bands[0.001, 4][1] / bands[0.001, 4][0] == pytest.approx(np.sqrt(2), rel=0.01)
    z = it[0.001, 2].z[-1]
    turns = np.unique(np.degrees(angles(z - z.mean(0))).round(1))
    assert np.diff(turns) == pytest.approx(45, abs=0.5), "an octagon"
    assert {band.max() for at, band in bands.items() if 0.016 in at} == {0}
    assert answer("remembers", "bands") == 2


def test_words_map():
    it = runs("words", "map")
    for std, stays in ((0.02, False), (1, True)):
        result = it[std]
        twins = result.distances["injected"].mean(1) / result.distances["random, injected"].mean(1)
        wide = np.abs(result.plane).max((1, 2))
        if stays:  # nearer, as everything else
            assert wide[-1] < 0.95 * wide[0] and 0.85 < twins[-1] < twins[0]
        else:  # out of one point, twins together
            assert wide[-1] > 5 * wide[0] and max(twins[1:]) < 0.6


def test_words_neighbours():
    it = records.load("words-nearest").isel(run=0)
    symbols = records.load("words-map")["words:lines"].values[0].split("\n")
    first = {}
    for word in ("width", "real", "color", "figure", "cache", "score", "row", "true"):
        split = word not in symbols
        k = symbols.index(word + "₁" if split else word)
        leads = [symbols[near] for near in it.near.values[:, k, 0]]
        if split:
            assert leads[-1] == word + "₂" != leads[0]
            first[word] = it.time.values[leads.index(word + "₂")]
        for other, one in (("true", "false"), ("row", "column")):
            assert word != other or leads[-1] == one
    assert "true" not in first and len(first) == 6
    assert np.mean([t <= 1000 for t in first.values()]) > 0.5 and answer("words", "leads") == 1


@pytest.mark.long
def test_words_own(tmp_path):
    """The halves of the manual's words were seen about fifty times or more, and find each other."""
    path, text = tmp_path / "manual.txt", "\n\n".join(topics.values())[:250_000]
    path.write_text(text, "utf-8")
    tokens = re.findall(r"[^\W\d_]+(?:['’-][^\W\d_]+)*", text.lower())
    words, split, _ = halves.counted(text, 0)
    assert 32_000 < len(tokens) < 38_000 and min(tokens.count(words[k]) for k in split) > 95
    assert halves.run(halves.Config(str(path))).found() >= 9


def test_alignment_classes():
    it = runs("alignment", "classes")
    nscl, scl, ce = (it.table(lambda r, k=k: r.cka[-1, k]) for k in (1, 2, 3))
    np.testing.assert_allclose(it.cells, nscl, 0, 0.006)
    assert nscl[2, 1] > 0.9 > 0.8 > max(scl[2, 1], ce[2, 1]) and (np.diff(nscl[1]) > 0).all()
    two = [nscl[0, 1], scl[0, 1], ce[0, 1]]
    assert np.ptp(two) < 0.1 and max(two) < 0.6
    for result in it.values():
        np.testing.assert_allclose(result.cka[0], 1, atol=1e-3)  # equal starts
    apart = [spread(it[2, tau]) for tau in (0.1, 0.5)]
    assert apart[0] < 0.2 < apart[1]  # at 0.1 both classes are one point, at 0.5 two


def spread(result):
    """Distance of the middles of two classes in NSCL's disc."""
    points = result.plane[-1, 1]
    half = len(points) // 2  # the classes are sorted
    return np.linalg.norm(points[:half].mean(0) - points[half:].mean(0))


@pytest.mark.long
def test_why_counts():
    it = runs("why", "counts")

    def rates(*at):
        """The largest rates of directions of meaning, and of chance."""
        found, kinds = it[at].rates()[0], figures.kinds(it[at])
        return found[kinds == "meaning"].max(initial=0), found[kinds == "chance"].max(initial=0)

    ratio = {at: result.ratio() for at, result in it.items()}
    np.testing.assert_allclose(it.cells, it.table(lambda r: r.ratio()[-1]), 0, 0.006)
    assert rates(1, 0)[0] == 0 and ratio[1, 0][-1] > 0.8 and it[1, 0].readout() < 0.6
    assert 1 < rates(4, 0)[0] / rates(4, 0)[1] < 1.5
    assert 2 * ratio[16, 0].min() < min(ratio[16, 0][0], ratio[16, 0][-1])
    decay = why.Config().decay
    assert rates(64, 0)[1] < decay < min(*rates(64, 0)[:1], *rates(16, 0))
    assert rates(1, 0.5)[0] > 2 * rates(1, 0.5)[1] and ratio[1, 0.5][-1] < 0.7
