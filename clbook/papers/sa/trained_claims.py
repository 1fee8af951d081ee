"""What SA report of trained networks, judged on the records of SA's page (`recipes`)."""

import numpy as np

from clbook.claims import Finding, listed, span
from clbook.papers.sa.claims import chapter

KEYS = "cka", "rsa", "cka_train", "rsa_train"


def straight(x, y) -> float:
    """Mean squared error of the best straight line through y (k,) over x (k,)."""
    return float(np.mean((y - np.polyval(np.polyfit(x, y, 1), x)) ** 2))


def exponential(steps, distance) -> tuple[float, float]:
    """Errors of log distance as a straight line in the time, as an exponential has it, and in its logarithm."""
    return straight(steps, np.log(distance)), straight(np.log(steps), np.log(distance))


@chapter.measure("sa-exponential")
def grows(start):
    late = start.distance.sel(loss="nscl", step=slice(20, None))
    steps, distance = late.step.values, late.values
    errors = np.array([exponential(steps, one) for one in distance])
    power = [np.polyfit(np.log(steps), np.log(one), 1)[0] for one in distance]
    return Finding(
        f"errors {listed(errors[:, 0], '.3f')} in the time, {listed(errors[:, 1], '.3f')} in its logarithm; "
        f"the distance grows like the time to the power {listed(power)}",
        float(np.mean(power)),
        (np.log(errors[:, 1] / errors[:, 0]),),
    )


@chapter.measure("sa-twin")
def twin(start):
    early = start.distance.isel(step=slice(1, None)).sel(step=slice(None, 100))
    steps, distance = early.step.values, early.sel(loss="twin").values
    errors = np.array([exponential(steps, one) for one in distance])
    grown = distance[:, -1] / distance[:, 0]
    return Finding(
        f"errors {listed(errors[:, 0])} in the time, {listed(errors[:, 1])} in its logarithm; grown "
        f"{listed(grown, '.0f')} times, to {listed(distance[:, -1])}, where NSCL is "
        f"{listed(early.sel(loss='nscl').isel(step=-1))} away",
        float(grown.mean()),
        (np.log(errors[:, 1] / errors[:, 0]), np.log10(grown) - 2),
    )


@chapter.measure("sa-twin-end")
def twin_end(plateau):
    end = plateau.isel(step=-1)
    twin, nscl = end.sel(loss="twin"), end.sel(loss="nscl")
    return Finding(
        f"gap {listed(twin.gap)}, NSCL's {listed(nscl.gap)}; CKA with DCL {listed(twin.cka)}, NSCL's "
        f"{listed(nscl.cka)}",
        float(twin.gap.mean()),
        (twin.gap / nscl.gap - 0.8,),
    )


@chapter.measure("sa-weight-angle")
def weight_angle(plateau):
    angle = plateau.weight_angle.sel(loss="nscl")
    end = angle.isel(step=-1)
    grown = end - angle.sel(step=5000)
    return Finding(
        f"{span(end, '.1f')} degrees, {span(grown, '+.1f')} over the last 1,000 iterations",
        float(end.mean()),
        (end - 80, 1 - grown),
    )


@chapter.measure("sa-class-angle")
def class_angle(plateau):
    end = plateau.isel(step=-1)
    weights = end.weight_angle.sel(loss="nscl")
    classes = end.class_angle.sel(embedding="plain")
    plain = classes.mean("class")
    projected = end.class_angle.sel(embedding="by PCA").mean("class")
    return Finding(
        f"mean over the classes {span(plain, '.1f')} degrees, by three axes {span(projected, '.1f')}, "
        f"single classes {span(classes, '.0f')}; weights {span(weights, '.1f')}",
        float(plain.mean()),
        (weights - plain, weights - projected),
    )


@chapter.measure("sa-projection")
def projection(plateau):
    angle = plateau.class_angle.isel(step=-1)
    change = abs(angle.sel(embedding="by PCA") - angle.sel(embedding="plain"))
    mean = change.mean("class")
    return Finding(
        f"by {span(mean, '.2f')} degrees in the mean, {change.max():.1f} at most",
        float(change.mean()),
        (mean - 2,),
    )


@chapter.measure("sa-long-lars")
def long_lars(long):
    nscl = long.cka.sel(loss="nscl")
    others = long.cka.sel(loss=["supcon", "ce"]).max("loss")
    lead = (nscl - others).sel(step=slice(50, None))
    smallest = lead.min("step")
    fall = nscl.sel(step=300) - nscl.isel(step=-1)
    return Finding(
        f"smallest lead {listed(smallest, '.3f')}, at the end {listed(lead.isel(step=-1), '.3f')}; falls by "
        f"{listed(fall, '.3f')} after iteration 300",
        float(lead.min()),
        (smallest, fall),
    )


def at_end(record, key: str, *losses: str) -> list:
    """(seeds,) what the networks of these losses have at the end."""
    return [record[key].isel(step=-1).sel(loss=loss) for loss in losses]


@chapter.measure("sa-scl-zero")
def scl_zero(long):
    nscl, scl = at_end(long, "cka", "nscl", "supcon")
    return Finding(
        f"SCL {listed(scl)}, NSCL {listed(nscl)}", float(scl.mean()), (0.1 - scl, nscl - 0.5)
    )


