"""The papers' claims on real images: labels against none (SA Sec. 5), and the norm before the loss (CS Sec. 4.2).

`twins` trains copies of one network with several losses, `norms` with outputs normalised or standardised. Images,
views, networks and training are those of `experiments.images`.
"""

from clbook.experiments.photographs.twins import Config, Result, run

__all__ = ["Config", "Result", "run"]
