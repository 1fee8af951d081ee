"""Modular addition downstream: classifiers that start from contrastive embeddings, or not (SL Fig. 2b, 4b to 8b)."""

from __future__ import annotations

import time

import numpy as np
import torch
import torch.nn.functional as F

from clbook import data
from clbook.runs import Diverged, iterate
from clbook.transformer import Transformer, descend

LAYERS, HIDDEN = 3, 48  # as many layers as SL's; two heads where d is even
FRACTION = 0.8  # of the N^2 pairs is trained on
EVERY = 10  # epochs between two measurements, as in SL
STARTS = ("pretrained", "random", "permuted")


def classify(results, progress, device):
    """Train classifiers (a, b) -> (a + b) mod k from the last tables of `results` and add their accuracies to them.

    The starts: the table as it was learned; a random one, N(0, 1); the learned one with its rows permuted: the same
    vectors on other symbols. The starts of one seed share the other weights, the split and the batches. All classifiers of
    all results train as one batched program, at the lr, batch and decay of the contrastive part.

    Args:
        results: `modadd.Result`s of equal shape; changed in place (`accuracy`, `accuracy_at`, `seconds`, `stopped`).
        progress: `progress(fraction)`, returning False stops, or None. device: a torch device.
    """
    began, config = time.perf_counter(), results[0].config
    N, d = config.N, config.d
    starts = STARTS[: ("none", "pretrained", "both", "all").index(config.classifier)]
    pairs, labels = data.modadd(N, config.k)
    members = [(r, i, start) for r in results for start in starts for i in range(r.config.seeds)]
    seeds = [r.config.seed + i for r, i, _ in members]
    generators = [torch.Generator().manual_seed(seed + 2_000_003) for seed in seeds]
    model = Transformer(N, 2, d, config.k, generators, layers=LAYERS, heads=2 - d % 2, hidden=HIDDEN)
    order = [torch.randperm(N * N, generator=g) for g in generators]
    for m, (r, i, start) in enumerate(members):
        rows = torch.randperm(N, generator=generators[m])
        if start != "random":
            learned = torch.as_tensor(r.tables[-1, i])
            model.tokens.data[m] = learned[rows] if start == "permuted" else learned
    model, cut = model.to(device), round(FRACTION * N * N)
    seen, unseen = torch.stack(order)[:, :cut], torch.stack(order)[:, cut:].to(device)
    pairs, labels = pairs.to(device), labels.to(device)
    update = descend(list(model.parameters()), config.lr, [r.config.decay for r, _, _ in members], config.decay_kind)
    at, accuracy = [], []

    def epoch(_, t):
        shuffled = torch.stack([row[torch.randperm(cut, generator=g)] for row, g in zip(seen, generators)]).to(device)
        total = 0
        for batch in shuffled.split(config.batch, 1):
            scores = model(pairs[batch]).transpose(1, 2)
            losses = F.cross_entropy(scores, labels[batch], reduction="none").mean(1)
            update(losses.sum())
            total = total + losses.detach()
        return total

    def record(_, t):
        if t % EVERY == 0 or t == config.classifier_epochs:
            with torch.no_grad():
                right = model(pairs[unseen]).argmax(-1) == labels[unseen]
            at.append(t)
            accuracy.append(right.double().mean(1).cpu().numpy())

    try:
        _, _, stopped = iterate(epoch, torch.zeros(1), config.classifier_epochs, record, progress)
    except Diverged as error:
        raise config.diverged("lr", error.step) from error
    columns = np.array(accuracy).reshape(len(at), len(results), len(starts), config.seeds)
    for j, r in enumerate(results):
        r.accuracy, r.accuracy_at = {s: columns[:, j, c] for c, s in enumerate(starts)}, np.array(at)
        r.seconds, r.stopped = r.seconds + time.perf_counter() - began, stopped
