"""What SA and CS say of real images, judged on the records of this room."""

import numpy as np

from clbook.claims import Chapter, Finding, listed
from clbook.experiments.photographs.figures import ranks
from clbook.experiments.photographs.recipes import OUTPUTS

chapter = Chapter(__file__)
# What was done to the outputs, and at which temperatures.
NORM, SCALED, SCALED_TWO, STANDARD, _, STEEP = OUTPUTS


def sets(cifar, mnist) -> dict:
    """The two sets of images by name."""
    return {"CIFAR-10": cifar, "MNIST": mnist}


@chapter.measure("sa-photo-order")
def order(cifar, mnist):
    texts, leads = [], []
    for name, record in sets(cifar, mnist).items():
        for key in ("cka", "rsa"):
            late = record[key].isel(epoch=slice(2, None))  # from the second epoch on
            others = late.sel(loss=["supcon", "ce"]).max("loss")
            lead = (late.sel(loss="nscl") - others).min("epoch")
            texts.append(f"{name} {key.upper()} {listed(lead)}")
            leads.append(lead)
    return Finding(
        "smallest lead: " + "; ".join(texts),
        float(np.mean(leads)),
        tuple(leads),
    )


def at_end(record, loss: str):
    """(seeds,) CKA of a copy with that of DCL after the last epoch."""
    return record.cka.isel(epoch=-1).sel(loss=loss)


@chapter.measure("sa-photo-scl-zero")
def scl_zero(cifar):
    nscl, scl = at_end(cifar, "nscl"), at_end(cifar, "supcon")
    return Finding(
        f"SCL {listed(scl)}, NSCL {listed(nscl)}",
        float(scl.mean()),
        (0.1 - scl, nscl - 0.5),
    )


@chapter.measure("sa-photo-ce-between")
def ce_between(cifar, mnist):
    texts, margins = [], []
    for name, record in sets(cifar, mnist).items():
        nscl, scl, ce = (at_end(record, loss) for loss in ("nscl", "supcon", "ce"))
        texts.append(f"{name}: NSCL {listed(nscl)}, CE {listed(ce)}, SCL {listed(scl)}")
        margins += [nscl - ce, ce - scl]
    return Finding(
        "; ".join(texts),
        float(np.mean(margins)),
        tuple(margins),
    )


@chapter.measure("sa-photo-gap")
def gap(cifar, mnist):
    texts, margins = [], []
    for name, record in sets(cifar, mnist).items():
        nscl, scl = record.gap.sel(loss="nscl"), record.gap.sel(loss="supcon")
        ends = [one.isel(epoch=-1) for one in (nscl, scl)]
        texts.append(f"{name}: NSCL {listed(ends[0])}, SCL {listed(ends[1])}")
        trained = (scl - nscl).isel(epoch=slice(1, None))
        margins += [nscl.diff("epoch").min("epoch"), scl.diff("epoch").min("epoch")]
        margins.append(trained.min("epoch"))
    return Finding(
        "at the end, " + "; ".join(texts),
        float(np.mean(margins)),
        tuple(margins),
    )


@chapter.measure("sa-photo-table-1")
def table_1(cifar, mnist):
    texts, margins = [], []
    for name, record in sets(cifar, mnist).items():
        for key, words in (("nccc", "centres"), ("probe", "probe")):
            right = record[key].sel(loss=["dcl", "nscl", "supcon"])
            texts.append(f"{name}, {words}: " + listed(right.mean("seed"), ".3f"))
            margins += list(right.diff("loss").transpose("loss", "seed"))
    return Finding(
        "DCL, NSCL, SCL, means: " + "; ".join(texts),
        float(np.mean(margins)),
        tuple(margins),
    )


@chapter.measure("sa-photo-tau")
def temperature(cifar, mnist, cifar_tau, mnist_tau):
    texts, leads = [], []
    for name, middle, others in (("CIFAR-10", cifar, cifar_tau), ("MNIST", mnist, mnist_tau)):
        for key in ("rsa", "cka"):
            low, half, high = (
                record[key].isel(epoch=-1).sel(loss="nscl")
                for record in (others.sel(tau=0.1), middle, others.sel(tau=1.0))
            )
            means = [values.mean() for values in (low, half, high)]
            texts.append(f"{name} {key.upper()} {listed(means)}")
            leads.append(high - np.maximum(low, half))
    return Finding(
        "at tau = .1, .5, 1, means: " + "; ".join(texts),
        float(np.mean(leads)),
        tuple(leads),
    )


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
