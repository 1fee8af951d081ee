"""The theory of content and style against autograd, and what its `projector` promises about its runs."""

import math

import numpy as np
import pytest
import torch

from clbook.experiments.content_style import projector
from clbook.experiments.content_style.projector import Config, Projectors, run
from clbook.losses import infonce
from clbook.metrics import effective_rank
from clbook.results.sweep import sweep
from clbook_book.audit.cs import collapse, flow

SEEDS = range(3)
BASE = Config(record_every=200)  # as in the chapter
QUICK = Config(n=100, n_test=100, batch=50, steps=20)


@pytest.mark.parametrize("style_sd", [0.1, 0.3])
@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_5_holds_with_twice_the_covariance_and_as_printed_only_without_the_negatives_gradient(
    style_sd, seed
):
    errors = flow.lemma5_errors((1e-3, 1e-2, 3.0), n=600, style_sd=style_sd, seed=seed)
    assert errors["corrected"][0] <= 1e-5 and errors["detached"][0] <= 1e-5
    assert errors["printed"][0] >= 0.4
    assert errors["corrected"][1] == pytest.approx(100 * errors["corrected"][0], rel=0.01), (
        "second order in W"
    )
    assert errors["corrected"][2] > 1, "and only for small W"


@pytest.mark.parametrize("n", [600, 1100])
def test_lemma_5_with_the_papers_prefactor_is_off_by_one_over_m(n):
    x, views = collapse.pairs(n, 4, 0.3, torch.Generator().manual_seed(0))
    W = 1e-3 * torch.eye(8, dtype=torch.float64)
    truth = flow.descent(W, x, views)
    gap = flow.lemma5(W, x, views, prefactor=n) - truth
    assert float(gap.norm() / truth.norm()) == pytest.approx(1 / (n - 1), rel=0.01)


def test_the_loss_is_equation_4_written_out():
    z, views = collapse.pairs(7, 3, 0.3, torch.Generator().manual_seed(1))
    for i, value in enumerate(collapse.loss(z, views).tolist()):
        positive = math.exp(-float((z[i] - views[i]).square().sum()) / 2)
        negative = sum(
            math.exp(-float((z[i] - z[j]).square().sum()) / 2) for j in range(7) if j != i
        )
        assert value == pytest.approx(-math.log(positive / (positive + negative)), abs=1e-12)


@pytest.mark.parametrize("d_c", [0, 4])
@pytest.mark.parametrize("seed", SEEDS)
def test_rank_of_the_gradient_is_two_n_less_one(d_c, seed):
    for n in range(2, 9):
        values = flow.gradient_spectrum(d_c, n=n, seed=seed)
        assert int((values > 1e-10 * values[0]).sum()) == min(2 * n - 1, 8)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("d_c", [1, 2, 4])
def test_some_style_always_lowers_the_loss(d_c, seed):
    for style_sd in (0.1, 0.3, 0.6):
        losses = collapse.surface((0.5, 2, 8, 20), (0, 0.3, 1), d_c, style_sd, seed=seed)
        assert (np.diff(losses, axis=1) < 0).all(), (style_sd, losses)


def test_slope_at_zero_style_is_the_propositions():
    """At c = 0 the shares are 1 / n, so the slope is (1 - 1 / n) d_s (sigma_s^2 - 2 sigma_z^2) / 2."""
    losses = collapse.surface((1e-6,), (0, 0.02), 4, 0.3, n=500, batches=8)[0]
    z, views = collapse.pairs(200_000, 4, 0.3, torch.Generator().manual_seed(3))
    moved = float((z - views)[:, 4:].square().mean())
    expected = (1 - 1 / 500) * 2 * (moved - 1 / 6)
    assert (losses[1] - losses[0]) / 0.02**2 == pytest.approx(expected, rel=0.05)


def test_where_style_is_gone_the_gradient_has_the_rank_of_content():
    """CS Prop. 5, at any scale of content: style rests there, and any trace of it grows."""
    pair = collapse.pairs(500, 3, 0.3, torch.Generator().manual_seed(0))
    for scale in (0.1, 2.0):
        W = torch.diag(torch.tensor([scale] * 3 + [0.0] * 5, dtype=torch.float64))
        assert int(torch.linalg.matrix_rank(flow.descent(W, *pair), rtol=1e-10)) == 3
        near = W + 1e-3 * torch.diag(torch.arange(8) >= 3)
        assert (flow.descent(near, *pair).diagonal()[3:] > 0).all()


