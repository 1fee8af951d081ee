"""What SA and CS say of real images, judged on the records of this room."""

import numpy as np

from clbook.claims import Chapter, Finding, listed
from clbook.experiments.photographs.figures import ranks
from clbook.experiments.photographs.recipes import OUTPUTS

chapter = Chapter(__file__)
# What was done to the outputs, and at which temperatures.
NORM, SCALED, SCALED_TWO, STANDARD, _, STEEP = OUTPUTS


def rise(record, variant: str) -> Finding:
    """How much the effective rank after the projector is above that with the norm."""
    rank = ranks(record, "z")
    norm, without = rank.sel(variant=NORM), rank.sel(variant=variant)
    found = without / norm - 1
    return Finding(
        f"effective rank {listed(norm, '.1f')} with the norm, {listed(without, '.1f')} without",
        float(found.mean()),
        (found - 0.25,),
    )


@chapter.measure("cs-photo-fig-2")
def norm_removed(norms):
    return rise(norms, SCALED)


@chapter.measure("cs-photo-fig-2-literal")
def norm_removed_literal(norms):
    return rise(norms, STANDARD)


@chapter.measure("photo-norm-control")
def control(norms):
    rank = ranks(norms, "z")
    steep, standard = rank.sel(variant=STEEP), rank.sel(variant=STANDARD)
    share = steep / standard
    return Finding(
        f"effective rank {listed(steep, '.1f')} with the norm at 1/64, "
        f"{listed(standard, '.1f')} with variance 1",
        float(share.mean()),
        (share - 0.9,),
    )


@chapter.measure("cs-photo-before")
def before_better(norms):
    lead = (norms.probe - norms.probe_z).sel(variant=[NORM, SCALED, SCALED_TWO])
    return Finding(
        "by " + "; ".join(listed(row, ".3f") for row in lead),
        float(lead.mean()),
        tuple(lead),
    )


def change(record, old: str, new: str) -> tuple[str, np.ndarray]:
    """How the linear readout changes after and before the projector, from one variant to another: (2, seeds)."""
    first, second = record.sel(variant=old), record.sel(variant=new)
    text = (
        f"{first.probe_z.mean():.3f} to {second.probe_z.mean():.3f} after the projector, "
        f"{first.probe.mean():.3f} to {second.probe.mean():.3f} before, means"
    )
    return text, np.stack([second.probe_z - first.probe_z, second.probe - first.probe])


@chapter.measure("cs-photo-norm")
def no_gain(norms):
    text, gain = change(norms, NORM, SCALED)
    return Finding(
        text,
        float(gain.mean()),
        tuple(0.01 - gain),
    )


@chapter.measure("cs-photo-two")
def two_temperatures(norms):
    text, gain = change(norms, SCALED, SCALED_TWO)
    return Finding(
        text,
        float(gain.mean()),
        tuple(gain),
    )


@chapter.measure("cs-photo-two-spectrum")
def two_spectrum(norms):
    ratios = []
    for place in "hz":
        rank = ranks(norms, place)
        ratios.append(rank.sel(variant=SCALED_TWO) / rank.sel(variant=SCALED))
    before, after = ratios
    return Finding(
        f"ratio of effective ranks {listed(before)} before the projector, {listed(after)} after it",
        float(np.mean(ratios)),
        tuple(0.1 - abs(np.stack(ratios) - 1)),
    )
