"""What was run for CS's claims: each function gives one thing that measures take, once in a process.

Those marked `recorded` are kept as records; the others take less than a second.
"""

from __future__ import annotations

import functools

import numpy as np
import torch

from clbook import sweep
from clbook.experiments import content_style as cs
from clbook.experiments.content_style import Config, projector
from clbook.results.labelled import padded
from clbook.results.sweep import combined
from clbook_book.audit.cs import collapse, encoders, flow, optima
from clbook_book.course.content_style import runs as chapter
from clbook_book.course.content_style.runs import SPHERE, stacked
from clbook_book.course.photographs import runs as images
from clbook_book.records import recorded

THREE, FIVE = range(3), range(5)  # seeds
SDS = (0.05, 0.15, 0.3)
SPACES = ("box", "sphere")
KS = (1, 2, 4)
TRIED = (0.2, 0.3, 0.5)
WORLDS = ("box, p = 2", "box, p = 1", "sphere")
AXES = {
    **dict.fromkeys(("loss", "within"), "run step"),
    **dict.fromkeys(("style", "content"), "run layer"),
    **dict.fromkeys(("added", "left"), "run row"),
    "map": "run output factor",
    "cosines": "run pair",
}


def of_seeds(function, *args, seeds=THREE, **settings) -> list:
    """What the function gives there, for each seed."""
    return [function(*args, seed=s, **settings) for s in seeds]


def of_variants(record, settings: dict) -> dict:
    """{setting: what a Dataset has of it}, of a record of {setting: Config}."""
    return {setting: record.sel(variant=str(setting)) for setting in settings}


# The abstract, Sections 2 and 3.


@recorded("cs-keeping")
def keeping(seeds=FIVE):
    """{world: of each seed, the losses of maps that keep content and scale style, and what can be read from them}."""
    bases = {"sphere": SPHERE.replace(tau=1.0), "box": Config(d_c=4)}
    return {
        world: sweep(optima.keeping, combined(base, seed=seeds)) for world, base in bases.items()
    }


@functools.cache
def lowered():
    """What is left of the distance within pairs when singular values of W are set to zero."""
    return of_seeds(flow.lower_rank)


def linear_configs() -> dict:
    """{key: Config} of the linear runs: (world, d_c, tau_c), ("spread", space, d_c, style sd)."""
    box = {"box, p = 2": Config(), "box, p = 1": Config(p=1)}
    globe = Config(space="sphere", normalize=True, style_sd=0.3)
    found = {}
    for world, base in (box | {"sphere": globe.replace(tau=0.5)}).items():
        found[world, 0, 1.0] = base.replace(d_c=0)
        for k in KS:
            for tau in (0.01, 1.0, 10.0):
                found[world, k, tau] = base.replace(d_c=k, tau_c=tau)
    for base, sds in ((Config(), (0.1, 0.3, 0.6, 1.0)), (globe, TRIED)):
        for k in (0, 4):
            for sd in sds:
                found["spread", base.space, k, sd] = base.replace(d_c=k, style_sd=sd)
    return found


LINEAR = linear_configs()


def maps(results) -> dict[str, np.ndarray]:
    """Of linear encoders the loss over time, and the map at the end."""
    return stacked(results, "loss", map="map")


@recorded("cs-linear", cs.run, LINEAR, seeds=FIVE, start=0.02, record=("loss",), axes=AXES)
def linear_maps(results):
    """Linear encoders, five seeds: contents, temperatures, spreads of style."""
    return maps(results)


@functools.cache
def linear():
    """{settings: (seeds, 8, 8) trained maps} of linear encoders."""
    return {key: found.values for key, found in of_variants(linear_maps()["map"], LINEAR).items()}


def heated_configs() -> dict:
    """{(d_c, tau_c, style sd): Config} of linear runs on the sphere for CS Fig. 1, dashed: tau = 1."""
    globe = Config(space="sphere", normalize=True)
    found = {(0, 1.0, sd): globe.replace(d_c=0, style_sd=sd) for sd in TRIED}
    for k in KS:
        for tau in (0.03, 0.1, 0.3, 1.0, 10.0):
            found[k, tau, 0.3] = globe.replace(d_c=k, tau_c=tau)
    for sd in (0.2, 0.5):
        found[1, 0.1, sd] = globe.replace(d_c=1, tau_c=0.1, style_sd=sd)
    return found


