"""Time and memory of kernels and of CKA and RSA against their definitions: python tests/benchmarks/bench_kernels.py

CPU seconds on one thread, interleaved, medians. Kernels: float32, three hidden layers of 100 units on 64 inputs;
memory is the growth of the process's peak, K included (Linux; each measurement in a process of its own). CKA and RSA:
float64, N=5000, d=128, against N x N matrices in numpy (whose product of a matrix with itself costs half) and in torch.
"""

import os
import statistics
import subprocess
import sys
import time

for library in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # read when numpy and torch are loaded
    os.environ[library] = "1"

import numpy as np
import torch

from clbook import kernels, metrics, models

HIDDEN = (64, 100, 100, 100)


WAYS = {
    "layerwise": (kernels.empirical, 15),
    "trace": (kernels.empirical_trace, 15),
    # vmap(jacrev), then one product: the shortest correct version
    "jacobian": (kernels.autograd, 5),
}


def cosines(a):
    """(N, N) cosine similarities."""
    a = a / ((a * a).sum(1) ** 0.5)[:, None]
    return a @ a.T


def cka_by_pairs(a, b):
    """Linear CKA of SA Sec. 3 on N x N matrices, centred by their means."""
    A, B = ((S := cosines(v)) - S.mean(0) - S.mean(1)[:, None] + S.mean() for v in (a, b))
    return (A * B).sum() / ((A * A).sum() * (B * B).sum()) ** 0.5


def rsa_by_pairs(a, b):
    """RSA of SA Sec. 3 on the pairs i < j."""
    pairs = np.triu_indices(len(a), 1)
    library = torch if isinstance(a, torch.Tensor) else np
    return library.corrcoef(library.stack([1 - cosines(v)[pairs] for v in (a, b)]))[0, 1]


def runs(n, d, hidden=(100,), count=75):
    """Weights of many networks as `models.stacked` makes them, the networks, and their inputs."""
    generator = torch.Generator().manual_seed(0)
    networks = [models.MLP((2, *hidden, d), generator=generator) for _ in range(count)]
    x = torch.randn(count, n, 2, generator=generator)
    return networks, models.stacked(networks), x


def at_once(networks, weights, x):
    """The kernels of all networks in one go."""
    return kernels.mlp(weights, x, "tanh")


def one_by_one(networks, weights, x):
    """The kernel of each network."""
    return [kernels.empirical(network, points) for network, points in zip(networks, x)]


def in_torch(function):
    """The same function on torch tensors."""
    return lambda a, b: function(torch.from_numpy(a), torch.from_numpy(b))


def setting(n, d):
    """The network and the inputs of a case."""
    generator = torch.Generator().manual_seed(0)
    return models.MLP((*HIDDEN, d), generator=generator), torch.randn(
        n, HIDDEN[0], generator=generator
    )


def seconds(ways, *arguments):
    """Median CPU seconds of each way, (function, repeats), on the same arguments; the ways take turns."""
    spent = {way: [] for way in ways}
    for turn in range(max(repeats for _, repeats in ways.values())):
        for way, (function, repeats) in ways.items():
            if turn < repeats:
                start = time.process_time()
                function(*arguments)
                spent[way].append(time.process_time() - start)
    return {way: statistics.median(times) for way, times in spent.items()}


def report(title, times):
    """One line: the seconds of each way and how many times the first way's they are."""
    first = next(iter(times.values()))
    print(
        f"{title}: " + ", ".join(f"{way} {t:.4f} s = {t / first:.0f}x" for way, t in times.items()),
        flush=True,
    )


def high_water():
    """Peak resident memory of this process so far, in bytes (ru_maxrss would count the parent's as well)."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024


def peak(way, n, d):
    """Growth of this process's peak memory in bytes while one kernel is computed."""
    function, _ = WAYS[way]
    function(*setting(100, d))  # libraries load their code on first use
    model, x = setting(n, d)
    before = high_water()
    function(model, x)
    return high_water() - before


def main():
    """Prints the table."""
    for n, d in ((500, 1), (1000, 1), (1000, 2)):
        report(f"kernel n={n} d={d}", seconds(WAYS, *setting(n, d)))
    for d in (1, 2):
        ways = {"at once": (at_once, 15), "one by one": (one_by_one, 5)}
        report(f"75 kernels n=80 d={d}", seconds(ways, *runs(80, d)))
    for way, n, d in [*((way, 1000, 2) for way in WAYS), ("layerwise", 2000, 2)]:
        command = [sys.executable, __file__, "peak", way, str(n), str(d)]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        size = int(run.stdout)
        print(
            f"memory n={n} d={d} {way}: {size / 2**20:.0f} MB = {size / (4 * n * n * d * d):.2f} x K"
        )
    a, b = np.random.default_rng(0).normal(size=(2, 5000, 128))
    measures = ("CKA", metrics.linear_cka, cka_by_pairs), ("RSA", metrics.rsa, rsa_by_pairs)
    for name, ours, pairs in measures:
        ways = {"d x d": (ours, 15), "numpy N x N": (pairs, 3), "torch N x N": (in_torch(pairs), 3)}
        report(name, seconds(ways, a, b))


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[1:2] == ["peak"]:
        print(peak(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
    else:
        main()
