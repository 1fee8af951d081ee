"""What the claims of CS are judged on: each function's name is what the measures call its result."""

import functools

import numpy as np
import torch

from clbook import records, sweep, theory
from clbook.experiments.content_style import Config, collapse, projector, series
from clbook.experiments.content_style import recipes as chapter
from clbook.papers.cs import flow, optima, recipes

SEEDS, FIVE = recipes.SEEDS, recipes.FIVE

# What the chapter on content and style shows as well.
box = series.box
sphere_grid = series.sphere_grid
deep_short = series.deep_short

SCALES = (1e-3, 1e-2, 0.1, 0.3, 1.0, 3.0)  # sizes of W, for `errors`
BATCHES = range(2, 13)  # numbers of pairs from below the eight dimensions to above them
FAR = (30, 300, 3000, 30_000, 1e8)  # sizes of the content, for `far` and `collapsed`
# Kinds of W and of the generator from which d_c is read off the gradient.
STARTS = {
    "both rotations": {},
    "W gaussian": {"start": "gaussian"},
    "g gaussian": {"mixing": "gaussian"},
    "g gaussian, x whitened": {"mixing": "gaussian", "whiten": True},
}
READ_FROM = {800: flow.descent, 8000: flow.lemma5, 40_000: flow.lemma5}  # so many pairs
SCALINGS = {
    "zero on style": [3] * 4 + [0] * 4,
    "0.1 on style": [1] * 4 + [0.1] * 4,
    "uneven on content": [1, 1, 2, 2] + [0] * 4,
}


def _of_seeds(function, *args, seeds=SEEDS, **settings) -> list:
    """What the function gives there, for each seed."""
    return [function(*args, seed=s, **settings) for s in seeds]


# The abstract, Sections 2 and 3.


@functools.cache
def keeping():
    """{world: of each seed, the losses of maps that keep content and scale style, and what can be read from them}."""
    bases = {"sphere": series.SPHERE.replace(tau=1.0), "box": Config(d_c=4)}
    found = {}
    for world, base in bases.items():
        found[world] = sweep(optima.keeping, [base.replace(seed=s) for s in FIVE])
    return found


@functools.cache
def written():
    """Our losses beside eq. 1 and 4 written out: the largest differences."""
    return _of_seeds(flow.definition_errors)


@functools.cache
def worlds():
    """Of the generators: error of the inverse, difference of content and least distance of style within pairs."""
    return _of_seeds(optima.generator_errors)


@functools.cache
def split():
    """Eq. 2 for three numbers of content dimensions: its error, and what a smaller rank leaves of the distance."""
    found = []
    for d_c in (1, 4, 7):
        found += _of_seeds(flow.alignment_split, d_c)
    return found


@functools.cache
def lowered():
    """What is left of the distance within pairs when singular values of W are set to zero."""
    return _of_seeds(flow.lower_rank)


@functools.cache
def linear():
    """{settings: (seeds, 8, 8) trained maps} of a record of linear encoders."""
    runs = recipes.runs_of("cs-linear", recipes.linear_configs())
    return {settings: found["map"].values for settings, found in runs.items()}


@functools.cache
def heated():
    """{(d_c, tau_c, style sd): (seeds, 8, 8) trained maps} of a record of linear encoders on the sphere."""
    runs = recipes.runs_of("cs-sweep", recipes.sweep_configs())
    return {settings: found["map"].values for settings, found in runs.items()}


@functools.cache
def deep():
    """{(width, world, style sd, label): runs of three seeds} of the records of deep encoders."""
    found = {}
    for name, configs in recipes.deep_configs().items():
        found |= recipes.runs_of(name, configs)
    return found


@functools.cache
def shield():
    """{(d_c, layers above the fourth): runs of three seeds} of the record of an encoder under projectors."""
    return recipes.runs_of("cs-projectors", recipes.projector_configs())