@chapter.measure("sa-tight")
def tight(long):
    cl, nscl, scl = at_end(long, "within", "dcl", "nscl", "supcon")
    return Finding(
        f"SCL {listed(scl, '.3f')}, NSCL {listed(nscl, '.3f')}, DCL {listed(cl, '.3f')}",
        float(scl.mean()),
        (0.5 - scl / cl, nscl / cl - 0.5),
    )


@chapter.measure("sa-ce-between")
def ce_between(long):
    nscl, scl, ce = at_end(long, "cka", "nscl", "supcon", "ce")
    return Finding(
        f"NSCL {listed(nscl)}, SCL {listed(scl)}, CE {listed(ce)}",
        float(ce.mean()),
        (nscl - ce, ce - scl),
    )


@chapter.measure("sa-ce-dips")
def ce_dips(long):
    ce = long.sel(loss="ce")
    rise = [ce[key].isel(step=-1) - ce[key].min("step") for key in ("cka", "rsa")]
    return Finding(
        f"CKA ends {listed(rise[0])} above its smallest value, RSA {listed(rise[1])}",
        float(np.mean(rise[0])),
        tuple(np.subtract(rise, 0.05)),
    )


@chapter.measure("sa-weights-lars")
def weights_lars(long):
    gap = long["gap"].sel(step=range(300, 3001, 300))
    nscl, scl = gap.sel(loss="nscl"), gap.sel(loss="supcon")
    growth = [one.diff("step").min("step") for one in (nscl, scl)]
    ends = [one.isel(step=-1) for one in (nscl, scl)]
    return Finding(
        f"NSCL {listed(ends[0])}, SCL {listed(ends[1])} at the end",
        float(ends[1].mean()),
        (*growth, (scl - nscl).min("step")),
    )


@chapter.measure("sa-table-1")
def table_1(long):
    read = {"LP": long.probe, "NCCC": long.nccc.isel(step=-1)}
    found = "; ".join(f"{how} {listed(v.mean('seed'), '.3f')}" for how, v in read.items())
    rises = []
    for values in read.values():
        first = values.sel(loss=["dcl", "nscl", "supcon"])
        rises.append((first.diff("loss") > 0).all("loss"))
    return Finding(
        f"means of CL, NSCL, SCL, CE: {found}",
        float(read["LP"].sel(loss="dcl").mean()),
        tuple(rises),
    )


@chapter.measure("sa-subsets")
def subsets(subsets):
    ends = subsets.isel(step=-1)
    means = ends.mean("seed")
    return Finding(
        f"CKA {listed(means.cka)}, RSA {listed(means.rsa)}; on training points CKA "
        f"{listed(means.cka_train)}",
        float(means.cka[-1]),
        tuple(ends[key].sel(classes=10) - ends[key].sel(classes=2) for key in KEYS),
    )


@chapter.measure("sa-subsets-decline")
def subsets_decline(subsets):
    cka = subsets.cka  # recorded at each tenth of the training
    fall = cka.isel(step=2) - cka.isel(step=-1)
    return Finding(
        f"falls by {listed(fall.mean('seed'))}; in {int((fall > 0).sum())} of {fall.size} runs",
        float(fall.mean()),
        (fall.mean("classes"),),
    )


@chapter.measure("sa-temperature-control")
def temperature_control(temperatures):
    ends = temperatures.isel(step=-1)
    means = ends.mean("seed")
    texts, leads = [], []
    for optimizer, name in (("sgd", "rate proportional to tau"), ("lars", "LARS")):
        own = means.sel(optimizer=optimizer)
        texts.append(f"{name}: CKA {listed(own.cka)}, RSA {listed(own.rsa)}")
    for key in ("cka", "rsa"):
        lead = ends[key].sel(tau=1.0) - ends[key].sel(tau=[0.1, 0.5]).max("tau")
        leads += list(lead.transpose("optimizer", "seed"))
    highest = means.cka.sel(optimizer="sgd", tau=1.0)
    return Finding("; ".join(texts), float(highest), tuple(leads))


def change(sized):
    """(laws, seeds) CKA at the largest batch minus that at the smallest."""
    ends = sized.cka.isel(step=-1)
    return ends.sel(batch=256) - ends.sel(batch=32)


@chapter.measure("sa-batch-lars")
def batch_lars(sized):
    linear = change(sized).sel(law="linear")
    return Finding(f"changes by {listed(linear, '+.3f')}", float(linear.mean()), (-linear,))


@chapter.measure("sa-batch-lars-others")
def batch_lars_others(sized):
    others = change(sized).drop_sel(law="linear")
    return Finding(
        f"changes by {listed(others.mean('seed'), '+.3f')}", float(others.mean()), tuple(others)
    )


@chapter.measure("sa-architectures")
def architectures(widths):
    ends = widths.isel(step=-1)
    lead = ends.cka.sel(loss="nscl") - ends.cka.sel(loss=["supcon", "ce"]).max("loss")
    growth = (ends["gap"] - widths["gap"].isel(step=1)).sel(loss=["nscl", "supcon"]).min("loss")
    lead, growth = (values.stack(setting=("data", "width")).T for values in (lead, growth))
    return Finding(
        f"leads by {listed(lead.mean('seed'), '.3f')}; gaps grow by {span(growth)}",
        float(lead.mean()),
        (*lead, *growth),
    )
