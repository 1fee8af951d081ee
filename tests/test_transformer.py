"""The batched transformer against PyTorch's own layers, member by member."""

import pytest
import torch
from torch import nn

from clbook.runs import one_thread
from clbook.transformer import Transformer, bind, lookup


def generators(seeds):
    return [torch.Generator().manual_seed(s) for s in seeds]


def reference(model, m, tokens, present, heads):
    """The same map through torch.nn.TransformerEncoder, with the weights of member `m`."""
    d = model.tokens.shape[-1]
    hidden = model.blocks[0].up.weight.shape[-1]
    make = nn.TransformerEncoderLayer(d, heads, hidden, dropout=0.0, batch_first=True)
    net = nn.TransformerEncoder(make, len(model.blocks), enable_nested_tensor=False).double()
    names = {
        "self_attn.in_proj_": "inward",
        "self_attn.out_proj.": "outward",
        "linear1.": "up",
        "linear2.": "down",
    }
    for theirs, ours in zip(net.layers, model.blocks, strict=True):
        state = {
            name + kind: (
                getattr(ours, own).weight[m].T
                if kind == "weight"
                else getattr(ours, own).bias[m, 0]
            )
            for name, own in names.items()
            for kind in ("weight", "bias")
        }
        for norm in ("norm1", "norm2"):
            state |= {
                f"{norm}.weight": getattr(ours, norm).gain[m, 0],
                f"{norm}.bias": getattr(ours, norm).bias[m, 0],
            }
        theirs.load_state_dict(state)
    x = net(
        model.tokens[m][tokens] + model.positions[m],
        src_key_padding_mask=None if present is None else ~present,
    )
    if model.readout == "flatten":
        x = x.flatten(1)
    else:
        x = (
            x.mean(1)
            if present is None
            else (x * present[..., None]).sum(1) / present.sum(1, keepdim=True)
        )
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
    for norm in (
        n for block in model.blocks for n in (block.norm1, block.norm2)
    ):  # a start of 1 and 0 hides mistakes
        for parameter in norm.parameters():
            parameter.data += 0.3 * torch.randn(
                parameter.shape, generator=torch.Generator().manual_seed(7)
            )
    g = torch.Generator().manual_seed(1)
    tokens = torch.randint(11, (4, 6, 5), generator=g)
    present = (torch.rand(4, 6, 5, generator=g) < 0.6) | (torch.arange(5) == 2) if padded else None
    out = model(tokens, present)
    assert out.shape == (4, 6, 3)
    for m in range(4):
        expected = reference(model, m, tokens[m], present[m] if padded else None, heads)
        torch.testing.assert_close(out[m], expected, atol=1e-12, rtol=1e-12)


def test_a_member_starts_and_learns_the_same_whoever_runs_beside_it():
    alone, together = (Transformer(5, 3, 4, 2, generators(seeds)) for seeds in ([3], [1, 3, 8]))
    tokens = torch.randint(5, (1, 7, 3), generator=torch.Generator().manual_seed(0))
    alone(tokens).square().sum().backward()
    together(tokens.expand(3, -1, -1)).square().sum().backward()
    for a, b in zip(alone.parameters(), together.parameters(), strict=True):
        assert torch.equal(a[0], b[1])
        torch.testing.assert_close(a.grad[0], b.grad[1], atol=1e-4, rtol=1e-4)


def test_a_member_rounds_the_same_alone_and_beside_others_whatever_the_sizes():
    for d, heads, hidden in ((8, 2, 16), (5, 1, 1), (1, 1, 3), (6, 3, 13)):
        tokens = torch.randint(5, (3, 7, 3), generator=torch.Generator().manual_seed(0))
        models = [
            Transformer(5, 3, d, 2, generators(seeds), heads=heads, hidden=hidden)
            for seeds in ([3], [1, 3, 8])
        ]
        with one_thread():  # as in the loop: several threads cut a batch where they like
            for model, seen in zip(models, (tokens[1:2], tokens), strict=True):
                model(seen).square().sum().backward()
        for a, b in zip(*(model.parameters() for model in models), strict=True):
            assert torch.equal(a.grad[0], b.grad[1]), (d, heads, hidden)


def test_bound_tensors_take_the_place_of_the_parameters():
    model, other = (Transformer(5, 3, 4, 2, generators([seed])) for seed in (0, 1))
    tokens = torch.randint(5, (1, 7, 3), generator=torch.Generator().manual_seed(0))
    bind(model, [w.detach() for w in other.parameters()])
    assert torch.equal(model(tokens), other(tokens))


def test_padding_is_not_seen():
    model = Transformer(5, 4, 4, 2, generators([0]), readout="mean")
    tokens, present = torch.tensor([[[1, 2, 0, 0]]]), torch.tensor([[[True, True, False, False]]])
    torch.testing.assert_close(
        model(tokens, present), model(torch.tensor([[[1, 2, 4, 3]]]), present)
    )
    assert not torch.allclose(
        model(tokens, present), model(torch.tensor([[[1, 3, 0, 0]]]), present)
    )


def test_lookup_and_start():
    model = Transformer(300, 4, 64, 2, generators([0, 1]), std=0.02)
    assert model.tokens.std().item() == pytest.approx(0.02, rel=0.02)
    assert torch.equal(
        lookup(model.tokens, torch.tensor([[5, 5], [9, 0]]))[1], model.tokens[1][[9, 0]]
    )


def test_bad_settings_name_the_argument():
    with pytest.raises(ValueError, match="heads = 3 is not allowed: heads must divide d = 8"):
        Transformer(5, 3, 8, 2, generators([0]), heads=3)
    with pytest.raises(ValueError, match="readout = 'last' is not allowed"):
        Transformer(5, 3, 8, 2, generators([0]), readout="last")
