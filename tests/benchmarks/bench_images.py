"""A training step of `experiments.images` beside the same step written plainly: images a second, peak memory.

Run as `python bench_images.py`; both in one process, in turns, the median of some repeats. `--width 32 --batch 256` is
the size of the wall's network (`experiments.images.wall`). The record `images-cost` has steps of other sizes.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import time

import torch
from torch import nn

from clbook import losses
from clbook.experiments.images.experiment import Config, Trainer
from clbook.experiments.images.networks import ResNet, projector
from clbook.experiments.images.views import draw, views

FOLDER = pathlib.Path(__file__).parent
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


def peak(name, config):
    """Peak memory in MB of a fresh process that makes three steps."""
    size = f"width={config.width}, batch={config.batch}"
    code = (
        f"import bench_images as b, resource; step = b.{name}(b.CONFIG.replace({size})); step(); step(); step(); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=FOLDER
    )
    return int(found.stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--width", type=int, default=CONFIG.width)
    parser.add_argument("--batch", type=int, default=CONFIG.batch)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    config = CONFIG.replace(width=asked.width, batch=asked.batch)
    steps = {"ours": ours(config), "plain": plain(config)}
    ratios = [seconds(steps["ours"], 3) / seconds(steps["plain"], 3) for _ in range(5)]
    middle = statistics.median(ratios)
    print(f"a step's seconds, ours / plain: {middle:.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    for name, step in steps.items():
        rate = config.batch / seconds(step)
        print(f"{name}: {rate:.0f} images a second; peak memory {peak(name, config)} MB")
