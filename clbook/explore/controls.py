"""Widgets for the fields of any Config, made from the fields' own metadata: the live explorer's controls."""

from __future__ import annotations

import html
import re
from itertools import pairwise
from pathlib import Path

import ipywidgets as widgets
import numpy as np
from matplotlib.ticker import LogLocator
from traitlets import link

from clbook.training.settings import allowed

# What a reader calls a setting, by its meaning or its name; any other by its own name or, if that is code, its meaning.
LABELS = {
    "eps": "ε, width of the start",
    "tau": "temperature τ",
    "tau_c": "τ of the content",
    "tau_s": "τ of the style",
    "eta": "η",
    "step size": "step size η",
    "lr": "learning rate",
    "lr_over_tau": "rate / τ",
    "decay": "weight decay",
    "psi": "Ψ",
    "delta": "δ",
    "dim": "dimensions d",
    "d": "dimensions d",
    "k": "modulus k",
    "m": "times seen, m",
    "init": "size of the start",
    "std": "size of the start",
    "standard deviation of the symbols' start": "start of the symbols",
    "std_contexts": "start of the contexts",
    "cap": "width of the start (cap)",
    "d_c": "content dimensions",
    "style_sd": "style within a pair",
    "alike": "likeness α",
    "ratio": "size ratio",
    "normalize": "normalisation",
    "number of places K": "places K",
    "classes": "classes C",
    "batch": "batch size B",
    "scaling": "rate grows with B",
    "number of hidden layers": "hidden layers",
    "width of the interval of views around a data point": "width of the views",
    "augmentation": "views",
    "hidden": "hidden units",
    "spared": "classmates spared",
    "ordered": "order of the start",
}
FEW = 20  # whole numbers that each are a stop of a slider
STOPS = 4  # slider steps between neighbouring grid values


def control(field, value, base, *, explored):
    """The widget of a field, text for numbers; `explored` ones stand beside a slider, which then carries the label.

    Choices that would need data files that are not there, with the other settings of `base`, are left out.
    """
    about = {
        "description": label(field),
        "tooltip": meaning(field),
        "style": {"description_width": "initial"},
        "layout": {"width": "auto"},
    }
    if isinstance(value, bool):
        return widgets.Checkbox(value, indent=False, **about)
    if value in (field.metadata["choices"] or ()):  # else a number, a text or a file
        choices = [
            (str(choice).replace("_", " "), choice)
            for choice in field.metadata["choices"]
            if choice == value or at_hand(base, field, choice)
        ]
        about["style"] |= {
            "button_width": "auto"
        }  # no Dropdown: in a notebook JupyterLab takes its arrow keys
        return widgets.ToggleButtons(options=choices, value=value, **about)
    if explored:
        about |= {"description": "", "layout": {"width": "8em"}}
    return widgets.Text(text(value), continuous_update=False, **about)


def at_hand(base, field, choice) -> bool:
    """Whether all data files of a choice are there; one that goes ill with other settings is offered, and refused."""
    try:
        files = base.replace(**{field.name: choice}).files
    except (ValueError, AttributeError):
        return True
    return all(path.exists() for path in files if isinstance(path, Path))


def row(field, entry, base):
    """A setting with all that is to be said of it: its control, a slider where it has a range, its meaning in words."""
    parts = [entry]
    stops = span(field, getattr(base, field.name))
    if stops:
        shown = slider(field, stops, entry, base, description="")
        shown.layout.flex = (
            "0 0 auto"  # below each other it would be as high as it is wide beside others
        )
        parts.append(shown)
    about = html.escape(meaning(field))
    parts.append(widgets.HTML(f'<small style="display:block;line-height:1.3">{about}</small>'))
    return widgets.VBox(parts, layout={"width": "auto"})


def slider(field, stops, entry, base, **how):
    """A slider over values; it follows `entry`, the field's control, or writes it."""
    shown = widgets.SelectionSlider(
        options=[text(stop) for stop in stops],
        readout=False,
        tooltip=meaning(field),
        layout={"flex": "1 1 16em", "width": "auto"},
        **how,
    )

    def nearest(typed):
        """The number of the stop for what is typed; where that is refused, or no stop is like it, the present one."""
        try:
            value = getattr(base.replace(**{field.name: read(typed, field)}), field.name)
            if not isinstance(value, (int, float)):
                return stops.index(value)
        except ValueError:
            return shown.index
        return int(np.abs(np.array(stops) - value).argmin())

    link((entry, "value"), (shown, "index"), (nearest, lambda index: text(stops[index])))
    return shown


