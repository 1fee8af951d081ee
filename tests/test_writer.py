"""What the writer of JavaScript makes of single precision, and the programs of the built pages, against Python."""

import json

import numpy as np
import pytest
import torch

from clbook.trace import graph, page
from clbook.trace.javascript import Writer


@pytest.fixture(scope="module")
def javascript(tabs):
    """`javascript(code, result)`: the value of the expression `result` after `code`, in a page with nothing on it."""
    opened = tabs().page
    yield lambda code, result: opened.evaluate(f"() => {{{code}\nreturn {result};}}")
    opened.context.close()


def in_page(javascript, function, *tensors):
    """function(*tensors) as the page computes it, flat."""
    inputs = {f"x{k}": tensor for k, tensor in enumerate(tensors)}
    made = graph.traced(lambda found: {"out": function(*found.values())}, inputs, [], "fake")
    code = [page.shared_code(), Writer(made).text("make"), "const it = make();"]
    for name in made.inputs:
        code.append(f"it.inputs[{name!r}].set({json.dumps(inputs[name].flatten().tolist())});")
    code.append("it.prepare(); it.step(true);")
    return np.array(javascript("\n".join(code), "Array.from(it.outputs.out)"), float)


# Sums that are equal in single precision, and differ in double.
X = torch.tensor([[1.0, 1.0, 0.3], [0.5, -2.0, 0.1], [3.0, 3.0, 3.0]])
B = torch.tensor([0.0, 2.0**-25, 0.0])
FAR = torch.tensor([-200.0, -300.0, 0.0])


def slope_of_the_largest(x, b):
    """The gradient of amax of a sum, which is shared by all that are largest."""
    x = x.detach().requires_grad_()
    largest = torch.relu(x + b).amax(1)
    (slope,) = torch.autograd.grad((largest * largest).sum(), [x])
    return slope


JUMPS = {
    "the slope of the largest": slope_of_the_largest,
    "equal to one that is stored": lambda x, b: ((x + b) == (x + b).amax(1, keepdim=True)) * 1.0,
    "different from the least": lambda x, b: ((x * 1.1) != (x * 1.1).amin(0)) * 1.0,
    "at least the mean": lambda x, b: ((x + b) >= x[:, :1]) * 1.0 + ((x + b) > x[:, :1]) * 2.0,
    "at most the mean": lambda x, b: ((x - b) <= x[:, :1]) * 1.0 + ((x - b) < x[:, :1]) * 2.0,
    "a number that is no single one": lambda x, b: (x == 0.3) * 1.0 + (x > 0.1) * 2.0,
    "in double": lambda x, b: ((x + b) == 1.0) * 1.0 + (x.double() == 0.3) * 2.0,
    "too small to be kept": lambda x, b: ((x + FAR).exp() > 0) * 1.0,
    "the first of the largest": lambda x, b: (x + b.flip(0)).argmax(1) * 1.0,
    "whole parts": lambda x, b: (x - b).floor() + (x - b).long() + torch.floor_divide(x - b, 1.0),
    "remainders": lambda x, b: (x - b) % 1.0,
    "in order": lambda x, b: (x + b.flip(0)).sort(1).indices * 1.0,
}


@pytest.mark.parametrize("name", JUMPS)
def test_what_jumps_sees_single_precision_as_torch_does(javascript, name):
    truth = JUMPS[name](X, B)
    assert in_page(javascript, JUMPS[name], X, B) == pytest.approx(truth.flatten().numpy())
