"""What the papers say of images, judged on the records of this room."""

import numpy as np

from clbook.claims import Chapter, Finding, listed
from clbook.metrics import spectral_rank

chapter = Chapter(__file__)


def against(
    text: str, values: np.ndarray, others: np.ndarray, by: float = 0.0, digits: str = ".2f"
) -> Finding:
    """Accuracies `values` (runs,) against `others`, which they must be above by `by`; {} and {} in the text."""
    gain = values - others
    return Finding(
        text.format(listed(values, digits), listed(others, digits)),
        float(gain.mean()),
        (gain - by,),
    )


@chapter.measure("img-before-projector")
def before_projector(cifar):
    return against("before {}, after {}", cifar.probe, cifar.probe_z)


@chapter.measure("img-rank")
def rank_after(cifar):
    before, after = spectral_rank(cifar.spectrum_h), spectral_rank(cifar.spectrum_z)
    return Finding(
        f"effective rank before {listed(before, '.1f')}, after {listed(after, '.1f')}",
        float((after / before).mean()),
        (before - after,),
    )
