"""What CS's claims are judged on and takes over a second to compute: each function is the recipe of a record."""

import numpy as np

from clbook import sweep
from clbook.experiments.content_style import Config, collapse, run, style_gain
from clbook_book.audit.cs import flow, optima
from clbook_book.course.content_style.series import SPHERE

SEEDS, FIVE = range(3), range(5)
SCALES = (1e-3, 1e-2, 0.1, 0.3, 1.0, 3.0)  # sizes of W, for `errors`
# Kinds of W and of the generator from which d_c is read off the gradient.
STARTS = {
    "both rotations": {},
    "W gaussian": {"start": "gaussian"},
    "g gaussian": {"mixing": "gaussian"},
    "g gaussian, x whitened": {"mixing": "gaussian", "whiten": True},
}
TAUS = (0.01, 0.1, 1.0, 10.0, 100.0)  # temperatures of the content dimensions
WARM = SPHERE.replace(style_sd=0.3)
TEMPERED = {  # encoders that are trained at each of them
    "box, p = 2": Config(),
    "box, p = 1": Config(p=1),
    "sphere, tau = 1": WARM.replace(tau=1.0),
    "sphere, tau = 0.5": WARM.replace(tau=0.5),
    "sphere, tau = 0.25": WARM.replace(tau=0.25),
}
READ_FROM = {800: flow.descent, 8000: flow.lemma5, 40_000: flow.lemma5}  # so many pairs


def of_seeds(function, *args, seeds=SEEDS, **settings) -> list:
    """What the function gives there, for each seed."""
    return [function(*args, seed=s, **settings) for s in seeds]


def keeping(seeds=FIVE):
    """{world: of each seed, the losses of maps that keep content and scale style, and what can be read from them}."""
    bases = {"sphere": SPHERE.replace(tau=1.0), "box": Config(d_c=4)}
    found = {}
    for world, base in bases.items():
        found[world] = sweep(optima.keeping, [base.replace(seed=s) for s in seeds])
    return found


def _compared(result) -> np.ndarray:
    """The inverse of g, the best-scaled one, the trained map; with content, content alone and beside style."""
    c, eye = result.config, np.eye(result.config.d)
    maps = [eye, optima.best_scale(eye, c) * eye, result.map[-1]]
    if c.d_c:
        content = np.diag(1.0 * (np.arange(c.d) < c.d_c))
        maps += [30 * content, 29 * content + eye]
    return np.stack(maps)


def parts(seeds=FIVE):
    """{(world, d_c): (seeds, 3, maps) alignment, uniformity and total of the linear maps of the table of losses}."""
    bases = {("box", k): Config(d_c=k) for k in (0, 2)}
    bases |= {("sphere", k): SPHERE.replace(d_c=k) for k in (0, 4)}
    runs = iter(sweep(run, [base.replace(seed=s) for base in bases.values() for s in seeds]))
    found = {}
    for key in bases:
        of_key = [next(runs) for _ in seeds]
        found[key] = np.array([optima.parts(_compared(one), one.config) for one in of_key])
    return found


def temperatures():
    """{encoder: style's gain over content's, as trained and with the temperatures undone, (2, TAUS)}; one seed."""
    found = {}
    for name, base in TEMPERED.items():
        runs = sweep(run, [base.replace(tau_c=tau) for tau in TAUS])
        trained = [style_gain(one.map[-1], one.config.d_c) for one in runs]
        undone = [style_gain(one.undone[-1], one.config.d_c) for one in runs]
        found[name] = np.array([trained, undone])
    return found


def errors(seeds=SEEDS):
    """Of each seed the relative errors of Lemma 5, corrected, as printed, without the negatives' gradient."""
    # The first seed has all sizes of W, for the figure; the claim is about the smallest.
    return [flow.lemma5_errors(SCALES[:1] if s else SCALES, seed=s) for s in seeds]


def _share_right(**settings) -> np.ndarray:
    """(seeds,) share of the seven d_c that the largest drop of the gradient's singular values tells."""
    right = []
    for d_c in range(1, 8):
        values = of_seeds(flow.gradient_spectrum, d_c, **settings)
        right.append([flow.largest_drop(of_seed) == d_c for of_seed in values])
    return np.mean(right, 0)


def readings(seeds=SEEDS):
    """{start: (style sd, number of pairs, seed) share of the seven d_c that are read off rightly}."""
    found = {}
    for name, start in STARTS.items():
        shares = []
        for sd in (0.1, 0.3):
            for n, gradient in READ_FROM.items():
                shares.append(_share_right(style_sd=sd, n=n, flow=gradient, seeds=seeds, **start))
        found[name] = np.reshape(shares, (2, len(READ_FROM), len(seeds)))
    return found


def _growth_ratios(config: Config) -> np.ndarray:
    """(seeds,) how much faster content grows than style, at small weights."""
    rates = [flow.growth(config.replace(seed=s), samples=200) for s in FIVE]
    return np.array([rate[:4].mean() / rate[4:].mean() for rate in rates])


def recipe():
    """{(content sd, name of a tau_c): (tau_c, (seeds,) how much faster content grows)}."""
    found = {}
    for sd in (0.01, 0.05, 0.1, 0.15):
        base = Config(d_c=4, content_sd=sd)
        equal = float(_growth_ratios(base).mean())
        dials = {"1": 1.0, "the recipe": sd / base.style_sd, "equal rates": equal}
        for name, tau_c in dials.items():
            found[sd, name] = (tau_c, _growth_ratios(base.replace(tau_c=tau_c)))
    return found


def surface():
    """{d_c: (content, style) the loss of maps that find the latents and scale them}."""
    content, style = np.geomspace(0.3, 30, 13), np.linspace(0, 6, 31)
    return {k: collapse.surface(content, style, k, batches=4) for k in (1, 2, 4)}