@functools.cache
def classes():
    """The record of encoders of four classes."""
    return records.load("cs-classes")


@functools.cache
def classifier():
    """The record of classifiers of four classes."""
    return records.load("cs-classifier")


# Section 4.1: Figure 1 and Table 1.


@functools.cache
def globe():
    """{d_c: runs of five seeds} of linear encoders on the sphere."""
    base = series.SPHERE.replace(style_sd=0.3)
    return series.trained({k: base.replace(d_c=k) for k in (0, 4)})


@functools.cache
def unit():
    """Error of eight temperatures as a change of units, for p = 1 and 2."""
    return [flow.unit_error(p) for p in (1, 2)]


@functools.cache
def predicted():
    """{style sd: tau d_c (1 - rho), and style's gain over content's by the linear theory} at the deep settings."""
    base = recipes.deep_configs()["cs-deep-sphere"][50, "sphere", 0.15, "content"]
    found = {}
    for sd in recipes.SDS:
        c = base.replace(style_sd=sd)
        rho = collapse.pair_cosine(c)
        share = theory.style_share(c.tau, c.d_c, c.d - c.d_c, rho)
        found[sd] = (c.tau * c.d_c * (1 - rho), share)
    return found


@functools.cache
def scaled_inverse():
    """{d_c: [(seeds,) loss of the inverse of g at its best scale, for each of two style sds]} of deep latents.

    Any generator has the same: the inverse gives the latents themselves.
    """
    eye, found = np.eye(10), {}
    for k in (5, 0):
        found[k] = []
        for sd in recipes.SDS[1:]:
            of_seeds = [Config(d=10, d_c=k, style_sd=sd, seed=s) for s in SEEDS]
            maps = [optima.best_scale(eye, c) * eye for c in of_seeds]
            losses = [optima.parts(f, c)[2] for f, c in zip(maps, of_seeds, strict=True)]
            found[k].append(np.array(losses))
    return found


def _compared(run) -> np.ndarray:
    """The inverse of g, the best-scaled one, the trained map; with content, content alone and beside style."""
    c, eye = run.config, np.eye(run.config.d)
    maps = [eye, optima.best_scale(eye, c) * eye, run.map[-1]]
    if c.d_c:
        content = np.diag(1.0 * (np.arange(c.d) < c.d_c))
        maps += [30 * content, 29 * content + eye]
    return np.stack(maps)


@functools.cache
def parts():
    """{(world, d_c): (seeds, 3, maps) alignment, uniformity and total of the linear maps of the table of losses}."""
    bases = {("box", k): Config(d_c=k) for k in (0, 2)}
    bases |= {("sphere", k): series.SPHERE.replace(d_c=k) for k in (0, 4)}
    found = {}
    for key, runs in series.trained(bases).items():
        found[key] = np.array([optima.parts(_compared(run), run.config) for run in runs])
    return found


@functools.cache
def inverse():
    """{(world, p): alignment, uniformity and total of the inverse of g, of each seed} in ten dimensions."""
    worlds = (("box", 2), ("box", 1), ("sphere", 2))
    return {world: _of_seeds(optima.inverse_terms, 10, *world) for world in worlds}


# Section 4.2: Figure 2 and Table 2.


@functools.cache
def heads():
    """The record of the projector on digits, outputs of length 1 on average."""
    return records.load("cs-heads")


@functools.cache
def digits():
    """The record of the projector on digits, outputs of variance 1."""
    return records.load("cs-digits")


@functools.cache
def cifar():
    """The record of SimCLR on CIFAR-10."""
    return records.load("images-cifar10")


@functools.cache
def norms():
    """The record of the projector on CIFAR-10, outputs normalised or standardised."""
    return records.load("photographs-norms")


@functools.cache
def slow():
    """The record of the projector on CIFAR-10, outputs normalised, at the rate of the outputs of variance 1."""
    return records.load("photographs-rate")


