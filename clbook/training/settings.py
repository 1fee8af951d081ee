"""What every experiment shares: settings that know their unit and range, and results that know their settings."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
import math
import numbers
import os
from collections.abc import Sequence
from typing import Any, Self

SEEDS = 10_000  # seeds 0 .. 9,999: the four digits of a stream's number that belong to the seed (`streams`)
KINDS = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    tuple: "a sequence of whole numbers",
    str: "a text",
}


def setting(
    default: object,
    doc: str,
    *,
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    choices: Sequence | None = None,
    file: str = "",
    log: bool = False,
    each: bool = False,
) -> Any:
    """A dataclass field with its meaning and allowed range, read by validation and by the explorer's controls.

    Args:
        default: the value that shows the chapter's phenomenon; its type is the field's type.
        doc: one line for a reader, shown as a tooltip.
        unit: unit of the value, e.g. "iterations"; empty for pure numbers.
        low: the lowest value that is allowed.
        high: the highest value that is allowed.
        above: exclusive lower bound.
        choices: the allowed values, where they are not a range.
        file: ending of files that are allowed beside the choices.
        log: whether a slider over this field should be logarithmic.
        each: whether runs of one tensor program may differ in it; all other settings make the program's shape.

    Raises:
        ValueError: a default of a type that no setting has.
    """
    if type(default) not in KINDS:
        raise ValueError(
            f"default = {default!r} is not allowed: default must be {', '.join(KINDS.values())}"
        )
    metadata = {
        "doc": doc,
        "unit": unit,
        "low": low,
        "high": high,
        "above": above,
        "choices": choices,
        "file": file,
        "log": log,
        "each": each,
    }
    return dataclasses.field(default=default, metadata=metadata)


def seed_of(what: str, each: bool = True) -> Any:
    """The `setting` of the seed that a run has: 0 unless named, `SEEDS` of them."""
    return setting(0, f"seed of {what}", low=0, high=SEEDS - 1, each=each)


def iterations(default: int, high: int = 100_000) -> Any:
    """The `setting` of how many steps a run takes, up to `high`."""
    return setting(default, "iterations", unit="iterations", low=1, high=high, log=True)


def recorded_every(default: int = 0, unit: str = "iterations", high: int = 10_000) -> Any:
    """The `setting` of how often a run is recorded (`loop.recorded_times`), every `high` steps at most."""
    doc = f"record every this many {unit}; 0: a geometric series of times"
    return setting(default, doc, unit=unit, low=0, high=high)


def allowed(field: dataclasses.Field) -> str:
    """The range of a `setting`, in words: 'a number > 0 and <= 10', 'one of clusters, donut'."""
    m = field.metadata
    if m["choices"] is not None:
        words = "one of " + ", ".join(map(str, m["choices"]))
        if m["file"]:
            words += f", or a file ending in {m['file']}"
        return words
    bounds = [
        f"{sign} {m[key]:.10g}"
        for key, sign in (("above", ">"), ("low", ">="), ("high", "<="))
        if m[key] is not None
    ]
    return f"{KINDS[type(field.default)]} {' and '.join(bounds)}".strip()


def _coerce(value, kind):
    """`value` as plain Python of the field's type; ValueError where that would change it."""
    if kind is bool:
        if not isinstance(value, bool) and value not in (0, 1):
            raise ValueError
        return bool(value)
    if kind in (int, float):
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise ValueError
        if not math.isfinite(value) or (kind is int and int(value) != value):
            raise ValueError
        return kind(value)
    if kind is tuple:
        if isinstance(value, (str, bytes)):
            raise ValueError
        return tuple(_coerce(v, int) for v in value)
    if kind is str and isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, kind):
        raise ValueError
    return value


def _in_range(value, metadata) -> bool:
    """Whether one value, of the right type, is among the choices or within the bounds of a setting."""
    m = metadata
    if m["choices"] is not None and value not in m["choices"]:
        return bool(m["file"]) and value.lower().endswith(m["file"])
    if m["low"] is not None and value < m["low"]:
        return False
    if m["high"] is not None and value > m["high"]:
        return False
    return m["above"] is None or value > m["above"]


def fields(kind: type) -> dict[str, dataclasses.Field]:
    """{name: field} of a `Config`; ValueError where one of them was not made with `setting`."""
    return _fields(kind)