HEATED = heated_configs()


@recorded("cs-sweep", cs.run, HEATED, seeds=FIVE, start=0.02, record=("loss",), axes=AXES)
def heated_maps(results):
    """Linear encoders on the sphere, five seeds: temperatures of content, at temperature 1."""
    return maps(results)


@functools.cache
def heated():
    """{(d_c, tau_c, style sd): (seeds, 8, 8) trained maps} of linear encoders on the sphere."""
    return {key: found.values for key, found in of_variants(heated_maps()["map"], HEATED).items()}


def layers_read(results) -> dict[str, np.ndarray]:
    """Loss over time, NaN where a run had ended; R^2 of style and of content by layer at the end."""
    ends = stacked(results, style="style_r2", content="content_r2")
    return ends | {"loss": np.float32(padded([r.loss for r in results]))}


KINDS = {"no content": {"d_c": 0}, "content": {"d_c": 5}}
DIALS = {
    "lower tau_c": {"tau_c": 0.3},
    "no norm": {"normalize": False},
    "both": {"tau_c": 0.3, "normalize": False},
}


def deep_configs() -> dict:
    """{(width, world, style sd, label): Config} of the deep runs. What learns slowly is trained longer."""
    box = Config(d=10, d_c=5, width=50, mixing_layers=3, layers=7, lr=3e-3, steps=8000)
    globe = box.replace(space="sphere", normalize=True, tau=0.5, lr=1e-3, steps=7000)
    long = globe.replace(steps=16_000)
    found = {}
    for base, sd, kinds in (
        (box, 0.15, KINDS | {"lower tau_c": {"tau_c": 0.1}}),
        (box, 0.3, KINDS),
        (box.replace(n=1024, steps=10_000), 0.05, KINDS),
        (globe, 0.15, KINDS | DIALS),
        (long, 0.3, KINDS | DIALS),
        (long, 0.05, DIALS),
        (globe.replace(steps=64_000), 0.05, {"content": KINDS["content"]}),
        (globe.replace(steps=72_000), 0.05, {"no content": KINDS["no content"]}),
    ):
        for label, kind in kinds.items():
            found[50, base.space, sd, label] = base.replace(style_sd=sd, **kind)
    return found


DEEP = deep_configs()


@recorded("cs-deep", cs.run, DEEP, seeds=THREE, record=("loss", "r2"), axes=AXES)
def deep_layers(results):
    """Deep encoders 50 wide, three seeds.

    Keeps:
        style, content: R^2 of style and of content, by layer, at the end.
    """
    return layers_read(results)


@functools.cache
def deep():
    """{(width, world, style sd, label): runs of three seeds} of deep encoders."""
    return of_variants(deep_layers(), DEEP)


def rotated_configs() -> dict:
    """{(width, world, style sd, label): Config} of deep runs at the paper's width that start from rotations."""
    base = Config(
        d=10, width=10, mixing_layers=3, layers=7, style_sd=0.15, n=256, lr=3e-3, steps=20_000
    )
    globe = base.replace(space="sphere", normalize=True, tau=0.5)
    found = {}
    for config in (base, globe):
        for label, kind in KINDS.items():
            found[10, config.space, 0.15, label] = config.replace(**kind)
    return found


ROTATED = rotated_configs()


@recorded(
    "cs-deep-rotated",
    encoders.Orthogonal.run,
    ROTATED,
    seeds=FIVE,
    record=("loss", "r2"),
    axes=AXES,
)
def rotated_layers(results):
    """Deep encoders of the paper's width that start from rotations, five seeds.

    Keeps:
        style, content: R^2 of style and of content, by layer, at the end.
    """
    return layers_read(results)


@functools.cache
def rotated():
    """{(width, world, style sd, label): runs of five seeds} of encoders that start from rotations."""
    return of_variants(rotated_layers(), ROTATED)


