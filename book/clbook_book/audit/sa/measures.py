"""How SA's claims are measured, mostly in the order of items.yaml. What the measures share comes first."""

import functools
import itertools

import numpy as np

from clbook import theory
from clbook_book.audit.judging import Every, Finding, Measures, counted, listed, span
from clbook_book.audit.sa.computed import CLASSES
from clbook_book.audit.sa.recipes import SIMILARITIES

measures = Measures()
DCL, NSCL, SCL, CE = range(4)  # the columns of what a run of the chapter records
ROOM = 1e-9  # of rounding, in inequalities that may be attained
GAPS = {"nscl": "NSCL", "supcon": "SCL"}  # the losses whose weight gap to DCL is looked at


# Findings of numbers alone.


def lists(numbers: dict, *conditions, form=".2f", before="", words=listed) -> Finding:
    """Finding with all numbers under each name, or with `words` for them."""
    texts = [f"{name} {words(values, form)}" for name, values in numbers.items()]
    return Finding(before + "; ".join(texts), *conditions)


ranges = functools.partial(lists, words=span)  # with the range of the numbers


# Of runs: a list of the chapter's, one a seed.


def final(runs, k: int = NSCL, key: str = "cka") -> np.ndarray:
    """What network k of each run has at the end."""
    return np.array([getattr(run, key)[-1, k] for run in runs], float)


def after_warmup(run) -> slice:
    """The recorded times at which the warm-up is over."""
    return slice(int(np.searchsorted(run.steps, run.config.warmup)), None)


def nscl_lead(run) -> np.ndarray:
    """By how much NSCL's CKA with DCL is above the larger one of SCL and CE, at each recorded time."""
    others = run.cka[:, [SCL, CE]].max(1)
    return run.cka[:, NSCL] - others


def least_growth(runs, k: int) -> list[float]:
    """The smallest growth of network k's weight gap from one recorded time to the next, of each run."""
    return [np.diff(r.gap[after_warmup(r), k]).min() for r in runs]


# Of records: on digits and synthetic points, then on photographs.


def time(values) -> str:
    """The axis of the recorded times, which are steps or epochs."""
    return "epoch" if "epoch" in values.dims else "step"


def last(values):
    """What stands at the last of the recorded times."""
    return values.isel({time(values): -1})


def at_end(record, key: str, *losses: str) -> list:
    """(seeds,) what the networks of these losses have at the end."""
    ends = last(record[key])
    return [ends.sel(loss=loss) for loss in losses]


def ahead(similarity):
    """By how much NSCL's similarity with DCL is above the larger one of SCL and CE."""
    others = similarity.sel(loss=["supcon", "ce"]).max("loss")
    return similarity.sel(loss="nscl") - others


def straight(x, y) -> np.ndarray:
    """(seeds,) mean squared errors of the best straight lines through y (seeds, k) over x (k,)."""
    slope, start = np.polyfit(x, y.T, 1)
    lines = start[:, None] + np.outer(slope, x)
    return ((y - lines) ** 2).mean(1)


def batch_change(ends):
    """CKA `ends` at the largest batch minus that at the smallest."""
    return ends.isel(batch=-1) - ends.isel(batch=0)


# Of bounds: over runs of eq. 1, or on weights.


def allowed(run) -> float:
    """Delta at a run's settings."""
    c = run.config
    return theory.delta(c.classes, c.batch, c.steps, c.delta, c.tau)


def growth(config) -> float:
    """By what factor one step of eq. 1 may lengthen the distance of two tables."""
    return 1 + config.eta / (2 * config.tau**2 * config.batch)


def of_bound(run):
    """The drift over its bound at each recorded time but the start."""
    return run.drift[1:] / run.bound[1:]


def worst(runs, quantity) -> float:
    """The largest quantity(run) over runs, and over the times that it is an array of."""
    return max(np.max(quantity(run)) for run in runs)


def no_more(quotients: dict[str, float]) -> Finding:
    """Finding for left sides that are to be at most the right ones: {where: largest left / right}."""
    spare = [1 + ROOM - largest for largest in quotients.values()]
    return ranges(quotients, *spare, form=".2g", before="left / right side at most: ")


def over_all(runs, quotient) -> Finding:
    """`no_more` for all runs alike."""
    return no_more({f"over {len(runs)} runs": worst(runs, quotient)})


def by_encoder(encoders, quotient) -> Finding:
    """`no_more` for the runs of each encoder."""
    return no_more({name: worst(runs, quotient) for name, runs in encoders.items()})


def corollary(runs, terms) -> Finding:
    """Finding for Corollary 1 or 2, which are one formula: what it promises is not above the similarity, for the
    measured distance and for Theorem 1's bound; in how many runs it says something at the end.

    terms(run) gives the similarity, the measured distance relative to the scale, and the scale, at each time.
    """
    lower = np.vectorize(theory.cka_lower_bound)
    spare, says = [], []
    for run in runs:
        similarity, measured, scale = (values[1:] for values in terms(run))
        promised = np.array([lower(measured, 1.0), lower(run.bound[1:], scale)])  # (2, T)
        spare.append((similarity - promised).min(1))
        says.append(promised[:, -1] > 0)
    own, stated = np.min(spare, 0)
    with_own, with_bound = np.sum(says, 0)
    return Finding(
        f"of {len(runs)} runs it promises more than 0 at the end in {with_own} with the measured distance, in "
        f"{with_bound} by Theorem 1",
        own + ROOM,
        stated + ROOM,
    )


