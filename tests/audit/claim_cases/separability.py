"""Made-up runs on which the claims of the chapter give each verdict that they may give."""

from types import SimpleNamespace as Run


def runs(*at, **fields):
    """Runs that separate at these iterations (None: not within 1,000)."""
    fields = {"config": Run(steps=1000)} | fields
    return [Run(separable_at=steps, **fields) for steps in at]


EARLY, NEVER = runs(10, 20, 30, 40, 50), runs(*[None] * 5)
NETWORK = "eps^2/tau = .01, network"


def growth(ratio):
    """Five runs with the partial gradient at this ratio of the rate that is predicted, and one with the full one."""
    return [("partial", ratio * rate, rate) for rate in (1.0, 2.0, 3.0, 4.0, 5.0)] + [
        ("full", 1.0, 1.0)
    ]


CASES = {
    "ls-growth-rate": {"holds": {"growth": growth(1.01)}, "fails": {"growth": growth(1.2)}},
    "ls-theorem-4-3-tight": {
        "seen here": {"repeats": {NETWORK: EARLY}},
        "not seen here": {"repeats": {NETWORK: NEVER}},
    },
}
