"""The functions behind the page on CS: its linear model, what is optimal, and the programs of its records."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
import scipy.special
import scipy.stats
import torch

from clbook import latents
from clbook.experiments.content_style import Config, gains, pair_cosine, projector
from clbook.losses import infonce
from clbook_book.audit.cs import collapse, encoders, flow, optima, runs
from clbook_book.course.photographs import runs as photos

DEEP = Config(d=6, d_c=3, mixing_layers=2, layers=3, width=9, n=24, steps=4, lr=1e-3)
CORNERS = Config(
    d=7, d_c=4, mixing_layers=2, layers=2, width=8, n=30, steps=3, style_sd=10.0, lr=1e-3
)


def test_shares_are_those_of_equation_4():
    z, views = collapse.pairs(5, 2, 0.3, torch.Generator().manual_seed(0))
    own, others = flow.shares(z, views)
    for i in range(5):
        pulls = [
            math.exp(-float((z[i] - (views[i] if i == j else z[j])).square().sum()) / 2)
            for j in range(5)
        ]
        assert float(own[i]) == pytest.approx(pulls[i] / sum(pulls))
        expected = [0 if i == j else p / sum(pulls) for j, p in enumerate(pulls)]
        assert others[i].tolist() == pytest.approx(expected)


def test_identities_of_the_linear_model():
    ratios = flow.lower_rank()
    assert len(ratios) == 8 and ratios[-1] == 0
    assert all(a >= b for a, b in zip([1, *ratios], ratios, strict=False))
    assert flow.tempered(1.0) == pytest.approx((0, 1, 1), abs=1e-12)
    along, turned, small = flow.tempered(0.1)
    assert along < 1e-12 and turned < 0.99 and 1 - small < 1e-5
    assert optima.product_ranks() == (16, 0)  # 8 + 8 of 81 have one singular factor


def test_eigenvalues_are_those_of_the_latents():
    values, (z, views) = flow.eigenvalues(0.3), flow.sampled(20_000, 4, 0.3, 0)[2:]
    assert values[4:] == pytest.approx(np.full(4, 1 / 12), rel=0.05)
    variance = float((views - z)[:, 4:].square().mean())
    assert values[:4] == pytest.approx(np.full(4, 1 / 12 - variance), abs=0.004)


def test_the_corrected_lemma_5_has_the_spectrum_of_the_gradient():
    for case in ({}, {"mixing": "gaussian", "whiten": True}):
        true, law = (
            flow.gradient_spectrum(3, n=200, flow=f, **case) for f in (flow.descent, flow.lemma5)
        )
        assert law.tolist() == pytest.approx(true.tolist(), rel=1e-4)


def test_collapsed_maps_have_the_loss_of_the_content_alone():
    losses = optima.collapsed((1, 5, 1e8), 3, n=50)
    generator = torch.Generator().manual_seed(0)
    latents.rotations(8, 3, generator)
    z, views = collapse.pairs(50, 3, 0.3, generator)
    assert losses[0] == pytest.approx(float(collapse.loss(z[:, :3], views[:, :3]).mean()), rel=1e-4)
    assert losses[0] > losses[1] > losses[2] == 0
    config = Config(space="sphere", normalize=True, d_c=4)
    values, fits = optima.keeping(config, (0, 1))
    assert values.shape == (2,) and fits[0, 1] < 0.1 and fits[1] == pytest.approx([1, 1])


def test_terms_add_up_to_the_loss():
    a, b, c = torch.randn(3, 40, 6, generator=torch.Generator().manual_seed(0))
    for config in (
        Config(d=6, d_c=3, tau_c=0.5),
        Config(space="sphere", normalize=True, d=6, d_c=3, tau=0.3),
    ):
        alignment, uniformity, total = encoders.terms(a, b, c, config)
        tau = torch.tensor(config.temperatures, dtype=torch.float32)
        expected = float(infonce(b, a, c, tau, 2, config.normalize))
        assert float(total) == pytest.approx(expected, rel=1e-5)
        assert float(alignment + uniformity) == pytest.approx(float(total), rel=1e-5)


def test_the_encoder_under_a_projector_starts_the_same():
    short, tall = (encoders.Square([DEEP.replace(layers=k)]) for k in (2, 4))
    few, many = short.state.weights, tall.state.weights
    assert all(torch.equal(a, b) for a, b in zip(few[:2], many[:2], strict=True))
    assert tall.layers(many, torch.zeros(1, 5, 6))[-1].shape == (1, 5, 9)
    assert short.state.tau.shape == (1, 1, 1)
    assert encoders.Square.run(DEEP, record=("r2",)).r2.shape[1:] == (4, 6)


def test_classes_are_corners_that_a_pair_shares():
    made = encoders.Classes([CORNERS])
    z, partner = made.pairs(made.state, made.draw().pairs)
    assert torch.equal(z[..., :4], partner[..., :4]) and (z[..., :4].sum(-1) == 1).all()
    assert z[..., :4].sum((0, 1)).min() > 0 and (z[..., 4:] != partner[..., 4:]).all()


def test_variance_within_classes_and_cosines_by_hand():
    made = encoders.Classes([CORNERS], record="all")
    s = made.state
    row = made.measure(s, torch.zeros(1), torch.zeros(1), 0)
    z = s.tested[0][0]
    y = made.layers(s.weights, latents.mixed(s.tested[0], s.mixing))[-1][0]
    means = torch.stack([y[z[:, k] == 1].mean(0) for k in range(4)])
    inside = sum((y[z[:, k] == 1] - means[k]).square().sum() for k in range(4)) / len(y)
    around = means - means.mean(0)
    expected = float(inside / around.square().sum(1).mean())
    assert float(row["within"]) == pytest.approx(expected, rel=1e-4)
    first = torch.cosine_similarity(around[0], around[1], dim=0)
    assert float(row["cosines"][0, 0]) == pytest.approx(float(first), abs=1e-5)
    assert encoders.Classes.run(CORNERS, record=("cosines",)).cosines.shape[1] == 6


def test_what_directclr_adds_to_h_is_its_projector():
    config = projector.Config(method="directclr", n=100, n_test=100, batch=50, direct=5, steps=2)
    result = encoders.Direct.run(config, record=("added",))
    made = encoders.Direct([config])
    ((test, _),) = made.shared.test
    found = projector.places(config, made.state.weights, test[None])
    added = (found["r"] - found["h"])[0].square().mean(0).sqrt() / found["h"][
        0
    ].square().mean().sqrt()
    assert result.added[0] == pytest.approx(added.detach().numpy(), rel=1e-4)
    simclr = encoders.Direct.run(config.replace(method="simclr"), record=("added",))
    assert not simclr.added.any()


def test_rows_that_are_compared_differ_in_one_setting():
    """CS Fig. 2 and Table 2: the norm, or the temperatures."""
    slow, rows = photos.SLOW["norm, small rate"], photos.OUTPUTS
    alone, two = rows["no norm, variance 1"], rows["no norm, variance 1, two temperatures"]
    found = []
    for one, other in (
        (slow, alone),
        (alone, two),
        (slow, rows["norm, temperature 1/64"]),
        (rows["norm"], rows["no norm"]),
    ):
        one, other = dataclasses.asdict(one), dataclasses.asdict(other)
        found.append([name for name in one if one[name] != other[name]])
    assert found == [["outputs"], ["tau_ratio"], ["tau"], ["outputs"]]


def bessel(d, k):
    """A_d(k), the mean cosine of a von Mises-Fisher distribution."""
    return scipy.special.ive(d / 2, k) / scipy.special.ive(d / 2 - 1, k)


def of_content(d_c, d_s, n=60):
    """The squared length of a latent's content on the sphere, (n,), the shortest ones densely, and their weights."""
    at = (np.arange(n) + 0.5) / n
    return scipy.stats.beta.ppf(at**2, d_c / 2, d_s / 2), at / at.sum()


