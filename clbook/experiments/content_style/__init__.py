"""What is kept of content and of style? (CS) The chapter's training.

`experiment`: encoders of latents that are known (`clbook.latents`). `projector`: the same question on images.
`collapse`: what the theory says about gradients and optima, checked.
"""

from clbook.experiments.content_style.experiment import (
    Config,
    Encoders,
    Result,
    fresh_pairs,
    gains,
    run,
    singular,
    style_gain,
)

__all__ = ["Config", "Encoders", "Result", "fresh_pairs", "gains", "run", "singular", "style_gain"]
