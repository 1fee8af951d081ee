"""The page on photographs, and the papers' runs on real images (SA Sec. 5, CS Sec. 4.2, LS Sec. 4.2.2).

`wall` shows 200 photographs with what lies beside them, `drawing` views of one of them. For the papers' pages `twins`
trains copies of one network with several losses, `norms` with outputs normalised or standardised, and `blocks` takes
the kernel of an encoder. Images, views, networks and training are those of `experiments.images`, a room of its own,
since it trains on any images and is a command: `python -m clbook.experiments.images`.
"""

from clbook.experiments.images.twins import Config, Result, run

__all__ = ["Config", "Result", "run"]