# The measures.


@measures("sa-exponential")
def grows(from_one_angle):
    steps = from_one_angle[0].steps[1:]
    distance = np.array([run.drift[1:] for run in from_one_angle])
    logs = np.log(distance)
    in_time = straight(steps, logs)  # like an exponential
    in_log = straight(np.log(steps), logs)  # like a power
    grown = distance[:, -1] / distance[:, 0]
    times = span(grown, ",.0f")
    between = steps[-1] - steps[0]
    errors = f"errors {span(in_time)} in the time, {span(in_log)} in its logarithm"
    return Finding(
        f"grown {times} times in {between} steps; {errors}",
        Every(np.log(in_log / in_time)),
        Every(np.log10(grown) - 3),
    )


@measures("sa-exponential-digits")
def grows_on_digits(start):
    late = start.distance.sel(loss="nscl", step=slice(20, None))
    logs = np.log(late.values)
    log_steps = np.log(late.step)
    in_time = straight(late.step, logs)
    in_log = straight(log_steps, logs)
    power, _ = np.polyfit(log_steps, logs.T, 1)
    near_one = 0.25 - abs(power - 1)
    return Finding(
        f"like the time to the power {listed(power)}; errors {span(in_time, '.3f')} in the time, "
        f"{span(in_log, '.3f')} in its logarithm",
        near_one,
        np.log(in_time / in_log),
    )


@measures("sa-weight-angle")
def weight_angle(plateau):
    angle = plateau.weight_angle.sel(loss="nscl")
    end = angle.isel(step=-1)
    grown = end - angle.sel(step=5000)
    return ranges(
        {"angle in degrees": end, "grown over the last 1,000 iterations by": grown},
        10 - abs(end - 90),
        1 - grown,
        form=".1f",
    )


@measures("sa-class-angle")
def class_angle(plateau):
    end = plateau.isel(step=-1)
    weights = end.weight_angle.sel(loss="nscl")
    classes = end.class_angle.sel(embedding="plain")
    plain = classes.mean("class")
    projected = end.class_angle.sel(embedding="by PCA").mean("class")
    return Finding(
        f"mean over the classes {span(plain, '.1f')} degrees, by three axes {span(projected, '.1f')}, "
        f"single classes {span(classes, '.0f')}; weights {span(weights, '.1f')}",
        weights - plain,
        weights - projected,
    )


@measures("sa-weights-part")
def weights_part(long_pairs, digits):
    growth = [least_growth(long_pairs, NSCL), least_growth(digits, SCL)]
    cka = np.array([r.cka[:, NSCL].min() for r in long_pairs])
    rsa = np.array([r.rsa[:, NSCL].min() for r in long_pairs])
    gap = final(long_pairs, NSCL, "gap")
    return ranges(
        {"gap at the end": gap, "CKA at least": cka, "RSA": rsa},
        *map(Every, (*growth, cka - 0.5, rsa - 0.5)),
    )


@measures("sa-close")
def close(digits):
    distances = np.array([run.distances for run in digits])  # (seeds, times, losses, quantities)
    most = distances[:, :, 0].max(1)
    nscl, scl, ce = distances[:, -1].swapaxes(0, 1)  # (seeds, quantities) each
    lead = np.minimum(scl, ce) - nscl
    numbers = {}
    for k, name in enumerate(("rho", "r")):
        numbers[f"{name} at most"] = most[:, k]
        numbers[f"SCL's {name}"] = scl[:, k].mean()
        numbers[f"CE's {name}"] = ce[:, k].mean()
    return ranges(numbers, *map(Every, (0.5 - most.max(1), *lead.T)))


@measures("sa-bound-tightens")
def bound_tightens(bound_grid):
    falls = []
    for values, axis in itertools.product(bound_grid, (0, 1)):
        with np.errstate(invalid="ignore"):  # where Delta is not defined
            fall = -np.diff(values, axis=axis)
        falls.append(fall[np.isfinite(fall)].min())
    least = min(falls)
    return Finding(
        f"in {len(bound_grid)} settings; from one value to the next by at least a factor {np.exp(least):.6f}",
        least,
    )


@measures("sa-gap-training")
def gap_training(by_classes):
    counts = [count for count in by_classes if count >= 5]
    gaps = []
    for count in counts:
        gaps.append([run.loss_gap for run in by_classes[count]])
    gaps = np.array(gaps)  # (C, seeds, T, 4)
    curves = np.log(gaps).reshape(len(counts), -1)
    slopes = np.polyfit(np.log(counts), curves, 1)[0]
    flattest = slopes.reshape(gaps.shape[1:]).max((1, 2))  # of each seed
    return ranges({"slopes": slopes}, Every(-1 - flattest))


@measures("sa-definitions")
def definitions(definition_errors):
    error = max(max(found.values()) for found in definition_errors)
    return Finding(f"{len(definition_errors[0])} definitions equal to {error:.0e}", 1e-12 - error)


