"""What `experiments.separability` promises about its runs."""

import itertools
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from clbook.experiments.separability import PAIR, Config, Separability, dataset, run, start
from clbook.experiments.separability.condition import NEEDS, check, measured_growth
from clbook.explore import controls
from clbook.models import mlp
from clbook.results.sweep import sweep
from clbook.training import settings
from clbook_book.course.separability import figures

SEEDS = range(5)


def test_values_stay_finite_where_eps2_over_tau_is_large():
    result = run(Config(eps=1.0, tau=1 / 300, steps=500, linger=1), record=("loss",))
    assert np.isfinite(result.z).all() and np.isfinite(result.loss).all()


@pytest.mark.long
def test_noise_of_any_size_does_not_separate_the_donut():
    """The 64 combinations that the chapter speaks of; with rotations it separates."""
    donut = Config(data="donut", augmentation="noise", n=60, lr_over_tau=0.1, steps=1000)
    grid = itertools.product((0.02, 0.1, 0.3, 1.0), (0.01, 0.1, 1.0, 5.0), (0.001, 0.01, 0.1, 1.0))
    configs = [donut.replace(noise=noise, eps=eps, tau=tau) for noise, eps, tau in grid]
    assert len(configs) == 64
    assert [result.separable_at for result in sweep(run, configs)] == [None] * 64
    assert run(donut.replace(augmentation="rotation")).separable_at < 200


def test_time_to_separation_follows_eps_squared_over_tau():
    """(eps, tau, lr) -> (c eps, c^2 tau, c^2 lr) leaves the number of steps alone while the kernel hardly moves."""
    for seed in SEEDS:
        times = [
            run(Config(eps=0.02 * c, tau=0.01 * c * c, linger=1, seed=seed)).separable_at
            for c in (1, 2, 4)
        ]
        assert max(times) - min(times) <= 0.1 * max(times), times


@pytest.mark.parametrize("d", [1, 2, 5])
def test_start_lies_in_the_ball_of_diameter_eps_and_fills_it(d):
    points = start(Config(d=d, n=2000, eps=0.5))
    radius = points.norm(dim=1)
    assert radius.max() <= 0.25
    # in a d-ball the radius relative to the ball's has mean d / (d + 1)
    assert abs(float(radius.mean()) / 0.25 - d / (d + 1)) < 0.02


def test_the_map_starts_invariant():
    """At w0 every view of x_i is embedded at R_i, so gamma is the largest distance of a start from its class mean."""
    result = run(Config(steps=1), record=("gamma", "drift", "theta"))
    z, labels = result.z[0], result.labels
    means = np.stack([z[labels == k].mean(0) for k in (0, 1)])[labels]
    assert result.gamma[0] == pytest.approx(np.abs(z - means).max(), rel=1e-4)
    assert result.drift[0] == 0 and result.theta[0] > 1


@pytest.mark.long
@pytest.mark.skipif(not (shutil.which("c++") or shutil.which("g++")), reason="no C++ compiler")
def test_compiled_runs_are_those_of_plain_pytorch_up_to_rounding(monkeypatch):
    # what the processor says of itself is believed: else small programs are compiled to try it, for ten seconds
    monkeypatch.setattr("torch._inductor.config.cpp.vec_isa_ok", True)
    configs = [Config(eps=0.02, steps=100), Config(eps=1.0, steps=100)]
    pairs = zip(
        *(Separability.train(configs, device="cpu", compile=c) for c in (False, True)), strict=True
    )
    for plain, compiled in pairs:
        assert plain.separable_at == compiled.separable_at
        # a difference of rounding, 1e-6, grows while the classes are torn apart
        assert np.allclose(plain.z, compiled.z, rtol=0, atol=1e-4 * np.abs(plain.z).max())


