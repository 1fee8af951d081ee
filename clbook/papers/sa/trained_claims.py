"""What SA report of trained networks, judged on the records of SA's page (`recipes`)."""

import numpy as np

from clbook.claims import Finding, listed, span
from clbook.papers.sa import recipes
from clbook.papers.sa.claims import chapter

DCL, NSCL, SCL, CE = range(4)  # the columns of what is recorded
TWIN = 2  # where the third network is a twin of DCL
KEYS = "cka", "rsa", "cka_train", "rsa_train"


def straight(x, y) -> float:
    """Mean squared error of the best straight line through y (k,) over x (k,)."""
    return float(np.mean((y - np.polyval(np.polyfit(x, y, 1), x)) ** 2))


def exponential(steps, distance) -> tuple[float, float]:
    """Errors of log distance as a straight line in the time, as an exponential has it, and in its logarithm."""
    return straight(steps, np.log(distance)), straight(np.log(steps), np.log(distance))


def at(record, step: int) -> int:
    """Position of a recorded time."""
    return int(np.searchsorted(record["steps"], step))


def shaped(record, key: str, *sizes: int) -> np.ndarray:
    """What a record has, its first axis split into groups of runs."""
    return record[key].reshape(*sizes, *record[key].shape[1:])


@chapter.measure("sa-exponential")
def grows(start):
    late = slice(at(start, 20), None)
    steps, distance = start["steps"][late], start["distance"][:, NSCL, late]
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
    early = slice(1, at(start, 100) + 1)
    steps, distance = start["steps"][early], start["distance"][:, TWIN, early]
    errors = np.array([exponential(steps, one) for one in distance])
    grown = distance[:, -1] / distance[:, 0]
    return Finding(
        f"errors {listed(errors[:, 0])} in the time, {listed(errors[:, 1])} in its logarithm; grown "
        f"{listed(grown, '.0f')} times, to {listed(distance[:, -1])}, where NSCL is "
        f"{listed(start['distance'][:, NSCL, early][:, -1])} away",
        float(grown.mean()),
        (np.log(errors[:, 1] / errors[:, 0]), np.log10(grown) - 2),
    )


@chapter.measure("sa-twin-end")
def twin_end(plateau):
    gap, cka = (plateau[key][:, :, -1].T for key in ("gap", "cka"))
    return Finding(
        f"gap {listed(gap[TWIN])}, NSCL's {listed(gap[NSCL])}; CKA with DCL {listed(cka[TWIN])}, NSCL's "
        f"{listed(cka[NSCL])}",
        float(gap[TWIN].mean()),
        (gap[TWIN] / gap[NSCL] - 0.8,),
    )


@chapter.measure("sa-weight-angle")
def weight_angle(plateau):
    angle = plateau["weight_angle"][:, NSCL]
    grown = angle[:, -1] - angle[:, at(plateau, 5000)]
    return Finding(
        f"{span(angle[:, -1], '.1f')} degrees, {span(grown, '+.1f')} over the last 1,000 iterations",
        float(angle[:, -1].mean()),
        (angle[:, -1] - 80, 1 - grown),
    )


@chapter.measure("sa-class-angle")
def class_angle(plateau):
    weights, classes = (
        plateau["weight_angle"][:, NSCL, -1],
        plateau["class_angle"][..., -1],
    )  # (seeds, 2, 10)
    plain, projected = classes.mean(2).T
    return Finding(
        f"mean over the classes {span(plain, '.1f')} degrees, by three axes {span(projected, '.1f')}, "
        f"single classes {span(classes[:, 0], '.0f')}; weights {span(weights, '.1f')}",
        float(plain.mean()),
        (weights - plain, weights - projected),
    )


@chapter.measure("sa-projection")
def projection(plateau):
    plain, projected = np.moveaxis(plateau["class_angle"][..., -1], 1, 0)  # (seeds, 10)
    change = abs(projected - plain)
    return Finding(
        f"by {span(change.mean(1), '.2f')} degrees in the mean, {change.max():.1f} at most",
        float(change.mean()),
        (change.mean(1) - 2,),
    )


@chapter.measure("sa-long-lars")
def long_lars(long):
    cka, begun = long["cka"], at(long, 50)
    lead = (cka[:, NSCL] - cka[:, (SCL, CE)].max(1))[:, begun:]
    fall = cka[:, NSCL, at(long, 300)] - cka[:, NSCL, -1]
    return Finding(
        f"smallest lead {listed(lead.min(1), '.3f')}, at the end {listed(lead[:, -1], '.3f')}; falls by "
        f"{listed(fall, '.3f')} after iteration 300",
        float(lead.min()),
        (lead.min(1), fall),
    )


@chapter.measure("sa-scl-zero")
def scl_zero(long):
    nscl, scl = (long["cka"][:, k, -1] for k in (NSCL, SCL))
    return Finding(
        f"SCL {listed(scl)}, NSCL {listed(nscl)}", float(scl.mean()), (0.1 - scl, nscl - 0.5)
    )


