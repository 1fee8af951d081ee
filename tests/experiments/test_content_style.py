"""Latents, temperatures and batched runs of the chapter "Small is not lost"."""

import numpy as np
import pytest
import torch
from scipy import optimize, stats
from scipy.special import betaincinv, ive

from clbook import latents, theory
from clbook.experiments.content_style import Config, Encoders, experiment, run
from clbook.losses import infonce
from clbook.metrics import r2
from clbook_book.audit.cs import flow, optima
from clbook_book.course.content_style.runs import DEEP

SPHERE = Config(space="sphere", normalize=True, d_c=4, style_sd=0.5)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("m", [2, 3, 8])
@pytest.mark.parametrize("sd", [0.1, 0.5, 2.0])
def test_positives_on_the_sphere_are_von_mises_fisher(m, sd):
    z = torch.zeros(20_000, m)
    z[:, 0] = 1
    positive = latents.positives(z, 0, sd, "sphere", seeded())
    cosine, kappa = positive[:, 0].double(), 1 / sd**2
    expected = ive(m / 2, kappa) / ive(m / 2 - 1, kappa)
    assert cosine.mean() == pytest.approx(expected, abs=5 * float(cosine.std()) / 20_000**0.5)
    assert positive.norm(dim=1) == pytest.approx(np.ones(20_000), abs=1e-5)
    assert positive[:, 1:].mean(0).abs().max() < 0.03, "no side is preferred"


def test_content_on_the_sphere_stays_and_style_keeps_its_length():
    z = latents.marginal(500, 8, "sphere", seeded())
    positive = latents.positives(z, 3, 0.5, "sphere", seeded(1))
    assert torch.equal(positive[:, :3], z[:, :3])
    assert positive[:, 3:].norm(dim=1) == pytest.approx(z[:, 3:].norm(dim=1), abs=1e-5)
    assert (positive[:, 3:] - z[:, 3:]).norm(dim=1).min() > 0
    assert torch.equal(latents.positives(z, 7, 0.5, "sphere", seeded()), z), (
        "one style dimension has nowhere to go"
    )


@pytest.mark.parametrize("sd", [0.05, 0.3, 2.0])
def test_positives_in_the_box_are_truncated_normals(sd):
    z = torch.full((20_000, 3), 0.2)
    positive = latents.positives(z, 1, sd, "box", seeded())
    assert torch.equal(positive[:, 0], z[:, 0]) and positive.min() >= 0 and positive.max() <= 1
    law = stats.truncnorm(-0.2 / sd, 0.8 / sd, 0.2, sd)
    assert positive[:, 1].mean() == pytest.approx(law.mean(), abs=0.01)
    assert stats.kstest(positive[:, 2].numpy(), law.cdf).pvalue > 1e-3


def test_the_sampler_of_the_sphere_hardly_ever_runs_out_of_proposals():
    """How often a proposal of Wood's is accepted, over all that Config allows: 16 in a row fail once in 3e7."""
    m, kappa = np.arange(2, 65)[:, None, None], np.geomspace(1e-4, 1e4, 40)[:, None]
    quantiles = (np.arange(2000) + 0.5) / 2000
    b = (m - 1) / (2 * kappa + np.sqrt(4 * kappa**2 + (m - 1) ** 2))
    x0, beta = (1 - b) / (1 + b), betaincinv((m - 1) / 2, (m - 1) / 2, quantiles)
    w = (1 - (1 + b) * beta) / (1 - (1 - b) * beta)
    accepted = np.exp(kappa * (w - x0) + (m - 1) * (np.log1p(-x0 * w) - np.log1p(-(x0**2))))
    assert accepted.max() < 1 + 1e-6 and (1 - accepted.mean(-1).min()) ** latents.PROPOSALS < 1e-7


