"""What the claims of CS are judged on: each function's name is what the measures call its result."""

import functools

import numpy as np
import torch

from clbook.experiments.content_style import collapse
from clbook_book import records
from clbook_book.audit.cs import computed, flow, optima, recipes
from clbook_book.audit.cs.computed import of_seeds
from clbook_book.audit.judging import of_computed, of_record
from clbook_book.course.content_style import series

SEEDS, FIVE = recipes.SEEDS, recipes.FIVE
SCALES = computed.SCALES
STARTS = computed.STARTS
READ_FROM = computed.READ_FROM
TAUS = computed.TAUS

BATCHES = range(2, 13)  # numbers of pairs from below the eight dimensions to above them
FAR = (30, 300, 3000, 30_000, 1e8)  # sizes of the content, for `far` and `collapsed`
SCALINGS = {
    "zero on style": [3] * 4 + [0] * 4,
    "0.1 on style": [1] * 4 + [0.1] * 4,
    "uneven on content": [1, 1, 2, 2] + [0] * 4,
}


# The abstract, Sections 2 and 3.


# {world: of each seed, the losses of maps that keep content and scale style, and what can be read from them}.
keeping = of_computed("cs-keeping")


@functools.cache
def lowered():
    """What is left of the distance within pairs when singular values of W are set to zero."""
    return of_seeds(flow.lower_rank)


def _maps(name: str, configs: dict) -> dict:
    """{setting: (seeds, 8, 8) trained maps} of the record `name` of linear encoders, made of {setting: Config}."""
    runs = recipes.runs_of(name, configs)
    return {setting: found["map"].values for setting, found in runs.items()}


@functools.cache
def linear():
    """{settings: (seeds, 8, 8) trained maps} of a record of linear encoders."""
    return _maps("cs-linear", recipes.linear_configs())


@functools.cache
def heated():
    """{(d_c, tau_c, style sd): (seeds, 8, 8) trained maps} of a record of linear encoders on the sphere."""
    return _maps("cs-sweep", recipes.sweep_configs())


@functools.cache
def deep():
    """{(width, world, style sd, label): runs of three seeds} of the record of deep encoders."""
    return recipes.runs_of("cs-deep", recipes.deep_configs())


@functools.cache
def rotated():
    """{(width, world, style sd, label): runs of five seeds} of the record of encoders that start from rotations."""
    return recipes.runs_of("cs-deep-rotated", recipes.rotated_configs())


@functools.cache
def shield():
    """{(d_c, layers above the fourth): runs of three seeds} of the record of an encoder under projectors."""
    return recipes.runs_of("cs-projectors", recipes.projector_configs())


# The record of encoders of four classes.
classes = of_record("cs-classes")


# Section 4.1: Figure 1 and Table 1.


@functools.cache
def sphere_grid():
    """Of runs on the sphere: d_c, tau, tau d_c (1 - rho), style's gain over content's, and the same as predicted."""
    return series.grid_rows(records.runs("cs-sphere-grid"))


# {(world, d_c): (seeds, 3, maps) alignment, uniformity and total of the linear maps of the table of losses}.
parts = of_computed("cs-parts")
# {encoder: style's gain over content's, as trained and with the temperatures undone, (2, TAUS)} (a record).
temperatures = of_computed("cs-temperatures")


# Section 4.2: Figure 2 and Table 2.


# The record of the projector on digits, outputs of variance 1.
digits = of_record("cs-digits")
# The record of the projector on CIFAR-10, outputs normalised or standardised.
norms = of_record("photographs-norms")


@functools.cache
def walls():
    """{encoder: the record of one long run of SimCLR on all of CIFAR-10}."""
    names = {"8 layers": "photographs-wall", "ResNet-18": "photographs-wall-large"}
    return {encoder: records.load(name) for encoder, name in names.items()}


# The record of the projector on CIFAR-10, outputs normalised, at the rate of the outputs of variance 1.
slow = of_record("photographs-rate")


# Appendices A and B: matrices and assumptions.


@functools.cache
def products():
    """Of 81 products of matrices: how many contradict Lemma 2, Lemma 3 as printed, and Lemma 3 as it should be."""
    return of_seeds(optima.product_ranks)


@functools.cache
def dial():
    """{style sd: {share: ascending eigenvalues of share Sigma_x - Sigma_x~, of each seed}}."""
    found = {}
    for sd in (0.1, 0.2, 0.3, 0.6, 1.0):
        found[sd] = {share: of_seeds(flow.eigenvalues, sd, share) for share in (1, 2)}
    return found


# Appendix C: the gradient of the linear model.


@functools.cache
def scaled():
    """The gradient at four temperatures beside that at temperature 1: off where W is scaled along; cosine where not."""
    found = []
    for tau in (0.1, 0.5, 2, 10):
        found += of_seeds(flow.tempered, tau)
    return found


# Of each seed the relative errors of Lemma 5, corrected, as printed, without the negatives' gradient.
errors = of_computed("cs-errors")


@functools.cache
def derivatives():
    """Relative errors of the derivative before eq. 7: as printed, and with z_i's part as another's negative."""
    return of_seeds(flow.printed_derivatives)


@functools.cache
def endless():
    """{size of W: cross term over the other one, least and largest M share} for endless negatives."""
    return {scale: flow.endless(scale) for scale in (1.0, 1e-3)}


@functools.cache
def spectra():
    """{number of pairs: (seeds, 8) singular values of the gradient} without content."""
    sizes = (*BATCHES, 100)
    return {n: np.stack(of_seeds(flow.gradient_spectrum, 0, n=n, seeds=FIVE)) for n in sizes}


def _covariances(n: int, seed: int) -> torch.Tensor:
    """(2, 8, 8) of the data and within pairs, from n pairs without content."""
    generator = torch.Generator().manual_seed(seed)
    return flow.covariances(*collapse.pairs(n, 0, 0.3, generator))


@functools.cache
def estimates():
    """{number of pairs: (seeds, 2, 8, 8) the two covariances}; the last number stands for infinitely many."""
    sizes = (*BATCHES, 100, 20_000)
    return {n: np.stack(of_seeds(_covariances, n, seeds=FIVE)) for n in sizes}


# {start: (style sd, number of pairs, seed) share of the seven d_c that are read off rightly}.
readings = of_computed("cs-readings")
# {(content sd, name of a tau_c): (tau_c, (seeds,) how much faster content grows)}.
recipe = of_computed("cs-recipe")


# Appendix D: what is optimal.


# {d_c: (content, style) the loss of maps that find the latents and scale them}.
surface = of_computed("cs-surface")


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
        found[k] = np.stack(of_seeds(collapse.surface, (1, 2), (0, 1, 2), k, batches=7))
    return found


@functools.cache
def layers():
    """{(layers of f, scale of the content): of each seed the singular values of the gradient in each layer}, without
    style."""
    found = {}
    for depth in (1, 3):
        for scale in (2, 30):
            found[depth, scale] = of_seeds(optima.layer_spectra, depth, scale=scale)
    return found


@functools.cache
def sphere_identity():
    """{D: loss of the collapsed encoder and of D f, rank of f and of D f, the largest gradient in the style}."""
    return {name: optima.sphere_identity(scaling) for name, scaling in SCALINGS.items()}


# Appendix E: DirectCLR.


@functools.cache
def weak_decay():
    """A run of DirectCLR on digits with the usual weight decay (a record)."""
    return records.runs("cs-weak-decay")[0]


# The record of DirectCLR and SimCLR on digits, trained until unused weights have decayed.
decayed = of_record("cs-directclr")
