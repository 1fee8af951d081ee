"""What VA say about the kernel between weights and embeddings, judged on the chapter's runs."""

import numpy as np

from clbook.claims import Chapter, Finding, span
from clbook.experiments.kernel import closed_forms

chapter = Chapter(__file__)
ORDER = 0.9  # what is O(delta) falls like delta^p with p at least 1


def powers(x, errors) -> np.ndarray:
    """p of errors ~ x^p, errors (len(x), seeds): one p a seed."""
    return np.polyfit(np.log(x), np.log(errors), 1)[0]


def by_delta(runs, error) -> np.ndarray:
    """p of error ~ delta^p, one a seed, from runs[delta][seed] and error(run)."""
    return powers(
        [row[0].config.delta for row in runs], [[error(run) for run in row] for row in runs]
    )


def scatter(run) -> float:
    """How much the first velocities of the points differ from their cluster's mean, relative to all velocities."""
    velocity = run.measured[0]
    means = np.array([velocity[run.labels == q].mean(0) for q in np.unique(run.labels)])
    return float(np.linalg.norm(velocity - means[run.labels]) / np.linalg.norm(velocity))


def first_order(errors) -> Finding:
    """How much the error of a step falls with the step; errors (rates, seeds), from lr/tau = .1 on in powers of ten."""
    fall = (errors[1:4] / errors[:3]).min(0)
    return Finding(
        f"error {errors[0].max():.0e} at lr/tau = .1; it falls at least {fall.min():.1f}-fold",
        float(errors[0].max()),
        (fall / 8 - 1,),
    )


@chapter.measure("va-prop-4-1")
def kernel_flow(errors):
    return first_order(errors["partial"])


@chapter.measure("va-prop-4-1-full")
def full_gradient(errors):
    return Finding(
        f"error {span(errors['full'][0], '.2g')}",
        float(errors["full"][0].mean()),
        (0.1 - errors["full"][0],),
    )


@chapter.measure("va-prop-4-1-views")
def views_as_points(errors):
    return first_order(errors["joint"])


@chapter.measure("va-theorem-4-2-vanilla")
def stays_invariant(flows):
    runs = [flow["vanilla"] for flow in flows]
    moved = np.array([run.moved[-1] for run in runs])
    together = np.array([run.spread.max() == 0 for run in runs])
    return Finding(
        f"together in {together.sum()} of {len(runs)} seeds; points move {span(moved, '.2g')}",
        float(together.mean()),
        (together & (moved > 0),),
    )


@chapter.measure("va-theorem-4-2-network")
def loses_invariance(flows):
    first, last = np.array([flow["network"].spread[[1, -1]] for flow in flows]).T
    return Finding(
        f"spread {span(first, '.1e')} after one step, {span(last, '.2g')} after 120",
        float(first.mean()),
        (np.log(first / 1e-12),),
    )


@chapter.measure("va-theorem-4-2-radius")
def keeps_invariance(flows):
    spread, moved = np.array(
        [(flow["radius"].spread.max(), flow["radius"].moved[-1]) for flow in flows]
    ).T
    return Finding(
        f"spread at most {spread.max():.0e}; points move {span(moved, '.2g')}",
        float(spread.max()),
        (1e-12 - spread, moved > 0),
    )


@chapter.measure("va-theorem-4-2-only-if")
def only_if(still):
    spread, gap = float(still.spread.max()), closed_forms.gradient_gap(still)
    return Finding(
        f"gradients differ by up to {gap:.1f}, spread {spread:g}", spread, (spread or -gap,)
    )


@chapter.measure("va-prop-4-3")
def explicit_kernel(explicit):
    right = max(
        max(errors["1/sqrt(M)", "1/M"], errors["1/sqrt(M D)", "1/(M D)"])
        for errors in explicit.values()
    )
    return Finding(f"relative error {right:.0e}", right, (1e-12 - right,))