ON_SPHERE = Config(
    space="sphere",
    normalize=True,
    d=10,
    style_sd=0.15,
    tau=0.5,
    mixing_layers=3,
    lr=1e-3,
    steps=3000,
)
# (d_c, layers above the fourth)
SHIELDED = {
    (k, above): ON_SPHERE.replace(d_c=k, layers=4 + above)
    for k, above in ((5, 0), (5, 1), (5, 2), (5, 3), (0, 0), (0, 3))
}


@recorded(
    "cs-projectors",
    encoders.Square.run,
    SHIELDED,
    seeds=THREE,
    start=0.02,
    record=("loss", "r2"),
    axes=AXES,
    labels={"layer": ("fourth", "output")},
)
def under_projectors(results):
    """The same four layers under none to three projector layers, three seeds.

    Keeps:
        style: R^2 of the style after the fourth layer and at the output, at the end.
    """
    found = stacked(results, "loss")
    found["style"] = np.float32([r.style_r2[-1, [4, -1]] for r in results])
    return found


@functools.cache
def shield():
    """{(d_c, layers above the fourth): runs of three seeds} of an encoder under projectors."""
    return of_variants(under_projectors(), SHIELDED)


CORNERS = Config(
    d=10, d_c=4, normalize=True, tau=0.5, mixing_layers=3, layers=3, lr=1e-3, steps=3000
)


@recorded(
    "cs-classes",
    encoders.Classes.run,
    {
        "style drawn anew": CORNERS.replace(style_sd=10.0),
        "style near the old one": CORNERS.replace(style_sd=0.2),
    },
    seeds=THREE,
    curves=("loss", "within"),
    start=0.02,
    record=("loss", "r2", "within", "cosines"),
    axes=AXES,
)
def classes(results):
    """InfoNCE on encoders of four classes, style near the old one or drawn anew, three seeds.

    Keeps:
        style: R^2 of the style at the end.
    """
    return stacked(results, "loss", "within", cosines="cosines", style="style_r2")


# Section 4.1: Figure 1 and Table 1.


# Of runs on the sphere: d_c, tau, tau d_c (1 - rho), style's gain over content's, and the same as predicted.
sphere_grid = chapter.sphere_grid


def _compared(result) -> np.ndarray:
    """The inverse of g, the best-scaled one, the trained map; with content, content alone and beside style."""
    c, eye = result.config, np.eye(result.config.d)
    maps = [eye, optima.best_scale(eye, c) * eye, result.map[-1]]
    if c.d_c:
        content = np.diag(1.0 * (np.arange(c.d) < c.d_c))
        maps += [30 * content, 29 * content + eye]
    return np.stack(maps)


@recorded("cs-parts")
def parts(seeds=FIVE):
    """{(world, d_c): (seeds, 3, maps) alignment, uniformity and total of the linear maps of the table of losses}."""
    bases = {("box", k): Config(d_c=k) for k in (0, 2)}
    bases |= {("sphere", k): SPHERE.replace(d_c=k) for k in (0, 4)}
    found = {}
    for key, base in bases.items():
        runs = sweep(cs.run, combined(base, seed=seeds))
        found[key] = np.array([optima.parts(_compared(one), one.config) for one in runs])
    return found


# Section 4.2: Figure 2 and Table 2.


# The projector on CIFAR-10, outputs normalised or standardised; and normalised, at the rate of those of variance 1.
norms = images.norms
slow = images.rate


@functools.cache
def walls():
    """{encoder: the record of one long run of SimCLR on all of CIFAR-10}."""
    return {"8 layers": images.small_wall(), "ResNet-18": images.large_wall()}


# Appendices A and B: matrices and assumptions.


@functools.cache
def products():
    """Of 81 products of matrices: how many contradict Lemma 3 as printed, and as it should be."""
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
    return [row for tau in (0.1, 0.5, 2, 10) for row in of_seeds(flow.tempered, tau)]


SCALES = (1e-3, 1e-2, 0.1, 0.3, 1.0, 3.0)  # sizes of W, for `errors`


