"""Time and memory of `kernels.empirical` against the Jacobian and a loop, in one run: python tests/bench_kernels.py

float32, one thread, interleaved, medians. The network has three hidden layers of 100 units on 64 inputs. Memory is the
growth of the process's peak, K included (Linux; each measurement in a process of its own).
"""

import statistics
import subprocess
import sys
import time

import torch

from clbook import kernels, models

HIDDEN = (64, 100, 100, 100)


def by_jacobian(model, x):
    """The shortest correct version a reader would write: vmap(jacrev), then one product."""
    return kernels.autograd(model, x)


def by_loop(model, x):
    """One backward pass for each sample and output, then one product."""
    weights = list(model.parameters())
    rows = [torch.cat([g.flatten() for g in torch.autograd.grad(value, weights, retain_graph=True)])
            for xi in x for value in model(xi[None])[0]]
    J = torch.stack(rows)
    n = len(x)
    return (J @ J.T).view(n, -1, n, len(J) // n).permute(0, 2, 1, 3)


WAYS = {"layerwise": (kernels.empirical, 9), "jacobian": (by_jacobian, 3), "loop": (by_loop, 1)}


def setting(n, d):
    """The network and the inputs of a case."""
    generator = torch.Generator().manual_seed(0)
    return models.MLP((*HIDDEN, d), generator=generator), torch.randn(n, HIDDEN[0], generator=generator)


def seconds(n, d):
    """Median seconds of each way, the ways taking turns."""
    model, x = setting(n, d)
    kernels.empirical(model, x)
    spent = {way: [] for way in WAYS}
    for turn in range(max(repeats for _, repeats in WAYS.values())):
        for way, (function, repeats) in WAYS.items():
            if turn < repeats:
                start = time.perf_counter()
                function(model, x)
                spent[way].append(time.perf_counter() - start)
    return {way: statistics.median(times) for way, times in spent.items()}


def high_water():
    """Peak resident memory of this process so far, in bytes (ru_maxrss would count the parent's as well)."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024


def peak(way, n, d):
    """Growth of this process's peak memory in bytes while one kernel is computed."""
    function, _ = WAYS[way]
    function(*setting(8, d))  # libraries load their code and scratch space on first use
    model, x = setting(n, d)
    before = high_water()
    function(model, x)
    return high_water() - before


def main():
    """Prints the table."""
    for n, d in ((500, 1), (1000, 1), (1000, 2)):
        times = seconds(n, d)
        ratios = ", ".join(f"{way} {t:.3f} s = {t / times['layerwise']:.0f}x" for way, t in times.items())
        print(f"n={n} d={d}: {ratios}", flush=True)
    for way, n, d in (("layerwise", 1000, 2), ("jacobian", 1000, 2), ("layerwise", 2000, 2)):
        run = subprocess.run([sys.executable, __file__, "peak", way, str(n), str(d)], capture_output=True, text=True,
                             check=True)
        print(f"n={n} d={d} {way}: {int(run.stdout) / 2**20:.0f} MB = {int(run.stdout) / (4 * n * n * d * d):.2f} x K")


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[1:2] == ["peak"]:
        print(peak(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
    else:
        main()
