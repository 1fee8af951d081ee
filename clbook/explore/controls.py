"""Widgets for the fields of any Config, made from the fields' own metadata: the live explorer's controls."""

from __future__ import annotations

import html
import re
from itertools import pairwise

import ipywidgets as widgets

from clbook.settings import allowed

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
    shown = widgets.SelectionSlider(
        options=[text(v) for v in stops],
        readout=False,
        description=label(field),
        style=style,
        tooltip=meaning(field),
        layout={"flex": "1 1 16em", "width": "auto"},
    )

    def nearest():  # None where the value is refused
        try:
            value = getattr(base.replace(**{field.name: read(entry.value, field)}), field.name)
        except ValueError:
            return None
        if isinstance(value, (int, float)):
            return min(range(len(stops)), key=lambda k: abs(stops[k] - value))
        return stops.index(value) if value in stops else None

    def follow(change=None):
        index = nearest()
        shown.index = shown.index if index is None else index

    def write(change):
        if shown.index != nearest():  # else it has followed
            entry.value = shown.label

    follow()
    entry.observe(follow, "value")
    shown.observe(write, "index")
    return shown


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
    plain = (
        re.split(r"[,;:(]", field.metadata["doc"])[0].strip() if "_" in field.name else field.name
    )
    name, unit = (
        LABELS.get(field.metadata["doc"], LABELS.get(field.name, plain)),
        field.metadata["unit"],
    )
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
    parts = (
        value.strip("()[] ").replace(",", " ").split()
        if isinstance(field.default, tuple)
        else [value.strip()]
    )
    try:
        numbers = tuple(
            int(part) if part.lstrip("+-").isdecimal() else float(part) for part in parts
        )
    except ValueError:
        return value
    return numbers if isinstance(field.default, tuple) else numbers[0]


def words(sentence, role="status", colour="inherit") -> str:
    """HTML of a plain sentence that a screen reader announces when it changes."""
    style = f"color:{colour};display:inline-block;line-height:1.4"
    return f'<span role="{role}" style="{style}">{html.escape(sentence)}</span>'


def alarm(error, about="") -> str:
    """HTML of an error in words, after what it is `about`: a ValueError says it all, any other kind is named."""
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    return words(f"{about}{kind}{error}", "alert", "var(--jp-error-color1,#b00020)")
