"""Do symbols that mean the same come to lie together? Modular addition.

`experiment`: contrastive training on CModAdd; `classifier`: what follows it in a run, ModAdd from the learned table;
`lookup`: the exact optimum of the loss on look-up tables, and gradient descent to it; `equivalence`: which symbols mean
the same in a finite distribution.
"""

from clbook.experiments.modadd.experiment import (
    COLLAPSED,
    DECAYS,
    PAPER,
    VARIANTS,
    Addition,
    Config,
    Result,
    Samples,
    distances,
    over_seeds,
    run,
)

__all__ = [
    "COLLAPSED",
    "DECAYS",
    "PAPER",
    "VARIANTS",
    "Addition",
    "Config",
    "Result",
    "Samples",
    "distances",
    "over_seeds",
    "run",
]
