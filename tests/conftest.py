"""What all tests share."""

import os

# In each process of pytest-xdist, before torch is imported, and so for the notebooks' kernels too: the cores are
# divided among the processes, since threads that wait for each other's core take many times as long. A number that is
# given stays.
if "PYTEST_XDIST_WORKER_COUNT" in os.environ:
    threads = (os.cpu_count() or 1) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, threads)))
