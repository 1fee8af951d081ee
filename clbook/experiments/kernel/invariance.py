"""An invariant map under three flows from one start (VA and LS Theorem 4.2)."""

from __future__ import annotations

import dataclasses

import numpy as np

from clbook.experiments.kernel.experiment import FLOWS, Config
from clbook.experiments.kernel.experiment import run as run_one
from clbook.settings import Outcome


@dataclasses.dataclass
class Flows(Outcome):
    """The three flows from one start, at the same `steps` (T,): `runs` maps the flow's name to its Result."""

    steps: np.ndarray
    runs: dict


def run(config: Config, *, progress=None, device=None) -> Flows:
    """`kernel.run` for each flow, otherwise with equal settings. While it works, a flow still to come is shown as the
    one at work."""
    runs = {}

    def flows(current):
        shown = {flow: runs.get(flow, current) for flow in FLOWS}
        steps = min((r.steps for r in shown.values()), key=len)
        return Flows(config, sum(r.seconds for r in runs.values()), current.device, current.stopped, steps, shown)

    for done, flow in enumerate(FLOWS):
        latest = run_one(config.replace(flow=flow), device=device, progress=progress and (
            lambda part, partial, done=done: progress((done + part) / len(FLOWS), flows(partial))))
        runs[flow] = latest
        if latest.stopped:
            break
    return flows(latest)
