"""Made-up runs on which the claims of the chapter give each verdict that they may give."""

from types import SimpleNamespace as Run

import numpy as np

from clbook.experiments.separability import condition


def runs(*at, **fields):
    """Runs that separate at these iterations (None: not within 1,000)."""
    fields = {"config": Run(steps=1000)} | fields
    return [Run(separable_at=steps, **fields) for steps in at]


def check(separated, **changed):
    """A Check of 5 seeds with 4 runs each: eps rises, and the first two separate, the earlier the smaller eps^2/tau."""
    eps, tau = np.tile([1.0, 1.0, 2.0, 2.0], 5), np.tile([0.1, 0.2, 0.1, 0.2], 5)
    fields = dict(
        eps=eps,
        tau=tau,
        seed=np.repeat(range(5), 4),
        gamma=eps / 2,
        theta=eps,
        sigma2=eps,
        delta=eps,
        left=100 * eps,
        right=eps,
        ratio=np.where(separated, 5.0, 0.5),
        ratio_frozen=eps,
        separated=np.array(separated),
        steps=1 + eps**2 / tau,
    )
    return condition.Check(**{**fields, **changed})


SOME = [True, True, True, False] * 5
TAU = np.tile([0.1, 0.2, 0.2, 0.1], 5)  # with these, eps^2/tau is largest where a run stays mixed
EARLY, NEVER = runs(10, 20, 30, 40, 50), runs(*[None] * 5)
VANILLA = "eps^2/tau = .01, vanilla"
NETWORK = "eps^2/tau = .01, network"
LINE = np.arange(3.0)[None, :, None]


def timed(*steps):
    """A check whose runs separate at these iterations; eps^2/tau is 10, 8, 40, 7.1, and eps^3/tau 10, 32, 80, 57."""
    return check(
        [True] * 20,
        eps=np.tile([1.0, 4.0, 2.0, 8.0], 5),
        tau=np.tile([0.1, 2.0, 0.1, 9.0], 5),
        steps=np.tile(steps, 5),
    )


def wide(*steps):
    """A check whose runs separate at these iterations; eps^3/tau is .01, .1, 10 and 1,000, tau the same for all."""
    return check(
        [True] * 20,
        eps=np.tile([0.1, 0.1 ** (2 / 3), 10 ** (1 / 3), 10.0], 5) * 1.0,
        tau=np.tile([0.1, 0.1, 1.0, 1.0], 5),
        steps=np.tile(steps, 5),
    )


def vanilla(at, z):
    return {VANILLA: runs(*[at] * 5, z=z)}


def growth(gradient, ratio):
    return [(gradient, ratio * rate, rate) for rate in (1.0, 2.0, 3.0, 4.0, 5.0)]


def donuts(turned, other):
    return {"rotation": turned, "noise": other, "none": other, "no network": other}


def measurable(ratio):
    """A run that separates, and whose condition (e) has about this ratio."""
    config = Run(eps=1.0, tau=1.0, n=1, seed=0)
    return Run(
        separable_at=1,
        config=config,
        steps=np.array([0, 1]),
        drift=np.zeros(2),
        gamma=np.zeros(1),
        theta=np.array([ratio]),
        sigma2=np.zeros(1),
    )


CASES = {
    "ls-prop-4-1": {
        "holds": {"step_errors": {"partial": [[1.0] * 5, [0.1] * 5]}},
        "fails": {"step_errors": {"partial": [[1.0] * 5, [0.9] * 5]}},
    },
    "ls-free-order": {
        "holds": {"repeats": vanilla(None, np.concatenate([LINE, 2 * LINE]))},
        "fails": {"repeats": vanilla(None, np.concatenate([LINE, -LINE]))},
    },
    "ls-growth-rate": {
        "holds": {"growth": growth("partial", 1.01)},
        "fails": {"growth": growth("partial", 1.2)},
    },
    "ls-growth-full": {
        "holds": {"growth": growth("full", 0.99)},
        "fails": {"growth": growth("full", 0.5)},
    },
    "ls-theorem-4-3-tight": {
        "seen here": {"repeats": {NETWORK: EARLY}},
        "not seen here": {"repeats": {NETWORK: NEVER}},
    },
    "ls-condition-tells": {
        "holds": {"phase_diagram": check(SOME, tau=TAU)},
        "fails": {"phase_diagram": check(SOME, tau=TAU, ratio=np.where(SOME, 0.5, 5.0))},
    },
    "ls-cube-over-tau": {
        "holds when": {"phase_diagram": wide(1.0, 2.0, 9.0, 20.0)},
        "fails": {"phase_diagram": wide(20.0, 9.0, 2.0, 1.0)},
    },
    "ls-square-over-tau": {
        "holds": {"phase_diagram": timed(10.0, 8.0, 40.0, 7.1)},
        "fails": {"phase_diagram": timed(1.0, 2.0, 9.0, 5.0)},
    },
    "ls-step-2": {
        "holds": {"block_powers": [0.99, 1.0, 1.01, 1.0, 1.0]},
        "fails": {"block_powers": [0.49, 0.5, 0.51, 0.5, 0.5]},
    },
    "ls-gamma": {
        "holds": {"phase_diagram": check(SOME)},
        "fails": {"phase_diagram": check(SOME, left=np.ones(20))},
    },
    "ls-stronger-than-needed": {
        "holds": {"donuts": {"rotation": [measurable(0.1)] * 5}, "tiny": [measurable(0.1)] * 5},
        "fails": {"donuts": {"rotation": [measurable(10.0)] * 5}, "tiny": [measurable(0.1)] * 5},
    },
    "ls-fig-4-donut": {
        "seen here": {"donuts": donuts(EARLY, NEVER)},
        "not seen here": {"donuts": donuts(NEVER, NEVER)},
    },
    "ls-donut-views": {
        "seen here": {"donuts": donuts(EARLY, NEVER)},
        "not seen here": {"donuts": donuts(EARLY, EARLY)},
    },
}