@functools.cache
def _fields(kind):
    params = getattr(kind, "__dataclass_params__", None)
    bare = any(isinstance(value, dataclasses.Field) for value in vars(kind).values())
    if params is None or not params.frozen or bare:
        raise ValueError(
            f"{kind.__name__} is not allowed: settings must be a frozen dataclass, with "
            "@dataclasses.dataclass(frozen=True) above its name"
        )
    found = {field.name: field for field in dataclasses.fields(kind)}
    for name, field in found.items():
        default = field.default
        if "each" not in field.metadata:
            raise ValueError(
                f"{name} = {default!r} is not allowed: in {kind.__name__} it must be "
                f"setting({default!r}, 'what it means')"
            )
        if field.type == "float" and isinstance(default, int):
            raise ValueError(
                f"{name} = {default!r} is not allowed: in {kind.__name__} it is a float, so its default must be "
                f"{float(default)!r}"
            )
    return found


class Settings:
    """Base of every `Config`: a frozen dataclass whose fields are made with `setting`.

    Construction checks each field; a value of the wrong type or out of range raises a ValueError that names the
    field, the value and what is allowed. Checks that involve two fields go in the subclass's `check`.

    Attributes:
        seed: which random numbers are drawn, where a run draws any.
        steps: how many steps a `Training` takes.
    """

    seed: int
    steps: int

    def __init_subclass__(cls):
        """Give the docstring, which `Config?` shows, each field's default, meaning and range."""
        inherited = getattr(cls, "__dataclass_fields__", {})
        lines = []
        for name, field in (inherited | vars(cls)).items():
            # A field that was not made with `setting` is refused in words when the first Config is made.
            if isinstance(field, dataclasses.Field) and "each" in field.metadata:
                meaning = f"{field.metadata['doc']}; {allowed(field)}"
                lines.append(f"    {name} = {field.default!r}: {meaning}.")
        own = vars(cls).get("__doc__") or ""
        cls.__doc__ = "\n".join([f"{own}\n\n    Settings:", *lines])

    def __new__(cls, *args, **settings):
        known = fields(cls)
        for name, value in settings.items():
            if name not in known:
                near = " or ".join(difflib.get_close_matches(name, known) or known)
                raise ValueError(
                    f"{name} = {value!r} is not allowed: no such setting; did you mean {near}?"
                )
        return super().__new__(cls)

    def __post_init__(self):
        for name, field in fields(type(self)).items():
            try:
                value = _coerce(getattr(self, name), type(field.default))
            except (ValueError, TypeError, OverflowError):
                raise self.error(name) from None
            for v in value if isinstance(value, tuple) else (value,):
                if not _in_range(v, field.metadata):
                    raise self.error(name)
            object.__setattr__(self, name, value)
        self.check()

    def check(self) -> None:
        """Conditions that involve more than one field; raises `self.error(name, allowed)`."""

    def error(self, name: str, allowed_values: str = "") -> ValueError:
        """The ValueError for field `name`, naming its value and what is allowed."""
        words = allowed_values or allowed(fields(type(self))[name])
        return ValueError(
            f"{name} = {getattr(self, name)!r} is not allowed: {name} must be {words}"
        )

    def diverged(self, rate: str, step: int) -> ValueError:
        """The ValueError for a run that diverged at iteration `step`, naming the field `rate` of its step size."""
        words = allowed(fields(type(self))[rate])
        return self.error(rate, f"smaller here ({words}): the run diverged at iteration {step}")

    def replace(self, **changes) -> Self:
        """A copy with some fields changed (and checked again)."""
        same = {name: getattr(self, name) for name in fields(type(self))}
        return type(self)(**same | changes)

    def compared(self, changes: dict[str, dict]) -> dict[str, Self]:
        """{name: a copy with these changes} for each {name: changes}: a comparison of runs."""
        return {name: self.replace(**change) for name, change in changes.items()}

    @property
    def program(self) -> tuple:
        """What runs of one tensor program have in common, all settings but those marked `each`."""
        shared = [type(self)]
        for name, field in fields(type(self)).items():
            if not field.metadata["each"]:
                shared.append(getattr(self, name))
        return tuple(shared)

    @property
    def files(self) -> tuple:
        """Paths of the data files that a run with these settings reads, and whatever else its data depend on."""
        return ()

    def described(self) -> str:
        """'Config(eps=0.3, seed=1)': the settings that differ from their defaults."""
        changed = []
        for name, field in fields(type(self)).items():
            value = getattr(self, name)
            if value != field.default:
                changed.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(changed)})"


