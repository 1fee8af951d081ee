"""Time and memory of the losses, forward and backward, against what a reader would otherwise use.

    python tests/bench_losses.py

Every contender runs once a round, in turn, so that a busy machine slows all alike. Printed for each: the median CPU
time over the rounds, the median of its ratio to ours within a round (above 1: ours is faster), and the peak of live
tensor memory, from the profiler's allocation events.
"""

import argparse
import itertools
import json
import math
import os
import pathlib
import shutil
import statistics
import tempfile
import time

os.environ["KINETO_LOG_LEVEL"] = "99"  # read when torch is loaded

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

from clbook import losses

D, TAU, CLASSES = 128, 0.1, 10


def plain_nt_xent(z1, z2):
    """Normalise, one matmul, mask, log_softmax."""
    z = F.normalize(torch.cat([z1, z2]))
    views = torch.arange(len(z))
    logits = (z @ z.T / TAU).masked_fill(torch.eye(len(z), dtype=torch.bool), -math.inf)
    return -F.log_softmax(logits, 1)[views, views.roll(len(z1))].mean()


def plain_supcon(z1, z2, labels):
    z = F.normalize(torch.cat([z1, z2]))
    y, self_pair = labels.repeat(2), torch.eye(len(z), dtype=torch.bool)
    log_p = F.log_softmax((z @ z.T / TAU).masked_fill(self_pair, -math.inf), 1)
    positive = (y[:, None] == y) & ~self_pair
    return -(log_p.masked_fill(~positive, 0).sum(1) / positive.sum(1)).mean()


def plain_masked(z1, z2, labels):
    """DCL, or NSCL with labels: the positive is left out of the denominator."""
    z = F.normalize(torch.cat([z1, z2]))
    y, views = labels.repeat(2), torch.arange(len(z))
    logits = z @ z.T / TAU
    positive = logits[views, views.roll(len(z1))]
    return (torch.logsumexp(logits.masked_fill(y[:, None] == y, -math.inf), 1) - positive).mean()


def libraries(labels, points):
    """NT-Xent and SupCon of the libraries that can be imported; a note for those that cannot."""
    found, notes = {"nt_xent": {}, "supcon": {}}, []
    try:
        from pytorch_metric_learning.losses import NTXentLoss, SupConLoss

        nt_xent, supcon, own = NTXentLoss(TAU), SupConLoss(TAU), torch.arange(points).repeat(2)
        found["nt_xent"]["metric-learning SupConLoss"] = lambda a, b: supcon(torch.cat([a, b]), own)
        if (
            points <= 64
        ):  # it holds every positive against every negative: 4 n^2 (2 n - 2) numbers, 34 GB at n = 1024
            found["nt_xent"]["metric-learning NTXentLoss"] = lambda a, b: nt_xent(
                torch.cat([a, b]), own
            )
        found["supcon"]["metric-learning SupConLoss"] = lambda a, b: supcon(
            torch.cat([a, b]), labels.repeat(2)
        )
    except ImportError as error:
        notes.append(f"pytorch-metric-learning: {error}")
    return found, notes


def contenders(points, compiler):
    labels = torch.arange(points) % CLASSES
    own = torch.arange(points)
    found, notes = libraries(labels, points)
    plain = {
        "nt_xent": plain_nt_xent,
        "supcon": lambda a, b: plain_supcon(a, b, labels),
        "dcl": lambda a, b: plain_masked(a, b, own),
        "nscl": lambda a, b: plain_masked(a, b, labels),
    }
    table = {}
    for name, reference in plain.items():
        loss, rest = getattr(losses, name), (labels, TAU) if name in ("supcon", "nscl") else (TAU,)
        table[name] = row = {
            "ours": lambda a, b, loss=loss, rest=rest: loss(a, b, *rest),
            "ours, .formula": lambda a, b, loss=loss, rest=rest: loss.formula(a, b, *rest),
            "plain": reference,
        }
        if compiler:
            row["plain, compiled"] = torch.compile(row["plain"], dynamic=False)
        row.update(found.get(name, {}))
    return table, notes


def step(loss, z):
    torch.autograd.grad(loss(*z), z)


def peak_mb(loss, z):
    """Largest sum of live tensor memory during one step, above what was there before."""
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
            step(loss, z)
        record.export_chrome_trace(str(trace))
        events = [
            e for e in json.loads(trace.read_text())["traceEvents"] if e.get("name") == "[memory]"
        ]
    live = list(
        itertools.accumulate(e["args"]["Bytes"] for e in sorted(events, key=lambda e: e["ts"]))
    )
    return max(live) / 2**20


def compare(row, points, rounds):
    generator = torch.Generator().manual_seed(0)
    z = [torch.randn(points, D, generator=generator, requires_grad=True) for _ in range(2)]
    values = {name: float(loss(*z).detach()) for name, loss in row.items()}
    spread = max(values.values()) - min(values.values())
    if spread > 1e-4:
        raise SystemExit(f"the contenders compute different things: {values}")
    seconds = {name: [] for name in row}
    for loss in row.values():
        step(loss, z)
    for _ in range(rounds):
        for name, loss in row.items():
            start = time.process_time()
            step(loss, z)
            seconds[name].append(time.process_time() - start)
    for name, loss in row.items():
        ratio = statistics.median(
            t / ours for t, ours in zip(seconds[name], seconds["ours"], strict=True)
        )
        milliseconds = 1e3 * statistics.median(seconds[name])
        print(f"    {name:28s} {milliseconds:9.2f} ms  x{ratio:6.2f}  {peak_mb(loss, z):8.1f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    compiler = shutil.which("c++") or shutil.which("g++")
    if not compiler:
        print("torch.compile: no C++ compiler here")
    for points in (256, 1024):
        table, notes = contenders(points, compiler)
        for name, row in table.items():
            print(f"{name}, B={points}, d={D}")
            compare(row, points, arguments.rounds)
    print("\n".join(notes))


if __name__ == "__main__":
    main()