@measures("sa-loss-gap")
def loss_gap(loss_gaps):
    log_classes = np.log(CLASSES)
    slopes = []
    for gaps in loss_gaps.values():
        curves = np.log(gaps.transpose(2, 1, 0))  # (losses, classes, seeds)
        slopes.append([np.polyfit(log_classes, one, 1)[0] for one in curves])
    dcl, cl = np.swapaxes(slopes, 0, 1)  # (taus, seeds) each
    return lists(
        {
            "slopes at tau = .5, 1:": dcl.mean(1),
            "with the positive, as in SA Section 3:": cl.mean(1),
        },
        *(0.07 - abs(dcl + 1)),
    )


@measures("sa-reparametrised")
def parametrisation(reparametrised):
    apart, change = np.transpose(reparametrised)
    return Finding(
        f"weights {apart.min():.2f} of their length apart, cosines equal to {change.max():.0e}",
        Every(apart - 0.1),
        1e-10 - change.max(),
    )


@measures("sa-theorem-1")
def theorem_1(coupled):
    careful = worst(coupled, lambda r: r.drift[1:] / r.posterior[1:])
    stated = worst(coupled, lambda r: r.posterior[1:] / r.bound[1:])
    least = 1 / worst(coupled, of_bound)
    return Finding(
        f"drift / a posteriori at most {careful:.4f}, a posteriori / Theorem 1 at most {stated:.3f}, in "
        f"{len(coupled)} runs; Theorem 1 is at least {least:.0f} times the drift",
        1 + ROOM - careful,
        1 + ROOM - stated,
    )


@measures("sa-theorem-1-replacement")
def replacement(repeats, fresh_repeats):
    large = [run for run in repeats if run.config.batch == 1024]
    ratio = np.array([run.drift[-1] / run.bound[-1] for run in large])
    return lists(
        {"drift / bound =": ratio, "with a view for each place": fresh_repeats},
        Every(1 - ratio),
        Every(1 - fresh_repeats),
    )


@measures("sa-beyond-triangle")
def beyond_triangle(useful_steps):
    weak, others = [], []
    for (name, tau), steps in useful_steps.items():
        if tau < 1 or name == "CIFAR-10":
            weak.append(steps)
        if steps > 0:
            others.append(steps)
    never = sum(steps == 0 for steps in weak)
    return Finding(
        f"in {never} of {len(weak)}; with 100 classes or more and tau = 1 it allows less for {span(others, 'd')} steps",
        0.5 - max(weak),
    )


@measures("sa-corollary-1")
def corollary_1(coupled):
    return corollary(coupled, lambda r: (r.cka, r.rho, r.gram_norm))


@measures("sa-corollary-2")
def corollary_2(coupled):
    n = coupled[0].config.n
    root = np.sqrt(n * (n - 1) / 2)
    return corollary(coupled, lambda r: (r.rsa, r.r, r.std * root))


@measures("sa-corollaries-far")
def corollaries_far(far):
    texts, margins = [], []
    for name, (found, promised) in far.items():
        texts.append(f"{name} {found:.2f}, where at least {promised:.2f} is promised")
        margins.append(found - promised)
    return Finding("; ".join(texts), *margins)


@measures("sa-exponent")
def exponent(moving_exponents, coupled):
    values = np.array([*moving_exponents.values()])
    moved = [run.positives for run in coupled]  # over S / (tau N)
    # If positives could move further than this, so small a sum of step sizes would not be needed.
    least = values / max(1.0, *moved)
    return Finding(
        f"at least {listed(values, '.0f')}; positives have moved {span(moved)} of S / (tau N)",
        1 - least.max(),
    )


@measures("sa-prefactor")
def prefactor(imagenet_batches):
    by_tau, inside = {}, []
    for (batch, tau), (share, _) in imagenet_batches.items():
        by_tau.setdefault(f"at tau = {tau:g}:", []).append(share)
        if tau == 1 and batch >= 512:
            inside.append(share)
    batches = sorted({batch for batch, _ in imagenet_batches})
    before = f"factor / N at B = {listed(batches, 'd')}, "
    return lists(by_tau, 0.2 - max(inside), before=before)


@measures("sa-gap-negligible")
def gap_negligible(imagenet_batches):
    share, power = imagenet_batches[1024, 1.0]
    size = np.log10(share) + power / np.log(10)  # log10 of the bound / N
    return Finding(
        f"bound / N is 10 to the power {size:.0f}; without the growth factor, which is not needed where no point "
        f"repeats, {share:.3f}",
        -1 - size,
    )


@measures("sa-rho")
def rho(printed_cka):
    least = np.sqrt(1 - printed_cka**2)
    return Finding(f"at a CKA of {printed_cka:.2f} it is at least {least:.2f}", 0.1 - least)


@measures("sa-recurrence")
def recurrence(coupled):
    def quotient(run):
        c = run.config
        after = np.append(run.path[1:], run.drift[-1])
        grown = growth(c) * run.path
        added = c.eta * allowed(run) / (c.tau * c.batch**0.5)
        return after / (grown + added)

    return over_all(coupled, quotient)


@measures("sa-range")
def value_range(random_pairs):
    cka, rsa = np.moveaxis(random_pairs, -1, 0)  # (seeds, draws) each
    return ranges(
        {"CKA": cka, "RSA": rsa},
        cka.min(),
        rsa.min(),
        1 + ROOM - cka.max(),
        1 + ROOM - rsa.max(),
    )


