"""What SA report of trained networks, judged on the chapter's runs; what they prove is judged in `theory_claims`."""

import numpy as np

from clbook.claims import Chapter, Finding

chapter = Chapter("alignment")
DCL, NSCL, SCL, CE = range(4)  # the columns of what a run records
SEEN = "holds", "not seen here"  # of what SA saw in trainings unlike ours
RESNET = "ResNet-50 on real images, LARS, B = 1024"
DIGITS = "scikit-learn's digits, a perceptron, momentum, B = 128"
SYNTHETIC = "2,000 points of synthetic classes, a perceptron, momentum"
BATCHES = f"{SYNTHETIC}, C = 10, B = 32, 64, 128"
THEIR_BATCHES = "ResNet-50 on Mini-ImageNet, LARS, B = 256, 512, 1024, 300 epochs"


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


def change(by_batch) -> np.ndarray:
    """(scalings, seeds): CKA at the largest batch minus that at the smallest, of (scalings, sizes, seeds)."""
    return by_batch[:, -1] - by_batch[:, 0]


def span(values, form: str = ".2f") -> str:
    """The range of some numbers."""
    return f"{np.min(values):{form}} to {np.max(values):{form}}"


def listed(values, form: str = ".2f") -> str:
    """Some numbers, one after the other."""
    return ", ".join(format(value, form) for value in values)


@chapter.claim(
    "sa-closest", "SA Fig. 2, order", shown=True, anchor="sa-training", verdicts=SEEN,
    says="While they train, NSCL is closer to CL than SCL and cross-entropy are",
    theirs=f"{RESNET}, four data sets, 1,000 epochs", here=f"{DIGITS}, 200 iterations; at the end also with LARS",
    bar="the highest CKA at each recorded time after the warm-up, and at the end with LARS", evidence="3 seeds")
def closest(digits, lars):
    least, at_end = np.array([lead(r)[late(r)].min() for r in digits]), np.array([lead(r)[-1] for r in lars])
    return Finding(f"smallest lead {span(least)}; with LARS, at the end, {span(at_end)}", float(least.mean()),
                   (least, at_end))


@chapter.claim(
    "sa-decline", "SA Fig. 2, decline", anchor="fig-sa-apart", verdicts=SEEN,
    says="Alignment falls when training goes on for much longer", theirs=f"{RESNET}, beyond 1,000 epochs",
    here=f"{DIGITS}, constant rate, 600 iterations (66 epochs)",
    bar="lower CKA after 600 iterations than after 200", evidence="3 seeds")
def decline(long):
    cka = np.array([r.cka[np.isin(r.steps, (200, 500, 600)), NSCL] for r in long])
    found = "; ".join(f"{span(values)} after {t}" for values, t in zip(cka.T, (200, 500, 600), strict=True))
    return Finding(found, float(cka[:, -1].mean()), (cka[:, 0] - cka[:, -1],))


@chapter.claim(
    "sa-two-classes", "SA Fig. 2, order", ours=True, shown=True, anchor="fig-sa-classes",
    says="With two classes NSCL is no closer to CL than SCL and cross-entropy are",
    theirs="not said: the three are compared for 10 classes or more", here=f"{SYNTHETIC}, 200 iterations",
    bar="it leads by less than .05 in CKA", evidence="3 seeds")
def two_classes(by_classes):
    ahead = np.array([lead(run)[-1] for run in of(by_classes, 2)])
    return Finding(f"leads by {span(ahead, '+.4f')}", float(ahead.mean()), (0.05 - ahead,))


@chapter.claim(
    "sa-easy-classes", "SA Fig. 2, order", ours=True, anchor="sa-classes",
    says="Where the classes lie far apart NSCL leads SCL by less", theirs="not said",
    here=f"{SYNTHETIC}, C = 20, spread .5 against 1.2, 200 iterations",
    bar="a smaller lead in CKA at spread .5 (set after the run)", evidence="3 seeds")
def easy_classes(by_classes, easy):
    near, far = (ends(runs) - ends(runs, SCL) for runs in (of(by_classes, 20), easy))
    return Finding(f"{listed(far)} at spread .5, {listed(near)} at 1.2", float(far.mean()), (near - far,))


