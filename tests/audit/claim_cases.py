"""Made-up evidence for the verdicts of claims that no control gives: {id: {verdict: evidence}}."""

import dataclasses
import itertools
from types import SimpleNamespace as Run

import numpy as np
import xarray

from clbook.experiments import landscape
from clbook_book import records
from clbook_book.audit.cs.measures import STANDARD
from clbook_book.audit.cs.runs import SDS
from clbook_book.audit.sa.runs import COUNTS, TWINS
from clbook_book.audit.sl.measures import BOTH, ONE, WITH
from clbook_book.course.photographs.runs import OUTPUTS, SLOW

NAN = np.nan


def record(axes, places=None, **quantities):
    """A record of quantities along these axes, or the first ones of them that each has."""
    kept = {name: (axes.split()[: np.ndim(q)], q) for name, q in quantities.items()}
    return xarray.Dataset(kept, coords=places)


# LS and VA.


def separated(*at, **fields):
    """Runs that separate at these iterations (None: never)."""
    return [Run(separable_at=steps, config=Run(steps=1000), **fields) for steps in at]


def of_ratio(ratio, at):
    """A record of runs with this ratio of (e), one of which separates at `at`."""
    times, ones = np.array([1.0, 2.0, 1.0, 2.0, 1.0, at]), np.ones(6)
    kinds = ["partial", "full", "full", "partial", "partial", "partial"]
    return record("run", left=ratio * ones, right=ones, separable_at=times, gradient=kinds)


def donuts(*alignment):
    """Runs on each kind of data with this alignment at times 0, 1, 2, which separate at 1; five donuts alike."""
    axes, times = "data activation seed step", np.arange(3.0)
    ones = np.ones((2, 1, 5))
    of_each = {"recorded_steps": times * ones[..., None], "alignment": alignment * ones[..., None]}
    places = {"data": ["clusters", "donut"], "activation": ["tanh"]}
    both = record(axes, places, separable_at=ones.astype(int), **of_each)
    wide = both.sel(data=["donut"]).rename(data="eps").assign_coords(eps=[1.0])
    return {"stories": both, "fig5": wide.transpose("activation", "eps", ...)}


def uneven(ratio):
    """Growth of five runs with the partial gradient at this ratio of the rate, and of one with the full gradient."""
    return [
        *(("partial", ratio * rate, rate) for rate in (1.0, 2.0, 3.0, 4.0, 5.0)),
        ("full", 1, 1),
    ]


def clustered():
    """The runs of VA's records, which end with four clusters on the circle and stand still."""
    recipe = records.recipes()["va-life"]
    made = records.grid(records.of_runs(recipe), recipe.dims)
    angles = np.arange(120) * 2 * np.pi / 120
    angles = angles // (np.pi / 2) + 0.1 * angles
    places = np.tile(np.stack([np.cos(angles), np.sin(angles)], -1), (3, 1, 1))
    places = xarray.DataArray(places, dims=("moment", "point", "dim"))
    still = xarray.zeros_like(made.config, float)
    return made.assign(
        recorded_spread=still.expand_dims(step=[0, 20_000], axis=-1),
        later=still,
        z=places.broadcast_like(made.config.drop_vars("config")),
        labels=("point", np.repeat(range(4), 30)),
    )


ONE_PLACE = landscape.run(landscape.Config(clusters=1, copies=5))
NETWORK = "eps^2/tau = .01, network"
LS_AND_VA = {
    "ls-theorem-4-3-tight": {"not seen here": {"repeats": {NETWORK: separated(*[None] * 5)}}},
    "ls-more-clusters": {"not seen here": {"several": {"3 in 2-D": separated(5, 6, 7, 8, None)}}},
    "ls-any-family": {
        "undecided": {
            "to_the_end": of_ratio(5.0, NAN),
            "random_features": of_ratio(5.0, 9.0),
            "linear_maps": {"spline": separated(*[3] * 5)},
        }
    },
    "ls-step-5": {
        "holds": {
            "printed_bounds": {1: [-9.0, -8.0]},
            "equal_means": dict(partial=0.0, full=0.0, ratio=900.0, eps=0.1),
        }
    },
    "ls-growth-rate": {"holds when": {"growth": uneven(1.01)}, "fails": {"growth": uneven(1.2)}},
    "ls-reshaping": {"seen here": donuts(0.1, 0.8, 0.9)},
    "ls-blocks-first": {"seen here": donuts(0.1, 0.8, 0.9), "not seen here": donuts(0.1, 0.1, 0.9)},
    "va-prop-2-1-formula": {
        "holds": {"still": [dataclasses.replace(ONE_PLACE, loss_mean=0.0, z=ONE_PLACE.z[:1])] * 3}
    },
    "va-theorem-4-2-network": {
        "fails": {"three_flows": [{"network": Run(spread=np.full(3, 1e-15), moved=[0, 1.0])}] * 5}
    },
    "va-stationary": {"seen here": {"life": clustered()}},
}

# SA.

LOSSES = ["dcl", "nscl", "supcon", "ce"]


def photographs(*ends):
    """Both sets of photographs with these accuracies and similarities of the four losses at the end, and digits."""
    spread = np.array([0.0, 0.01, -0.01])[:, None, None] / 10
    values = (np.array(ends) - 1) * np.linspace(0, 1, 4)[:, None] + 1 + spread
    names = dict.fromkeys(("cka", "rsa", "probe"), values)
    made = record("seed epoch loss", {"loss": LOSSES}, gap=1 - values, **names)
    sets = {"CIFAR-10": made, "MNIST": made}
    return {"photographs": sets, "images": sets | {"digits": made}}


