"""The experiment of both pages' blocks, and beside it one pair of points, for the eye."""

import torch

from clbook.experiments.content_style.experiment import Encoders


class Shown(Encoders):
    """Runs as they are, with the latents of one pair: `state.pair` (R, 2, d), drawn as all pairs of a run are."""

    def setup(self):
        super().setup()
        views = [view[:, 0] for view in self.tested_pairs()]
        self.state.pair = torch.stack(views, 1)


run = Shown.run