def test_corollary_1_taken_apart():
    for d_c in (1, 4):
        (here,) = collapse.surface((1,), (1,), d_c)[0][None]
        wide, bare = collapse.surface((2,), (1, 0), d_c)[0]
        assert wide < here - 0.1 and bare > wide + 0.1


@pytest.mark.long
def test_lower_temperatures_fill_more_dimensions_after_the_projector_than_removing_the_norm():
    regular, bare, cold = (
        sweep(run, [c.replace(seed=s) for s in SEEDS[:2]], record=("spectrum",))
        for c in (BASE, BASE.replace(normalize=False), BASE.replace(tau=0.3))
    )
    for plain, standard, low in zip(regular, bare, cold, strict=True):
        assert low.rank[-1, -1] > plain.rank[-1, -1] + 4
        assert low.rank[-1, -1] > standard.rank[-1, -1] + 2


def test_similarity_is_that_of_infonce_and_rows_have_length_one():
    made = Projectors([QUICK.replace(tau=0.5, tau_ratio=0.7), QUICK.replace(seed=1)])
    s = made.state
    views = made.views(s, made.draw())
    z, tau = projector.places(QUICK, s.weights, views)["z"], s.tau
    assert tau[0, 0].tolist() == pytest.approx([0.5] * 32 + [0.35] * 32) and (tau[1] == 1).all()
    u, v = z.chunk(2, 1)
    expected = [
        infonce(a, b, tau=t[0], normalize=True)
        for pair in ((u, v), (v, u))
        for a, b, t in zip(*pair, tau, strict=True)
    ]
    torch.testing.assert_close(made.objective(s, views), torch.stack(expected).view(2, 2).mean(0))
    torch.testing.assert_close(z.norm(dim=-1), torch.ones(2, 100))
    flat = projector.places(QUICK.replace(normalize=False), s.weights, views)["z"]
    torch.testing.assert_close(flat.square().mean(1) * 64, torch.ones(2, 64), atol=1e-3, rtol=0)
    torch.testing.assert_close(flat.mean(1), torch.zeros(2, 64), atol=1e-5, rtol=0)


def test_rank_is_the_metric_and_the_split_shares_no_image():
    config = QUICK.replace(n=1200, n_test=540, batch=100, steps=1)
    (x, labels), (test, held) = projector.dataset(config)
    assert len(torch.cat([x, test]).unique(dim=0)) == len(torch.cat([x, test])) == 1740
    assert held.bincount(minlength=10).min() > 20 and labels.bincount(minlength=10).min() > 80
    r, made = run(config, record=("spectrum",)), Projectors([config])
    h = projector.places(config, made.state.weights, test[None])["h"][0]
    assert r.rank[0, 0] == pytest.approx(effective_rank(h), rel=1e-3)


def test_views_of_an_image_are_two_of_its_copies_and_runs_of_one_seed_share_them():
    made = Projectors(
        [QUICK.replace(noise=0.0, seed=s, tau=tau) for s, tau in ((0, 1.0), (1, 1.0), (0, 0.5))]
    )
    assert len(made.shared.banks) == 2 and projector.material.cache_info().maxsize
    views = made.views(made.state, made.draw())
    assert torch.equal(views[0], views[2]) and not torch.equal(views[0], views[1])
    for i, bank in ((0, 0), (1, 1)):
        copies = made.shared.banks[bank].flatten(0, 1)
        found = (views[i][:, None] == copies).all(-1)  # (2 batch, copies x images)
        assert found.any(1).all()
        image, copy = found.int().argmax(1) % QUICK.n, found.int().argmax(1) // QUICK.n
        assert torch.equal(image[:50], image[50:]) and (copy[:50] != copy[50:]).all()
        assert len(image[:50].unique()) == 50


def test_too_many_images_are_said():
    with pytest.raises(ValueError, match="n = .* is not allowed"):
        run(QUICK.replace(n=2000))


def test_files_of_other_images_are_part_of_what_a_run_depends_on(tmp_path, monkeypatch):
    monkeypatch.setenv("CLBOOK_DATA", str(tmp_path))
    (tmp_path / "mnist.npz").write_bytes(b"")
    (tmp_path / "cifar10.npz").write_bytes(b"")
    assert Config(data="mnist").files == (tmp_path / "mnist.npz",) and Config().files == ()
