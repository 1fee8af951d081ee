"""An experiment that trains in the reader's page: its own step, traced, as JavaScript. No kernel, no network.

One figure, in the panels that the block is given: it shows the start before a reader trains, follows each change of a
setting, and then draws what is recorded as it comes.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Collection, Mapping, Sequence

from clbook import environment, style
from clbook.explore import controls
from clbook.explore.static import Block, file, filled, said
from clbook.explore.subject import quantities
from clbook.results.store import cached, path_of
from clbook.results.sweep import Bar, combined, often
from clbook.training.loop import Training, recorded_times, training_of
from clbook.training.settings import Settings, expect, fields
from clbook_book.live import tasks
from clbook_book.live.kept import kept
from clbook_book.live.page import Program, program, shared_code
from clbook_book.live.panels import Panel, check, points
from clbook_book.live.ranges import knobs
from clbook_book.live.tasks import Ask, Goal, phrases

TRACING = "Writing what trains in the page"  # what stands before the bar meanwhile


def train_here(
    run: Callable,
    figure: Callable,
    base_config: Settings,
    *,
    settings: Sequence[str],
    without: Sequence[str] = (),
    panels: Sequence[Panel] = (points(),),
    says: Mapping[str, str] = types.MappingProxyType({}),
    ask: Ask | None = None,
    goals: Sequence[Goal] = (),
    suspects: Mapping[str, dict] = types.MappingProxyType({}),
    title: str = "",
    caption: str = "",
    name: str = "here",
    **shapes: Sequence,
) -> Here:
    """A block that trains in the page: `train_here(run, figure, Config(), settings=("eps", "tau"), classes=(2, 3))`.

    Args:
        run: the `run` of a Training.
        figure: `figure(result)` -> Picture of the run at the start, for readers without JavaScript.
        base_config: the settings at the start.
        settings: names of fields that are numbers. Each gets a slider over all that the Config takes, whatever the
            others are (`live.ranges`), and a box to type in. All others in which the runs of one program may differ
            stand below, folded, with the number of steps and the seed.
        without: fields that are not offered: the page could not follow them.
        panels: what is drawn before, while and after it trains (`live.panels`).
        says: {quantity: words}, such as {"same": "same colour {:.0%}"}: what stands above the panels all the time, and
            in the status at the end; first what the text asks about. `means[1]` is an entry of a quantity.
        ask: a prediction (`live.tasks`).
        goals: what a reader may reach (`live.tasks`); the block notices it.
        suspects: {words: settings that switch it off}: a button trains without each of them in turn, and compares.
        title: a short heading.
        caption: what stands below.
        name: of the block, for links and for `window.clbook.explorers[name]`.
        shapes: fields that change the shape of the training, each with the values that a reader may choose from. Each
            combination is traced by itself.

    Raises:
        ValueError: a field that there is not; a run that is no Training's; a value that the Config refuses; a trace
            that does not follow settings or seed (`live.page.program`); a panel, a goal or words of what the page
            does not have.
        NotImplementedError: an operation that a page cannot do.
    """
    expect("base_config", base_config)
    kind = training_of(run)
    if kind is None:
        raise ValueError(f"run = {run!r} is not allowed: run must be the `run` of a Training")
    allowed = fields(type(base_config))
    named = (*settings, *shapes, *without)
    for field in named:
        tasks.expect("settings", field, allowed)
    configs = combined(base_config, **shapes)
    numbers = numbers_of(base_config, named)
    # Steps and seed belong to the page's own loop: they are no inputs of the graphs.
    besides = [field for field in ("steps", "seed") if field not in (*settings, *numbers)]
    ranged = stored(knobs, list, run, base_config, configs, [*settings, *numbers, *besides])
    sliders = {made["name"]: made for made in ranged}
    for field in settings:
        if field not in sliders:
            raise ValueError(f"settings = {field!r} is not allowed: here it has one value alone")
    numbers = [field for field in numbers if field in sliders]
    seen = {part for panel in panels for part in panel.of}
    traced = programs(kind, configs, [*settings, *numbers], seen)
    # A field whose input the graph of the start does not read would be a slider without effect.
    below = {*besides}.union(*(made.follows for made in traced)).difference(settings)
    have = traced[0].recorded | traced[0].held
    check(panels, have)
    picture = figure(cached(run, base_config, record=quantities((), figure)))
    offered = [sliders[field] for field in settings]
    folded = [made for field, made in sliders.items() if field in below]
    choices = [choice(base_config, *shape) for shape in shapes.items()]
    offers = [each["name"] for each in (*offered, *folded, *choices)]
    check_tasks(says, ask, goals, suspects, traced[0].recorded, offers)
    setup = {
        "name": name,
        "steps": base_config.steps,
        "seed": base_config.seed,
        # When a run of another length is recorded: all times up to the longest one.
        "times": recorded_times(sliders["steps"]["most"]),
        "colours": style.CLASS_COLOURS,
        "shapes": choices,
        "knobs": offered,
        "more": folded,
        "programs": [made.told() for made in traced],
        "panels": [vars(panel) for panel in panels],
        "says": phrases(says),
        "ask": ask and ask.told(),
        "goals": [goal.told() for goal in goals],
        "suspects": dict(suspects),
    }
    return Here(name, title, caption, picture, setup, written(traced))


def check_tasks(
    says: Mapping, ask: Ask | None, goals: Sequence[Goal], suspects: Mapping, recorded, offers
) -> None:
    """ValueError for a name that the block neither records nor, where it may, offers as a setting."""
    both = (*recorded, *offers)
    wanted = [("says", name, recorded) for name in says]
    wanted += [("goals", name, both) for goal in goals for name, _, _ in goal.conditions]
    wanted += [("ask", name, offers) for shown in (ask.shows if ask else ()) for name in shown]
    wanted += [("suspects", name, offers) for off in suspects.values() for name in off]
    for each in wanted:
        tasks.expect(*each)


def numbers_of(config: Settings, taken: Sequence[str]) -> list[str]:
    """The fields, but those in `taken` and the seed, that are numbers and may differ from run to run of one program."""
    return [
        name
        for name, field in fields(type(config)).items()
        if field.metadata["each"] and type(field.default) in (int, float)
        if name not in (*taken, "seed")
    ]


def programs(
    kind: type[Training],
    configs: Sequence[Settings],
    settings: Sequence[str],
    seen: Collection[str] = (),
) -> list[Program]:
    """A training at several settings, each a program of its own. A bar shows how far it is.

    What was traced before on this machine is taken from the store.
    """
    look = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt} of {total_fmt} parts, {elapsed}"
    # While a page is built, which would keep the bar, there is none.
    bar = Bar(total=len(configs), desc=TRACING, bar_format=look, disable=environment.static())
    found = []
    with bar, often(bar.refresh):  # its clock goes on while a training is traced
        for config in configs:
            found.append(
                stored(program, Program, kind.run, config, kind, config, [*settings], sorted(seen))
            )
            bar.update()
    return found


def stored(make: Callable, kind: type, run: Callable, config: Settings, *given):
    """`make(*given)`, a `kind` that takes seconds: kept beside the runs, found by the same code and arguments alone."""
    made = functools.partial(make, *given)
    path = path_of(run, config)  # its name says all that a run depends on
    return made() if path is None else kept(made, kind, [make.__module__], [path.name, given])


def written(traced: Sequence[Program]) -> str:
    """The code of `programs`: const shape0_setup=function(){...}; and so on."""
    # Two networks often have one start, const shape1_setup=shape0_setup; then, which is sent and compiled once.
    first, lines = {}, []
    for number, made in enumerate(traced):
        for part in ("setup", "step"):
            code, name = getattr(made, part), f"shape{number}_{part}"
            lines.append(f"const {name}={first.get(code, code)};")
            first.setdefault(code, name)
    return "\n".join(lines)


def choice(config: Settings, name: str, values: Sequence) -> dict:
    """A row of buttons for a field that changes the shape."""
    field = fields(type(config))[name]
    start = list(values).index(getattr(config, name))
    words = [said(value) for value in values]
    return {"name": name, "label": controls.label(field), "values": words, "value": words[start]}


@dataclasses.dataclass(eq=False, repr=False)
class Here(Block):
    """The block as HTML.

    Attributes:
        name, title, caption: as for `train_here`.
        picture: of the run at the start, for readers without JavaScript.
        setup: what the script reads.
        code: of the programs, one for each combination of shapes, the last one fastest.
    """

    name: str
    title: str
    caption: str
    picture: style.Picture
    setup: dict
    code: str

    def _repr_html_(self) -> str:
        return filled(
            "clbook_book.live/inpage.html",
            self.setup,
            css=["clbook.explore/named.css", "clbook_book.live/inpage.css"],
            js=[
                "clbook_book.live/settings.js",
                "clbook.explore/address.js",
                "clbook.explore/named.js",
                "clbook_book.live/tasks.js",
                "clbook_book.live/drawing.js",
                "clbook_book.live/block.js",
                *(panel["script"] for panel in self.setup["panels"] if panel["script"]),
                "clbook_book.live/suspects.js",
                "clbook_book.live/inpage.js",
            ],
            here=self,
            still=self.picture.inline(),
            shared=shared_code() + file("clbook_book.live/inpage.worker.js"),
        )
