"""What follows from CS's loss for a linear encoder: how much of the style it keeps."""

from __future__ import annotations

import math

from clbook._arguments import number, positive, refused, whole


def style_share(tau: float, d_c: int, d_s: int, rho: float) -> float:
    """Style gain over content gain of the best linear map on the sphere, to leading order in 1 / tau; ours, no paper's.

    Best among maps that stretch all content alike and all style alike. With e the content's share of the embeddings'
    squared length, InfoNCE is, up to a constant and terms of order tau^-3, -(e + rho (1 - e)) / tau
    + (e^2 / d_c + (1 - e)^2 / d_s) / (2 tau^2); it is least at e = 1 once tau d_c (1 - rho) >= 1.

    Args:
        tau: temperature, > 0.
        d_c: dimension of the content, >= 1.
        d_s: dimension of the style, >= 1.
        rho: mean cosine of a pair's style, from -1 to 1.

    Raises:
        ValueError: an argument out of range.
    """
    tau = positive("tau", tau)
    d_c = whole("d_c", d_c, 1)
    d_s = whole("d_s", d_s, 1)
    rho = number("rho", rho)
    if not -1 <= rho <= 1:
        raise refused("rho", rho, "between -1 and 1")
    e = min(1.0, (tau * (1 - rho) + 1 / d_s) * d_c * d_s / (d_c + d_s))
    return math.sqrt((1 - e) / d_s / (e / d_c))
