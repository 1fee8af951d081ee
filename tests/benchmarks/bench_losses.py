"""Time and memory of the losses, forward and backward, against what a reader would otherwise use.

    python tests/benchmarks/bench_losses.py

Every contender runs once a round, in turn, so that a busy machine slows all alike. Printed for each:
the shortest CPU time of a round, the median of its ratio to ours within a round (above 1: ours is
faster), and the peak of live tensor memory, from the profiler's allocation events.

The first lines are those that must hold: `nt_xent` at three sizes against the plain six lines and
against pytorch-metric-learning.
"""

import argparse
import itertools
import json
import math
import os
import pathlib
import statistics
import tempfile
import time

os.environ["KINETO_LOG_LEVEL"] = "99"  # read when torch is loaded

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

from clbook import losses

TAU, CLASSES = 0.1, 10
SIZES = {(64, 32): 1000, (256, 64): 60, (1024, 128): 12}  # (n, d): rounds


def plain_nt_xent(z1, z2):
    """The six lines of the intro: normalise, cosines, mask, logsumexp less the partner."""
    n = len(z1)
    z = F.normalize(torch.cat([z1, z2]), dim=-1)
    logits = z @ z.T / TAU
    itself = torch.eye(2 * n, dtype=torch.bool)
    logits = logits.masked_fill(itself, -math.inf)
    partner = torch.cat([logits.diagonal(n), logits.diagonal(-n)])
    return (logits.logsumexp(-1) - partner).mean()


def plain_supcon(z1, z2, labels):
    z = F.normalize(torch.cat([z1, z2]))
    y = labels.repeat(2)
    itself = torch.eye(len(z), dtype=torch.bool)
    logits = (z @ z.T / TAU).masked_fill(itself, -math.inf)
    positive = (y[:, None] == y) & ~itself
    attraction = F.log_softmax(logits, 1).masked_fill(~positive, 0)
    return -(attraction.sum(1) / positive.sum(1)).mean()


def plain_masked(z1, z2, labels):
    """DCL, or NSCL with labels: the positive is left out of the denominator."""
    z = F.normalize(torch.cat([z1, z2]))
    y = labels.repeat(2)
    views = torch.arange(len(z))
    logits = z @ z.T / TAU
    positive = logits[views, views.roll(len(z1))]
    negatives = logits.masked_fill(y[:, None] == y, -math.inf)
    return (negatives.logsumexp(1) - positive).mean()


def libraries(labels):
    """NT-Xent and SupCon of pytorch-metric-learning, where it is installed."""
    found = {"nt_xent": {}, "supcon": {}}
    points = len(labels)
    try:
        from pytorch_metric_learning.losses import NTXentLoss, SupConLoss
    except ImportError as error:
        print(f"pytorch-metric-learning: {error}")
        return found
    nt_xent, supcon = NTXentLoss(TAU), SupConLoss(TAU)
    own, both = torch.arange(points).repeat(2), labels.repeat(2)
    found["nt_xent"]["metric-learning SupConLoss"] = lambda a, b: supcon(torch.cat([a, b]), own)
    found["supcon"]["metric-learning SupConLoss"] = lambda a, b: supcon(torch.cat([a, b]), both)
    if points <= 64:
        # It holds every positive against every negative: 4 n^2 (2 n - 2) numbers, 34 GB at n = 1024.
        found["nt_xent"]["metric-learning NTXentLoss"] = lambda a, b: nt_xent(
            torch.cat([a, b]), own
        )
    return found


def contenders(points):
    """{loss: {contender: function of two views}}, ours first."""
    labels = torch.arange(points) % CLASSES
    own = torch.arange(points)
    found = libraries(labels)
    table = {
        "nt_xent": {"ours": lambda a, b: losses.nt_xent(a, b, TAU), "plain": plain_nt_xent},
        "supcon": {
            "ours": lambda a, b: losses.supcon(a, b, labels, TAU),
            "plain": lambda a, b: plain_supcon(a, b, labels),
        },
        "dcl": {
            "ours": lambda a, b: losses.dcl(a, b, TAU),
            "plain": lambda a, b: plain_masked(a, b, own),
        },
        "nscl": {
            "ours": lambda a, b: losses.nscl(a, b, labels, TAU),
            "plain": lambda a, b: plain_masked(a, b, labels),
        },
    }
    for name, row in table.items():
        row.update(found.get(name, {}))
    return table


def step(loss, inputs):
    torch.autograd.grad(loss(*inputs).sum(), [z for z in inputs if z.requires_grad])


def peak_mb(loss, inputs):
    """Largest sum of live tensor memory during one step, above what was there before."""
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
            step(loss, inputs)
        record.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text())["traceEvents"]
    events = [e for e in events if e.get("name") == "[memory]"]
    events.sort(key=lambda e: e["ts"])
    live = itertools.accumulate(e["args"]["Bytes"] for e in events)
    return max(live) / 2**20


def compare(row, inputs, rounds):
    """Print a line for each contender. The first of the row is ours."""
    values = {name: loss(*inputs).detach() for name, loss in row.items()}
    for name, value in values.items():
        if not torch.allclose(value, values["ours"], atol=1e-4):
            raise SystemExit(f"the contenders compute different things: ours and {name}, {values}")
    seconds = {name: [] for name in row}
    for loss in row.values():
        step(loss, inputs)
    for _ in range(rounds):
        for name, loss in row.items():
            start = time.thread_time()
            step(loss, inputs)
            seconds[name].append(time.thread_time() - start)
    for name, loss in row.items():
        ratios = [t / ours for t, ours in zip(seconds[name], seconds["ours"], strict=True)]
        milliseconds = f"{1e3 * min(seconds[name]):9.3f} ms"
        ratio = f"x{statistics.median(ratios):6.2f}"
        print(f"    {name:28s} {milliseconds}  {ratio}  {peak_mb(loss, inputs):8.1f} MB")


def two_views(points, d):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(points, d, generator=generator, requires_grad=True) for _ in range(2)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=float, default=1, help="how many times the usual rounds")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print("Must hold: no ratio below 1")
    for (points, d), rounds in SIZES.items():
        inputs = two_views(points, d)
        row = contenders(points)["nt_xent"]
        library = row.pop("metric-learning NTXentLoss", None)
        print(f"nt_xent, n={points}, d={d}")
        compare(row, inputs, round(rounds * arguments.rounds))
        if library:  # slow, and what runs after it finds a cold cache: by itself
            print("  against pytorch-metric-learning")
            compare({"ours": row["ours"], "metric-learning NTXentLoss": library}, inputs, 20)
    print("Others")
    for points, d in ((256, 64), (1024, 128)):
        for name, row in contenders(points).items():
            print(f"{name}, n={points}, d={d}")
            compare(row, two_views(points, d), round(SIZES[points, d] * arguments.rounds))


if __name__ == "__main__":
    main()