def expect(name: str, config: object) -> None:
    """ValueError where the argument `name`, of which settings are expected, is none: a class, a dict, a number."""
    if not isinstance(config, Settings):
        raise ValueError(
            f"{name} = {config!r} is not allowed: it must be settings such as Config(), of a frozen "
            "dataclass that derives from clbook.training.settings.Settings"
        )


def quantity(doc: str, *, dims: str = "", unit: str = "", on_request: bool = False) -> Any:
    """A field of a `Result`, with what its numbers mean.

    Args:
        doc: one line for a reader.
        dims: names of the axes, separated by spaces, such as "step point dim"; empty for one number.
        unit: unit of the values; empty for pure numbers.
        on_request: True for a quantity that is recorded only where it is asked for: `run(config, record=("loss",))`.
    """
    axes = tuple(dims.split())
    metadata = {"doc": doc, "dims": axes, "unit": unit, "on_request": on_request}
    if on_request:
        return dataclasses.field(
            default_factory=lambda: NOT_RECORDED, metadata=metadata, kw_only=True
        )
    return dataclasses.field(metadata=metadata, kw_only=True)


def recorded(unit: str = "iterations") -> Any:
    """The `quantity` of a Result that says at which steps it was recorded."""
    return quantity(f"recorded {unit}", dims="step", unit=unit)


NOT_RECORDED = object()  # stands for a quantity that nobody asked for, until the Result is made


def quantities(kind: type) -> dict[str, dataclasses.Field]:
    """{name: field} of what a Result of this kind has beside the four fields of every Outcome."""
    own = dataclasses.fields(kind)[len(dataclasses.fields(Outcome)) :]
    return {field.name: field for field in own}


@functools.cache
def on_request(kind: type) -> frozenset[str]:
    """Names of the quantities of a Result of this kind that are recorded only where they are asked for."""
    return frozenset(
        name for name, field in quantities(kind).items() if field.metadata.get("on_request")
    )


@dataclasses.dataclass
class Outcome:
    """Base of every `Result`.

    A quantity that is recorded on request, and was not asked for, is no attribute: to read it is an AttributeError that
    says how to ask.

    Attributes:
        config: the settings of the run.
        seconds: wall-clock time the run took; of runs in one program, each one's share of it.
        device: "cpu", or the torch device it ran on, such as "cuda:0".
        stopped: True where the reader stopped the run before its end.
    """

    config: Settings
    seconds: float
    device: str
    stopped: bool

    def __init_subclass__(cls):
        # A dataclass's own __repr__ would print every number; a subclass may still write one.
        if "__repr__" not in vars(cls):
            cls.__repr__ = Outcome.__repr__

    def __post_init__(self):
        for name in on_request(type(self)):
            if vars(self)[name] is NOT_RECORDED:
                delattr(self, name)

    def __getattr__(self, name):
        # Python calls this where there is no such attribute, or where a property has met one that is missing.
        if not name.startswith("__") and name in on_request(type(self)):
            raise AttributeError(
                f"{name} was not recorded in this run: ask for it, by run(config, record=({name!r},)) or "
                f"sweep(run, configs, record=({name!r},))"
            )
        prop = inspect.getattr_static(type(self), name, None)
        if isinstance(prop, property):
            return prop.fget(self)  # again, for its own error
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @property
    def recorded(self) -> frozenset[str]:
        """Names of the quantities on request that this result has."""
        kind: type = type(self)
        return on_request(kind).intersection(vars(self))

    def __repr__(self):
        """The settings and how long it took, then each array's shape, each number's value."""
        lines = [
            f"{type(self).__name__} of {self.config.described()}, {self.seconds:.1f} s on {self.device}"
        ]
        for name in quantities(type(self)):
            if name not in vars(self):
                lines.append(f"  {name}: not asked for")
                continue
            value = getattr(self, name)
            if isinstance(value, (dict, list)):
                lines.append(f"  {name}: " + ", ".join(map(str, value)))
            else:
                lines.append(f"  {name}: {getattr(value, 'shape', value)}")
        return "\n".join(lines)
