"""Exercises that check themselves: the solution is accepted, and what readers do wrong is told.

The functions below are a reader's: written with other means than the exercises' own.
"""

import math

import numpy as np
import pytest
import torch

import clbook_book
from clbook_book.course.exercises import KNOWN


@pytest.mark.parametrize(("page", "name"), KNOWN)
def test_the_solution_is_accepted_and_each_mistake_is_told(page, name):
    posed = KNOWN[page, name]
    found = clbook_book.check(page, name, posed.solution)
    assert found and found.right and repr(found) == "Right."
    assert len(posed.mistakes) >= 3
    for said, mistaken in posed.mistakes.items():
        found = clbook_book.check(page, name, mistaken)
        assert not found and found.said == f"Not yet: {said}"


@pytest.mark.parametrize(("page", "name"), KNOWN)
def test_other_mistakes_are_told_too(page, name):
    assert "stops with TypeError" in clbook_book.check(page, name, lambda: 0).said
    none = clbook_book.check(page, name, lambda *inputs: None)
    assert not none
    shaped = clbook_book.check(page, name, lambda *inputs: np.zeros((2, 7)))
    assert not shaped


def test_what_a_function_gives_is_compared_in_words():
    assert "returns no numbers" in clbook_book.check("words", "implement", lambda a, b: None).said
    assert "not finite" in clbook_book.check("words", "implement", lambda a, b: math.nan).said
    assert "(10,)" in clbook_book.check("words", "implement", lambda a, b: a[:, 0]).said
    assert "3.74 is right" in clbook_book.check("words", "implement", lambda a, b: 1.0).said


def test_a_wrong_name_is_told():
    with pytest.raises(ValueError, match="'kernal'.*'kernel' with 'implement'"):
        clbook_book.check("kernal", "implement", torch.relu)
    with pytest.raises(ValueError, match="function"):
        clbook_book.check("kernel", "implement", 3)


def own_nscl(z1, z2, labels, tau):
    z = torch.nn.functional.normalize(torch.cat([z1, z2]), dim=1)
    y, n, total = labels.repeat(2), len(z1), 0.0
    for i in range(2 * n):
        pull = z[i] @ z[(i + n) % (2 * n)] / tau
        push = [torch.exp(z[i] @ z[k] / tau) for k in range(2 * n) if y[k] != y[i]]
        total += torch.log(sum(push)) - pull
    return total / (2 * n)


def own_kernel(f, x):
    found = torch.zeros(len(x), len(x), dtype=x.dtype)
    rows = [torch.autograd.grad(f(point[None])[0, 0], list(f.parameters())) for point in x]
    for i, one in enumerate(rows):
        for j, other in enumerate(rows):
            found[i, j] = sum((a * b).sum() for a, b in zip(one, other, strict=True))
    return found


def own_slope(theta, tau):
    def loss(i, at):
        return math.log(
            np.mean(np.exp((np.cos(at - np.delete(theta, i)) - 1) / tau).tolist() + [1.0])
        )

    found = []
    for i, angle in enumerate(theta):
        # The point's own term moves with it, so it stays 1.
        found.append((loss(i, angle + 1e-5) - loss(i, angle - 1e-5)) / 2e-5)
    return np.array(found)


@pytest.mark.parametrize(
    ("page", "function"), [("alignment", own_nscl), ("kernel", own_kernel), ("sphere", own_slope)]
)
def test_a_solution_written_in_another_way_is_accepted(page, function):
    assert clbook_book.check(page, "implement", function).said == "Right."