def test_many_runs_from_the_same_random_numbers_are_each_run_by_itself():
    for space in latents.SPACES:
        drawn = latents.draws(50, 6, space, seeded())
        d_c = torch.tensor([0, 2, 5, 6])[:, None, None]
        sd = torch.tensor([0.1, 0.5, 1.0, 0.3])[:, None, None]
        both = latents.pairs(drawn.expand(4, 50, -1), 6, d_c, sd, space)
        for i in range(4):
            g = seeded()
            z = latents.marginal(50, 6, space, g)
            assert torch.equal(both[0][i], z)
            assert torch.equal(
                both[1][i], latents.positives(z, int(d_c[i]), float(sd[i]), space, g)
            )


def test_one_layer_is_a_rotation():
    z = latents.marginal(100, 4, "sphere", seeded(1))
    turned = latents.mixed(z, latents.rotations(4, 1, seeded()))
    assert turned.norm(dim=1) == pytest.approx(z.norm(dim=1), abs=1e-5)


def test_bad_latents_and_mixings_say_what_is_wrong():
    z = latents.marginal(5, 4, "box", seeded())

    def positives(*given, **how):
        return latents.positives(z, *given, seeded(), **how)

    table = torch.ones(4, 3)
    for call, message in (
        (lambda: positives(5, 0.3, "box"), "d_c = 5 is not allowed"),
        (lambda: positives(1, 0.0, "box"), "style_sd = 0.0 is not"),
        (lambda: positives(1, -1.0, "sphere"), "style_sd = -1.0 is not"),
        (lambda: positives(1, 0.3, "sphere", content_sd=0.1), "content_sd = 0.1 is not allowed"),
        (lambda: latents.marginal(5, 4, "torus", seeded()), "space = 'torus'"),
        (lambda: latents.mixed(z, [table]), r"matrices\[0\] = Tensor \(4, 3\) .* square"),
        (lambda: Config(d_c=9), "d_c = 9 .* must be at most"),
        (lambda: SPHERE.replace(content_sd=0.1), "content_sd"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("p", [1, 2])
def test_a_temperature_for_each_dimension_is_a_change_of_units(p):
    a, b = torch.rand(2, 50, 8, generator=seeded())
    tau = 10 ** (2 * torch.rand(8, generator=seeded(1)) - 1)
    units = tau ** (1 / p)
    expected = float(infonce(a / units, b / units, p=p))
    assert float(infonce(a, b, tau=tau, p=p)) == pytest.approx(expected, rel=1e-5)
    assert float(infonce(a, b, tau=tau, normalize=True)) != pytest.approx(
        float(infonce(a / tau**0.5, b / tau**0.5, normalize=True)), rel=1e-2
    ), "not on the sphere"


def test_maps_losses_and_readouts_are_those_of_the_encoder():
    made = Encoders([Config(d_c=1)], record="all")
    s = made.state
    z, partners = s.tested
    row = made.measure(s, torch.zeros(1), torch.zeros(1), 0)
    A = row["map"][0].float()
    x = latents.mixed(z, s.mixing)
    torch.testing.assert_close(made.layers(s.weights, x)[-1][0], z[0] @ A.T)
    a, b = (side[0, : experiment.LOSS_ON] @ A.T for side in (z, partners))
    assert float(row["loss"]) == pytest.approx(float(infonce(b, a)), rel=1e-4)
    result = run(DEEP.replace(steps=2, record_every=1), record=("r2",))
    made = Encoders([DEEP], record=("r2",))
    z = made.state.tested[0]
    in_x = r2(z[0], latents.mixed(z, made.state.mixing)[0])
    np.testing.assert_allclose(result.r2[:, 0], np.tile(in_x, (3, 1)), atol=1e-5)
    assert result.r2.shape == (3, 8, 10) and np.isnan(result.map).all()


@pytest.mark.parametrize("width", [1, 1000])
def test_the_widest_and_the_narrowest_encoder_run(width):
    """R^2 is measured on more points than a layer has units."""
    result = run(Config(width=width, layers=2, d=2, d_c=1, n=4, steps=1), record=("r2",))
    assert np.isfinite(result.r2).all() and (result.r2 <= 1).all()


def test_a_run_draws_new_pairs_at_each_step_whatever_the_block(monkeypatch):
    first = run(Config(steps=40))
    monkeypatch.setattr(experiment, "DRAWN_AT_ONCE", 1)
    assert np.array_equal(first.map, run(Config(steps=40)).map)
    made = Encoders([Config()]).to("cpu")
    assert not torch.equal(made.draw().pairs, made.draw().pairs)


@pytest.mark.parametrize("flat", [0.0, 1e-3, 1e-9])
def test_what_a_page_shows_of_layers_is_r2(flat):
    """Of features of which one is a sum of others, but for a share of its own."""
    g = torch.Generator().manual_seed(0)
    z = torch.randn(2, 300, 3, generator=g, dtype=torch.float64)
    own = torch.randn(2, 300, 4, generator=g, dtype=torch.float64)
    features = torch.cat([z[..., :2] + 0.1 * own[..., :2], own[..., 2:3]], -1)
    last = features.sum(-1, keepdim=True) + flat * own[..., 3:]
    features = torch.cat([features, last], -1)
    found = experiment.explained(z, features)
    for k in range(2):
        if flat == 1e-9:  # an axis that is too short for a page
            features[k, :, 3] = features[k, :, :3].sum(-1)
        assert found[k].numpy() == pytest.approx(r2(z[k], features[k]), abs=1e-9)


def test_parts_of_the_loss_by_hand():
    config = Config(d=4, d_c=1, tau_c=0.5)
    alignment, uniformity, total = optima.parts(2 * np.eye(4), config, samples=50, anchors=30)
    g = seeded(10**9)
    z = latents.marginal(30, 4, "box", g)
    positive = latents.positives(z, 1, 0.3, "box", g)
    negatives = latents.marginal(50, 4, "box", g)
    expected = infonce(2 * positive, 2 * z, 2 * negatives, tau=torch.tensor(config.temperatures))
    assert total == pytest.approx(float(expected), rel=1e-5)
    assert total == pytest.approx(alignment + uniformity)
    assert alignment == pytest.approx(
        float((4 * (positive - z)[:, 1:] ** 2).sum(1).mean()), rel=1e-5
    )
    assert optima.parts(np.stack([np.eye(4)] * 2), config, samples=20, anchors=10).shape == (3, 2)


def test_growth_rates_follow_the_corrected_lemma_5():
    """(sigma_z^2 + sigma_z~^2 - sigma_s^2) / tau, all measured on many pairs: CS Lemma 5 with its factor 2, where the
    walls make the two variances differ a little."""
    config = Config(d_c=4, content_sd=0.1, tau_c=1.5)
    z = latents.marginal(100_000, 8, "box", seeded(5))
    positive = latents.positives(z, 4, 0.3, "box", seeded(6), content_sd=0.1)
    rate = z.var(0) + positive.var(0) - (positive - z).square().mean(0)
    np.testing.assert_allclose(
        flow.growth(config, scale=1e-3), 2 * rate.numpy() / config.temperatures, rtol=0.06
    )


@pytest.mark.parametrize(
    "tau, d_c, d_s, rho", [(0.5, 2, 6, 0.6), (0.25, 4, 4, 0.3), (1.0, 1, 7, 0.9), (1.0, 4, 4, 0.7)]
)
def test_style_share_minimises_the_expanded_loss(tau, d_c, d_s, rho):
    def energy(e):
        return -(e + rho * (1 - e)) / tau + (e**2 / d_c + (1 - e) ** 2 / d_s) / (2 * tau**2)

    e = optimize.minimize_scalar(
        energy, bounds=(1e-6, 1), method="bounded", options={"xatol": 1e-9}
    ).x
    expected = ((1 - e) / d_s / (e / d_c)) ** 0.5
    assert theory.style_share(tau, d_c, d_s, rho) == pytest.approx(expected, abs=1e-3)
    assert (theory.style_share(tau, d_c, d_s, rho) == 0) == (tau * d_c * (1 - rho) >= 1)
