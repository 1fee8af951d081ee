"""What the makers of latents say of wrong arguments. What they draw: the tests of the chapter on content and style."""

import math

import pytest
import torch
from wrong import answers_or_names_it

from clbook import latents


def seeded():
    return torch.Generator().manual_seed(0)


ZS = latents.marginal(5, 4, "box", seeded())
DRAWN = latents.draws(5, 4, "box", seeded())
PAIR = {"d_c": 2, "style_sd": 0.3, "space": "box", "content_sd": 0.1}
ARGUMENTS = {
    latents.marginal: {"n": 5, "d": 4, "space": "box", "generator": seeded()},
    latents.draws: {"n": 5, "d": 4, "space": "box", "generator": seeded()},
    latents.positives: {"z": ZS, "generator": seeded()} | PAIR,
    latents.pairs: {"drawn": DRAWN, "d": 4} | PAIR,
    latents.mixed: {"z": ZS, "matrices": [torch.eye(4), torch.eye(4)]},
    latents.rotations: {"d": 4, "layers": 2, "generator": seeded()},
}


@pytest.mark.parametrize("function", ARGUMENTS, ids=lambda function: function.__name__)
def test_a_wrong_argument_is_named(function):
    answers_or_names_it(function, ARGUMENTS[function])


@pytest.mark.parametrize("name", ["d_c", "style_sd", "content_sd"])
def test_what_is_not_measured_is_no_setting_of_a_pair(name):
    with pytest.raises(ValueError, match=f"{name} = nan is not allowed"):
        latents.pairs(DRAWN, 4, **PAIR | {name: math.nan})
