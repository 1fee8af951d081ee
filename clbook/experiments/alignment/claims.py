"""What SA report of trained networks, judged on the chapter's runs; the room `sa` judges the rest of the paper."""

import numpy as np

from clbook.claims import Chapter, Finding, listed, span

chapter = Chapter(__file__)
DCL, NSCL, SCL, CE = range(4)  # the columns of what a run records


def ends(runs, k: int = NSCL, key: str = "cka") -> np.ndarray:
    """What network k of each run has at the end."""
    return np.array([getattr(run, key)[-1, k] for run in runs], float)


def late(run) -> slice:
    """The recorded times at which the warm-up is over."""
    return slice(int(np.searchsorted(run.steps, run.config.warmup)), None)


def lead(run) -> np.ndarray:
    """By how much NSCL's CKA with DCL is above the larger one of SCL and CE, at each recorded time."""
    return run.cka[:, NSCL] - np.maximum(run.cka[:, SCL], run.cka[:, CE])


def of(by_classes, count: int) -> list:
    """The runs with so many classes."""
    return next(runs for runs in by_classes if runs[0].config.classes == count)


def change(fixed, budget: str):
    """(laws, seeds) CKA at the largest batch minus that at the smallest."""
    ends = fixed.sel(budget=budget)
    return ends.sel(batch=128) - ends.sel(batch=32)


@chapter.measure("sa-closest")
def closest(digits, lars):
    least, at_end = (
        np.array([lead(r)[late(r)].min() for r in digits]),
        np.array([lead(r)[-1] for r in lars]),
    )
    return Finding(
        f"smallest lead {span(least)}; with LARS, at the end, {span(at_end)}",
        float(least.mean()),
        (least, at_end),
    )


@chapter.measure("sa-decline")
def decline(long):
    cka = np.array([r.cka[np.isin(r.steps, (200, 500, 600)), NSCL] for r in long])
    found = "; ".join(
        f"{span(values)} after {t}" for values, t in zip(cka.T, (200, 500, 600), strict=True)
    )
    return Finding(
        found,
        float(cka[:, -1].mean()),
        (cka[:, 0] - cka[:, -1],),
    )


@chapter.measure("sa-two-classes")
def two_classes(by_classes):
    ahead = np.array([lead(run)[-1] for run in of(by_classes, 2)])
    return Finding(
        f"leads by {span(ahead, '+.4f')}",
        float(ahead.mean()),
        (0.05 - ahead,),
    )


@chapter.measure("sa-easy-classes")
def easy_classes(by_classes, easy):
    hard = of(by_classes, 20)
    near = ends(hard) - ends(hard, SCL)
    far = ends(easy) - ends(easy, SCL)
    return Finding(
        f"{listed(far)} at spread .5, {listed(near)} at 1.2",
        float(far.mean()),
        (near - far,),
    )


@chapter.measure("sa-more-classes")
def more_classes(by_classes):
    means, rises = {}, []
    for key in ("cka", "rsa", "cka_train", "rsa_train"):
        values = np.array([ends(runs, NSCL, key) for runs in by_classes])
        means[key] = values.mean(1)
        rises.append(np.diff(values, axis=0).min(0))
    return Finding(
        f"CKA {listed(means['cka'])}; RSA {listed(means['rsa'])}",
        float(means["cka"][-1]),
        tuple(rises),
    )


@chapter.measure("sa-classes-decline")
def classes_decline(by_classes):
    fall = np.array(
        [[run.cka[late(run), NSCL][0] - run.cka[-1, NSCL] for run in runs] for runs in by_classes]
    )
    return Finding(
        f"falls by {span(fall.mean(0))} in the mean over C; in {np.sum(fall > 0)} of {fall.size} runs",
        float(fall.mean()),
        (fall.mean(0),),
    )


@chapter.measure("sa-temperature")
def temperature(by_tau):
    cka = np.array([ends(runs, NSCL, "cka") for runs in by_tau])
    rsa = np.array([ends(runs, NSCL, "rsa") for runs in by_tau])
    return Finding(
        f"CKA {listed(cka.mean(1))}; RSA {listed(rsa.mean(1))}",
        float(cka[-1].mean()),
        tuple(values[-1] - values[:-1].max(0) for values in (cka, rsa)),
    )


@chapter.measure("sa-batch-linear")
def batch_linear(fixed):
    linear = change(fixed, "fixed epochs").sel(law="linear")
    return Finding(
        f"changes by {listed(linear, '+.2f')}",
        float(linear.mean()),
        (-linear,),
    )


@chapter.measure("sa-batch-others")
def batch_others(fixed):
    others = change(fixed, "fixed epochs").drop_sel(law="linear")
    return Finding(
        f"changes by {listed(others.mean('seed'), '+.2f')}",
        float(others.mean()),
        tuple(others),
    )


@chapter.measure("sa-batch-steps")
def batch_steps(fixed):
    changes = change(fixed, "fixed steps")
    return Finding(
        f"changes by {listed(changes.mean('seed'), '+.2f')}",
        float(changes.mean()),
        tuple(changes),
    )


def least_growth(runs, k: int) -> list[float]:
    """The smallest growth of network k's weight gap from one recorded time to the next, of each run."""
    return [float(np.diff(r.gap[late(r), k]).min()) for r in runs]


@chapter.measure("sa-weights-part")
def weights_part(long, digits):
    growth = [least_growth(long, NSCL), least_growth(digits, SCL)]
    cka = np.array([r.cka[:, NSCL].min() for r in long])
    rsa = np.array([r.rsa[:, NSCL].min() for r in long])
    return Finding(
        f"gap {span(ends(long, NSCL, 'gap'))} at the end; CKA at least {span(cka)}, RSA {span(rsa)}",
        float(cka.mean()),
        (*growth, cka - 0.5, rsa - 0.5),
    )


@chapter.measure("sa-scl-weights")
def scl_weights(digits):
    wider = np.array([(r.gap[late(r), SCL] - r.gap[late(r), NSCL]).min() for r in digits], float)
    scl, nscl = (ends(digits, k, "gap") for k in (SCL, NSCL))
    return Finding(
        f"gap {span(scl)} against {span(nscl)} at the end",
        float(scl.mean()),
        (wider,),
    )


@chapter.measure("sa-nearest-centre")
def nearest_centre(digits, lars):
    plain, layered = (
        np.array([ends(runs, k, "nccc") for k in (DCL, NSCL, SCL)]) for runs in (digits, lars)
    )
    return Finding(
        f"means {listed(plain.mean(1), '.3f')}; with LARS {listed(layered.mean(1), '.3f')}",
        float(plain[1].mean()),
        tuple((np.diff(values, axis=0) > 0).all(0) for values in (plain, layered)),
    )


@chapter.measure("sa-loss-gap")
def loss_gap(classes, gaps):
    curves = np.log(
        [values.transpose(2, 1, 0) for values in gaps.values()]
    )  # (taus, losses, classes, seeds)
    dcl, cl = np.swapaxes(
        [[np.polyfit(np.log(classes), one, 1)[0] for one in both] for both in curves], 0, 1
    )
    return Finding(
        f"slopes {listed(dcl.mean(1))} at tau = .5, 1; with the positive, as in SA Section 3, "
        f"{listed(cl.mean(1))}",
        float(dcl.mean()),
        tuple(0.07 - abs(dcl + 1)),
    )
