"""The page on photographs, and the papers' runs on real images (SA Sec. 5, CS Sec. 4.2, LS Sec. 4.2.2).

`wall` shows 200 photographs with what lies beside them; views of one of them are `live.photograph`. What trains (copies
of one network with several losses, outputs normalised or not, the wall) is in `clbook.experiments.images`, which takes
any images and is a command: `python -m clbook.experiments.images`.
"""

from clbook.experiments.images.twins import Config, Result, run

__all__ = ["Config", "Result", "run"]