@measures("sa-closest")
def closest(digits, lars):
    least = [nscl_lead(run)[after_warmup(run)].min() for run in digits]
    last = [nscl_lead(run)[-1] for run in lars]
    return ranges({"smallest lead": least, "with LARS, at the end": last}, Every(least), last)


@measures("sa-two-classes")
def two_classes(by_classes):
    lead = np.array([nscl_lead(run)[-1] for run in by_classes[2]])
    return ranges({"leads by": lead}, 0.05 - lead, form="+.4f")


@measures("sa-easy-classes")
def easy_classes(by_classes, easy):
    hard = by_classes[20]
    near = final(hard) - final(hard, SCL)
    far = final(easy) - final(easy, SCL)
    return lists({"at spread .5:": far, "at 1.2:": near}, near - far)


def photo_leads(photographs) -> dict:
    """{set and measure: (seeds, epochs) by how much NSCL is ahead of SCL and CE}, from the second epoch on."""
    found = {}
    for name, record in photographs.items():
        for key in ("cka", "rsa"):
            late = record[key].isel(epoch=slice(2, None))
            found[f"{name} {key.upper()}"] = ahead(late)
    return found


@measures("sa-photo-order")
def photo_order(photographs):
    over_time = photo_leads(photographs)
    leads = {name: last(lead) for name, lead in over_time.items()}
    return lists(leads, *leads.values(), before="leads by: ")


@measures("sa-photo-throughout")
def photo_throughout(photographs):
    over_time = photo_leads(photographs)
    leads = {name: lead.min("epoch") for name, lead in over_time.items()}
    return lists(leads, *map(Every, leads.values()), before="smallest lead: ")


@measures("sa-long-lars")
def closest_with_lars(long_lars):
    lead = ahead(long_lars.cka.sel(step=slice(50, None)))
    smallest = lead.min("step")
    return lists({"smallest lead": smallest, "at the end": last(lead)}, Every(smallest), form=".3f")


@measures("sa-decline")
def decline(long_pairs):
    curves = [r.cka[np.isin(r.steps, (200, 500, 600)), NSCL] for r in long_pairs]
    early, middle, late = np.transpose(curves)  # (seeds,) each
    return ranges({"after 200:": early, "after 500:": middle, "after 600:": late}, early - late)


@measures("sa-long-lars-fall")
def fall_with_lars(long_lars):
    nscl = long_lars.cka.sel(loss="nscl")
    fall = nscl.sel(step=300) - last(nscl)
    return lists({"falls by": fall}, fall, form=".3f")


@measures("sa-photo-scl-zero", "CIFAR-10")
@measures("sa-scl-zero", "digits")
def scl_zero(name, images):
    """Whether SCL's CKA with DCL ends near 0, and NSCL's does not."""
    nscl, scl = at_end(images[name], "cka", "nscl", "supcon")
    return lists({"SCL": scl, "NSCL": nscl}, 0.1 - scl, nscl - 0.5)


@measures("sa-tight")
def tight(long_lars):
    cl, scl = at_end(long_lars, "within", "dcl", "supcon")
    return lists({"SCL": scl, "DCL": cl}, 0.5 - scl / cl, form=".3f")


@measures("sa-photo-ce-between", "MNIST")
@measures("sa-photo-ce-between-cifar", "CIFAR-10")
@measures("sa-ce-between", "digits")
def ce_between(name, images):
    """Whether CE's CKA with DCL is between NSCL's and SCL's at the end."""
    nscl, scl, ce = at_end(images[name], "cka", "nscl", "supcon", "ce")
    return lists({"NSCL": nscl, "CE": ce, "SCL": scl}, nscl - ce, ce - scl)


def rise(record, key: str):
    """(seeds,) by how much CE's similarity with DCL ends above its smallest value."""
    ce = record[key].sel(loss="ce")
    return last(ce) - ce.min(time(ce))


@measures("sa-ce-dips")
def ce_dips(photographs, momentum):
    digits, points = momentum
    found = {}
    for name, record in photographs.items():
        found[f"{name} CKA"] = rise(record, "cka")
        found[f"{name} RSA"] = rise(record, "rsa")
    found["digits CKA"] = rise(digits, "cka")
    found["50 classes CKA"] = rise(points, "cka")
    conditions = [Every(one - 0.05) for one in found.values()]
    return lists(found, *conditions, before="ends above its smallest value by: ")


@measures("sa-ce-dips-lars")
def ce_dips_with_lars(long_lars):
    cka = rise(long_lars, "cka")
    rsa = rise(long_lars, "rsa")
    return lists(
        {"CKA ends above its smallest value by": cka, "RSA by": rsa},
        Every(cka - 0.05),
        Every(rsa - 0.05),
    )


@measures("sa-more-classes")
def more_classes(by_classes):
    means, rises = {}, []
    for key in SIMILARITIES:
        values = np.array([final(runs, NSCL, key) for runs in by_classes.values()])
        means[key] = values.mean(1)
        rises += list(np.diff(values, axis=0))
    return lists({"CKA": means["cka"], "RSA": means["rsa"]}, *rises)