def heated(*ends):
    """Both sets with these similarities of NSCL at the three temperatures."""
    cold, middle, hot = (photographs(1, end, end, end)["photographs"] for end in ends)
    others = {name: xarray.concat([cold[name], hot[name]], "tau") for name in cold}
    others = {name: both.assign_coords(tau=[0.1, 1.0]) for name, both in others.items()}
    return {"photographs": middle, "photographs_tau": others}


FALLING = np.linspace(np.ones(len(COUNTS)), np.linspace(0.9, 0.2, len(COUNTS)), 11, axis=-1)
FALLING = np.repeat(FALLING[:, None], 5, 1)  # (numbers of classes, seeds, steps)
ALBUM = np.tile(np.array([1, 0.9, 0.8, 0.7, 0.6])[:, None], (3, 1, 1))
PAIR = np.tile(ALBUM[0], 2)  # (steps, DCL and NSCL)
LONG = {"long_pairs": [Run(gap=1 - PAIR, cka=PAIR, rsa=PAIR)] * 5}
SA = {
    "sa-weight-angle": {
        "seen here": {
            "plateau": record(
                "seed loss step",
                {"step": range(0, 6001, 100), "loss": list(TWINS["loss"])},
                weight_angle=np.full((3, 3, 61), 85.0),
            )
        }
    },
    "sa-weights-part": {"seen here": photographs(1, 0.9, 0.5, 0.4) | LONG},
    "sa-subsets-decline": {
        "seen here": {
            "subsets": record("classes seed step", {"classes": list(COUNTS)}, cka=FALLING),
            "photographs": {"CIFAR-10": record("seed epoch loss", {"loss": ["nscl"]}, cka=ALBUM)},
        }
    },
    "sa-photo-scl-zero": {"seen here": photographs(1, 0.9, 0.02, 0.4)},
    "sa-photo-probe": {"seen here": photographs(0.6, 0.7, 0.8, 0.8)},
    "sa-photo-tau": {"seen here": heated(0.3, 0.6, 0.9)},
    "sa-bound-batch": {"holds": {"bound_changes": {"fixed epochs": [0.1, -0.1]}}},
}

# SL and CS.


def own(groups=3, **changes):
    """SL's runs {name: five runs}, equal but for these changes {name: {field: value}}; as many groups of distances."""

    def runs(pretrained=0.5, at_half=1.0, loss=1.5):
        one = Run(
            steps=np.array([0, 500, 1000]),
            accuracy={"pretrained": np.array([0.1, *[pretrained] * 3])},
            equivalent=np.array([3.0, at_half, 1.0]),  # below half of the first, or at the end only
            loss=np.full(3, loss),
            config=Run(misaligned="none"),
        )
        return [one] * 5

    made = {name: runs(**changes.get(name, {})) for name in (WITH, ONE, BOTH)}
    return {"own": made, "own_groups": np.full(5, groups)}


def half_at(distance):
    """The record of five even runs at this distance after 500 epochs, and closer after 1,000."""
    return record("seed step", {"step": [0, 500, 1000]}, equivalent=[[3.0, distance, 1.0]] * 5)


TOGETHER = [Run(tables=np.tile(np.eye(8), (1, 2, 1)))] * 5  # equivalent symbols, and they alone
LOST = {  # five deep encoders in the box of which content takes nearly all of the style
    (width, "box", sd, label): record("seed layer", style=left * np.ones((5, 2)))
    for width, sd, (label, left) in itertools.product(
        (10, 50), SDS, (("content", 0.1), ("no content", 0.9))
    )
}


def filled(rows):
    """A record of outputs that fill as many axes evenly as {row: number} says, three seeds."""
    numbers = np.array([*rows.values()])[:, None, None]
    return record(
        "variant seed axis_z",
        {"variant": [*rows]},
        spectrum_z=(np.arange(64) < numbers) * np.ones((1, 3, 1)),
    )


SL_AND_CS = {
    "sl-own-only": {"seen here": {"paper": TOGETHER, "defaults": TOGETHER}},
    "sl-own-longer": {
        name: own(**{ONE: {"at_half": uneven}}) | {"replaced": half_at(even)}
        for name, uneven, even in (("seen here", 2.0, 1.0), ("not seen here", 1.0, 2.0))
    },
    "sl-own-less-useful": {
        "seen here": own(**{WITH: {"pretrained": 0.9}}),
        "not seen here": own(**{ONE: {"pretrained": 0.9}}),
    },
    "sl-own-bands": {"seen here": own(), "undecided": own(**{BOTH: {"loss": 3.45}})},
    "cs-without-content": {"holds": {"lowered": [[1.2]]}},
    "cs-photo-fig-2": {
        "seen here": {
            "norms": filled(dict.fromkeys(OUTPUTS, 8) | {STANDARD: 20}),
            "slow": filled(dict.fromkeys(SLOW, 8)),
        }
    },
    "cs-fig-1-middle": {"seen here": {"deep": LOST, "rotated": LOST}},
}
CASES = LS_AND_VA | SA | SL_AND_CS
