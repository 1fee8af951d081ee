"""How many threads each of several processes gets, for the build and for the tests; imports nothing of weight."""

import os


def share(processes: int) -> None:
    """Give this process, and kernels that it starts, their part of the cores; to be called before torch is imported.

    Threads that wait for each other's core take many times as long. A number that is given stays.
    """
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // processes)))
