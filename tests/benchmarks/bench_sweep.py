"""CPU time of a real sweep, on one thread, and of the same runs one by one by another checkout.

    python tests/benchmarks/bench_sweep.py [--old CHECKOUT] [--points 80] [--steps 250]

The grid is that of the chapter on separability: 5 eps x 5 tau x 3 seeds. It is run twice: with what the explorer's
picture draws, and with every quantity that a run can record. CHECKOUT is a folder that holds commit 43aab14; its `run`
always records all quantities. The ratios are CPU seconds of the old runs over those of the sweep, each in a process of
its own with an empty store.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parent.parent.parent
GRID = """
import resource, torch
{imports}
torch.set_num_threads(1)
from clbook.experiments.separability import Config, run
EPS, TAU = (0.02, 0.1, 0.3, 1.0, 3.0), (0.001, 0.01, 0.1, 1.0, 10.0)
configs = [
    Config(n={points}, steps={steps}, eps=eps, tau=tau, seed=seed)
    for seed in range(3) for eps in EPS for tau in TAU
]
def seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in used)
run(configs[0].replace(steps=2))  # what the first run loads
before = seconds()
{what}
print(seconds() - before)
"""
ONE_BY_ONE = "", "for config in configs: run(config)"
IMPORTS = "from clbook.results.sweep import sweep"
SWEEP = "sweep(run, configs, record={record}, n_jobs=1)"


def measured(checkout, imports, what, arguments):
    """CPU seconds that a process with the package of `checkout` takes for the grid, imports left out."""
    code = GRID.format(points=arguments.points, steps=arguments.steps, imports=imports, what=what)
    with tempfile.TemporaryDirectory() as cache:
        environment = {
            **os.environ,
            "PYTHONPATH": f"{checkout}:{checkout}/book",
            "CLBOOK_CACHE": cache,
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, "-c", code]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(ran.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--old", help="a checkout of commit 43aab14")
    parser.add_argument("--points", type=int, default=80)
    parser.add_argument("--steps", type=int, default=250)
    arguments = parser.parse_args()
    old = measured(arguments.old, *ONE_BY_ONE, arguments) if arguments.old else None
    print(f"{'':36} {'CPU s':>8} {'times faster':>14}")
    if old:
        print(f"{'one by one, by the old checkout':36} {old:8.1f}")
    for name, record in (("a sweep, for the picture", "()"), ("a sweep, all quantities", "'all'")):
        now = measured(ROOT, IMPORTS, SWEEP.format(record=record), arguments)
        ratio = f"{old / now:14.1f}" if old else ""
        print(f"{name:36} {now:8.1f} {ratio}")


if __name__ == "__main__":
    main()