# Appendices A and B: matrices and assumptions.


@functools.cache
def products():
    """Of 81 products of matrices: how many contradict Lemma 2, Lemma 3 as printed, and Lemma 3 as it should be."""
    return _of_seeds(optima.product_ranks)


@functools.cache
def axes():
    """How far two covariances are from commuting and from diagonal in the best basis; the latter if axes are shared."""
    return _of_seeds(flow.axes)


@functools.cache
def sphere_eigenvalues():
    """{style sd: smallest eigenvalue of Sigma_x - Sigma_x~} on the sphere, where a latent has the variance 1/8."""
    found = {}
    for sd in recipes.TRIED:
        rho = collapse.pair_cosine(series.SPHERE.replace(style_sd=sd))
        found[sd] = (2 * rho - 1) / 8
    return found


@functools.cache
def dial():
    """{style sd: {share: ascending eigenvalues of share Sigma_x - Sigma_x~, of each seed}}."""
    found = {}
    for sd in (0.1, 0.2, 0.3, 0.6, 1.0):
        found[sd] = {share: _of_seeds(flow.eigenvalues, sd, share) for share in (1, 2)}
    return found


# Appendix C: the gradient of the linear model.


@functools.cache
def scaled():
    """The gradient at four temperatures beside that at temperature 1: off where W is scaled along; cosine where not."""
    found = []
    for tau in (0.1, 0.5, 2, 10):
        found += _of_seeds(flow.tempered, tau)
    return found


@functools.cache
def errors():
    """Of each seed the relative errors of Lemma 5, corrected, as printed, without the negatives' gradient."""
    # The first seed has all sizes of W, for the figure; the claim is about the smallest.
    return [flow.lemma5_errors(SCALES[:1] if s else SCALES, seed=s) for s in SEEDS]


@functools.cache
def derivatives():
    """Relative errors of the derivative before eq. 7: as printed, and with z_i's part as another's negative."""
    return _of_seeds(flow.printed_derivatives)


@functools.cache
def limits():
    """{(anchors, size of W): of each seed the errors of eq. 10 and 13, and the largest |M share - 1|}."""
    found = {}
    for n in (64, 256, 1024):
        for scale in (1.0, 1e-3):
            found[n, scale] = _of_seeds(flow.limit_errors, n, scale, seeds=FIVE)
    return found


@functools.cache
def endless():
    """{size of W: cross term over the other one, least and largest M share} for endless negatives."""
    return {scale: flow.endless(scale) for scale in (1.0, 1e-3)}


@functools.cache
def spectra():
    """{number of pairs: (seeds, 8) singular values of the gradient} without content."""
    sizes = (*BATCHES, 100)
    return {n: np.stack(_of_seeds(flow.gradient_spectrum, 0, n=n, seeds=FIVE)) for n in sizes}


def _covariances(n: int, seed: int) -> torch.Tensor:
    """(2, 8, 8) of the data and within pairs, from n pairs without content."""
    generator = torch.Generator().manual_seed(seed)
    return flow.covariances(*collapse.pairs(n, 0, 0.3, generator))


@functools.cache
def estimates():
    """{number of pairs: (seeds, 2, 8, 8) the two covariances}; the last number stands for infinitely many."""
    sizes = (*BATCHES, 100, 20_000)
    return {n: np.stack(_of_seeds(_covariances, n, seeds=FIVE)) for n in sizes}


@functools.cache
def forms():
    """Of eq. 15: its error, the diagonal of the matrix in the middle, the largest of its other entries."""
    return _of_seeds(flow.latent_form, 0.3)


@functools.cache
def entries():
    """(8, 8) gradient over entry of W, through a random generator, and through none."""
    return _of_seeds(flow.entry_ratios)


@functools.cache
def ratios():
    """For three spreads of style, of each seed: how much faster content grows, by autograd, the law, as printed."""
    return [_of_seeds(flow.content_lead, sd) for sd in (0.1, 0.2, 0.3)]