def of_styles(squares, d_c, d_s, tau, cosine, r2, weights):
    """The loss with style times s^2 in `squares`; a pair's styles have the `cosine` (n,) at content of length r2."""
    for square in squares:
        whole = r2 + square * (1 - r2)
        push = 0  # log E e^(u / tau) over the directions of content, and of style
        for d, share in ((d_c, r2 / whole), (d_s, square * (1 - r2) / whole)):
            k = np.sqrt(np.outer(share, share)) / tau
            push = (
                push
                + np.log(scipy.special.ive(d / 2 - 1, k))
                + k
                + (1 - d / 2) * np.log(k / 2)
                + math.lgamma(d / 2)
            )
        pull = (r2 + square * (1 - r2) * cosine) / whole / tau
        yield weights @ (np.log(np.exp(push) @ weights) - pull)


@pytest.mark.parametrize(
    ("tau", "sd", "first_order", "goes"), [(0.25, 1.0, 0.85, True), (1.0, 0.31, 1.03, False)]
)
def test_the_threshold_on_the_sphere_to_all_orders(tau, sd, first_order, goes):
    """The slope of the loss in s^2; tau d_c (1 - rho) is on the other side of 1 than its sign says."""
    r2, weights = of_content(4, 4, 400)
    ratio, cosine = (1 - r2) / r2, bessel(4, (1 - r2) / sd**2)
    without, near = of_styles((1e-9, 1e-4), 4, 4, tau, cosine, r2, weights)
    law = weights @ (ratio * (1 - cosine)) - bessel(4, 1 / tau) * (weights @ ratio)
    assert (near - without) / 1e-4 == pytest.approx(law / tau, rel=0.02)
    assert (law > 0) == goes
    rho = pair_cosine(Config(space="sphere", normalize=True, d_c=4, style_sd=sd))
    assert rho == pytest.approx(weights @ ((1 - r2) * cosine) / (weights @ (1 - r2)), abs=0.01)
    assert tau * 4 * (1 - rho) == pytest.approx(first_order, abs=0.01)


