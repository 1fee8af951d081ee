"""What LS and VA say about embeddings on the sphere, judged on the chapter's runs."""

import numpy as np

from clbook.claims import Chapter, Finding, span
from clbook.experiments.sphere import coherence

chapter = Chapter(__file__)


def after(run, iteration: int) -> int:
    """Index of the first recorded time from this iteration on."""
    return int(np.searchsorted(run.steps, iteration))


def moved(runs, since: int) -> np.ndarray:
    """How far the median point of each run is at the end from where it was at iteration `since`."""
    return np.array(
        [np.median(np.linalg.norm(run.z[-1] - run.z[after(run, since)], axis=1)) for run in runs]
    )


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
