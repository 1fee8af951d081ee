"""The batched transformer against PyTorch's own layers, member by member."""

import pytest
import torch
from torch import nn
from wrong import answers_or_names_it

from clbook.transformer import Transformer, functional, lookup


def generators(seeds):
    return [torch.Generator().manual_seed(s) for s in seeds]


def reference(model, m, tokens, present, heads):
    """The same map through torch.nn.TransformerEncoder, with the weights of member `m`."""
    d = model.tokens.shape[-1]
    hidden = model.blocks[0].up.weight.shape[-1]
    make = nn.TransformerEncoderLayer(d, heads, hidden, dropout=0.0, batch_first=True)
    net = nn.TransformerEncoder(make, len(model.blocks), enable_nested_tensor=False).double()
    names = {"self_attn.in_proj_": "inward", "self_attn.out_proj.": "outward"}
    names |= {"linear1.": "up", "linear2.": "down"}
    for theirs, ours in zip(net.layers, model.blocks, strict=True):
        state = {}
        for name, own in names.items():
            state[f"{name}weight"] = getattr(ours, own).weight[m].T
            state[f"{name}bias"] = getattr(ours, own).bias[m, 0]
        for norm in ("norm1", "norm2"):
            state[f"{norm}.weight"] = getattr(ours, norm).gain[m, 0]
            state[f"{norm}.bias"] = getattr(ours, norm).bias[m, 0]
        theirs.load_state_dict(state)
    seen = torch.ones(tokens.shape, dtype=torch.bool) if present is None else present
    x = net(model.tokens[m][tokens] + model.positions[m], src_key_padding_mask=~seen)
    if model.readout == "flatten":
        x = x.flatten(1)
    else:
        x = (x * seen[..., None]).sum(1) / seen.sum(1, keepdim=True)
    return x @ model.last.weight[m] + model.last.bias[m]


@pytest.mark.parametrize(
    "readout, layers, heads, padded",
    [
        ("flatten", 1, 1, False),
        ("flatten", 3, 2, False),
        ("mean", 2, 4, False),
        ("mean", 1, 2, True),
    ],
)
def test_each_member_is_pytorchs_transformer(readout, layers, heads, padded):
    model = Transformer(
        11, 5, 8, 3, generators(range(4)), layers=layers, heads=heads, readout=readout
    ).double()
    for name, parameter in model.named_parameters():
        if "norm" in name:  # a start of 1 and 0 hides mistakes
            moves = torch.Generator().manual_seed(7)
            parameter.data += 0.3 * torch.randn(parameter.shape, generator=moves)
    g = torch.Generator().manual_seed(1)
    tokens = torch.randint(11, (4, 6, 5), generator=g)
    present = (torch.rand(4, 6, 5, generator=g) < 0.6) | (torch.arange(5) == 2) if padded else None
    out = model(tokens, present)
    assert out.shape == (4, 6, 3)
    for m in range(4):
        expected = reference(model, m, tokens[m], present[m] if padded else None, heads)
        torch.testing.assert_close(out[m], expected, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("sizes", [(4, 1, 16), (8, 2, 16), (5, 1, 1), (1, 1, 3), (6, 3, 13)])
def test_a_member_starts_and_learns_the_same_whoever_runs_beside_it(sizes):
    d, heads, hidden = sizes
    tokens = torch.randint(5, (3, 7, 3), generator=torch.Generator().manual_seed(0))
    alone, together = (
        Transformer(5, 3, d, 2, generators(seeds), heads=heads, hidden=hidden)
        for seeds in ([3], [1, 3, 8])
    )
    alone(tokens[1:2]).square().sum().backward()
    together(tokens).square().sum().backward()
    for a, b in zip(alone.parameters(), together.parameters(), strict=True):
        assert torch.equal(a[0], b[1])
        torch.testing.assert_close(a.grad[0], b.grad[1], atol=1e-5, rtol=1e-5)


def test_a_network_is_a_function_of_its_weights_and_keeps_its_own():
    model, other = (Transformer(5, 3, 4, 2, generators([seed])) for seed in (0, 1))
    tokens = torch.randint(5, (1, 7, 3), generator=torch.Generator().manual_seed(0))
    own, theirs = model(tokens), other(tokens)
    weights, call = functional(model)
    assert torch.equal(call(weights, tokens), own)
    given = [w.detach().requires_grad_() for w in other.parameters()]
    out = call(given, tokens)
    assert torch.equal(out, theirs)
    assert torch.equal(model(tokens), own) and torch.equal(call(weights, tokens), own)
    expected = torch.autograd.grad(theirs.square().sum(), list(other.parameters()))
    for a, b in zip(torch.autograd.grad(out.square().sum(), given), expected, strict=True):
        assert torch.equal(a, b)
    with pytest.raises(ValueError, match="shorter"):
        call(weights[:-1], tokens)


def test_padding_is_not_seen():
    model = Transformer(5, 4, 4, 2, generators([0]), readout="mean")
    present = torch.tensor([[[True, True, False, False]]])
    rows = [1, 2, 0, 0], [1, 2, 4, 3], [1, 3, 0, 0]
    one, unseen, seen = (model(torch.tensor([[row]]), present) for row in rows)
    torch.testing.assert_close(one, unseen)
    assert not torch.allclose(one, seen)


def test_lookup_and_start():
    model = Transformer(300, 4, 64, 2, generators([0, 1]))
    assert model.tokens.std().item() == pytest.approx(1, rel=0.02)
    found = lookup(model.tokens, torch.tensor([[5, 5], [9, 0]]))
    assert torch.equal(found[1], model.tokens[1][[9, 0]])


def test_bad_settings_name_the_argument():
    with pytest.raises(ValueError, match="heads = 3 is not allowed: .* divisor of d = 8"):
        Transformer(5, 3, 8, 2, generators([0]), heads=3)
    with pytest.raises(ValueError, match="readout = 'last' is not allowed"):
        Transformer(5, 3, 8, 2, generators([0]), readout="last")


SETTINGS = {"tokens": 5, "length": 3, "d": 4, "out": 2, "generators": generators([0])}
CHOICES = {"layers": 1, "heads": 1, "hidden": None, "readout": "flatten"}
ARGUMENTS = {
    Transformer: SETTINGS | CHOICES,
    functional: {"net": nn.Linear(3, 2)},
    lookup: {"table": torch.rand(2, 5, 4), "ids": torch.zeros(2, 6, dtype=torch.long)},
}


@pytest.mark.parametrize("function", ARGUMENTS, ids=lambda function: function.__name__)
def test_a_wrong_argument_is_named(function):
    answers_or_names_it(function, ARGUMENTS[function])
