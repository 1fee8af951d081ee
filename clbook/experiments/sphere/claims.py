"""What LS and VA say about embeddings on the sphere, judged on the chapter's runs."""

import numpy as np

from clbook import theory
from clbook.claims import Chapter, Finding
from clbook.experiments.sphere import CLUSTERED, coherence

chapter = Chapter("sphere")
ROW = "four clusters in a row, n = 200, tau = .2, LS eq. 12"
CASES = ((2, 1), (2, 4), (3, 1), (3, 4))  # d, hidden layers
VA_FIRST = -3.0  # where VA's row of clusters begins


def span(values, form: str = ".2g") -> str:
    """The range of some numbers, or the one number that all are."""
    low, high = f"{np.min(values):{form}}", f"{np.max(values):{form}}"
    return low if low == high else f"{low} to {high}"


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
    return np.array([np.median(np.linalg.norm(run.z[-1] - run.z[after(run, since)], axis=1)) for run in runs])


@chapter.claim(
    "ls-free-uniform", "LS Fig. 6, vanilla; LS Fig. 7, vanilla, 2-D; LS Fig. 7, vanilla, 3-D; "
    "VA Section 4.2.1, vanilla ends uniform; VA Fig. 5, vanilla; VA Fig. 6, 2-D vanilla; VA Fig. 6, 3-D vanilla",
    shown=True, anchor="sph-plateau",
    says="Without a network the points end uniform, whatever the clusters of the data",
    theirs="a random start, circle and sphere; LS: eq. 12, n = 2,000, SGD at .001; VA: their eq. 4",
    here="n = 200, tau = .2, LS eq. 12, views held still, uniform and cap start, circle and sphere, 300 iterations",
    bar="loss within .005 of that of uniform points; 10-NN accuracy below .5, chance being .25 (set after the run)",
    evidence="5 seeds of each start and dimension")
def free_uniform(vanilla):
    gap = np.array([[abs(run.loss[-1] - theory.simplified_plateau(run.config.tau, run.config.d)) for run in runs]
                    for runs in vanilla.values()])
    accuracy = np.array([[run.accuracy[-1] for run in runs] for runs in vanilla.values()])
    return Finding(f"loss within {gap.max():.0e}, accuracy {span(accuracy)}", float(gap.max()),
                   (*(0.005 - gap), *(0.5 - accuracy)))


@chapter.claim(
    "ls-cap-clusters", "LS Fig. 6, network; VA Fig. 5, network", ours=True, shown=True, anchor="sph-cap",
    says="From a start in a small cap the network parts the four clusters, and hyperplanes separate them",
    theirs="not said: their start is uniform",
    here=f"{ROW}, 1 and 4 hidden layers, circle and sphere; VA's data on the circle, 1 layer",
    bar="10-NN accuracy reaches .95, and an affine rule is right on every point, in every seed",
    evidence="5 seeds of 100 iterations; 3 of 300 of VA's data")
def cap_clusters(cap, still):
    groups = (*cap.values(), still)
    every = [run for runs in groups for run in runs]
    at = [run.clustered_at for runs in cap.values() for run in runs if run.clustered_at is not None]
    return Finding(f"{clustered(every).sum()} of {len(every)} runs cluster, those of LS's data at iterations "
                   f"{span(at or 0, 'd')}; {separable(every).sum()} are separable", float(clustered(every).mean()),
                   (*map(clustered, groups), *map(separable, groups)))


@chapter.claim(
    "ls-uniform-start", "LS Section 3, uniform start; LS Fig. 6, network; LS Fig. 7, network, 2-D; "
    "LS Fig. 7, network, 3-D; LS Appendix D, any architecture", shown=True, anchor="fig-sph-uniform",
    verdicts=("holds", "not seen here"),
    says="Through a network the clusters appear even from a uniform start, at any depth",
    theirs="n = 2,000, SGD at a rate of .001, batch and number of iterations not given",
    here=f"{ROW}, full batch, at half the rate at which descent gets unstable, 300 iterations",
    bar="10-NN accuracy reaches .95 in every seed, for 1 and 4 hidden layers, on circle and sphere",
    evidence="3 seeds of each")
def uniform_start(gentle):
    groups = [[run for run in gentle if (run.config.d, run.config.depth) == case and run.config.first != VA_FIRST]
              for case in CASES]
    return gently(groups)


def gently(groups) -> Finding:
    """How many runs of small steps from a uniform start cluster, group by group."""
    every = [run for runs in groups for run in runs]
    return Finding(f"{clustered(every).sum()} of {len(every)} runs cluster, {separable(every).sum()} are separable; "
                   f"accuracy {span([run.accuracy.max() for run in every])}", float(clustered(every).mean()),
                   tuple(map(clustered, groups)))


@chapter.claim(
    "va-uniform-start", "VA Section 3, uniform start; VA Fig. 5, network; VA Fig. 6, 2-D network; "
    "VA Fig. 6, 3-D network; VA Appendix B, another architecture",
    anchor="sph-uniform", verdicts=("holds", "not seen here"),
    says="Through a network the clusters appear even from a uniform start, at any depth",
    theirs="loss eq. 4, 200 to 2,000 iterations; tau, n and the learning rate are not given",
    here="LS eq. 12, tau = .2, n = 200, half the rate at which descent gets unstable, 300 iterations; VA's data with 1 "
         "hidden layer, LS's with 4",
    bar="10-NN accuracy reaches .95 in every seed, on the circle, and with 4 hidden layers on circle and sphere",
    evidence="3 seeds of each")
