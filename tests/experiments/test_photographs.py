"""Copies of one network under several losses, and outputs normalised or standardised, on images."""

import numpy as np
import pytest
import torch

from clbook import losses, metrics
from clbook.experiments import images
from clbook.experiments.images import norms, twins
from clbook_book import records
from clbook_book.course.photographs import figures
from clbook_book.course.photographs.runs import copies

SMALL = dict(train=60, test=20, width=4, batch=30, projector=(8, 6), epochs=2, warmup=0)


def test_each_copy_is_the_run_of_its_loss_alone():
    """So all have one start, one order and one set of views: they differ in the loss alone."""
    config = twins.Config(**SMALL)
    together = twins.run(config)
    for k, loss in enumerate(together.losses):
        alone = images.run(config.copy(loss))
        assert np.allclose(alone.steps, together.steps[:, k], rtol=1e-4)
        assert alone.probe == pytest.approx(together.probe[k], abs=0.06)  # one of 20 images


def test_what_is_compared():
    result = twins.run(twins.Config(**SMALL))
    assert result.losses == ("dcl", "nscl", "supcon", "ce") and result.epochs.tolist() == [0, 1, 2]
    for values in (result.cka, result.rsa, result.cka_h):
        # before training all are one network
        assert values.shape == (3, 4) and values[0] == pytest.approx(1)
        assert values[:, 0] == pytest.approx(1) and (values[1:, 1:] < 1 - 1e-6).all()
    assert (result.gap[0] == 0).all() and (result.gap[:, 0] == 0).all()
    assert (result.gap[1:, 1:] > 0).all()
    assert ((result.nccc > 0) & (result.nccc <= 1)).all() and 0 < result.pixels <= 1


def test_every_so_many_epochs_and_at_the_end():
    assert twins.run(
        twins.Config(**SMALL | {"epochs": 3}, every=2, others="nscl")
    ).epochs.tolist() == [0, 2, 3]


def test_a_run_can_be_stopped_and_tells_how_far_it_is(monkeypatch):
    monkeypatch.setattr(images.experiment, "PROGRESS_EVERY", 0.0)
    told = []

    def progress(fraction, partial):
        told.append((fraction, partial))
        return fraction < 0.7

    result = twins.run(twins.Config(**SMALL), progress=progress)
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions) and len(set(fractions)) == len(fractions)
    assert 0.7 <= fractions[-1] < 1
    assert result.stopped and result.epochs.tolist() == [0, 1] and np.isnan(result.probe).all()
    partial = [partial for _, partial in told if partial is not None]
    assert [len(each.epochs) for each in partial] == [1, 2]
    assert all(each.stopped for each in partial)
    # the last copy has not come to it
    assert np.isfinite(result.steps[:2]).all() and np.isnan(result.steps[-1, -1])


def test_settings_that_are_not_allowed():
    with pytest.raises(ValueError, match="loss = 'nscl' .* must be one of dcl, nt_xent"):
        twins.Config(loss="nscl")
    with pytest.raises(ValueError, match="outputs = 'raw' is not allowed"):
        norms.Config(outputs="raw")


def test_an_embedding_that_has_become_constant_has_no_similarity():
    some = torch.randn(9, 3, generator=torch.Generator().manual_seed(0)).numpy()
    constant = np.ones((9, 3))
    assert np.isnan(twins.similarity(metrics.linear_cka, constant, some))
    assert twins.similarity(metrics.rsa, some, some) == pytest.approx(1)


def test_outputs_are_of_length_one_or_standardised():
    z = torch.randn(200, 6, generator=torch.Generator().manual_seed(0)) * 3 + 1
    assert torch.allclose(norms.prepared(z, "norm").norm(dim=1), torch.ones(200))
    standard = norms.prepared(z, "standard")
    assert torch.allclose(standard.mean(0), torch.zeros(6), atol=1e-5)
    assert torch.allclose(standard.square().mean(0), torch.ones(6), atol=1e-4)
    assert norms.prepared(z, "scaled").square().sum(1).mean() == pytest.approx(1, abs=1e-4)


def test_the_loss_is_infonce_both_ways_with_a_temperature_for_each_dimension():
    z1, z2 = torch.randn(2, 10, 6, generator=torch.Generator().manual_seed(0))
    tau = torch.tensor([0.5] * 3 + [0.35] * 3)
    found = norms.objective(norms.Config(tau=0.5, tau_ratio=0.7), z1, z2)
    plain = (
        losses.infonce(z1, z2, tau=tau, normalize=True)
        + losses.infonce(z2, z1, tau=tau, normalize=True)
    ) / 2
    assert torch.allclose(found, plain)


@pytest.mark.parametrize("outputs", ["norm", "scaled", "standard"])
def test_outputs_are_read_out_as_the_loss_sees_them(outputs):
    result = norms.run(norms.Config(**SMALL, every=2, outputs=outputs))
    assert isinstance(result, images.Result) and np.isfinite(result.loss).all()
    assert np.allclose(
        torch.from_numpy(result.z), norms.prepared(torch.from_numpy(result.z), outputs), atol=1e-4
    )


def test_records_of_runs_that_ended_early_have_the_first_losses():
    config = twins.Config(**SMALL | {"epochs": 40})
    early = copies([twins.run(config, progress=lambda fraction, partial: False)])
    assert set(early) == {"steps"} and np.isfinite(early["steps"][0, 0])


def test_figures_and_tables_say_what_the_records_have():
    names = "mnist", "cifar10", "mnist-tau", "cifar10-tau", "norms"
    mnist, cifar, *taus, outputs = (records.load(f"photographs-{name}") for name in names)
    assert "MNIST, weight gap to DCL: NSCL" in figures.twins(mnist, cifar).alt
    assert "CIFAR-10, RSA: tau = 0.1" in figures.temperatures(mnist, cifar, *taus).alt
    assert "CL (DCL)" in figures.accuracies(mnist, cifar)._repr_html_()
    assert "after it, norm: effective rank" in figures.spectra(outputs).alt
    assert "1 and 0.7" in figures.readouts(outputs)._repr_html_()
