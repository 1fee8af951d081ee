"""Made-up runs on which the claims of the chapter give each verdict that they may give."""

import numpy as np

LOW, HIGH = np.full(5, 0.2), np.full(5, 0.8)


# The control of each claim, which must not pass, is the evidence for its second word.
CASES = {
    "sl-lemma-a-1": {
        "holds": {"lemma": (LOW / 1e3, LOW / 1e3)},
        "misprinted": {"lemma": (HIGH, LOW / 1e3)},
        "undecided": {"lemma": (HIGH, HIGH)},
    }
}
