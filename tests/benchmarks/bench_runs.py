"""Microseconds a run-step of one small training, alone and side by side, against what a reader would otherwise write.

    python tests/benchmarks/bench_runs.py [--runs 75] [--steps 100] [--device cpu]

The step is that of `separability`'s default: 100 points, one view each, 100 tanh units, LS eq. 12, full gradient; the
runs differ in eps, tau and seed. One process, one thread. Every contender runs once a round, in turn, so that a busy
machine slows all alike; the median over the rounds of each contender's time relative to the plain loop in the same
round is printed. Nothing is recorded but the first time of separation, by all but the plain loop and vmap.
"""

import argparse
import itertools
import math
import pathlib
import statistics
import sys
import time

import torch
import torch.nn.functional as F

from clbook.experiments.separability import Config, Separability, dataset, start
from clbook.models import MLP
from clbook.training.loop import compiled, default_device, one_thread
from clbook.training.streams import stream

sys.path.append(str(pathlib.Path(__file__).parent.parent))  # what tests share

from stepping import advance  # noqa: E402

EPS, TAU = (0.02, 0.1, 0.3, 1.0, 3.0), (0.001, 0.01, 0.1, 1.0, 10.0)


def grid(count, steps):
    """`count` settings: eps x tau, then the next seed."""
    found = (
        Config(eps=e, tau=t, seed=s, steps=steps)
        for s in itertools.count()
        for e in EPS
        for t in TAU
    )
    return list(itertools.islice(found, count))


def loss(z, v, tau):
    """LS eq. 12 with one view: z, v (n, 1)."""
    logits = -(z[:, None, :] - v[None, :, :]).square().sum(-1) / (2 * tau)
    return -F.log_softmax(logits, -1).diagonal().mean() - math.log(len(z))


class Plain:
    """One network at a time, modules and autograd as in any tutorial."""

    def __init__(self, config, device):
        self.x, self.R = dataset(config)[0].to(device), start(config).to(device)
        self.net, self.frozen = (
            MLP((2, 100, 1), "tanh", stream(config.seed, 2)).to(device) for _ in range(2)
        )
        self.optimiser, self.config = torch.optim.SGD(self.net.parameters(), config.lr), config

    def train(self, steps):
        c = self.config
        for _ in range(steps):
            v = self.x + c.noise * torch.randn_like(self.x)
            f, g = (self.net(y) - self.frozen(y).detach() + self.R for y in (self.x, v))
            self.optimiser.zero_grad()
            loss(f, g, c.tau).backward()
            self.optimiser.step()


def plain(configs, steps, device):
    """Seconds a step of the plain loop, all runs one after the other."""
    programs = [Plain(c, device) for c in configs]

    def go(count=steps):
        for program in programs:
            program.train(count)

    return go


def ours(configs, steps, device, compile=False):
    """`runs.follow`'s plain steps of one program of all `configs`."""
    training = Separability(configs).to(device)
    if compile:
        compiled(training)
    vars(training)["times"] = set()  # nothing is recorded
    t, s = itertools.count(1), training.start()

    def go(count=steps):
        nonlocal s
        for _ in range(count):
            s = advance(training, s, next(t))

    return go


def vmapped(configs, steps, device):
    """torch.func: grad of one run's loss, vmap over the runs."""
    from torch.func import functional_call, grad, stack_module_state, vmap

    nets = [MLP((2, 100, 1), "tanh", stream(c.seed, 2)).to(device) for c in configs]
    weights, _ = stack_module_state(nets)
    weights = {k: w.detach() for k, w in weights.items()}
    frozen = {k: w.clone() for k, w in weights.items()}
    x = torch.stack([dataset(c)[0] for c in configs]).to(device)
    R = torch.stack([start(c) for c in configs]).to(device)
    tau, lr = (
        torch.tensor([getattr(c, name) for c in configs], device=device) for name in ("tau", "lr")
    )

    def objective(w, w0, x, v, R, tau):
        f, g = (
            functional_call(nets[0], w, (y,)) - functional_call(nets[0], w0, (y,)) + R
            for y in (x, v)
        )
        return loss(f, g, tau)

    gradient = vmap(grad(objective))

    def go(count=steps):
        nonlocal weights
        for _ in range(count):
            v = x + configs[0].noise * torch.randn_like(x)
            g = gradient(weights, frozen, x, v, R, tau)
            weights = {k: w - lr.view(-1, *(1,) * (w.ndim - 1)) * g[k] for k, w in weights.items()}

    return go


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=75)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--device", default=str(default_device()))
    arguments = parser.parse_args()
    configs, device = grid(arguments.runs, arguments.steps), arguments.device
    few = configs[:: max(1, len(configs) // 5)][:5]  # the loops over single runs take five of them
    makers = {
        "plain PyTorch, one by one": (plain, few),
        "ours, one by one": (None, few),
        "ours, side by side": (ours, configs),
        "torch.func.vmap": (vmapped, configs),
        "ours, side by side, compiled": (lambda *a: ours(*a, compile=True), configs),
    }
    contenders = {}
    with one_thread():
        for name, (make, those) in makers.items():
            try:
                if make is None:
                    alone = [ours([c], arguments.steps, device) for c in those]
                    go = lambda alone=alone: [one() for one in alone]  # noqa: E731
                else:
                    go = make(those, arguments.steps, device)
                go()  # compiled and warm
                contenders[name] = go, len(those)
            except RuntimeError as error:
                print(f"{name}: left out ({str(error).splitlines()[0]})")
        rounds = []
        for _ in range(arguments.rounds):
            took = {}
            for name, (go, count) in contenders.items():
                began = time.perf_counter()
                go()
                if device.startswith("cuda"):
                    torch.cuda.synchronize()
                took[name] = (time.perf_counter() - began) / (count * arguments.steps)
            rounds.append(took)
    print(
        f"{len(configs)} runs of {arguments.steps} steps on {device}, torch {torch.__version__}, one thread, "
        f"{arguments.rounds} rounds"
    )
    print(f"{'':32} {'us a run-step':>14} {'times the plain loop':>22}")
    for name in contenders:
        speed = statistics.median(r["plain PyTorch, one by one"] / r[name] for r in rounds)
        print(f"{name:32} {1e6 * statistics.median(r[name] for r in rounds):14.1f} {speed:22.2f}")


if __name__ == "__main__":
    main()
