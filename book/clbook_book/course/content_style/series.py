"""Series of runs that the chapter shows in several places, and that the audit of the papers judges."""

import functools

from clbook import sweep, theory
from clbook.experiments.content_style import Config, collapse, run, style_gain
from clbook_book.course.content_style import recipes

SEEDS, FIVE = range(3), range(5)
SPHERE = Config(space="sphere", normalize=True, d_c=4, style_sd=0.4)  # of the table of losses


def trained(bases: dict) -> dict:
    """{name: linear runs of five seeds} of {name: Config}, all in one sweep: runs of one shape train together."""
    configs = []
    for base in bases.values():
        configs += [base.replace(seed=s) for s in FIVE]
    runs = iter(sweep(run, configs))
    return {name: [next(runs) for _ in FIVE] for name in bases}


@functools.cache
def box():
    """{d_c: runs of five seeds} of linear encoders in the box."""
    return trained({k: Config(d_c=k) for k in (0, 1, 2, 4)})


def grid_configs() -> tuple:
    """The runs on the sphere of `sphere_grid`."""
    base = SPHERE.replace(steps=600)
    configs = []
    for k in (1, 2, 4):
        for tau in (0.25, 0.5, 1.0, 2.0):
            for sd in (0.2, 0.3, 0.5):
                one = base.replace(d_c=k, tau=tau, style_sd=sd)
                configs += [one.replace(seed=s) for s in SEEDS]
    return tuple(configs)


def grid_rows(results) -> list[tuple]:
    """`sphere_grid` of these runs."""
    rows = []
    for result in results:
        c = result.config
        rho = collapse.pair_cosine(c.replace(seed=0))
        gain = style_gain(result.map[-1], c.d_c)
        predicted = theory.style_share(c.tau, c.d_c, c.d - c.d_c, rho)
        rows.append((c.d_c, c.tau, c.tau * c.d_c * (1 - rho), gain, predicted))
    return rows


@functools.cache
def sphere_grid():
    """Of runs on the sphere: d_c, tau, tau d_c (1 - rho), style's gain over content's, and the same as predicted."""
    return grid_rows(sweep(run, grid_configs()))


@functools.cache
def deep_short():
    """{(world, label): runs} of the chapter's deep encoders, which train for 2,000 steps."""
    configs = recipes.deep_configs()
    runs = iter(sweep(run, sum(configs.values(), []), record=("r2",)))
    return {key: [next(runs) for _ in of_seeds] for key, of_seeds in configs.items()}