@measures("sa-subsets")
def subsets(subsets):
    ends = subsets.isel(step=-1)
    means = ends.mean("seed")
    rises = ends.sel(classes=10) - ends.sel(classes=2)
    return lists(
        {"CKA": means.cka, "RSA": means.rsa, "on training points CKA": means.cka_train},
        *(rises[key] for key in SIMILARITIES),
    )


@measures("sa-classes-decline")
def classes_decline(by_classes):
    fall = []
    for runs in by_classes.values():
        curves = [run.cka[after_warmup(run), NSCL] for run in runs]
        fall.append([curve[0] - curve[-1] for curve in curves])
    fall = np.array(fall)
    return Finding(
        f"falls by {span(fall.mean(0))} in the mean over C; in {counted(fall > 0)} runs",
        fall.mean(0),
    )


@measures("sa-subsets-decline")
def subsets_decline(subsets):
    cka = subsets.cka  # recorded at each tenth of the training
    fall = cka.isel(step=2) - cka.isel(step=-1)
    return Finding(
        f"falls by {listed(fall.mean('seed'))} in the mean; in {counted(fall > 0)} runs",
        fall.mean("classes"),
    )


@measures("sa-photo-decline")
def photo_decline(photographs):
    changes = {}
    for name, record in photographs.items():
        cka = record.cka.sel(loss="nscl")
        changes[name] = last(cka) - cka.isel(epoch=3)
    falls = [-change for change in changes.values()]
    return lists(changes, *falls, form="+.2f", before="changes by: ")


@measures("sa-nearest-centre")
def nearest_centre(digits, lars):
    means, rises = {}, []
    for name, runs in (("momentum", digits), ("LARS", lars)):
        values = np.array([final(runs, k, "nccc") for k in (DCL, NSCL, SCL)])
        means[f"with {name}"] = values.mean(1)
        rises += list(np.diff(values, axis=0))
    return lists(means, *rises, form=".3f", before="means: ")


@measures("sa-photo-centres", "nccc", ("CIFAR-10", "MNIST"))
@measures("sa-photo-probe", "probe", ("CIFAR-10", "MNIST"))
@measures("sa-centres-lars", "nccc", ("digits",))
@measures("sa-probe-lars", "probe", ("digits",))
def in_order(key, names, images):
    """Whether accuracies at the end, of DCL, NSCL and SCL, rise in this order."""
    means, margins = {}, []
    for name in names:
        right = images[name][key].isel(step=-1, missing_dims="ignore")
        three = right.sel(loss=["dcl", "nscl", "supcon"])
        means[name] = three.mean("seed")
        margins += list(three.diff("loss").transpose("loss", "seed"))
    return lists(means, *margins, form=".3f", before="means: ")


@measures("sa-photo-centres-ce")
def photo_centres_ce(photographs):
    found, leads = {}, []
    for name, record in photographs.items():
        ce = record.nccc.sel(loss="ce")
        nscl = record.nccc.sel(loss="nscl")
        found |= {f"{name} CE": ce, f"{name} NSCL": nscl}
        leads.append(nscl - ce if name == "CIFAR-10" else ce - nscl)
    return lists(found, *leads, form=".3f")


def highest_at_one(similarities: dict, before="") -> Finding:
    """Whether each of {name: (three temperatures, seeds)} is highest at tau = 1, the last."""
    means, leads = {}, []
    for name, (low, half, high) in similarities.items():
        means[name] = np.mean([low, half, high], 1)
        leads.append(high - np.maximum(low, half))
    return lists(means, *leads, before=before)


@measures("sa-photo-tau")
def photo_temperature(photographs, photographs_tau):
    ends = {}
    for name, middle in photographs.items():
        others = photographs_tau[name]
        records = (others.sel(tau=0.1), middle, others.sel(tau=1.0))
        for key in ("rsa", "cka"):
            ends[f"{name} {key.upper()}"] = [last(r[key].sel(loss="nscl")) for r in records]
    return highest_at_one(ends, before="at tau = .1, .5, 1, means: ")


@measures("sa-temperature")
def temperature(by_tau):
    ends = {}
    for key in ("cka", "rsa"):
        ends[key.upper()] = [final(by_tau[tau], NSCL, key) for tau in (0.1, 0.5, 1.0)]
    return highest_at_one(ends)


@measures("sa-temperature-control")
def temperature_control(temperatures):
    ends = {}
    for optimizer, name in (("sgd", "rate proportional to tau"), ("lars", "LARS")):
        last_time = temperatures.sel(optimizer=optimizer).isel(step=-1)
        for key in ("cka", "rsa"):
            ends[f"{name}, {key.upper()}"] = last_time[key].transpose("tau", "seed")
    return highest_at_one(ends)


@measures("sa-batch-linear")
def batch_linear(fixed):
    linear = batch_change(fixed.sel(budget="fixed epochs", law="linear"))
    return lists({"changes by": linear}, -linear, form="+.2f")


@measures("sa-batch-lars")
def batch_lars(sized):
    linear = batch_change(sized.sel(law="linear"))
    return lists({"changes by": linear}, -linear, form="+.3f")


@measures("sa-batch-others")
def batch_others(fixed):
    others = batch_change(fixed.sel(budget="fixed epochs")).drop_sel(law="linear")
    return lists({"changes by": others.mean("seed")}, *others, form="+.2f")


