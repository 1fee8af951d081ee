"""What SA and CS say of real images, judged on the records of this room."""

import numpy as np

from clbook.claims import Chapter, Finding, listed
from clbook.experiments.photographs.recipes import ROWS, SEEDS
from clbook.metrics import spectral_rank

chapter = Chapter(__file__)
DCL, NSCL, SCL, CE = range(4)  # the columns of what is recorded
NORM, SCALED, SCALED_TWO, STANDARD, STANDARD_TWO, STEEP = range(6)  # rows of ROWS


def sets(cifar, mnist) -> dict:
    """The two sets of images by name."""
    return {"CIFAR-10": cifar, "MNIST": mnist}


@chapter.measure("sa-photo-order")
def order(cifar, mnist):
    texts, leads = [], []
    for name, record in sets(cifar, mnist).items():
        for key in ("cka", "rsa"):
            late = record[key][:, 2:]  # (seeds, epochs, losses), from the second epoch on
            lead = (late[..., NSCL] - late[..., (SCL, CE)].max(-1)).min(1)
            texts.append(f"{name} {key.upper()} {listed(lead)}")
            leads.append(lead)
    return Finding("smallest lead: " + "; ".join(texts), float(np.mean(leads)), tuple(leads))


@chapter.measure("sa-photo-scl-zero")
def scl_zero(cifar):
    nscl, scl = (cifar["cka"][:, -1, k] for k in (NSCL, SCL))
    return Finding(
        f"SCL {listed(scl)}, NSCL {listed(nscl)}", float(scl.mean()), (0.1 - scl, nscl - 0.5)
    )


@chapter.measure("sa-photo-ce-between")
def ce_between(cifar, mnist):
    texts, margins = [], []
    for name, record in sets(cifar, mnist).items():
        nscl, scl, ce = (record["cka"][:, -1, k] for k in (NSCL, SCL, CE))
        texts.append(f"{name}: NSCL {listed(nscl)}, CE {listed(ce)}, SCL {listed(scl)}")
        margins += [nscl - ce, ce - scl]
    return Finding("; ".join(texts), float(np.mean(margins)), tuple(margins))


@chapter.measure("sa-photo-gap")
def gap(cifar, mnist):
    texts, margins = [], []
    for name, record in sets(cifar, mnist).items():
        nscl, scl = (record["gap"][..., k] for k in (NSCL, SCL))  # (seeds, epochs)
        texts.append(f"{name}: NSCL {listed(nscl[:, -1])}, SCL {listed(scl[:, -1])}")
        margins += [np.diff(nscl).min(1), np.diff(scl).min(1), (scl - nscl)[:, 1:].min(1)]
    return Finding("at the end, " + "; ".join(texts), float(np.mean(margins)), tuple(margins))


@chapter.measure("sa-photo-table-1")
def table_1(cifar, mnist):
    texts, margins = [], []
    for name, record in sets(cifar, mnist).items():
        for key, words in (("nccc", "centres"), ("probe", "probe")):
            right = record[key][:, :CE]
            texts.append(f"{name}, {words}: " + ", ".join(f"{mean:.3f}" for mean in right.mean(0)))
            margins += list(np.diff(right).T)
    return Finding(
        "DCL, NSCL, SCL, means: " + "; ".join(texts), float(np.mean(margins)), tuple(margins)
    )


@chapter.measure("sa-photo-tau")
def temperature(cifar, mnist, cifar_tau, mnist_tau):
    texts, leads = [], []
    for name, middle, others in (("CIFAR-10", cifar, cifar_tau), ("MNIST", mnist, mnist_tau)):
        for key in ("rsa", "cka"):
            low, high = others[key][:, -1, NSCL].reshape(2, len(SEEDS))
            values = np.stack([low, middle[key][:, -1, NSCL], high])
            texts.append(
                f"{name} {key.upper()} " + ", ".join(f"{mean:.2f}" for mean in values.mean(1))
            )
            leads.append(high - values[:2].max(0))
    return Finding(
        "at tau = .1, .5, 1, means: " + "; ".join(texts), float(np.mean(leads)), tuple(leads)
    )


def rows(record, key: str) -> np.ndarray:
    """(rows of ROWS, seeds, ...) of what a record has."""
    return record[key].reshape(len(ROWS), len(SEEDS), *record[key].shape[1:])


def ranks(record, place: str) -> np.ndarray:
    """(rows of ROWS, seeds) effective rank at a place, "h" or "z"."""
    return spectral_rank(rows(record, f"spectrum_{place}"))


def rise(record, row: int) -> Finding:
    """How much the effective rank after the projector is above that with the norm."""
    rank = ranks(record, "z")
    found = rank[row] / rank[NORM] - 1
    return Finding(
        f"effective rank {listed(rank[NORM], '.1f')} with the norm, {listed(rank[row], '.1f')} without",
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
    share = rank[STEEP] / rank[STANDARD]
    return Finding(
        f"effective rank {listed(rank[STEEP], '.1f')} with the norm at 1/64, "
        f"{listed(rank[STANDARD], '.1f')} with variance 1",
        float(share.mean()),
        (share - 0.9,),
    )


@chapter.measure("cs-photo-before")
def before_better(norms):
    lead = (rows(norms, "probe") - rows(norms, "probe_z"))[:STANDARD]
    return Finding(
        "by " + "; ".join(listed(row, ".3f") for row in lead), float(lead.mean()), tuple(lead)
    )


def change(record, old: int, new: int) -> tuple[str, np.ndarray]:
    """How the linear readout changes after and before the projector, from one row to another: (2, seeds)."""
    after, before = (rows(record, key) for key in ("probe_z", "probe"))
    text = (
        f"{after[old].mean():.3f} to {after[new].mean():.3f} after the projector, {before[old].mean():.3f} to "
        f"{before[new].mean():.3f} before, means"
    )
    return text, np.stack([after[new] - after[old], before[new] - before[old]])


@chapter.measure("cs-photo-norm")
def no_gain(norms):
    text, gain = change(norms, NORM, SCALED)
    return Finding(text, float(gain.mean()), tuple(0.01 - gain))


@chapter.measure("cs-photo-two")
def two_temperatures(norms):
    text, gain = change(norms, SCALED, SCALED_TWO)
    return Finding(text, float(gain.mean()), tuple(gain))


@chapter.measure("cs-photo-two-spectrum")
def two_spectrum(norms):
    ratios = np.stack(
        [ranks(norms, place)[SCALED_TWO] / ranks(norms, place)[SCALED] for place in "hz"]
    )
    return Finding(
        f"ratio of effective ranks {listed(ratios[0])} before the projector, {listed(ratios[1])} after it",
        float(ratios.mean()),
        tuple(0.1 - abs(ratios - 1)),
    )


@chapter.measure("photo-blocks")
def sharper(blocks):
    aligned = blocks["aligned"].reshape(2, len(SEEDS), 2)  # (sets, seeds, before and after)
    texts = [
        f"{name} {listed(own[:, 0])} to {listed(own[:, 1])}"
        for name, own in zip(("CIFAR-10", "MNIST"), aligned, strict=True)
    ]
    gain = aligned[..., 1] - aligned[..., 0]
    return Finding("; ".join(texts), float(gain.mean()), tuple(gain - 0.02))