@pytest.mark.parametrize("shake", ["", "1e-3"])
def test_a_grid_side_by_side_is_its_runs_alone(shake, monkeypatch):
    monkeypatch.setenv("CLBOOK_SHAKE", shake)
    grid = itertools.product((0, 1), (0.1, 1.0), (0.1, 1.0), (0.1, 0.2))
    configs = [
        Config(n=20, steps=300, linger=2, seed=seed, eps=eps, tau=tau, noise=noise)
        for seed, eps, tau, noise in grid
    ]
    together = Separability.train(configs, device="cpu", record=("loss", "gamma"))
    lengths = set()
    for config, result in zip(configs, together, strict=True):
        alone = run(config, device="cpu", record=("loss", "gamma"))
        lengths.add(len(alone.steps))
        np.testing.assert_array_equal(result.steps, alone.steps)
        for name in ("z", "loss", "gamma"):
            found, truth = getattr(result, name), getattr(alone, name)
            np.testing.assert_allclose(found, truth, rtol=1e-3, atol=1e-4)
    assert len(lengths) > 1, "some runs end before the others"


def test_linger_ends_the_run_after_separation():
    result = run(Config(linger=3))
    # ends at a recorded time
    assert result.steps[-2] < 3 * result.separable_at <= result.steps[-1] < Config().steps
    assert not result.stopped


def test_kernel_matrices_are_kept_where_they_are_asked_for_and_the_drift_is_their_norm():
    result = run(Config(n=40, steps=50), record=("kernel", "drift"))
    assert result.kernel.shape == (len(result.steps), 40, 40)
    norms = np.linalg.norm(result.kernel - result.kernel[0], 2, axis=(1, 2))
    np.testing.assert_allclose(result.drift, norms, rtol=1e-2, atol=1e-4)
    np.testing.assert_allclose(result.kernel, result.kernel.transpose(0, 2, 1), rtol=1e-4)


def test_embeddings_in_two_dimensions_are_checked_at_recorded_times():
    result = run(Config(d=2, steps=200, linger=1))
    assert result.z.shape[2] == 2 and result.separable_at in result.steps
    shown = figures.trajectories(result)
    assert "(coordinate 1 of 2)" in shown.alt
    assert "(coordinate 1 of 2)" in shown.fig.axes[0].get_ylabel()


@pytest.mark.parametrize("eps", [0.0, 1e-320])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_points_that_all_start_in_one_point_are_drawn(eps):
    shown = figures.trajectories(run(Config(eps=eps, steps=20)))
    low, high = shown.fig.axes[0].get_ylim()
    assert low < 0 < high
    assert ("varepsilon" in shown.fig.axes[0].get_ylabel()) == (eps > 0)


def test_a_stopped_run_is_not_said_to_have_come_to_its_end():
    ended = run(Config(eps=1.0, steps=3))
    never = Config(network=False, steps=100_000)  # however fast the machine is
    stopped = run(never, progress=lambda fraction, partial=None: False)
    assert stopped.stopped
    assert "not separable within this run" in figures.trajectories(ended).alt
    assert "not separable yet" in figures.trajectories(stopped).alt


def test_views_are_drawn_of_one_point_a_class_turned_at_its_radius_and_noisy_around_it():
    config = Config(data="donut", augmentation="rotation", noise=0.1)
    _, turned, noisy = figures.views(config, count=500).fig.axes
    x, labels = dataset(config)
    for k in (0, 1):
        point = x[labels == k][0].numpy()
        angles, near = (
            [c for c in ax.collections if c.get_gid() == f"views {k}"][0].get_offsets()
            for ax in (turned, noisy)
        )
        np.testing.assert_allclose(np.linalg.norm(angles, axis=1), np.linalg.norm(point), rtol=1e-5)
        assert np.linalg.norm(angles.mean(0)) < 0.2 * np.linalg.norm(point)
        np.testing.assert_allclose(near.mean(0), point, atol=0.02)
        np.testing.assert_allclose(near.std(0), 0.1, atol=0.015)


def test_pair_starts_both_flows_from_the_same_points():
    pair = Config(steps=20, record_every=1).compared(PAIR)
    network, vanilla = (run(pair[name]) for name in ("network", "vanilla"))
    assert np.array_equal(network.z[0], vanilla.z[0])
    assert network.config.network and not vanilla.config.network


