# What `__getattr__` of the package finds, said to editors and type checkers.

from clbook import augment as augment
from clbook import data as data
from clbook import diagnose as diagnose
from clbook import experiments as experiments
from clbook import explore as explore
from clbook import kernels as kernels
from clbook import latents as latents
from clbook import losses as losses
from clbook import metrics as metrics
from clbook import models as models
from clbook import results as results
from clbook import style as style
from clbook import theory as theory
from clbook import training as training
from clbook import transformer as transformer
from clbook.results import records as records
from clbook.results.sweep import sweep as sweep

PARTS: tuple[str, ...]
__version__: str
