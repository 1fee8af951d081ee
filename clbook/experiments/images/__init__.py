"""Real images (LS Fig. 1 and 4, SA Sec. 5, CS Sec. 4.2): SimCLR and its supervised relatives on any image set.

`sets` reads images, `views` draws SimCLR's views, `networks` has the residual network, `experiment` trains, on one or
several processes, `readout` measures. `python -m clbook.experiments.images --help` runs it from a shell.
"""

from clbook.experiments.images.experiment import Config, Result, run

__all__ = ["Config", "Result", "run"]