@measures("sa-batch-lars-root", ["root"])
@measures("sa-batch-lars-others", ["fourth root", "constant"])
def batch_lars_others(laws, sized):
    changes = batch_change(sized.sel(law=laws))
    return lists({"changes by": changes.mean("seed")}, *changes, form="+.3f")


@measures("sa-batch-steps")
def batch_steps(fixed, bound_changes):
    changes = batch_change(fixed.sel(budget="fixed steps"))
    bounds = np.array(bound_changes["fixed steps"])
    return lists({"changes by": changes.mean("seed")}, *-changes, *-bounds, form="+.2f")


@measures("sa-bound-batch")
def bound_batch(bound_changes):
    powers = np.array(bound_changes["fixed epochs"])  # the linear scaling first
    return lists({"changes by 10 to the power": powers}, powers[0], *-powers[1:], form=".1f")


@measures("sa-photo-gap")
def photo_gap(photographs):
    ends, grown = {}, []
    for name, record in photographs.items():
        for loss, said in GAPS.items():
            gap = record.gap.sel(loss=loss)
            end = last(gap)
            ends[f"{name} {said}"] = end
            grown.append(Every(end - gap.isel(epoch=1)))
    return lists(ends, *grown, before="at the end: ")


@measures("sa-twin-end")
def twin_end(plateau):
    end = plateau.isel(step=-1)
    twin = end.sel(loss="twin")
    nscl = end.sel(loss="nscl")
    share = twin.gap / nscl.gap
    return lists(
        {
            "gap": twin.gap,
            "NSCL's": nscl.gap,
            "CKA with DCL": twin.cka,
            "NSCL's CKA": nscl.cka,
        },
        0.8 - share,
    )


@measures("sa-weights-lars")
def weights_lars(long_lars):
    gaps, grown = {}, []
    for loss, said in GAPS.items():
        gap = long_lars["gap"].sel(loss=loss)
        first = gap.sel(step=300)
        end = last(gap)
        gaps |= {f"{said} after 300 steps": first, f"{said} at the end": end}
        grown.append(Every(end - first))
    return lists(gaps, *grown)


@measures("sa-scl-weights")
def scl_weights(digits):
    wider = []
    for run in digits:
        apart = run.gap[:, SCL] - run.gap[:, NSCL]
        wider.append(apart[after_warmup(run)].min())
    scl, nscl = (final(digits, k, "gap") for k in (SCL, NSCL))
    return ranges({"gap at the end": scl, "NSCL's": nscl}, Every(wider))


@measures("sa-photo-scl-weights")
def photo_scl_weights(images):
    gaps, wider = {}, []
    for name, record in images.items():
        nscl, scl = at_end(record, "gap", *GAPS)
        gaps |= {f"{name} SCL": scl, f"{name} NSCL": nscl}
        wider.append(Every(scl - nscl))
    return lists(gaps, *wider)


@measures("sa-architectures")
def architectures(widths, photographs):
    records = [*photographs.values()]
    for data, width in itertools.product(widths.data, widths.width):
        records.append(widths.sel(data=data, width=width))
    leads, growths = [], []
    for record in records:
        leads.append(ahead(last(record.cka)))
        gap = record["gap"].sel(loss=[*GAPS])
        growth = last(gap) - gap.isel({time(gap): 1})
        growths.append(growth.min("loss"))
    means = [lead.mean() for lead in leads]
    return Finding(
        f"leads by {listed(means, '.3f')}; gaps grow by {span(growths)}",
        *leads,
        *map(Every, growths),
    )


@measures("sa-vacuous")
def vacuous(lasting):
    by_tau, of_imagenet = {}, []
    for (name, tau), (promised, _) in lasting.items():
        by_tau.setdefault(f"tau = {tau:g}:", []).append(promised)
        if name == "ImageNet-1K":
            of_imagenet.append(promised)
    before = "it does so for so many epochs: "
    return lists(by_tau, 5.5 - min(of_imagenet), form="d", before=before)


@measures("sa-assumptions")
def assumptions(circles, networks):
    length = worst(circles, lambda r: r.G) / 2**0.5
    bend = worst(circles, lambda r: r.beta / r.constants()["beta"])
    G = worst(networks, lambda r: r.G)
    beta = worst(networks, lambda r: r.beta)
    return Finding(
        f"on the circle {length:.3f} of G and {bend:.3f} of beta; the network has G up to {G:.0f} "
        f"and beta up to {beta:.0f}",
        1 + ROOM - length,
        1 + ROOM - bend,
    )


@measures("sa-theorem-2")
def theorem_2(encoders):
    circle = worst(encoders["circle"], of_bound)
    network = worst(encoders["network"], of_bound)
    runs = encoders["circle"] + encoders["network"]
    infinite = counted([np.isinf(run.bound[-1]) for run in runs])
    below = sum(run.bound[-1] < run.triangle[-1] for run in runs)
    return Finding(
        f"drift / bound at most {circle:.2g} on the circle, {network:.2g} for the network; at "
        f"the end the bound is infinite in {infinite} runs, below the triangle "
        f"inequality in {below}",
        1 - circle,
        1 - network,
    )


