"""What is kept of content and of style? (CS) The chapter's training.

`experiment`: encoders of latents that are known (`clbook.latents`). `projector`: the same question on images.
"""

from clbook.experiments.content_style.experiment import (
    Config,
    Encoders,
    Result,
    fresh_pairs,
    gains,
    pair_cosine,
    run,
    singular,
    style_gain,
)

__all__ = [
    "Config",
    "Encoders",
    "Result",
    "fresh_pairs",
    "gains",
    "pair_cosine",
    "run",
    "singular",
    "style_gain",
]
