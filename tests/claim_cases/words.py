"""Made-up runs on which the claims of the chapter give each verdict that they may give."""

from types import SimpleNamespace

import numpy as np

COUNTS = np.array([100, 100, 200, 200, 400, 400])
PAIRS = {"injected": np.array([[0, 1], [2, 3], [4, 5]])}
ENDS = np.array([1.2, 1.0, 0.8])  # three pairs, the more frequent the closer


def run(twins, natural=0.7, start=0.1, nearest=0.9, shape=ENDS):
    """A run recorded at steps 0 and 9: random pairs end at distance 1, the others at these."""
    ends = {
        "injected": twins * shape,
        "natural": np.full(3, natural),
        "random, injected": np.ones(3),
    }
    distances = {kind: np.stack([np.full(3, start), end]) for kind, end in ends.items()}

    def ratio(kind, frame=-1):
        return distances[kind][frame].mean()

    return SimpleNamespace(
        steps=np.array([0, 9]),
        counts=COUNTS,
        pairs=PAIRS,
        distances=distances,
        ratio=ratio,
        twin_nearest=np.array([0.0, nearest]),
    )


def seeds(**fields):
    """Five runs that differ a little."""
    return {"words_fixed_toss": [run(**{"twins": 0.3 + k / 100} | fields) for k in range(5)]}


def split(heads=50, left=()):
    """Five texts whose 100 words each became twins, the first ones `heads` of 100 times; these words are `left`."""
    words = [f"{k}₁" for k in range(100)] + [f"{k}₂" for k in range(100)] + list(left)
    counts = np.array([heads] * 100 + [100 - heads] * 100 + [1] * len(left))
    counts[:10] += 28 * (heads == 50)  # a fair coin is not even
    pairs = {"injected": np.arange(200).reshape(2, 100).T}
    return {"words_fixed_toss": [SimpleNamespace(words=words, counts=counts, pairs=pairs)] * 5}


def choices(fast, slow):
    """Runs of each start and rate: distances begin here in two of them, and small in the third."""
    begun = {"words_fast": fast, "words_start_1": slow, "words_fixed_toss": 0.1}
    return {name: seeds(start=start)["words_fixed_toss"] for name, start in begun.items()}


CASES = {
    "sl-fig-9-closer": {"seen here": seeds(), "not seen here": seeds(twins=2.0)},
    "sl-natural-between": {"seen here": seeds(), "not seen here": seeds(natural=1.5)},
    "sl-fig-9b": {
        "seen here": {"words_fast": seeds(start=1.5)["words_fixed_toss"]},
        "not seen here": {"words_fast": seeds()["words_fixed_toss"]},
    },
    "sl-fig-9b-open": {
        "seen here": choices(fast=1.5, slow=0.4),
        "not seen here": choices(fast=0.4, slow=1.5),
    },
    "sl-transformer": {
        "seen here": {"words_transformer": seeds()["words_fixed_toss"]},
        "not seen here": {"words_transformer": seeds(twins=0.9)["words_fixed_toss"]},
    },
    "sl-twin-nearest": {"holds": seeds(), "fails": seeds(nearest=0.1)},
    "sl-same-vector": {"holds": seeds(), "fails": seeds(twins=0.001)},
    "sl-rarer-farther": {"holds": seeds(), "fails": seeds(shape=ENDS[::-1])},
    "sl-softmax-side": {
        "seen here": {**seeds(), "words_over_symbols": seeds()["words_fixed_toss"]},
        "not seen here": {**seeds(), "words_over_symbols": seeds(twins=0.9)["words_fixed_toss"]},
    },
    "sl-artificial": {"identity": split(), "fails": split(heads=70)},
    "sl-fresh-coin": {
        "holds": {
            "words_fresh_toss": seeds(nearest=0.99)["words_fixed_toss"],
            "words_fixed_toss": seeds(twins=0.6)["words_fixed_toss"],
        },
        "fails": {
            "words_fresh_toss": seeds(nearest=0.5)["words_fixed_toss"],
            "words_fixed_toss": seeds(twins=0.6)["words_fixed_toss"],
        },
    },
    "sl-whole-sentence": {
        "seen here": {"words_whole_sentence": seeds()["words_fixed_toss"]},
        "not seen here": {"words_whole_sentence": seeds(natural=1.5)["words_fixed_toss"]},
    },
}