@chapter.measure("va-prop-4-4")
def wide_kernel(wide):
    first, *_, last = wide["isotropic"]
    return Finding(
        f"error {span(first, '.2g')} at M = 64, {span(last, '.2g')} at 16,384",
        float(last.mean()),
        (np.log(first / last), 0.05 - last),
    )


@chapter.measure("va-prop-4-4-mean")
def shifted_rows(wide):
    shifted, stretched = wide["shifted"][-1], wide["stretched"][-1]
    return Finding(
        f"error {span(shifted, '.2g')}; for rows with mean zero and unequal variances "
        f"{span(stretched, '.2g')}",
        float(shifted.mean()),
        (0.05 - shifted,),
    )


@chapter.measure("va-theorem-4-5")
def cluster_velocity(printed):
    p = powers(printed["delta"], printed["errors"])
    return Finding(
        rf"error ~ $\delta^p$, p = {span(p, '.2f')}; {span(printed['errors'][0], '.0e')} at $\delta$ = .003",
        float(p.mean()),
        (p - ORDER,),
    )


@chapter.measure("va-theorem-4-5-mean")
def mean_gradient(tight):
    p = by_delta(tight["random start"], lambda run: run.error("mean"))
    return Finding(rf"error ~ $\delta^p$, p = {span(p, '.2f')}", float(p.mean()), (p - ORDER,))


@chapter.measure("va-theorem-4-5-own")
def own_gradient(tight):
    smooth, random = (
        by_delta(tight[f"{start} start"], lambda run: run.error("own"))
        for start in ("smooth", "random")
    )
    return Finding(
        f"p = {span(smooth, '.2f')} from a smooth start, {span(random, '.2f')} from a random one",
        float(smooth.mean()),
        (smooth - ORDER, 0.5 - random),
    )


@chapter.measure("va-fig-5-one-velocity")
def one_velocity(tight):
    axes, line = (by_delta(tight[name], scatter) for name in ("random start", "centres on a line"))
    return Finding(
        f"p = {span(axes, '.2f')} for orthogonal centres, {span(line, '.2f')} on a line",
        float(line.mean()),
        (axes - ORDER, line - ORDER),
    )


@chapter.measure("va-fig-5-eq-21")
def on_a_line(tight):
    runs = tight["centres on a line"]
    p, blocks = (
        by_delta(runs, lambda run, name=name: run.error(name)) for name in ("mean", "blocks")
    )
    errors = [run.error("mean") for row in runs for run in row]
    return Finding(
        f"error {span(errors, '.2g')}, p = {span(p, '.2f')}; with all blocks of the kernel "
        f"{span(blocks, '.2f')}",
        float(np.mean(errors)),
        (p - ORDER,),
    )


@chapter.measure("va-corollary-4-6")
def one_half(corollary):
    first, *_, last = corollary[..., 1]
    return Finding(
        f"error {span(first, '.2g')} at M = 64, {span(last, '.2g')} at 4,096",
        float(last.mean()),
        (np.log(first / last), 0.05 - last),
    )


def slowing(speeds, ratios):
    """p of (speed of the last cluster / mean speed of the others) ~ ratio^p, one a seed, and that quotient at the end.

    speeds (ratios, seeds, clusters).
    """
    relative = speeds[..., -1] / speeds[..., :-1].mean(-1)
    return powers(ratios, relative), relative[-1]


@chapter.measure("va-remark-4-4")
def small_is_slow(speeds, ratios):
    p, last = slowing(speeds[4], ratios)
    return Finding(
        f"p = {span(p, '.2f')}; at 1/20 of their size {span(last, '.2g')} of their speed",
        float(p.mean()),
        (p - 0.5,),
    )


@chapter.measure("va-remark-4-4-two")
def two_are_equal(speeds, ratios):
    p, last = slowing(speeds[2], ratios)
    return Finding(
        f"p = {span(np.round(p, 2) + 0.0)}; at 1/20 of its size {span(last, '.2f')} of the other's speed",
        float(p.mean()),
        (p - 0.5,),
    )
