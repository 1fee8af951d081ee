"""A training as one text of JavaScript: how it begins, its step, the random numbers, and what runs them."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Collection, Sequence

import torch

from clbook.explore.static import file
from clbook.training.loop import Training
from clbook.training.settings import Settings
from clbook_book.live.graph import Graph, trace_drawing, trace_setup, trace_step
from clbook_book.live.javascript import Writer

SHARED = (
    "tile.js",
    "runtime.js",
    "random.js",
    "program.js",
)  # the same for every training of a page


@dataclasses.dataclass(frozen=True)
class Program:
    """A training that runs in a page.

    Attributes:
        setup, step: JavaScript of two functions.
        spec: what `Program` of program.js takes besides: settings, seed, random numbers.
        recorded: {name: shape of what is recorded at each step}.
        held: {name: shape of parts of the state that are shown as they are at the start}.
        labels: the class of each point.
        times: the steps at which a run is recorded.
        follows: the settings that the run depends on.
    """

    setup: str
    step: str
    spec: dict
    recorded: dict[str, tuple[int, ...]]
    held: dict[str, tuple[int, ...]]
    labels: list[int]
    times: list[int]
    follows: list[str]

    def told(self) -> dict:
        """All but the code, as the page's script reads it."""
        found = dataclasses.asdict(self)
        del found["setup"], found["step"], found["follows"]
        return found


def shared_code() -> str:
    """JavaScript that all programs of a page use."""
    return "\n".join(file(f"clbook_book.live/{name}") for name in SHARED)


def program(
    kind: type[Training],
    config: Settings,
    settings: Sequence[str],
    seen: Collection[str] = (),
) -> Program:
    """The training `kind` of `config` in JavaScript; a page may change `settings` and the seed.

    What it shows are names that are `seen`: a part of the state of that name, which no step records, is held.

    Of weights w (1, 3) that begin as normal numbers, with noise at each step and a setting lr, the Program has

        setup function(){... return{inputs:{'setting.lr':p0,'random.0':p1},outputs:{...},apart:false,prepare,step};}
        step  function(){... return{inputs:{'state.weights.0':p0,'state.lr':p1,'random.0':p2},...};}
        spec  {"settings": {"lr": 0.1}, "seed": 0, "setup": [...], "step": [{"into": "random.0", "kind": "randn",
              "bounds": (), "purpose": 2, "source": 0, "size": 3, "wide": False}]}

    In the page `Program` of program.js makes a generator of 100 seed + purpose for each purpose and source, fills the
    arrays `into`, calls the code, and so draws the numbers that torch draws from that seed.

    Raises:
        NotImplementedError: an operation or a kind of random numbers that a page cannot do; the message names it.
        ValueError: the trace of other settings and another seed is another program.
    """
    setup, step = trace_setup(kind, config, list(settings)), trace_step(kind, config)
    shown = {
        name: tuple(result.meta["val"].shape)
        for name, result in step.results.items()
        if not name.startswith("state.")
    }
    parts = [part for part in seen if part not in shown and f"state.{part}" in setup.outputs]
    # The start need not compute what no step reads and nobody sees.
    setup.keep([*step.inputs, *(f"state.{part}" for part in parts)])
    compare(kind, config, settings, setup, step)
    texts = Writer(setup).text(), Writer(step).text()
    spec = {
        "settings": {name: getattr(config, name) for name in settings},
        "seed": config.seed,
        "setup": numbers(setup),
        "step": numbers(step),
    }
    training = kind([config])
    # Colours of the points: the same in all runs of the page, which `compare` has checked.
    labels = labels_of(training).tolist()
    follows = [name for name in settings if f"setting.{name}" in setup.inputs]
    held = {part: tuple(getattr(training.state, part).shape) for part in parts}
    return Program(*texts, spec, shown, held, labels, sorted(training.times), follows)


# Config(lr=0.1, steps=10, seed=0) -> Config(lr=0.125, steps=11, seed=1)
def moved(config: Settings, settings: Sequence[str]) -> Settings:
    """`config` with another seed, and its steps and each of the settings moved a little, inside their ranges."""
    other = config.replace(seed=config.seed + 1)
    for name in ("steps", *settings):
        other = near(other, name)
    return other


def near(config: Settings, name: str) -> Settings:
    """`config` with the setting `name` moved a little; ValueError where every other value is refused."""
    value = getattr(config, name)
    whole = isinstance(value, int)
    # Up, and where the range ends there, down; 0 moves to 0.07.
    for other in (value + 1, value - 1) if whole else (1.25 * value or 0.07, 0.8 * value):
        try:
            return config.replace(**{name: other})
        except ValueError as error:
            refused = error
    raise refused


def compare(
    kind: type[Training], config: Settings, settings: Sequence[str], setup: Graph, step: Graph
) -> None:
    """ValueError where other settings and another seed are traced to other graphs than `setup` and `step`.

    So a value that Python has looked at while it was traced, and that would stand in the page for good, is found.
    """
    other = moved(config, settings)
    begun = trace_setup(kind, other, list(settings))
    begun.keep(setup.outputs)
    both = ("start", setup, begun), ("step", step, trace_step(kind, other))
    for what, graph, found in both:
        if found.draws != graph.draws or Writer(found).text() != Writer(graph).text():
            raise ValueError(
                f"the {what} of {kind.__name__} is not allowed in a page: its trace does not follow settings or seed"
            )
    if not torch.equal(labels_of(kind([config])), labels_of(kind([other]))):
        raise ValueError("labels that depend on seed or settings are not allowed in a page")


def numbers(graph: Graph) -> list[dict]:
    """The random numbers of a graph, as program.js draws them."""
    found = []
    for k, draw in enumerate(graph.draws):
        told = {
            "into": f"random.{k}",
            "kind": draw.kind,
            "bounds": draw.bounds,
            "purpose": draw.purpose,
            "source": draw.source,
            "size": math.prod(draw.shape),
            "wide": draw.dtype == torch.float64,
        }
        found.append(told)
    return found


def drawing(function: Callable, given: dict[str, torch.Tensor], **told) -> str:
    """JavaScript that returns {make, draws, Generator}, and what is `told` by name.

    `make()` gives {inputs, outputs, prepare, step} of `function`, which takes and gives {name: tensor}, as `given`;
    `draws` says which of the inputs a Generator fills.
    """
    graph = trace_drawing(function, given)
    constants = {"draws": numbers(graph)} | told
    named = [f"const {name}={json.dumps(value)};" for name, value in constants.items()]
    end = f"return{{make,Generator,{','.join(constants)}}};"
    return "\n".join([shared_code(), f"const make={Writer(graph).text()};", *named, end])


def labels_of(training: Training) -> torch.Tensor:
    """The class of each point; one class where the training has none."""
    # Only those of the state have the runs as an axis before.
    for holder in (training.shared, training, training.state):
        labels = getattr(holder, "labels", None)
        if labels is not None:
            labels = torch.as_tensor(labels)
            return labels[0] if holder is training.state else labels
    return torch.zeros(training.state.weights[0].shape[1], dtype=torch.long)