def test_no_style_is_best_at_all_scales_for_von_mises_fisher_pairs_and_not_for_all():
    squares, local = (1e-9, 1e-4, *np.geomspace(1e-2, 1e3, 9)), 0
    for *sizes, tau, sd in itertools.product((3, 5), (2, 9), (0.1, 0.5), (0.3, 1)):
        r2, weights = of_content(*sizes)
        losses = [*of_styles(squares, *sizes, tau, bessel(sizes[1], (1 - r2) / sd**2), r2, weights)]
        local += losses[1] > losses[0]
        assert (losses[1] > losses[0]) == (min(losses[1:]) > losses[0])
    assert 4 <= local <= 12
    r2, weights = of_content(3, 5)
    without, near, far = of_styles((1e-9, 1e-4, 0.36), 3, 5, 0.5, 0.9 * (r2 > 0.1), r2, weights)
    assert near > without > far + 0.07


def test_a_style_that_no_wall_cuts_off_can_be_the_larger_one():
    """Above 4 sigma_z^2 it turns Lemma 7 and Prop. 2 round; above 2 it is better dropped, though views correlate."""
    draws = torch.Generator().manual_seed(0)
    z = torch.rand(1500, 8, generator=draws, dtype=torch.float64)
    content = torch.arange(8) < 3
    noise = torch.randn(1500, 8, generator=draws, dtype=torch.float64) * ~content
    flowing = flow.descent(flow.TINY * torch.eye(8, dtype=torch.float64), z, z + noise)
    sizes = flowing.norm(dim=0)
    assert sizes[~content].min() > 4 * sizes[content].max()
    assert flow.largest_drop(torch.linalg.svdvals(flowing)) == 5
    wide = z + 0.6 * noise
    assert torch.stack([z[:, 7], wide[:, 7]]).corrcoef()[0, 1] > 0.3
    dropped, kept = (
        collapse.loss(z * scale, wide * scale).mean()
        for scale in (content, torch.where(content, 1, 0.2))
    )
    assert kept > dropped + 0.001
    stretched = []
    for n in (100, 1500):  # above 2 sigma_z^2 no more: the condition number rises with the pairs
        close = z[:n] + noise[:n] / 6**0.5
        values = torch.linalg.svdvals(flow.lemma5(torch.eye(8).double(), z[:n], close))
        stretched.append(float(values[0] / values[-1]))
    assert stretched[1] > 1.5 * stretched[0]


def test_a_style_of_the_content_can_cost_and_a_bent_content_has_a_higher_rank():
    draws = torch.Generator().manual_seed(0)
    c, noise = 2 * torch.rand(2, 300, 1, generator=draws, dtype=torch.float64) - 1
    dropped, kept = (
        collapse.loss(*(torch.cat([30 * c, w * s], 1) for s in (c**2, c**2 + noise / 4))).mean()
        for w in (0, 0.5)
    )
    assert kept > dropped + 0.001 and noise.var() / 16 < (c**2).var()
    assert collapse.loss(1e8 * c.sign(), 1e8 * c.sign()).mean() > 4  # two classes, no style
    seen = flow.descent(
        torch.eye(3).double()[:2], *(torch.cat([c, c**2, s], 1) for s in (noise, -noise))
    )
    assert torch.linalg.matrix_rank(seen) == 2


def test_with_absolute_differences_style_can_be_erased():
    """No style is a local minimum, trained maps end there, and Prop. 5's bound is of squared distances alone."""
    draws = torch.Generator().manual_seed(0)
    z, views = collapse.pairs(300, 3, 0.3, draws)
    A, B = torch.randn(2, 8, 8, generator=draws, dtype=torch.float64)
    kept = A * (torch.arange(8) < 3)

    def loss(W):
        logits = -torch.cdist(z @ W.T, z @ W.T, p=1)
        logits.diagonal().copy_(-((z - views) @ W.T).abs().sum(1))
        return -logits.log_softmax(1).diagonal().mean()

    for size in (0.03, 0.1, 0.3):
        assert loss(kept + size * B * (torch.arange(8) >= 3)) > loss(kept) + size / 10
    W = kept[:, :3] @ kept[:3].clone()  # of rank 3
    assert torch.linalg.matrix_rank(torch.func.grad(loss)(W)) == 8
    assert torch.linalg.matrix_rank(flow.descent(W, z, views)) == 3
    maps = runs.linear()
    equal, low = (
        [gains(maps["box, p = 1", k, tau])[:, k:] for k in (1, 2, 4)] for tau in (1.0, 0.01)
    )
    assert 3.1 < gains(maps["box, p = 1", 0, 1.0]).mean() < 3.3
    assert equal[2].mean(1) == pytest.approx([0.002] * 5, abs=5e-4)
    assert [(style < 0.5).sum() for style in equal + low] == [7, 20, 20, 0, 0, 10]


def test_without_style_the_loss_can_be_above_that_of_the_inverse_on_the_sphere():
    config = Config(space="sphere", normalize=True, d_c=1, style_sd=0.05)
    inverse, alone = optima.parts(np.stack([np.eye(8), np.diag(np.eye(8)[0])]), config)[2]
    assert (inverse, alone) == pytest.approx((8.28, 8.64), abs=0.01)
