"""The block on thrown digits: it trains in the page, and the reader chooses what counts as the same picture."""

from __future__ import annotations

import math

import torch

from clbook.experiments.digits import Config, run, views
from clbook.style import Picture, axes, colour
from clbook_book.live import inpage
from clbook_book.live.panels import curves
from clbook_book.live.pictures import pictures
from clbook_book.live.tasks import Ask, Goal

DEFAULT = Config()
VIEWS = ("turn", "shift", "scale", "mirrored", "half_turns", "noise")
NONE = dict.fromkeys(VIEWS, 0.0)
PRESETS = {
    "nothing": NONE,
    "moved": NONE | {"shift": 0.4},
    "turned": NONE | {"turn": 0.6},
    "both": NONE | {"shift": 0.4, "turn": 0.6},
    "any turn": NONE | {"shift": 0.4, "turn": math.pi},
    "mirrored": NONE | {"shift": 0.4, "mirrored": 0.5},
    "upside down": NONE | {"shift": 0.4, "half_turns": 0.5},
}
ASK = Ask(
    "It trains twice: two views differ by a move in one run, by a turn in the other. Which finds more digits?",
    ("the one that sees moves", "the one that sees turns", "both find as many"),
    "the one that sees moves",
    (
        "The digits lie at random places, and moves teach the network not to care where. Other seeds show it more.",
        "Turns teach much, too, but leave the place of a digit free to matter.",
        "With this seed they differ by hardly more than the error; with the next two moves lead by eight in a hundred.",
    ),
    (PRESETS["moved"], PRESETS["turned"]),
)
ALONE = [f"{name} == 0" for name in VIEWS if name != "shift"]
GOALS = (
    Goal(
        "Reach 65 % with moved views alone",
        "knn >= 0.65",
        *ALONE,
        hint="Let views be moved by 0.4 and set all other changes to 0: where a digit lies is what the network should"
        " learn not to see.",
    ),
    Goal(
        "Make 6 and 9 neighbours: one in twenty of each other's nearest",
        "mixed >= 0.05",
        hint="Let half of the views stand upside down (0.5): a 9 on its head looks like a 6, so they share views.",
    ),
)


def sample(picture, how, generator):
    """Four views (4, side, side) of a picture (side, side), as the training draws them."""
    u = torch.rand(1, 6, 4, generator=generator)
    noise = torch.randn(4, *picture.shape, generator=generator)
    settings = {name: value.reshape(1, 1) for name, value in how.items()}
    return views(picture.expand(1, 4, -1, -1), u, settings)[0] + how["noise"] * noise


def start(result) -> Picture:
    """The held-out pictures in the plane of most variance of their embeddings, at the end of a run."""
    z = result.z[-1] - result.z[-1].mean(0)
    at = z @ torch.linalg.svd(torch.from_numpy(z)).Vh[:2].T.numpy()
    fig, ((ax,),) = axes(width=6, height=4)
    # All lie within the axes: the layout, which would measure each of the 600, needs none of them.
    how = {"fontsize": 9, "ha": "center", "va": "center", "in_layout": False}
    for place, label in zip(at, result.labels, strict=True):
        ax.text(*place, str(label), color=colour(label), **how)
    ax.set(xlim=(-1, 1), ylim=(-1, 1), xticks=[], yticks=[])
    return Picture(
        fig,
        f"{len(z)} digits that training has not seen, at their places after {result.steps[-1]} steps: "
        f"{result.knn[-1]:.0%} have neighbours that vote for them, by pixels {result.pixels:.0%}.",
    )


def block(title: str, caption: str, config: Config = DEFAULT, ask: Ask = ASK) -> inpage.Here:
    """The block, for a page."""
    shown = pictures(
        "z",
        "pictures",
        sample,
        VIEWS,
        16,
        ("knn", "pixels"),
        presets=PRESETS,
        classes="digit",
        words="Recognised by their five nearest neighbours",
        chance=0.1,
        span=2.2,
    )
    return inpage.train_here(
        run,
        start,
        config,
        settings=("turn", "shift", "scale"),
        panels=(shown, curves(knn="network", pixels="pixels", limits=(0, 1), title="digits found")),
        ask=ask,
        goals=GOALS,
        title=title,
        caption=caption,
        name="digits",
    )