def test_an_ordinary_start_is_the_network_itself():
    """Without R the views of a point start elsewhere than the point, by what the network makes of the noise."""
    config = Config(start="ordinary", steps=1, n=40)
    result = run(config, record=("gamma", "drift"))
    flow = Separability([config])
    g = mlp(flow.state.weights, flow.state.x, config.activation)[0]
    np.testing.assert_allclose(result.z[0], g.detach(), atol=1e-6)
    assert result.drift[0] == 0
    in_ball = run(config.replace(start="ball"), record=("gamma",))
    assert result.gamma[0] > 0 and result.gamma[0] != in_ball.gamma[0]
    far = Config(start="ordinary", n=40, steps=200)
    assert np.isfinite(run(far).z).all()


def own(path, **arrays):
    """The name of a file of a reader's: 60 points in R^5, three classes with names."""
    y = np.repeat(["b", "a", "c"], 20)
    x = np.random.default_rng(0).normal(size=(60, 5)) + 5 * np.eye(5)[np.repeat([1, 0, 2], 20)]
    np.savez(
        path,
        **{name: array for name, array in ({"x": x, "y": y} | arrays).items() if array is not None},
    )
    return str(path)


def test_a_readers_own_points_are_trained_on_and_the_store_follows_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_CACHE", str(tmp_path / "cache"))
    config = Config(data=own(tmp_path / "own.npz"), classes=3, n=45, d=2, steps=200)
    x, labels = dataset(config)
    assert x.shape == (45, 5) and labels.tolist() == [0] * 15 + [1] * 15 + [2] * 15
    # "a", "b", "c" in the order of their names, no number changed
    assert np.array_equal(x.argmax(1), labels)
    assert {*map(tuple, x.tolist())} <= {
        *map(tuple, np.load(config.data)["x"].astype(np.float32).tolist())
    }
    (result,) = sweep(run, [config])
    assert result.separable_at is not None and np.array_equal(result.x, x)
    assert sweep(run, [config])[0].seconds == result.seconds
    own(tmp_path / "own.npz", x=2 * np.load(config.data)["x"])
    assert np.array_equal(sweep(run, [config])[0].x, 2 * x)


def test_a_readers_own_images_are_flattened_colour_by_colour_and_moved(tmp_path):
    pictures = np.random.default_rng(0).integers(0, 256, (60, 6, 6, 3), dtype=np.uint8)
    config = Config(data=own(tmp_path / "own.npz", x=pictures), n=40, augmentation="image", steps=3)
    x, _ = dataset(config)
    flat = pictures.transpose(0, 3, 1, 2).reshape(60, -1).astype(np.float32) / 255
    assert {*map(tuple, x.tolist())} <= {*map(tuple, flat.tolist())}
    assert np.isfinite(run(config).z).all()


def test_a_panel_has_buttons_for_the_named_sets_and_an_entry_for_a_file(monkeypatch):
    monkeypatch.setattr(controls, "at_hand", lambda base, field, choice: True)
    field = settings.fields(Config)["data"]
    buttons, entry = (
        controls.control(field, value, Config(), explored=False) for value in ("donut", "own.npz")
    )
    named = ["clusters", "donut", "digits", "mnist", "cifar10", "cifar10 all"]
    assert [label for label, _ in buttons.options] == named
    assert buttons.value == "donut" and type(entry).__name__ == "Text" and entry.value == "own.npz"