@chapter.claim(
    "sa-more-classes", "SA Fig. 3, test sets; SA Fig. 3, training sets; SA Fig. 7", shown=True, anchor="fig-sa-classes",
    says="The more classes in training, the higher CKA and RSA of CL and NSCL", verdicts=SEEN,
    theirs=f"{RESNET}, subsets of the classes, 1,000 epochs", here=f"{SYNTHETIC}, C = 2, 5, 10, 20, 50, 200 iterations",
    bar="both rise from each number of classes to the next, on test and on training points", evidence="3 seeds")
def more_classes(by_classes):
    measures = "cka", "rsa", "cka_train", "rsa_train"
    cka, rsa, *_ = rising = [np.array([ends(runs, NSCL, key) for runs in by_classes]) for key in measures]
    return Finding(f"CKA {listed(cka.mean(1))}; RSA {listed(rsa.mean(1))}", float(cka[-1].mean()),
                   tuple(np.diff(values, axis=0).min(0) for values in rising))


@chapter.claim(
    "sa-classes-decline", "SA Fig. 3, decline", anchor="fig-sa-heatmap", verdicts=SEEN,
    says="For a fixed number of classes CKA tends to fall as training goes on",
    theirs=f"{RESNET}, five data sets, 1,000 epochs", here=f"{SYNTHETIC}, C = 2, 5, 10, 20, 50, 200 iterations",
    bar="lower at the end than at iteration 32, after the warm-up, in the mean over C (set after the run)",
    evidence="3 seeds")
def classes_decline(by_classes):
    fall = np.array([[run.cka[late(run), NSCL][0] - run.cka[-1, NSCL] for run in runs] for runs in by_classes])
    return Finding(f"falls by {span(fall.mean(0))} in the mean over C; in {np.sum(fall > 0)} of {fall.size} runs",
                   float(fall.mean()), (fall.mean(0),))


@chapter.claim(
    "sa-temperature", "SA Fig. 4, CKA; SA Fig. 4, RSA", shown=True, anchor="fig-sa-tau", verdicts=SEEN,
    says="Of the temperatures .1, .5 and 1 the highest aligns CL and NSCL most",
    theirs=f"{RESNET}, four data sets, 300 epochs",
    here=f"{SYNTHETIC}, C = 10, 200 iterations, one learning rate for all",
    bar="CKA and RSA higher at 1 than at .5 and .1", evidence="3 seeds")
def temperature(by_tau):
    cka, rsa = (np.array([ends(runs, NSCL, key) for runs in by_tau]) for key in ("cka", "rsa"))
    return Finding(f"CKA {listed(cka.mean(1))}; RSA {listed(rsa.mean(1))}", float(cka[-1].mean()),
                   tuple(values[-1] - values[:-1].max(0) for values in (cka, rsa)))


@chapter.claim(
    "sa-batch-linear", "SA Fig. 5, a", anchor="fig-sa-batch", verdicts=SEEN, theirs=THEIR_BATCHES,
    says="With a learning rate proportional to B alignment falls as B grows", here=f"{BATCHES}, 12,800 points seen",
    bar="lower CKA at B = 128 than at 32", evidence="5 seeds")
def batch_linear(fixed):
    linear, *_ = change(fixed["fixed epochs"])
    return Finding(f"changes by {listed(linear, '+.2f')}", float(linear.mean()), (-linear,))


@chapter.claim(
    "sa-batch-others", "SA Fig. 5, b; SA Fig. 5, c; SA Fig. 5, d", anchor="fig-sa-batch", verdicts=SEEN,
    says="With a rate that grows like the square or the fourth root of B, or not at all, alignment rises with B",
    theirs=THEIR_BATCHES, here=f"{BATCHES}, 12,800 points seen",
    bar="higher CKA at B = 128 than at 32, for each of the three", evidence="5 seeds")
def batch_others(fixed):
    _, *others = change(fixed["fixed epochs"])
    return Finding(f"changes by {listed(np.mean(others, 1), '+.2f')}", float(np.mean(others)), tuple(others))


@chapter.claim(
    "sa-batch-steps", "SA Section 5.1, bound against Fig. 5", ours=True, anchor="fig-sa-batch",
    says="At a fixed number of steps CKA rises with B under all four scalings, as Theorem 1's bound falls",
    theirs="not said: SA fix the epochs", here=f"{BATCHES}, 200 steps",
    bar="higher CKA at B = 128 than at 32, for each of the four", evidence="5 seeds")
def batch_steps(fixed):
    changes = change(fixed["fixed steps"])
    return Finding(f"changes by {listed(changes.mean(1), '+.2f')}", float(changes.mean()), tuple(changes))


