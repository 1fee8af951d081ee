"""What LS and VA say about embeddings on the sphere, judged on the chapter's runs."""

import numpy as np

from clbook import theory
from clbook.claims import Chapter, Finding, span
from clbook.experiments.sphere import CLUSTERED, coherence

chapter = Chapter(__file__)


def clustered(runs) -> np.ndarray:
    """Whether each run's clusters appeared at some time."""
    return np.array([run.clustered_at is not None for run in runs])


def separable(runs) -> np.ndarray:
    """Whether at some time an affine rule was right on every point of each run."""
    return np.array([run.separable_at is not None for run in runs])


def after(run, iteration: int) -> int:
    """Index of the first recorded time from this iteration on."""
    return int(np.searchsorted(run.steps, iteration))


def moved(runs, since: int) -> np.ndarray:
    """How far the median point of each run is at the end from where it was at iteration `since`."""
    return np.array(
        [np.median(np.linalg.norm(run.z[-1] - run.z[after(run, since)], axis=1)) for run in runs]
    )


@chapter.measure("ls-free-uniform")
def free_uniform(vanilla):
    gap = np.array(
        [
            [
                abs(run.loss[-1] - theory.simplified_plateau(run.config.tau, run.config.d))
                for run in runs
            ]
            for runs in vanilla.values()
        ]
    )
    accuracy = np.array([[run.accuracy[-1] for run in runs] for runs in vanilla.values()])
    return Finding(
        f"loss within {gap.max():.0e}, accuracy {span(accuracy, '.2g')}",
        float(gap.max()),
        (*(0.005 - gap), *(0.5 - accuracy)),
    )


@chapter.measure("ls-cap-clusters")
def cap_clusters(cap, still):
    groups = (*cap.values(), still)
    every = [run for runs in groups for run in runs]
    at = [run.clustered_at for runs in cap.values() for run in runs if run.clustered_at is not None]
    return Finding(
        f"{clustered(every).sum()} of {len(every)} runs cluster, those of LS's data at iterations "
        f"{span(at or 0, 'd')}; {separable(every).sum()} are separable",
        float(clustered(every).mean()),
        (*map(clustered, groups), *map(separable, groups)),
    )


@chapter.measure("ls-uniform-start")
def uniform_start(gentle):
    ever, apart = np.isfinite(gentle.clustered_at), np.isfinite(gentle.separable_at)
    return Finding(
        f"{int(ever.sum())} of {ever.size} runs cluster, {int(apart.sum())} are separable; "
        f"accuracy {span(gentle.accuracy.max('step'), '.2g')}",
        float(ever.mean()),
        tuple(ever.stack(case=("d", "depth")).T),
    )


@chapter.measure("ls-beyond-the-limit")
def beyond(trained, ratio, large):
    above = ratio > 1
    ended = above & (trained.accuracy.isel(step=-1) >= CLUSTERED)
    each = ("d", "depth", "lr")
    share = ended.sum(each) / above.sum(each)
    return Finding(
        f"{int(ended.sum())} of {int(above.sum())} runs, {span(share, '.2g')} of each seed's; n = 2,000 at lr = 2, "
        f"1 seed: accuracy {large.accuracy.max():.2f}",
        float(share.mean()),
        (share - 0.5,),
    )


@chapter.measure("ls-clusters-by-climbing")
def climbing(trained):
    ended = trained.accuracy.isel(step=-1) >= CLUSTERED
    rises = (trained.loss.isel(step=-1) - trained.loss.isel(step=0)).where(ended)
    least, most = float(rises.min()), float(rises.max())
    text = f"it rises by {span([least, most], '.2g')} in {int(ended.sum())} runs"
    return Finding(text, least, (least,))


@chapter.measure("va-same-direction")
def same_direction(pushes):
    within, together = (
        np.array([[seed[part] for seed in seeds] for seeds in pushes.values()]) for part in (0, 1)
    )
    return Finding(
        f"{span(within, '.3f')}; of all four clusters together {span(together, '.2g')}",
        float(within.mean()),
        tuple(within - 0.9),
    )


@chapter.measure("va-own-gradients")
def own_gradients(cap):
    found = np.array([[coherence(run.arrows[0], run.labels) for run in cap[d, 1]] for d in (2, 3)])
    return Finding(f"{span(found, '.2g')}", float(found.mean()), tuple(found - 0.5))


@chapter.measure("va-at-rest")
def at_rest(still, vanilla):
    network, free = moved(still, 200), moved(vanilla[2, "cap"], 200)
    return Finding(
        f"it moves by {span(network, '.2g')} through the network, by {span(free, '.2g')} without",
        float(network.mean()),
        (0.1 - network, 0.1 - free),
    )


@chapter.measure("ls-capacity")
def capacity(vanilla, cap):
    free = {d: np.array([run.loss[after(run, 100)] for run in vanilla[d, "cap"]]) for d in (2, 3)}
    margins = [free[d] - [run.loss[-1] for run in runs] for (d, _), runs in cap.items()]
    return Finding(
        f"theirs is lower by {span(-np.array(margins), '.2g')}",
        float(np.mean(margins)),
        tuple(margins),
    )
