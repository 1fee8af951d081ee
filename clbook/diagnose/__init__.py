"""What is wrong with an encoder: the instruments of the book on a reader's own embeddings.

`report` reads arrays, or files of them, and says what each number means beside references that are computed from the
same data. `collect` fills these arrays from a torch module. `trace_kernel` is the neural kernel of a network of an
ordinary size. Nothing here trains.
From a shell:

    python -m clbook.diagnose embeddings.npz --tau 0.1 --html report.html

It ends with 0 where nothing alarms, with 1 where something does, and with 2 for bad input.
"""

from clbook.diagnose.collecting import collect
from clbook.diagnose.kernel import trace_kernel
from clbook.diagnose.loss_scale import conventions, which_chance
from clbook.diagnose.reporting import Line, Report, report

__all__ = [
    "Line",
    "Report",
    "collect",
    "conventions",
    "report",
    "trace_kernel",
    "which_chance",
]