@chapter.claim(
    "sa-weights-part", "SA Fig. 1, c; SA Fig. 6, growth", shown=True, anchor="fig-sa-apart", verdicts=SEEN,
    says="The weights of CL and NSCL part while CKA and RSA stay high", theirs=f"{RESNET}, 1,000 epochs",
    here=f"{DIGITS}, constant rate, 600 iterations (66 epochs); SCL's weights: 200 iterations",
    bar="the weight gap, SCL's too, rises at each recorded time after the warm-up; CKA and RSA stay nearer to 1 than "
        "to 0 (set after the run)", evidence="3 seeds")
def weights_part(long, digits):
    growth = [[float(np.diff(r.gap[late(r), k]).min()) for r in runs] for runs, k in ((long, NSCL), (digits, SCL))]
    cka, rsa = (np.array([getattr(r, key)[:, NSCL].min() for r in long]) for key in ("cka", "rsa"))
    return Finding(f"gap {span(ends(long, NSCL, 'gap'))} at the end; CKA at least {span(cka)}, RSA {span(rsa)}",
                   float(cka.mean()), (*growth, cka - 0.5, rsa - 0.5))


@chapter.claim(
    "sa-scl-weights", "SA Fig. 6, SCL", anchor="sa-apart", verdicts=SEEN,
    says="SCL's weights part from CL's further than NSCL's do", theirs=f"{RESNET}, four data sets, 1,000 epochs",
    here=f"{DIGITS}, 200 iterations", bar="the wider gap at each recorded time after the warm-up", evidence="3 seeds")
def scl_weights(digits):
    wider = np.array([(r.gap[late(r), SCL] - r.gap[late(r), NSCL]).min() for r in digits], float)
    scl, nscl = (ends(digits, k, "gap") for k in (SCL, NSCL))
    return Finding(f"gap {span(scl)} against {span(nscl)} at the end", float(scl.mean()), (wider,))


@chapter.claim(
    "sa-weight-angle", "SA Fig. 1, a", anchor="fig-sa-apart", verdicts=("holds", "undecided"),
    says="The weights of CL and NSCL end up moved in nearly perpendicular directions",
    theirs="CIFAR-100, ResNet-50, 1,000 epochs: 85.7 degrees",
    here=f"{DIGITS}, constant rate, 600 iterations (66 epochs), when the angle still grows",
    bar="within 10 degrees of a right angle", evidence="3 seeds")
def weight_angle(long):
    turned = ends(long, NSCL, "weight_angle")
    return Finding(f"{span(turned, '.0f')} degrees when the runs end", float(turned.mean()), (turned - 80,))


@chapter.claim(
    "sa-class-angle", "SA Fig. 1, b; SA Fig. 1, a", anchor="fig-sa-apart", verdicts=SEEN,
    says="The mean embedding of a class has turned apart by less than the weights",
    theirs="one class of CIFAR-100: 27.8 degrees against 85.7",
    here=f"{DIGITS}, 600 iterations; the first class, in SA's way, and the mean over the ten classes",
    bar="the smaller angle, for both", evidence="3 seeds")
def class_angle(long):
    weights, first, mean = (ends(long, NSCL, key) for key in ("weight_angle", "pca_angle", "class_angle"))
    return Finding(f"{span(first, '.0f')} degrees, mean over classes {span(mean, '.0f')}; weights "
                   f"{span(weights, '.0f')}", float(first.mean()), (weights - first, weights - mean))


@chapter.claim(
    "sa-nearest-centre", "SA Table 1, NCCC", anchor="sa-training", verdicts=SEEN,
    says="By the nearest class centre CL is the least accurate, then NSCL, then SCL",
    theirs=f"{RESNET}, four data sets", here=f"{DIGITS}, and with LARS; 200 iterations, 400 test images",
    bar="this order in every seed, with momentum and with LARS", evidence="3 seeds")
def nearest_centre(digits, lars):
    plain, layered = (np.array([ends(runs, k, "nccc") for k in (DCL, NSCL, SCL)]) for runs in (digits, lars))
    return Finding(f"means {listed(plain.mean(1), '.3f')}; with LARS {listed(layered.mean(1), '.3f')}",
                   float(plain[1].mean()), tuple((np.diff(values, axis=0) > 0).all(0) for values in (plain, layered)))


from clbook.experiments.alignment import theory_claims  # noqa: E402, F401  (registers the claims on the theory)
