"""A traced function for arrays of any size: `clbook.trace` writes fixed sizes, and these are made parameters.

The function is written as JavaScript for some n and d. Only numbers may differ between the texts; each that does must
be one polynomial of n and d in all of them, and that polynomial takes its place. There are more sizes than a
polynomial has coefficients, so that a number of another kind is found and refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
from torch import Tensor
from torch.func import functionalize

from clbook.trace.graph import traced
from clbook.trace.javascript import Writer

NUMBER = re.compile(r"(?<![\w$.])\d+(?:\.\d+)?(?:e[+-]?\d+)?")
MONOMIALS = ("1", "n", "d", "n*n", "n*d", "d*d")


def written(
    function: Callable[[dict[str, Tensor]], dict[str, Tensor]],
    example: Callable[[int, int], dict[str, Tensor]],
    sizes: Sequence[tuple[int, int]],
    name: str,
) -> str:
    """JavaScript of a function `name(n, d)`, which gives {inputs, outputs, prepare, step} as `Writer.text` says.

    Args:
        function: {name: tensor} -> {name: tensor}, without a look at a value.
        example: (n, d) -> inputs of these sizes.
        sizes: (n, d) each, more than there are `MONOMIALS`. The function must take the same way for all of them.

    Raises:
        ValueError: texts that differ in more than numbers, or in a number that is no polynomial of n and d.
        NotImplementedError: an operation that a page cannot do.
    """
    texts = []
    for n, d in sizes:
        # By torch.func, so that the losses take their formula and not the fast form behind it.
        graph = traced(functionalize(function), example(n, d), [], "fake")
        texts.append(Writer(graph).text(name))
    return merged(texts, sizes, name)


def merged(texts: Sequence[str], sizes: Sequence[tuple[int, int]], name: str) -> str:
    """One text with parameters n and d in place of one for each of the sizes."""
    between = [NUMBER.split(text) for text in texts]
    if any(parts != between[0] for parts in between):
        raise ValueError(f"{name} is not allowed: it must do the same at all sizes, {sizes}")
    columns = zip(*(NUMBER.findall(text) for text in texts), strict=True)
    known = {}
    numbers = []
    for column in columns:
        if len(set(column)) > 1:
            term = polynomial([float(number) for number in column], sizes)
            numbers.append(known.setdefault(term, f"q{len(known)}"))
        else:
            numbers.append(column[0])
    places = iter(numbers)
    merged = NUMBER.sub(lambda found: next(places), texts[0])
    declared = "".join(f"const {short}={term};" for term, short in known.items())
    head = f"function {name}("
    return merged.replace(f"{head}){{", f"{head}n,d){{{declared}", 1)


def polynomial(numbers: Sequence[float], sizes: Sequence[tuple[int, int]]) -> str:
    """The polynomial of n and d that is each of the numbers at its sizes, in JavaScript; halves are allowed."""
    values = []
    for n, d in sizes:
        values.append([1, n, d, n * n, n * d, d * d])
    table = np.array(values, float)
    found, *_ = np.linalg.lstsq(table, np.array(numbers), rcond=None)
    found = np.round(2 * found) / 2
    if not np.array_equal(table @ found, numbers):
        raise ValueError(f"{numbers} is not allowed: it must be a polynomial of n and d, {sizes}")
    terms = []
    for factor, monomial in zip(found, MONOMIALS, strict=True):
        if factor:
            terms.append(f"{factor:+g}*{monomial}")
    return "".join(terms)