def _share_right(**settings) -> np.ndarray:
    """(seeds,) share of the seven d_c that the largest drop of the gradient's singular values tells."""
    right = []
    for d_c in range(1, 8):
        values = _of_seeds(flow.gradient_spectrum, d_c, **settings)
        right.append([flow.largest_drop(of_seed) == d_c for of_seed in values])
    return np.mean(right, 0)


@functools.cache
def readings():
    """{start: (style sd, number of pairs, seed) share of the seven d_c that are read off rightly}."""
    found = {}
    for name, start in STARTS.items():
        shares = []
        for sd in (0.1, 0.3):
            for n, gradient in READ_FROM.items():
                shares.append(_share_right(style_sd=sd, n=n, flow=gradient, **start))
        found[name] = np.reshape(shares, (2, len(READ_FROM), len(SEEDS)))
    return found


def _growth_ratios(config: Config) -> np.ndarray:
    """(seeds,) how much faster content grows than style, at small weights."""
    rates = [flow.growth(config.replace(seed=s), samples=200) for s in FIVE]
    return np.array([rate[:4].mean() / rate[4:].mean() for rate in rates])


@functools.cache
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


@functools.cache
def loss_at_zero():
    """The loss at W = 0 over (M + 1) M log(1 + M), and at W = 1, for three numbers of anchors."""
    found = []
    for n in (8, 64, 512):
        found += _of_seeds(flow.loss_at_zero, n)
    return found


# Appendix D: what is optimal.


@functools.cache
def surface():
    """{d_c: (content, style) the loss of maps that find the latents and scale them}."""
    content, style = np.geomspace(0.3, 30, 13), np.linspace(0, 6, 31)
    return {k: collapse.surface(content, style, k, batches=4) for k in (1, 2, 4)}


@functools.cache
def far():
    """{d_c: losses of a linear encoder without style at ever larger content}."""
    return {k: collapse.surface(FAR, (0,), k)[:, 0] for k in (1, 2, 4)}


@functools.cache
def collapsed():
    """Of each seed {d_c: losses of a nonlinear encoder without style at ever larger content}."""
    found = []
    for seed in SEEDS:
        found.append({k: optima.collapsed(FAR, k, seed=seed) for k in (1, 2, 4)})
    return found


@functools.cache
def no_content():
    """The lowest loss of a linear encoder that drops all there is, at any scale: without content style is all."""
    return float(collapse.surface(FAR, (0,), 0)[:, 0].min())


@functools.cache
def corner():
    """{d_c: (seeds, content, style) losses of the inverse of g, its content once or twice, its style 0 to 2 times}."""
    found = {}
    for k in (0, 1, 4):
        found[k] = np.stack(_of_seeds(collapse.surface, (1, 2), (0, 1, 2), k, batches=7))
    return found


@functools.cache
def layers():
    """{(layers of f, scale of the content): of each seed the singular values of the gradient in each layer}, without
    style."""
    found = {}
    for depth in (1, 3):
        for scale in (2, 30):
            found[depth, scale] = _of_seeds(optima.layer_spectra, depth, scale=scale)
    return found


@functools.cache
def sphere_identity():
    """{D: loss of the collapsed encoder and of D f, rank of f and of D f, the largest gradient in the style}."""
    return {name: optima.sphere_identity(scaling) for name, scaling in SCALINGS.items()}


# Appendix E: DirectCLR.


@functools.cache
def weak_decay():
    """A run of DirectCLR on digits with the usual weight decay."""
    return sweep(projector.run, [chapter.PLAIN.replace(method="directclr")])[0]


@functools.cache
def directclr():
    """The record of DirectCLR on digits."""
    return records.load("cs-direct")


@functools.cache
def decayed():
    """The record of DirectCLR and SimCLR on digits, trained until unused weights have decayed."""
    return records.load("cs-directclr")
