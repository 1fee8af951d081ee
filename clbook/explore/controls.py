"""Widgets for the fields of any Config, made from the fields' own metadata: the live explorer's controls."""

from __future__ import annotations

import html
import math
import re
from itertools import pairwise

import ipywidgets as widgets

from clbook.settings import allowed

# What a reader calls a setting; one that is not here by its own name or, where that is code, by what it means.
LABELS = {"eps": "ε, width of the start", "tau": "temperature τ", "tau_c": "content τ", "tau_s": "style τ", "eta": "η",
          "lr": "learning rate", "lr_over_tau": "lr/τ", "decay": "weight decay", "delta": "δ", "psi": "Ψ", "dim": "d",
          "init": "size of the start", "std": "size of the start", "std_contexts": "start of contexts",
          "d_c": "content dimensions", "style_sd": "style within a pair", "alike": "likeness α", "ratio": "size ratio"}
STOPS = 4  # slider steps between neighbouring grid values


def control(field, value, *, explored):
    """The widget of a field, `value` at the start; text for numbers, so that any allowed one can be typed.

    `explored` numbers stand beside a slider, which then carries the label.
    """
    about = {"description": label(field), "tooltip": meaning(field), "style": {"description_width": "13.5em"},
             "layout": {"width": "auto"}}
    if isinstance(value, bool):
        return widgets.Checkbox(value, **about)
    if field.metadata["choices"] is not None:
        choices = [(str(choice).replace("_", " "), choice) for choice in field.metadata["choices"]]
        return widgets.Dropdown(options=choices, value=value, **about)
    if explored:
        about |= {"description": "", "layout": {"width": "8em"}}
    return widgets.Text(text(value), continuous_update=False, **about)


def slider(field, grid, entry, style):
    """A slider over the grid values and some rounded values between them, evenly spaced in log where the field is.

    It stands at the stop nearest to what `entry`, the field's control, says, and writes there when the reader moves it.
    """
    stops = [grid[0]]
    for low, high in pairwise(grid):
        if isinstance(low, (int, float)):
            log = field.metadata["log"] and min(low, high) > 0
            for t in (k / STOPS for k in range(1, STOPS)):
                v = low * (high / low) ** t if log else low + (high - low) * t
                v = round(v) if isinstance(field.default, int) else float(f"{v:.2g}")
                if v not in stops and min(low, high) < v < max(low, high):
                    stops.append(v)
        stops.append(high)
    shown = widgets.SelectionSlider(options=[text(v) for v in stops], readout=False, description=label(field),
                                    style=style, tooltip=meaning(field), layout={"flex": "1 1 16em", "width": "auto"})

    def nearest():
        value = read(entry.value, field)
        if isinstance(value, (int, float)) and math.isfinite(value):
            return min(range(len(stops)), key=lambda k: abs(stops[k] - value))
        return stops.index(value) if value in stops else shown.index

    def follow(change=None):
        shown.index = nearest()

    def write(change):
        if shown.index != nearest():  # else it has followed
            entry.value = shown.label

    follow()
    entry.observe(follow, "value")
    shown.observe(write, "index")
    return shown


def label(field) -> str:
    """'temperature τ', or 'steps (iterations)' where the field has a unit."""
    plain = re.split(r"[,;:(]", field.metadata["doc"])[0].strip() if "_" in field.name else field.name
    name, unit = LABELS.get(field.name, plain), field.metadata["unit"]
    return f"{name} ({unit})" if unit and unit not in name else name


def meaning(field) -> str:
    """What the field means and which values it may take."""
    return f"{field.metadata['doc']} ({allowed(field)})"


def text(value) -> str:
    """A value as a reader would type it: '0.1', '2', '100, 100'."""
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value).removesuffix(".0")


def read(value, field):
    """The value that a control holds, from its text;
    text that is no number is left for the Config to refuse by name.
    """
    if not isinstance(value, str) or isinstance(field.default, str):
        return value
    parts = value.strip("()[] ").replace(",", " ").split() if isinstance(field.default, tuple) else [value.strip()]
    try:
        numbers = tuple(int(part) if part.lstrip("+-").isdecimal() else float(part) for part in parts)
    except ValueError:
        return value
    return numbers if isinstance(field.default, tuple) else numbers[0]


def words(sentence, role="status", colour="inherit") -> str:
    """HTML of a plain sentence that a screen reader announces when it changes."""
    return f'<span role="{role}" style="color:{colour};line-height:1.4">{html.escape(sentence)}</span>'


def alarm(error) -> str:
    """HTML of an error in words: a ValueError says it all, any other kind is named."""
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    return words(f"{kind}{error}", "alert", "var(--jp-error-color1,#b00020)")
