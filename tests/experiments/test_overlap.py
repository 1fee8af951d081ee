"""Overlapping views: the loss against sums written out, when a shuffle is free, and what training finds."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from clbook.experiments import overlap
from clbook.experiments.landscape import even_loss
from clbook.experiments.overlap import MAPS, Config, lookup_loss, pieces, population_loss, run
from clbook.losses import infonce
from clbook_book.course.overlap import figures, play

SEEDS = range(5)


def gaps(config):
    """(smallest distance of data points of a class, smallest distance of two classes)."""
    x, _ = overlap.points(config)
    apart = torch.diff(x, append=x[:1] + 360).unflatten(0, (config.classes, -1))
    return apart[:, :-1].min().item(), apart[:, -1].min().item()


def table(entries, d, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return F.normalize(torch.randn(entries, d, generator=generator, dtype=torch.float64), dim=1)


def written_out(z, p, tau):
    """The population loss as sums over data points and views, in plain numbers."""
    (n, c), total = p.shape, 0.0
    seen = [sum(p[i][v].item() for i in range(n)) / n for v in range(c)]
    for v in range(c):
        s = [sum(a * b for a, b in zip(z[v].tolist(), z[w].tolist())) / tau for w in range(c)]
        total += seen[v] * math.log(sum(seen[w] * math.exp(s[w]) for w in range(c)))
        total -= sum(p[i][v].item() * p[i][w].item() * s[w] for i in range(n) for w in range(c)) / n
    return total


@pytest.mark.parametrize("tau", [0.1, 1.0])
@pytest.mark.parametrize("width", [5.0, 20.0, 200.0, 360.0])
def test_loss_is_the_sum_over_data_points_and_views_written_out(width, tau):
    chances, _ = pieces(Config(n=8, width=width))
    z = table(chances.shape[1], 3)
    expected = written_out(z, chances, tau)
    assert population_loss(z, chances, tau).item() == pytest.approx(expected, abs=1e-12)
    taus = torch.tensor([tau, 1.0], dtype=torch.float64)[:, None, None]
    both = population_loss(torch.stack([z, z.flip(0)]), torch.stack([chances, chances]), taus)
    alone = [population_loss(a, chances, t) for a, t in ((z, tau), (z.flip(0), 1.0))]
    assert both.tolist() == pytest.approx([float(a) for a in alone], abs=1e-12)


def test_loss_is_the_limit_of_infonce_with_many_sampled_negatives():
    chances, nearest = pieces(Config(width=30.0))
    z, generator, count = table(len(nearest), 2), torch.Generator().manual_seed(0), 4000
    i = torch.randint(24, (count,), generator=generator)
    anchor, positive = torch.multinomial(chances[i], 2, replacement=True, generator=generator).T
    negative = torch.multinomial(chances.mean(0), count, replacement=True, generator=generator)
    sampled = infonce(z[anchor], z[positive], z[negative], 0.5, normalize=True) - math.log(count)
    assert sampled.item() == pytest.approx(population_loss(z, chances, 0.5).item(), abs=0.06)


def test_no_table_goes_below_minus_the_information_that_one_view_has_on_the_other():
    for width in (5.0, 15.0, 60.0, 250.0):
        both, seen = overlap.pairs(pieces(Config(width=width))[0])
        information = (
            torch.where(both > 0, both * (both / (seen[:, None] * seen)).log(), 0.0).sum().item()
        )
        assert all(
            run(Config(width=width, d=d, tau=tau)).loss.min() > -information
            for d, tau in ((2, 0.1), (8, 0.5))
        )


RINGS = [Config(), Config(width=3.0, seed=1), Config(width=55.0, jitter=0.0)]
RINGS += [Config(n=9, classes=3, width=170.0, seed=4), Config(width=9.0, parts=3)]


@pytest.mark.parametrize("config", RINGS)
def test_views_are_uniform_on_their_interval_and_shared_where_intervals_overlap(config):
    result = run(config.replace(steps=1))
    chances, nearest = pieces(config)
    np.testing.assert_allclose(chances.sum(1), 1, atol=1e-12)
    x = result.x
    apart = np.abs((x[:, None] - x + 180) % 360 - 180)
    np.testing.assert_allclose(result.shares, np.maximum(0, 1 - apart / config.width), atol=1e-9)
    moved = config.width * (np.random.default_rng(0).random((config.n, 4000)) - 0.5)
    views = (x[:, None] + moved) % 360
    seen = np.abs((views[..., None] - x + 180) % 360 - 180).argmin(-1)
    own = seen == np.arange(config.n)[:, None]
    expected = [chances[i, nearest == i].sum().item() for i in range(config.n)]
    np.testing.assert_allclose(own.mean(1), expected, atol=0.04)


@pytest.mark.parametrize("jitter", [0.0, 0.2, 0.45])
@pytest.mark.parametrize("tau", [0.1, 1.0])
def test_where_no_two_points_share_a_view_every_assignment_costs_the_same(jitter, tau):
    for seed in SEEDS:
        config = Config(jitter=jitter, tau=tau, seed=seed, spacing=8.0)
        config = config.replace(width=0.999 * gaps(config)[0])
        starts = ("sorted", "exchanged", "shuffled")
        found = [lookup_loss(config.replace(start=start)) for start in starts]
        exact = even_loss((24,), tau, "log t").item()
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-12)


def test_whole_classes_change_places_for_nothing_until_classes_share_views_and_points_do_not():
    for seed in SEEDS:
        config = Config(seed=seed)
        inside, between = gaps(config)
        for width in (1.5 * inside, 20.0, 0.99 * between):
            base, exchanged, shuffled = (
                lookup_loss(config.replace(width=width, start=start))
                for start in ("sorted", "exchanged", "shuffled")
            )
            assert abs(exchanged - base) < 1e-12 and shuffled > base + 0.3
        base, exchanged = (
            lookup_loss(config.replace(width=1.3 * between, start=s))
            for s in ("sorted", "exchanged")
        )
        assert exchanged > base + 0.1


def test_the_price_of_a_shuffle_rises_from_zero_without_a_jump():
    for seed in SEEDS:
        config = Config(seed=seed)
        inside, between = gaps(config)
        for start, gap in (("shuffled", inside), ("exchanged", between)):
            widths = tuple(gap * (1 + e) for e in (-1e-3, 0.0, 1e-6, 1e-4, 1e-2, 0.1))
            moved, base = (
                lookup_loss(config.replace(start=name), widths) for name in (start, "sorted")
            )
            cost = moved - base
            assert np.abs(cost[:2]).max() < 1e-12 and (np.diff(cost[1:]) > 0).all(), cost
            assert cost[2] < 1e-4 and cost[3] < 1e-2


@pytest.mark.parametrize("width", [5.0, 10.0, 20.0, 80.0])
def test_islands_are_the_eigenvalues_one_of_the_graph_of_views(width):
    """HaoChen et al. 2021: the multiplicity of the eigenvalue 1 counts the connected parts."""
    for seed in SEEDS:
        result = run(Config(width=width, steps=1, seed=seed))
        both, seen = overlap.pairs(torch.from_numpy(result.chances))
        both, seen = both[seen > 0][:, seen > 0], seen[seen > 0]
        values = torch.linalg.eigvalsh(both / (seen[:, None] * seen).sqrt())
        assert int((values > 1 - 1e-9).sum()) == result.islands


@pytest.mark.parametrize("width", [5.0, 20.0, 360.0])
def test_the_arcs_that_a_page_draws_are_the_intervals_of_views(width):
    s = play.Ring([Config(width=width, seed=seed) for seed in SEEDS]).start()
    for seed in SEEDS:
        x, _ = overlap.points(Config(seed=seed))
        angles = torch.atan2(s.arcs[seed, ..., 1], s.arcs[seed, ..., 0]).rad2deg()
        off = (angles - x + 180) % 360 - 180  # (25, n)
        assert off.abs().max().item() == pytest.approx(width / 2)
        ring = torch.atan2(s.ring[seed, :, 1], s.ring[seed, :, 0]).rad2deg() % 360
        torch.testing.assert_close(ring, x)


@pytest.fixture(scope="module")
def runs():
    """{(width, start, moves): five seeds}."""
    kinds = [("sorted", "all"), ("shuffled", "shared"), ("random", "all")]
    configs = [
        Config(width=w, start=start, moves=moves, seed=seed)
        for w in (5.0, 12.0, 20.0, 30.0)
        for start, moves in kinds
        for seed in SEEDS
    ]
    found = {}
    for r in overlap.Overlap.train(configs):
        found.setdefault((r.config.width, r.config.start, r.config.moves), []).append(r)
    return found


def test_training_from_random_finds_the_classes_only_where_views_overlap(runs):
    apart, joined = runs[5.0, "random", "all"], runs[30.0, "random", "all"]
    assert np.mean([r.accuracy() for r in apart]) < 0.5
    assert np.mean([r.neighbours() for r in apart]) < 0.2
    assert [r.islands for r in apart] == [24] * 5 and [r.islands for r in joined] == [4] * 5
    assert [r.accuracy() for r in joined] == [1.0] * 5 and min(r.neighbours() for r in joined) > 0.9
    best = [r.loss[-1] for r in runs[5.0, "sorted", "all"]]
    np.testing.assert_allclose([r.loss[-1] for r in apart], best, atol=1e-4)


@pytest.mark.parametrize("width", [12.0, 20.0, 30.0])
def test_a_shuffled_map_pays_even_if_its_shared_views_go_to_the_best_places(runs, width):
    best = [r.loss[-1] for r in runs[width, "sorted", "all"]]
    for kept, least in zip(runs[width, "shuffled", "shared"], best):
        assert kept.loss[-1] > least + 0.1 and (np.diff(kept.loss) < 1e-9).all()
        own = (kept.chances > 0).sum(0) == 1
        np.testing.assert_allclose(kept.table[-1, own], kept.table[0, own], atol=1e-13)


def test_a_finer_table_ends_at_the_same_loss():
    for width in (5.0, 30.0):
        coarse, fine = (run(Config(width=width, parts=parts)) for parts in (1, 2))
        assert fine.loss[-1] == pytest.approx(coarse.loss[-1], abs=1e-4)
        assert abs(fine.loss[0] - coarse.loss[0]) > 0.1


def test_tables_stay_on_the_sphere_and_start_where_the_data_points_are_sent():
    result = run(Config(width=5.0, start="shuffled", d=3, steps=20))
    np.testing.assert_allclose(np.linalg.norm(result.table, axis=2), 1, atol=1e-12)
    np.testing.assert_allclose(result.z[0], overlap.places(result.config), atol=1e-12)


def test_readouts_by_hand():
    config = Config(width=5.0, steps=1)
    by_class, shuffled = (run(config.replace(start=start)) for start in ("sorted", "shuffled"))
    assert by_class.accuracy(0) == 1 and shuffled.accuracy(0) < 0.6 and shuffled.neighbours(0) < 0.3
    z, x = by_class.z[0], by_class.x
    hits = 0
    for i in range(24):
        ring = sorted(
            (j for j in range(24) if j != i), key=lambda j: abs((x[j] - x[i] + 180) % 360 - 180)
        )[:2]
        kept = np.sort(np.linalg.norm(z - z[i], axis=1))[2] + 1e-9
        hits += sum(np.linalg.norm(z[j] - z[i]) <= kept for j in ring)
    assert by_class.neighbours(0) == pytest.approx(hits / 48)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"n": 25}, "n = 25 .* times classes = 4"),
        ({"n": 8, "classes": 8}, "n = 8"),
        ({"width": 0.0}, "width = 0.0"),
        ({"spacing": 17.0}, "spacing = 17.0 .*do not reach each other"),
        ({"start": "best"}, "start = 'best'"),
    ],
)
def test_bad_settings_are_refused(change, words):
    with pytest.raises(ValueError, match=words):
        Config(**change)


def test_figures_have_labels_and_alt_texts_with_their_numbers():
    small = Config(n=12, steps=30)
    several = {name: run(config) for name, config in small.compared(MAPS).items()}
    picture = figures.maps(several)
    deep = {name: run(config.replace(d=3)) for name, config in small.compared(MAPS).items()}
    loss = next(ax for ax in picture.fig.axes if ax.get_xlabel())
    assert loss.get_ylabel() == "loss" and f"{several['shuffled'].loss[0]:.3f}" in picture.alt
    lines = {line.get_gid(): line.get_ydata() for line in loss.lines}
    found = overlap.curves(small.replace(width=2.0, start="sorted"))
    assert all(np.array_equal(lines[name], found[name]) for name in found)
    kinds = [{"start": "sorted"}, {"start": "shuffled", "moves": "shared"}, {}]
    groups = [
        [run(small.replace(width=w, seed=s, **kind)) for w in (5.0, 20.0) for s in (0, 1)]
        for kind in kinds
    ]
    wide = figures.against_width(*groups)
    assert all(ax.get_xlabel() and ax.get_ylabel() for ax in wide.fig.axes)
    assert "(shuffling costs 0.00)" in wide.alt
    for shown in (picture, wide, figures.maps(deep)):
        assert shown.png(dpi=40).startswith(b"\x89PNG")
        for ax in shown.fig.axes:
            gids = [artist.get_gid() for artist in ax.get_children() if artist.get_gid()]
            assert len(gids) == len(set(gids))
