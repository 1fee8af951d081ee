"""Real images (LS Fig. 1 and 4, SA Sec. 5, CS Sec. 4.2): SimCLR and its supervised relatives on any image set.

`sets` reads images, `views` draws SimCLR's views, `networks` has the residual network, `experiment` trains, on one or
several processes, `readout` and `neighbours` measure. `python -m clbook.experiments.images --help` runs it.
For the papers' pages `twins` trains copies of one network with several losses, `norms` with outputs normalised or
standardised; `blocks` takes the kernel of an encoder, `emergence` asks when two classes part on a line. `wall` trains
on all photographs of CIFAR-10.
"""

from clbook.experiments.images.experiment import Config, Result, run

__all__ = ["Config", "Result", "run"]