@measures("sa-delta")
def delta(delta_example):
    limit = delta_example[1e9]
    return Finding(
        f"{delta_example[1.0]:.2f} at tau = 1, {limit:.2f} for tau to infinity; "
        f"without the fluctuation, at tau = 1, {2 * np.exp(2) / 999:.4f}",
        0.015 - limit,
    )


@measures("sa-eq-5")
def eq_5(circles, networks):
    runs = [*circles, *networks]
    chain = worst(runs, lambda r: r.chain / r.slope)
    quarter = []
    for run in runs:
        small = np.sqrt(run.stretch) * run.config.eta * run.slope < 0.1
        quarter.append((run.rest / run.half)[small])
    quarter = np.concatenate(quarter)
    return Finding(
        f"$J^\\top$ to {chain:.0e}; remainder of a step over that of half a step {span(quarter)}, in "
        f"{len(quarter)} steps",
        1e-10 - chain,
        0.1 - abs(quarter / 4 - 1).max(),
    )


def remainder(run):
    """The largest remainder of a step that eq. 6 allows."""
    return run.constants()["M"] / 2 * (run.config.eta * run.slope) ** 2


@measures("sa-eq-6")
def eq_6(circles):
    P = worst(circles, lambda r: r.stretch / (6 * r.config.n))
    R = worst(circles, lambda r: r.rest / remainder(r))
    return no_more({"P": P, "remainder": R})


@measures("sa-eq-7")
def eq_7(circles):
    def quotient(run):
        grown = growth(run.config) * run.missed
        pulled = run.config.eta * run.constants()["C"] * run.pull
        allowed = grown + pulled + remainder(run)
        return run.missed[1:] / allowed[:-1]

    return no_more({"circle": worst(circles, quotient)})


@measures("sa-eq-9")
def eq_9(circles):
    quotient = worst(circles, lambda r: r.missed[-1] / r.miss_bound())
    loose = [run.miss_bound() / run.moved[-1] for run in circles]
    return Finding(
        f"left / right side at most {quotient:.2g}; the right side is at least {min(loose):.0f} times what the "
        "similarities have moved",
        1 + ROOM - quotient,
    )


def varied(runs, key: str) -> dict:
    """{eta, B or tau: (seeds,) by how much the surrogate misses at the end}, with the others as in the first run."""
    usual = runs[0].config
    rest = [name for name in ("eta", "batch", "tau") if name != key]
    found = {}
    for run in runs:
        if all(getattr(run.config, name) == getattr(usual, name) for name in rest):
            found.setdefault(getattr(run.config, key), []).append(run.missed[-1])
    return found


@measures("sa-summary", [("eta", -1), ("tau", 1)])
@measures("sa-summary-batch", [("batch", 1)])
def as_it_varies(orders, varied_circles, varied_networks):
    """Whether the miss falls from each value to the next, in the mean: for each (key, direction) and encoder."""
    falls, words = [], []
    encoders = {"circle": varied_circles, "network": varied_networks}
    for (name, runs), (key, order) in itertools.product(encoders.items(), orders):
        ends = varied(runs, key)
        values = sorted(ends)[::order]
        missed = np.array([ends[value] for value in values])
        falls += list(-np.diff(np.log(missed), axis=0))
        means = listed(missed.mean(1), ".2g")
        words.append(f"{name}, {key} {listed(values, 'g')}: {means}")
    return Finding("; ".join(words), *falls)


def misses(runs) -> np.ndarray:
    """(seeds,) by how much the surrogate misses at the end, over how far the similarities have moved."""
    return np.array([run.missed[-1] / run.moved[-1] for run in runs])


@measures("sa-surrogate")
def surrogate(circles, networks):
    circle = misses(circles)
    network = misses(networks)
    return ranges(
        {"circle": circle, "network": network},
        Every(1 - circle),
        Every(1 - network),
        form=".3g",
        before="misses by so many times what they move: ",
    )


def cosines(runs) -> np.ndarray:
    """(seeds,) cosine between the movements of the encoder's similarities and of the surrogate, at the end."""
    return np.array([run.cosine[-1] for run in runs])


@measures("sa-surrogate-free")
def free_surrogate(free):
    dimensions = [*free]
    found = np.array([cosines(runs) for runs in free.values()])  # (d, seeds)
    means = found.mean(1)
    rises = np.diff(found, axis=0)
    at_128 = found[dimensions.index(128)]
    largest = max(dimensions)
    miss = misses(free[largest]).mean()
    scaled = np.sqrt(1 - means[-1] ** 2)
    return lists(
        {
            f"cosine at d = {listed(dimensions, 'd')}:": means,
            f"with d = {largest} it misses, in parts of the movement, by": [miss],
            "on the best time scale by": [scaled],
        },
        *map(Every, (*rises, at_128 - 0.8)),
    )


@measures("sa-time-scale")
def time_scale(varied_circles, varied_networks, wide_networks, free_near):
    # Of what is varied, ten seeds of the usual settings are the first runs.
    found = {
        "circle": cosines(varied_circles[:10]),
        "network": cosines(varied_networks[:10]),
        "512 units": cosines(wide_networks),
        "views near their points": cosines(free_near[128]),
    }
    conditions = [Every(0.5 - values) for values in found.values()]
    return ranges(found, *conditions, before="cosine: ")


