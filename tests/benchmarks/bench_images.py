"""A training step of `experiments.images` beside the same step written plainly: images a second, peak memory.

Run as `python bench_images.py`; both in one process, in turns, the median of some repeats. Then the model of
`clbook.experiments.images.cost` fitted on this machine, and by how much it is off on sizes not used in the fit.
"""

import argparse
import statistics
import subprocess
import sys
import time

import torch
from torch import nn

from clbook import losses
from clbook.experiments.images import cost
from clbook.experiments.images.experiment import Config, Trainer
from clbook.experiments.images.networks import ResNet, projector
from clbook.experiments.images.views import draw, views

CONFIG = Config(train=1000, batch=250, width=16, flip=True, optimiser="sgd")


def ours(config):
    trainer = Trainer(config, torch.device("cpu"))
    trainer.network.train()
    chosen = torch.arange(config.batch)
    return lambda: trainer.step(chosen, 1.0)


def plain(config):
    trainer = Trainer(config, torch.device("cpu"))
    x, generator = trainer.x[: config.batch], torch.Generator().manual_seed(0)
    encoder = ResNet(config.depth, config.width, x.shape[1], config.stem)
    net = nn.Sequential(encoder, projector((encoder.features, *config.projector), generator))
    sgd = torch.optim.SGD(net.parameters(), config.lr, config.momentum, weight_decay=config.decay)

    def step():
        both = torch.cat(
            [views(x, draw(len(x), generator, config.colour, config.flip)) for _ in range(2)]
        )
        loss = losses.nt_xent(*net(both).chunk(2), config.tau)
        sgd.zero_grad()
        loss.backward()
        sgd.step()

    return step


def seconds(step, repeats=7):
    step()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        step()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def peak(name):
    """Peak memory in MB of a fresh process that makes three steps."""
    code = (
        f"import bench_images, resource; step = bench_images.{name}(bench_images.CONFIG); step(); step(); step(); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="tests"
    )
    return int(found.stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    torch.set_num_threads(parser.parse_args().threads)
    fast, slow = ours(CONFIG), plain(CONFIG)
    ratios = [seconds(fast, 3) / seconds(slow, 3) for _ in range(5)]
    took = seconds(fast)
    print(
        f"{CONFIG.batch / took:.0f} images a second; a step's seconds, ours / plain: {statistics.median(ratios):.2f} "
        f"({min(ratios):.2f} to {max(ratios):.2f}); peak memory {peak('ours')} MB / {peak('plain')} MB"
    )
    found = cost.run(cost.Config())
    record = {name: getattr(found, name)[None] for name in ("views", "flops", "step")}
    a, b = cost.line(record)
    off = (found.step / cost.forecast(record) - 1)[len(cost.FITTED) :]
    print(
        f"a step takes {1000 * a:.1f} ms + views x flops / {1 / b / 1e9:.1f} GFLOP/s; sizes not used in the fit took "
        f"{', '.join(f'{value:+.0%}' for value in off)}"
    )