def stops_of(field, grid) -> list:
    """The values of a grid and, between numbers, rounded ones: equally far apart, or in equal ratios."""
    stops = [grid[0]]
    for low, high in pairwise(grid):
        if isinstance(low, (int, float)):
            log = field.metadata["log"] and min(low, high) > 0
            spaced = np.geomspace if log else np.linspace
            for exact in spaced(low, high, STOPS + 1):
                stop = round(exact) if isinstance(field.default, int) else float(f"{exact:.2g}")
                if stop not in stops and min(low, high) < stop < max(low, high):
                    stops.append(stop)
        stops.append(high)
    return stops


def span(field, value) -> list:
    """Values for a slider over all that a field allows, its present one among them; empty for what is no range."""
    low, high = field.metadata["low"], field.metadata["high"]
    if type(field.default) not in (int, float) or field.name == "seed" or high is None:
        return []
    whole = isinstance(field.default, int)
    if whole and low is not None and high - low <= FEW:
        return list(range(int(low), int(high) + 1))
    # On a scale of ratios zero is far: such a slider begins a thousand times below the present value.
    least = low or (value or high) / 1000
    wide = field.metadata["log"] or high >= 1000 * (low or value or high)
    if wide and least > 0:
        found = LogLocator(subs=(1, 2, 5), numticks=1000).tick_values(least, high)
    else:
        found = np.linspace(low or 0, high, FEW + 1)
    rounded = {float(f"{stop:.2g}") for stop in found}
    stops = {stop for stop in rounded if least <= stop <= high} | {value, high}
    if low is not None:
        stops.add(low)
    return sorted({round(stop) for stop in stops} if whole else stops)


def button(words, icon, about, do):
    """A button that calls `do()`."""
    made = widgets.Button(description=words, icon=icon, tooltip=about, layout={"width": "auto"})
    made.on_click(lambda _: do())
    return made


def short(field) -> str:
    """The label without its explanation and unit: 'ε'."""
    return re.split(r"[,(]", label(field))[0].strip()


def label(field) -> str:
    """'temperature τ', or 'steps (iterations)' where the field has a unit."""
    doc, unit = field.metadata["doc"], field.metadata["unit"]
    name = LABELS.get(doc) or LABELS.get(field.name) or field.name
    if "_" in name:  # code: what it means, without the explanation
        name = re.split("[,;:(]", doc)[0].strip()
    return f"{name} ({unit})" if unit and unit not in name else name


def meaning(field) -> str:
    """What the field means and which values it may take."""
    return f"{field.metadata['doc']} ({allowed(field)})"


def text(value) -> str:
    """A value as a reader would type it: '0.1', '2', '100, 100', 'on'."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value).removesuffix(".0")


def read(value, field):
    """The value that a control holds, from its text; what is no number is left for the Config to refuse by name."""
    if not isinstance(value, str) or isinstance(field.default, str):
        return value
    if not isinstance(field.default, tuple) and re.search(r"\d[,/]\d", value):
        hint = "a number is written as 0.2, with a point and without a fraction"
        raise ValueError(f"{field.name} = {value} is not allowed: {hint}")
    try:
        if isinstance(field.default, tuple):
            parts = value.strip("()[] ").replace(",", " ").split()
            return tuple(_number(part) for part in parts)
        return _number(value)
    except ValueError:
        return value


def _number(typed) -> int | float:
    if not typed.isascii():  # digits of other scripts look like others here
        raise ValueError(typed)
    try:
        return int(typed)
    except ValueError:
        return float(typed)


def words(sentence, role="status", colour="inherit") -> str:
    """HTML of a plain sentence that a screen reader announces when it changes."""
    style = f"color:{colour};display:inline-block;line-height:1.4"
    return f'<span role="{role}" style="{style}">{html.escape(sentence)}</span>'


def alarm(error, about="") -> str:
    """HTML of an error in words, after what it is `about`: a ValueError says it all, any other kind is named."""
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    return words(f"{about}{kind}{error}", "alert", "var(--jp-error-color1,#b00020)")
