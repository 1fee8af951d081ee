"""What was run for the chapter: the five runs whose faults a reader looks for, and the six patients."""

from __future__ import annotations

import dataclasses
import json

import numpy as np

from clbook.experiments import diagnose
from clbook.experiments.practice import FAULTS, Config, run
from clbook.results.labelled import padded
from clbook.results.sweep import combined
from clbook_book.records import fields, recorded

PICTURES = 100  # of each patient that its button in the page has


@recorded("practice-runs", run, combined(Config(), letter=FAULTS), keep=fields(), start=0.1)
def ill(runs):
    """Digits in five runs, four of which are ill."""
    return runs


@recorded(
    "practice-patients",
    diagnose.run,
    diagnose.configs().values(),
    axes={"steps": "step", "loss": "run step", "views": "run view picture dim"},
    named={"patient": tuple(diagnose.configs())},
    dims=("patient",),
)
def patients(results) -> dict[str, np.ndarray]:
    """Reports of six runs on stamped digits, five of which are ill, and two views of some pictures.

    Keeps:
        report: the diagnosis, as JSON.
        views: two views of some pictures.
    """
    return {
        "steps": results[0].steps,
        "loss": np.stack([result.loss for result in results]),
        "report:lines": np.array([json.dumps(dataclasses.asdict(r.report())) for r in results]),
        "views": padded([np.stack([r.z1[:PICTURES], r.z2[:PICTURES]]) for r in results]),
    }