def va_uniform_start(gentle):
    fig_5 = [run for run in gentle if run.config.first == VA_FIRST]
    return gently([fig_5] + [[run for run in gentle if (run.config.d, run.config.depth) == (d, 4)] for d in (2, 3)])


@chapter.claim(
    "ls-beyond-the-limit", "LS Section 3, uniform start", ours=True, shown=True, anchor="fig-sph-uniform",
    says="Steps beyond the stability limit bring the clusters out of a uniform start",
    theirs="not said", here=f"{ROW}, 1 and 4 hidden layers, circle and sphere, lr .15, .5, 1.5, 5, 100 iterations",
    bar="more than half of a seed's runs beyond the limit end with a 10-NN accuracy of .95 (set after the run)",
    evidence="3 seeds")
def beyond(trained, ratio, large):
    above = [run for run, times in zip(trained, ratio, strict=True) if times > 1]
    ended = np.array([run.accuracy[-1] >= CLUSTERED for run in above])
    seeds = np.array([run.config.seed for run in above])
    share = np.array([ended[seeds == seed].mean() for seed in np.unique(seeds)])
    return Finding(f"{ended.sum()} of {len(above)} runs, {span(share)} of each seed's; n = 2,000 at lr = 2, 1 seed: "
                   f"accuracy {large.accuracy.max():.2f}", float(share.mean()), (share - 0.5,))


@chapter.claim(
    "ls-clusters-by-climbing", "LS Section 3, uniform start", ours=True, shown=True, anchor="sph-uniform",
    says="Where a uniform start ends in clusters the loss has gone up", theirs="not said",
    here="the runs above", bar="the loss ends higher than it began in every run that ends clustered",
    evidence="all such runs of 48, 3 seeds")
def climbing(trained):
    rises = [run.loss[-1] - run.loss[0] for run in trained if run.accuracy[-1] >= CLUSTERED]
    least = float(min(rises, default=np.nan))
    return Finding(f"it rises by {span(rises or np.nan)} in {len(rises)} runs", least, (least,))


@chapter.claim(
    "va-same-direction", "VA Section 4.2.1, same direction", shown=True, anchor="sph-step",
    says="From a random embedding the points of a cluster are pushed in nearly the same direction",
    theirs="the right-hand side of the flow, VA eq. 21; loss eq. 4; network VA eq. 18",
    here="VA's data, LS eq. 12, one hidden layer, n = 200, uniform start on circle and sphere; the push of the first "
         "step on the network's output",
    bar="mean direction of a cluster at least .9 long; 1: all alike, .14: chance (set after the run)",
    evidence="5 seeds of each")
def same_direction(pushes):
    within, together = (np.array([[seed[part] for seed in seeds] for seeds in pushes.values()]) for part in (0, 1))
    return Finding(f"{span(within, '.3f')}; of all four clusters together {span(together)}", float(within.mean()),
                   tuple(within - 0.9))


@chapter.claim(
    "va-own-gradients", "VA Section 4.2.1, same direction", ours=True, anchor="fig-sph-step",
    says="The loss's own gradients at the points of a cluster are alike",
    theirs="not said: VA mean the right-hand side of the flow", here=f"{ROW}, cap start, circle and sphere",
    bar="mean direction of a cluster at least .5 long", evidence="5 seeds of each")
def own_gradients(cap):
    found = np.array([[coherence(run.arrows[0], run.labels) for run in cap[d, 1]] for d in (2, 3)])
    return Finding(f"{span(found)}", float(found.mean()), tuple(found - 0.5))


@chapter.claim(
    "va-at-rest", "VA Section 4.2.1, network at rest after 200; VA Section 4.2.1, vanilla at rest after 1,000",
    ours=True, anchor="sph-loose", says="At our learning rate both flows are at rest from iteration 200 on",
    theirs="after 200 iterations with the network, 1,000 without; learning rate not given",
    here="cap start, lr = .02, the circle; VA's data through the network, and free points",
    bar="the median point moves by less than .1 from iteration 200 to 300 (set after the run)",
    evidence="3 seeds, 5 of free points")
def at_rest(still, vanilla):
    network, free = moved(still, 200), moved(vanilla[2, "cap"], 200)
    return Finding(f"it moves by {span(network)} through the network, by {span(free)} without",
                   float(network.mean()), (0.1 - network, 0.1 - free))


@chapter.claim(
    "ls-capacity", "LS Appendix D, no representational capacity", shown=True, anchor="sph-loose",
    says="Free points lack the capacity of a network", theirs="no measure given",
    here=f"capacity read as the loss that is reached; {ROW}, cap start, 1 and 4 hidden layers, circle and sphere",
    bar="free points have the higher loss at iteration 100, in every seed", evidence="5 seeds of each")
def capacity(vanilla, cap):
    free = {d: np.array([run.loss[after(run, 100)] for run in vanilla[d, "cap"]]) for d in (2, 3)}
    margins = [free[d] - [run.loss[-1] for run in runs] for (d, _), runs in cap.items()]
    return Finding(f"theirs is lower by {span(-np.array(margins))}", float(np.mean(margins)), tuple(margins))