@recorded("cs-errors")
def errors(seeds=THREE):
    """Of each seed the relative errors of Lemma 5, corrected, as printed, without the negatives' gradient."""
    # The first seed has all sizes of W, for the figure; the claim is about the smallest.
    return [flow.lemma5_errors(SCALES[:1] if s else SCALES, seed=s) for s in seeds]


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
    sizes = (2, 5, 12, 100)
    return {n: np.stack(of_seeds(flow.gradient_spectrum, 0, n=n, seeds=FIVE)) for n in sizes}


def _covariances(n: int, seed: int) -> torch.Tensor:
    """(2, 8, 8) of the data and within pairs, from n pairs without content."""
    return flow.covariances(*collapse.pairs(n, 0, 0.3, torch.Generator().manual_seed(seed)))


@functools.cache
def estimates():
    """{number of pairs: (seeds, 2, 8, 8) the two covariances}; the last number stands for infinitely many."""
    return {n: np.stack(of_seeds(_covariances, n, seeds=FIVE)) for n in (5, 100, 20_000)}


# Kinds of W and of the generator from which d_c is read off the gradient, of so many pairs.
STARTS = {
    "both rotations": {},
    "W gaussian": {"start": "gaussian"},
    "g gaussian": {"mixing": "gaussian"},
    "g gaussian, x whitened": {"mixing": "gaussian", "whiten": True},
}
READ_FROM = {800: flow.descent, 8000: flow.lemma5, 40_000: flow.lemma5}


def _share_right(**settings) -> np.ndarray:
    """(seeds,) share of the seven d_c that the largest drop of the gradient's singular values tells."""
    right = []
    for d_c in range(1, 8):
        values = of_seeds(flow.gradient_spectrum, d_c, **settings)
        right.append([flow.largest_drop(of_seed) == d_c for of_seed in values])
    return np.mean(right, 0)


@recorded("cs-readings")
def readings(seeds=THREE):
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


@recorded("cs-recipe")
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


# Appendix D: what is optimal.


@recorded("cs-surface")
def surface():
    """{d_c: (content, style) the loss of maps that find the latents and scale them}."""
    content, style = np.geomspace(0.3, 30, 13), np.linspace(0, 6, 31)
    return {k: collapse.surface(content, style, k, batches=4) for k in KS}


FAR = (30, 300, 3000, 30_000, 1e8)  # sizes of the content, for `far` and `collapsed`


@functools.cache
def far():
    """{d_c: losses of a linear encoder without style at ever larger content}."""
    return {k: collapse.surface(FAR, (0,), k)[:, 0] for k in KS}


@functools.cache
def collapsed():
    """Of each seed {d_c: losses of a nonlinear encoder without style at ever larger content}."""
    return [{k: optima.collapsed(FAR, k, seed=seed) for k in KS} for seed in THREE]


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
    sizes = ((1, 2), (1, 30), (3, 2), (3, 30))
    return {(k, scale): of_seeds(optima.layer_spectra, k, scale=scale) for k, scale in sizes}


@functools.cache
def sphere_identity():
    """{D: loss of the collapsed encoder and of D f, rank of f and of D f, the largest gradient in the style}."""
    scalings = {
        "zero on style": [3] * 4 + [0] * 4,
        "0.1 on style": [1] * 4 + [0.1] * 4,
        "uneven on content": [1, 1, 2, 2] + [0] * 4,
    }
    return {name: optima.sphere_identity(scaling) for name, scaling in scalings.items()}


# Appendix E: DirectCLR.


@functools.cache
def weak_decay():
    """DirectCLR on digits with the usual weight decay."""
    return chapter.decays()[0]


LONG = projector.Config(decay=4.0, steps=1000, record_every=100)


@recorded(
    "cs-directclr",
    encoders.Direct.run,
    {"directclr": LONG.replace(method="directclr"), "simclr": LONG},
    seeds=THREE,
    start=0.1,
    record=("added",),
    axes=AXES,
)
def decayed(results):
    """DirectCLR and SimCLR on digits until unused weights have decayed, three seeds.

    Keeps:
        added: what is added to each row of h at the end.
        left: what is left of the rows of W at the end, as a share of their norms at the start.
    """
    found = stacked(results, "loss")
    found["added"] = np.float32([r.added[-1] for r in results])
    found["left"] = np.float32([r.rows[-1] / r.rows[0] for r in results])
    return found