@measures("sa-nscl-loss")
def nscl_loss(readings):
    names = [name for name in readings if name.startswith("NSCL")]
    section, *_, printed = (readings[name] for name in names)
    return Finding(f"it is {printed}; Section 3's loss is {section:.2f}", np.isfinite(printed))


@measures("sa-repeated-anchors")
def repeated_anchors(sides):
    distinct = sides["distinct"]
    repeated = sides["repeated"].mean(0)
    squares, lipschitz, size = distinct.max(0)
    error = abs(distinct[:, 0] - 1).max()
    return Finding(
        f"left / right in eqs. 10, 11, 13: {listed([squares, lipschitz, size])}; with repeats "
        f"{listed(repeated, '.0f')}",
        1e-12 - error,
        1 - lipschitz,
        1 - size,
    )


@measures("sa-lemma-2")
def lemma_2(softmax_curvature, batch_curvature):
    *_, second, largest = np.sort(softmax_curvature)
    of_losses = batch_curvature.max()
    return Finding(
        f"attained at (1/2, 1/2), to {abs(largest - 0.5):.0e}, else at most {second:.3f}; batch losses "
        f"{of_losses:.2f} of the bound",
        0.5 + ROOM - largest,
        1 + ROOM - of_losses,
    )


@measures("sa-lemma-3")
def lemma_3(anchors):
    squares = anchors["squares"]
    error = abs(squares - anchors["display"]).max()
    largest = squares.max()
    return Finding(
        rf"equal to {error:.0e}; times $\tau^2$ at most {largest:.3f} (the second case of the proof forgets "
        "the attraction)",
        1e-12 - error,
        2 - largest,
    )


@measures("sa-lemma-4")
def lemma_4(masses):
    sets, ratios = masses.max(0)
    return Finding(
        f"$\\log(Z/|S|)$ at most {sets:.3f}, the logarithm of the quotient of ratios at most {ratios:.3f} "
        "of what is allowed",
        1 + 1e-12 - sets,
        1 + 1e-12 - ratios,
    )


def misprinted(printed: float, corrected: float) -> str | None:
    """The verdict where the printed form fails: it depends on whether the corrected one holds. Positive is met."""
    return "fails" if printed < 0 and corrected < 0 else None


@measures("sa-lemma-5")
def lemma_5(share_tails, negative_share):
    off, over = share_tails["printed"]
    rest, below = share_tails["corrected"]
    printed = (1e-9 - off, ROOM - over)
    corrected = (1e-9 - rest, ROOM - below)
    at_most = np.exp(over)
    at_most_corrected = np.exp(below)
    drawn = span(negative_share, ".3f")
    return Finding(
        f"the mean is off by up to {off:.2f}, a probability {at_most:.3g} times what is allowed; corrected, by "
        f"{rest:.0g} and {at_most_corrected:.3g} times. Drawn, B = 8, C = 10: {drawn}, not .9",
        *printed,
        verdict=misprinted(min(printed), min(corrected)),
    )


@measures("sa-corollary-3")
def corollary_3(missed_promises):
    printed, corrected, allowed = missed_promises.T
    most = (corrected / allowed).max()
    left = (allowed - printed).min()
    left_corrected = (allowed - corrected).min()
    return Finding(
        f"less in {span(printed[:2], '.0%')} of the draws of two points, {allowed[0]:.0%} allowed; corrected, at most "
        f"{most:.2f} of what is allowed in {len(allowed)} settings",
        left,
        verdict=misprinted(left, left_corrected),
    )


@measures("sa-mass")
def mass(coupled):
    return over_all(coupled, lambda r: r.mass / (allowed(r) / 2))


@measures("sa-lemma-6")
def lemma_6(anchors, coupled):
    gap = worst(coupled, lambda r: r.reweighting / allowed(r))
    return Finding(
        rf"at most {gap:.2f} of it; $2\alpha$ to {anchors['identity']:.0e}",
        1e-12 - anchors["identity"],
        1 - gap,
    )


@measures("sa-lemma-6-range")
def lemma_6_range(large_steps):
    ratio = np.array([run.reweighting.max() / allowed(run) for run in large_steps])
    kept = counted([(run.drift <= run.bound).all() for run in large_steps])
    entry = max(run.largest for run in large_steps)
    return Finding(
        f"{span(ratio, '.1f')} times it, at entries up to {entry:.0f}; the drift keeps below Theorem 1 "
        f"in {kept}",
        Every(ratio - 1),
    )


@measures("sa-lemma-7")
def lemma_7(encoders):
    return by_encoder(
        encoders, lambda r: r.apart / (r.constants()["G"] * allowed(r) / r.config.tau)
    )


@measures("sa-eq-15")
def eq_15(encoders):
    def quotient(run):
        c, found = run.config, run.constants()
        added = c.eta * found["G"] * allowed(run) / c.tau
        grown = (1 + found["beta"] * c.eta) * run.drift[:-1]
        return run.drift[1:] / (grown + added)

    return by_encoder(encoders, quotient)


@measures("sa-lemma-8")
def lemma_8(coupled):
    def quotient(run):
        c = run.config
        of_losses = allowed(run) / (c.tau * c.batch**0.5)
        of_tables = run.path / (2 * c.tau**2 * c.batch)
        return run.gaps / (of_losses + of_tables)

    return over_all(coupled, quotient)
