"""`measures.two_views` for arrays of any size: `clbook_book.live` writes fixed sizes, and these are made parameters.

The function is written as JavaScript for some n and d. Only numbers may differ between the texts; each that does must
be one polynomial of n and d in all of them, and that polynomial takes its place. There are more sizes than a
polynomial has coefficients, so that a number of another kind is found and refused.

The mean of the squares of (n, d) numbers at (3, 2) and at (5, 2), and what is made of these and five more sizes:

    for(let i0=0;i0<6;i0++){const t0=p0[i0];s+=t0*t0;}b1[0]=s; ... b2[0]=b1[0]/6;
    for(let i0=0;i0<10;i0++){const t0=p0[i0];s+=t0*t0;}b1[0]=s; ... b2[0]=b1[0]/10;

    const q0=+1*n*d;
    for(let i0=0;i0<q0;i0++){const t0=p0[i0];s+=t0*t0;}b1[0]=s; ... b2[0]=b1[0]/q0;
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.func import functionalize

from clbook.diagnose import measures
from clbook_book.live.graph import traced
from clbook_book.live.javascript import Writer

# Numbers that stand alone, 6 or 0.5 or 1e-07, and not the digits of a name: b1, i0.
NUMBER = re.compile(r"(?<![\w$.])\d+(?:\.\d+)?(?:e[+-]?\d+)?")
MONOMIALS = ("1", "n", "d", "n*n", "n*d", "d*d")


def written(sizes: Sequence[tuple[int, int]], name: str) -> str:
    """JavaScript of a function `name(n, d)`, which gives {inputs, outputs, prepare, step} as `Writer.text` says.

    Args:
        sizes: (n, d) each, more than there are `MONOMIALS`. The measures must take the same way for all of them.

    Raises:
        ValueError: texts that differ in more than numbers, or in a number that is no polynomial of n and d.
        NotImplementedError: an operation that a page cannot do.
    """

    def measured(given):
        return measures.two_views(*given.values())

    # By torch.func, so that the losses take their formula and not the fast form behind it.
    graphs = (traced(functionalize(measured), example(n, d)) for n, d in sizes)
    return merged([Writer(graph).text() for graph in graphs], sizes, name)


def example(n: int, d: int) -> dict[str, Tensor]:
    """Inputs of n points in d dimensions, as two_views takes them; "size" is its batch, which a result is called."""
    points = torch.ones(n, d, dtype=torch.float64)
    number = torch.ones((), dtype=torch.float64)
    return {
        "z1": points,
        "z2": points.clone(),
        "order": torch.arange(n),
        "gaussian": points.clone(),
        "tau": number,
        "factor": torch.ones(2, dtype=torch.float64),
        "size": number.clone(),
    }


def merged(texts: Sequence[str], sizes: Sequence[tuple[int, int]], name: str) -> str:
    """One text with parameters n and d in place of one for each of the sizes."""
    # What stands between the numbers must be the same text at all sizes.
    between = [NUMBER.split(text) for text in texts]
    if any(parts != between[0] for parts in between):
        raise ValueError(f"{name} is not allowed: it must do the same at all sizes, {sizes}")
    # A column is one place of the text, with its number at each of the sizes.
    columns = zip(*(NUMBER.findall(text) for text in texts), strict=True)
    known = {}
    numbers = []
    for column in columns:
        if len(set(column)) > 1:
            # Equal polynomials share one name.
            term = polynomial([float(number) for number in column], sizes)
            numbers.append(known.setdefault(term, f"q{len(known)}"))
        else:
            numbers.append(column[0])
    places = iter(numbers)
    merged = NUMBER.sub(lambda found: next(places), texts[0])
    declared = "".join(f"const {short}={term};" for term, short in known.items())
    return merged.replace("function(){", f"function {name}(n,d){{{declared}", 1)


def polynomial(numbers: Sequence[float], sizes: Sequence[tuple[int, int]]) -> str:
    """The polynomial of n and d that is each of the numbers at its sizes, in JavaScript; halves are allowed."""
    table = np.array([[1, n, d, n * n, n * d, d * d] for n, d in sizes], float)
    found, *_ = np.linalg.lstsq(table, np.array(numbers), rcond=None)
    # Solved in floating point, so rounded to halves and then tried: all sizes must come out exactly.
    found = np.round(2 * found) / 2
    if not np.array_equal(table @ found, numbers):
        raise ValueError(f"{numbers} is not allowed: it must be a polynomial of n and d, {sizes}")
    terms = zip(found, MONOMIALS, strict=True)
    return "".join(f"{factor:+g}*{monomial}" for factor, monomial in terms if factor)