@chapter.measure("sa-tight")
def tight(long):
    cl, nscl, scl = (long["within"][:, k, -1] for k in (DCL, NSCL, SCL))
    return Finding(
        f"SCL {listed(scl, '.3f')}, NSCL {listed(nscl, '.3f')}, DCL {listed(cl, '.3f')}",
        float(scl.mean()),
        (0.5 - scl / cl, nscl / cl - 0.5),
    )


@chapter.measure("sa-ce-between")
def ce_between(long):
    nscl, scl, ce = (long["cka"][:, k, -1] for k in (NSCL, SCL, CE))
    return Finding(
        f"NSCL {listed(nscl)}, SCL {listed(scl)}, CE {listed(ce)}",
        float(ce.mean()),
        (nscl - ce, ce - scl),
    )


@chapter.measure("sa-ce-dips")
def ce_dips(long):
    rise = [long[key][:, CE, -1] - long[key][:, CE].min(1) for key in KEYS[:2]]
    return Finding(
        f"CKA ends {listed(rise[0])} above its smallest value, RSA {listed(rise[1])}",
        float(np.mean(rise[0])),
        tuple(np.subtract(rise, 0.05)),
    )


@chapter.measure("sa-weights-lars")
def weights_lars(long):
    tenths = [at(long, step) for step in range(300, 3001, 300)]
    gap = long["gap"][:, :, tenths]
    growth = [np.diff(gap[:, k]).min(1) for k in (NSCL, SCL)]
    return Finding(
        f"NSCL {listed(gap[:, NSCL, -1])}, SCL {listed(gap[:, SCL, -1])} at the end",
        float(gap[:, SCL, -1].mean()),
        (*growth, (gap[:, SCL] - gap[:, NSCL]).min(1)),
    )


@chapter.measure("sa-table-1")
def table_1(long):
    read = {"LP": long["probe"].T, "NCCC": long["nccc"][:, :, -1].T}
    found = "; ".join(f"{how} {listed(values.mean(1), '.3f')}" for how, values in read.items())
    return Finding(
        f"means of CL, NSCL, SCL, CE: {found}",
        float(read["LP"][0].mean()),
        tuple((np.diff(values[:3], axis=0) > 0).all(0) for values in read.values()),
    )


@chapter.measure("sa-subsets")
def subsets(subsets):
    found = {key: shaped(subsets, key, 5, 3)[..., -1] for key in KEYS}  # (counts, seeds)
    return Finding(
        f"CKA {listed(found['cka'].mean(1))}, RSA {listed(found['rsa'].mean(1))}; on training points CKA "
        f"{listed(found['cka_train'].mean(1))}",
        float(found["cka"][-1].mean()),
        tuple(values[-1] - values[0] for values in found.values()),
    )


@chapter.measure("sa-subsets-decline")
def subsets_decline(subsets):
    cka = shaped(subsets, "cka", 5, 3)  # recorded at each tenth of the training
    fall = cka[..., 2] - cka[..., -1]
    return Finding(
        f"falls by {listed(fall.mean(1))}; in {np.sum(fall > 0)} of {fall.size} runs",
        float(fall.mean()),
        (fall.mean(0),),
    )


@chapter.measure("sa-temperature-control")
def temperature_control(temperatures):
    found = [shaped(temperatures, key, 2, 3, 3)[..., -1] for key in KEYS[:2]]  # (ways, taus, seeds)
    text = "; ".join(
        f"{name}: CKA {listed(found[0][k].mean(1))}, RSA {listed(found[1][k].mean(1))}"
        for k, name in enumerate(("rate proportional to tau", "LARS"))
    )
    return Finding(
        text,
        float(found[0][0, -1].mean()),
        tuple(one[-1] - one[:-1].max(0) for values in found for one in values),
    )


def change(sized) -> np.ndarray:
    """(scalings, seeds) CKA at the largest batch minus that at the smallest."""
    ends = shaped(sized, "cka", 4, len(recipes.SIZES), -1)[..., -1]
    return ends[:, -1] - ends[:, 0]


@chapter.measure("sa-batch-lars")
def batch_lars(sized):
    linear, *_ = change(sized)
    return Finding(f"changes by {listed(linear, '+.3f')}", float(linear.mean()), (-linear,))


@chapter.measure("sa-batch-lars-others")
def batch_lars_others(sized):
    _, *others = change(sized)
    return Finding(
        f"changes by {listed(np.mean(others, 1), '+.3f')}", float(np.mean(others)), tuple(others)
    )


@chapter.measure("sa-architectures")
def architectures(widths):
    cka, gap = (
        shaped(widths, key, 4, 3) for key in ("cka", "gap")
    )  # (set and width, seeds, networks, times)
    lead = (cka[:, :, NSCL] - cka[:, :, (SCL, CE)].max(2))[..., -1]
    growth = (gap[:, :, (NSCL, SCL), -1] - gap[:, :, (NSCL, SCL), 1]).min(2)
    return Finding(
        f"leads by {listed(lead.mean(1), '.3f')}; gaps grow by {span(growth)}",
        float(lead.mean()),
        (*lead, *growth),
    )
