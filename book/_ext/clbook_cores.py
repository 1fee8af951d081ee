"""What part of the cores each of several processes gets, for the build and for the tests; imports nothing of weight."""

import os


def share(processes: int) -> None:
    """Give this process, and kernels that it starts, their part of the cores; to be called before torch is imported.

    Threads, or a sweep's processes, that wait for each other's core take many times as long; and a process of its own
    imports for seconds. A number that is given stays.
    """
    part = str(max(1, (os.cpu_count() or 1) // processes))
    for name in ("OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT", "TORCHINDUCTOR_COMPILE_THREADS"):
        os.environ.setdefault(name, part)
