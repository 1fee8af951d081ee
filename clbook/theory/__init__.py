"""What the papers predict, and what follows from what they state: one function each, a file a paper.

A prediction is a function of its constants, such as `clbook.theory.circle_plateau(tau)`. What needs a map or a training
to be evaluated stands with the experiment that has it. Plain numbers are checked: one out of range is a ValueError that
names it.
"""

from clbook.theory.cs import style_share
from clbook.theory.ls import (
    circle_plateau,
    even_similarity,
    growth_rate,
    repaired_bound,
    separation_condition,
    simplified_plateau,
    sphere_plateau,
    split_curvature,
    threshold_slope,
)
from clbook.theory.sa import (
    cka_lower_bound,
    delta,
    fluctuation,
    posterior_bound,
    rsa_lower_bound,
    similarity_bound,
    total,
    triangle_bound,
    weight_bound,
)
from clbook.theory.sl import batch_floor, l2_distance
from clbook.theory.va import cluster_velocity

__all__ = [
    "batch_floor",
    "circle_plateau",
    "cka_lower_bound",
    "cluster_velocity",
    "delta",
    "even_similarity",
    "fluctuation",
    "growth_rate",
    "l2_distance",
    "posterior_bound",
    "repaired_bound",
    "rsa_lower_bound",
    "separation_condition",
    "similarity_bound",
    "simplified_plateau",
    "sphere_plateau",
    "split_curvature",
    "style_share",
    "threshold_slope",
    "total",
    "triangle_bound",
    "weight_bound",
]
