"""Widgets for the fields of any Config, made from the fields' own metadata: the live explorer's controls."""

from __future__ import annotations

import html
import re
from itertools import pairwise

import ipywidgets as widgets
import numpy as np
from traitlets import link

from clbook.training.settings import allowed

# What a reader calls a setting, by its meaning or its name; any other by its own name or, if that is code, its meaning.
LABELS = {
    "eps": "ε, width of the start",
    "tau": "temperature τ",
    "tau_c": "content τ",
    "tau_s": "style τ",
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
    "std_contexts": "start of contexts",
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
}
STOPS = 4  # slider steps between neighbouring grid values


def control(field, value, *, explored):
    """The widget of a field, text for numbers; `explored` ones stand beside a slider, which then carries the label."""
    about = {
        "description": label(field),
        "tooltip": meaning(field),
        "style": {"description_width": "13.5em"},
        "layout": {"width": "auto"},
    }
    if isinstance(value, bool):
        return widgets.Checkbox(value, **about)
    if value in (field.metadata["choices"] or ()):  # else a number, a text or a file
        choices = [(str(choice).replace("_", " "), choice) for choice in field.metadata["choices"]]
        about["style"] |= {
            "button_width": "auto"
        }  # no Dropdown: in a notebook JupyterLab takes its arrow keys
        return widgets.ToggleButtons(options=choices, value=value, **about)
    if explored:
        about |= {"description": "", "layout": {"width": "8em"}}
    return widgets.Text(text(value), continuous_update=False, **about)


def slider(field, grid, entry, base, style):
    """A slider over the grid values and rounded ones between; it follows `entry`, the field's control, or writes it."""
    stops = stops_of(field, grid)
    shown = widgets.SelectionSlider(
        options=[text(stop) for stop in stops],
        readout=False,
        description=label(field),
        style=style,
        tooltip=meaning(field),
        layout={"flex": "1 1 16em", "width": "auto"},
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
    try:
        if isinstance(field.default, tuple):
            parts = value.strip("()[] ").replace(",", " ").split()
            return tuple(_number(part) for part in parts)
        return _number(value)
    except ValueError:
        return value


def _number(typed) -> int | float:
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