def test_an_absent_or_damaged_file_and_more_than_it_holds_are_refused(tmp_path):
    config, path = Config(data=own(tmp_path / "own.npz"), n=40, classes=2), tmp_path / "own.npz"

    def refused(says, call):
        with pytest.raises(ValueError, match=says):
            call()

    for change, says in (
        ({"classes": 4}, "classes = 4 .* has 3 classes"),
        ({"n": 100}, "n = 100 .* class a of .* has 20 examples, 50 were"),
        ({"augmentation": "image"}, "augmentation = 'image' .* square"),
        ({"augmentation": "rotation"}, "augmentation = 'rotation' .* noise, image or none"),
        ({"data": "own"}, "data = 'own' .* clusters, .*mnist, .* file ending in .npz"),
        ({"n": 3, "classes": 4}, "n = 3 .* at least the number of classes, 4"),
        ({"data": "donut", "classes": 3}, "classes = 3"),
        ({"data": "digits", "augmentation": "rotation"}, "augmentation"),
        ({"data": "digits", "n": 2000, "augmentation": "image"}, "class 0 of digits has 178 exam"),
    ):
        refused(says, lambda change=change: run(config.replace(**change)))
    path.write_bytes(path.read_bytes()[:500])
    refused("own.npz' is not allowed: it is damaged", lambda: run(config))
    path.unlink()
    refused("data = '.*own.npz' is not allowed: .*there is no such", lambda: run(config))


def test_condition_reads_the_run_up_to_separation():
    base = Config(steps=300, linger=2)
    results = [
        run(base.replace(eps=0.02, tau=0.1), record=NEEDS),
        run(base.replace(eps=1.0, tau=1e-3), record=NEEDS),
    ]
    measured = check(results)
    assert measured.separated.tolist() == [True, False]
    assert measured.ratio_frozen[0] > 1 > measured.ratio_frozen[1]
    assert measured.confusion(measured.ratio_frozen) == [[1, 0], [0, 1]]
    assert measured.auc(measured.ratio_frozen) == 1.0
    drift_at_separation = results[0].drift[results[0].steps <= results[0].separable_at].max()
    assert measured.delta[0] == drift_at_separation < results[0].drift.max()


def test_the_growth_of_a_gap_is_measured_where_it_is_exponential():
    """A made-up run whose gap grows at the rate 50 of the flow until it is no longer small against sqrt(tau)."""
    config = Config(eps=0.001, tau=0.1, lr_over_tau=0.01)
    steps = np.arange(0, 400, 5)
    gap = 1e-4 * np.exp(50 * config.lr * steps)
    half = np.where(gap < 0.1, gap, 1.0)[:, None, None] / 2
    grown = SimpleNamespace(
        config=config, steps=steps, labels=np.array([0, 1]), z=np.concatenate([half, -half], 1)
    )
    assert measured_growth(grown) == pytest.approx(50)
    with pytest.raises(ValueError, match="fewer than three recorded times"):
        measured_growth(run(Config(steps=2)))


def test_misfit_is_one_for_the_number_that_decides_and_larger_for_another():
    grid = itertools.product((0.1, 0.3, 1.0), (0.01, 0.1, 1.0))
    configs = [Config(eps=eps, tau=tau, steps=400, linger=1) for eps, tau in grid]
    measured = check(sweep(run, configs, record=NEEDS))
    assert measured.misfit(measured.eps**2 / measured.tau) < 1.05 < measured.misfit(measured.eps)


def test_divergence_that_the_kernel_notices_first_names_the_step_size_too():
    data = dict(n=30, d=2, noise=2.0, spread=2.0, steps=300)
    wide = Config(lr_over_tau=10.0, tau=10.0, activation="softplus", hidden=(2000,), **data)
    with pytest.raises(ValueError, match="lr_over_tau = 10.0 .* <= 10.*diverged at iteration"):
        run(wide)


def test_a_run_that_separates_at_its_start_is_not_one_that_never_does():
    """Two points of two classes are separable wherever they lie."""
    early, late = (run(Config(n=2, steps=steps)) for steps in (1, 3))
    assert early.separable_at == late.separable_at == 0
    never = run(Config(eps=1.0, tau=1e-3, steps=1))
    assert never.separable_at is None
    assert figures.when(early) == "0" and figures.when(never) == "> 1"
    assert figures.times([early, never]) == "0, > 1"
    assert figures.ending(late) == (1.0, "0", "separable at iteration 0")
    assert figures.ending(early)[0] == 1.0 and figures.ending(never)[0] == 0.0
