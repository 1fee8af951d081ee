"""Networks and their stacks: R at once are R single ones, and wrong arguments are named."""

import pytest
import torch
from wrong import answers_or_names_it

from clbook import models


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def drawn(*shape):
    return torch.randn(shape, generator=generator(), dtype=torch.float64)


@pytest.mark.parametrize("R", [1, 5])
@pytest.mark.parametrize("widths", [(2, 7, 1), (1, 3), (1, 1, 1), (3, 8, 8, 4)])
@pytest.mark.parametrize("activation", ["tanh", "leaky_relu"])
def test_many_networks_at_once_are_each_of_them(R, widths, activation):
    """Values and gradients in float64, against PyTorch's own layers."""
    nets = [models.MLP(widths, activation, generator(seed)).double() for seed in range(R)]
    x = drawn(R, 6, widths[0]).requires_grad_()
    weights = [w.requires_grad_() for w in models.stacked(nets)]
    found = models.mlp(weights, x, activation)
    expected = torch.stack([net(points) for net, points in zip(nets, x, strict=True)])
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    theirs = [p for net in nets for p in net.parameters()]
    gradients = torch.autograd.grad(expected.square().sum(), theirs)
    each = len(gradients) // R
    for k, mine in enumerate(torch.autograd.grad(found.square().sum(), weights)):
        own = torch.stack(gradients[k::each])
        torch.testing.assert_close(mine, own, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("outputs", [1, 4])
def test_affine_is_its_formula_with_and_without_a_bias(outputs):
    x, weight, bias = drawn(3, 6, 5), drawn(3, outputs, 5), drawn(3, outputs)
    product = torch.einsum("rni,roi->rno", x, weight)
    torch.testing.assert_close(models.affine(x, weight), product)
    torch.testing.assert_close(models.affine(x, weight, bias), product + bias[:, None])


def test_weights_are_pytorchs_and_no_global_number_is_drawn():
    before = torch.get_rng_state()
    net = models.MLP((100, 400, 2), generator=generator())
    models.CNN((1, 8, 8), generator=generator())
    models.Averaging(3, 2, 4, "tanh", 1.0, generator())
    assert torch.equal(torch.get_rng_state(), before)
    again, other = (models.MLP((100, 400, 2), generator=generator(seed)) for seed in (0, 1))
    assert torch.equal(net[0].weight, again[0].weight)
    assert not torch.equal(net[0].weight, other[0].weight)
    for parameter in (net[0].weight, net[0].bias):  # U(-b, b) with b = 1/sqrt(100)
        assert 0.098 < float(parameter.detach().abs().max()) <= 0.1
    assert abs(float(net[0].weight.detach().std()) - 0.1 / 3**0.5) < 1e-3


NETS = [models.MLP((3, 4, 2)) for _ in range(2)]
WEIGHTS = models.stacked(NETS)
X = torch.rand(2, 6, 3)
RELU = {"activation": "relu", "generator": generator()}
ARGUMENTS = {
    models.MLP: {"widths": (3, 4, 2), "activation": "tanh", "generator": generator()},
    models.Averaging: {"D": 3, "d": 2, "width": 4, "scale": 1.0} | RELU,
    models.CNN: {"image": (1, 8, 8), "d": 1, "channels": (2, 3), "generator": generator()},
    models.stacked: {"networks": NETS},
    models.affine: {"x": X, "weight": WEIGHTS[0], "bias": WEIGHTS[1]},
    models.mlp: {"parameters": WEIGHTS, "x": X, "activation": "relu"},
}


@pytest.mark.parametrize("function", ARGUMENTS, ids=lambda function: function.__name__)
def test_a_wrong_argument_is_named(function):
    answers_or_names_it(function, ARGUMENTS[function])


@pytest.mark.parametrize("widths", [(3, 2), (3, 5, 2)], ids=["another depth", "another width"])
def test_networks_of_two_architectures_are_not_stacked(widths):
    with pytest.raises(ValueError, match="networks must be networks of one architecture"):
        models.stacked([models.MLP((3, 4, 2)), models.MLP(widths)])
