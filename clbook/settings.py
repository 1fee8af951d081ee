"""What every experiment shares: settings that know their unit and range, and results that know their settings."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import math
import numbers
from collections.abc import Sequence


def setting(
    default,
    doc: str,
    *,
    unit: str = "",
    low=None,
    high=None,
    above=None,
    choices: Sequence | None = None,
    file: str = "",
    log: bool = False,
    each: bool = False,
) -> dataclasses.Field:
    """A dataclass field with its meaning and allowed range, read by validation and by the explorer's controls.

    Args:
        default: the value that shows the chapter's phenomenon; its type is the field's type.
        doc: one line for a reader, shown as a tooltip.
        unit: unit of the value, e.g. "iterations"; empty for pure numbers.
        low, high: inclusive bounds. above: exclusive lower bound.
        choices: the allowed values, where they are not a range. file: ending of files that are allowed beside them.
        log: whether a slider over this field should be logarithmic.
        each: whether runs of one tensor program may differ in it; all other settings make the program's shape.
    """
    return dataclasses.field(
        default=default,
        metadata={
            "doc": doc,
            "unit": unit,
            "low": low,
            "high": high,
            "above": above,
            "choices": choices,
            "file": file,
            "log": log,
            "each": each,
        },
    )


def allowed(field: dataclasses.Field) -> str:
    """The range of a `setting`, in words: 'a number > 0 and <= 10', 'one of clusters, donut'."""
    m = field.metadata
    if m["choices"] is not None:
        return (
            "one of "
            + ", ".join(map(str, m["choices"]))
            + f", or a file ending in {m['file']}" * bool(m["file"])
        )
    kind = {
        bool: "True or False",
        int: "a whole number",
        float: "a number",
        tuple: "a sequence of whole numbers",
        str: "a text",
    }[type(field.default)]
    bounds = ("above", ">"), ("low", ">="), ("high", "<=")
    words = [f"{sign} {m[key]:.10g}" for key, sign in bounds if m[key] is not None]
    return (kind + " " + " and ".join(words)).strip()


def _coerce(value, kind):
    """`value` as plain Python of the field's type; ValueError where that would change it."""
    if kind is bool:
        if not isinstance(value, bool) and value not in (0, 1):
            raise ValueError
        return bool(value)
    if kind in (int, float):
        if (
            isinstance(value, bool)
            or not isinstance(value, numbers.Real)
            or not math.isfinite(value)
            or kind is int
            and int(value) != value
        ):
            raise ValueError
        return kind(value)
    if kind is tuple:
        if isinstance(value, (str, bytes)):
            raise ValueError
        return tuple(_coerce(v, int) for v in value)
    if not isinstance(value, kind):
        raise ValueError
    return value


@functools.cache
def fields(kind: type) -> dict[str, dataclasses.Field]:
    """{name: field} of a `Config`; ValueError where one of them was not made with `setting`."""
    found = {field.name: field for field in dataclasses.fields(kind)}
    for name, field in found.items():
        if "doc" not in field.metadata:
            raise ValueError(
                f"{name} = {field.default!r} is not allowed: in {kind.__name__} it must be "
                f"setting({field.default!r}, 'what it means')"
            )
    return found


class Settings:
    """Base of every `Config`: a frozen dataclass whose fields are made with `setting`.

    Construction checks each field; a value of the wrong type or out of range raises a ValueError that names the
    field, the value and what is allowed. Checks that involve two fields go in the subclass's `check`.
    """

    def __init_subclass__(cls):
        """Give the docstring, which `Config?` shows, each field's default, meaning and range."""
        fields = getattr(cls, "__dataclass_fields__", {}) | vars(
            cls
        )  # those inherited, and those of its own
        found = {
            name: field for name, field in fields.items() if isinstance(field, dataclasses.Field)
        }
        lines = [
            f"    {name} = {f.default!r}: {f.metadata['doc']}; {allowed(f)}."
            for name, f in found.items()
        ]
        cls.__doc__ = "\n".join([f"{cls.__dict__.get('__doc__') or ''}\n\n    Settings:", *lines])

    def __new__(cls, *args, **settings):
        for name in settings.keys() - fields(cls).keys():
            near = " or ".join(difflib.get_close_matches(name, fields(cls)) or fields(cls))
            raise ValueError(
                f"{name} = {settings[name]!r} is not allowed: no such setting; did you mean {near}?"
            )
        return super().__new__(cls)

    def __post_init__(self):
        for name, field in fields(type(self)).items():
            value, m = getattr(self, name), field.metadata
            try:
                value = _coerce(value, type(field.default))
            except (ValueError, TypeError, OverflowError):
                raise self.error(name) from None
            for v in value if isinstance(value, tuple) else (value,):
                if (
                    (
                        m["choices"] is not None
                        and v not in m["choices"]
                        and not (m["file"] and v.endswith(m["file"]))
                    )
                    or (m["low"] is not None and v < m["low"])
                    or (m["high"] is not None and v > m["high"])
                    or (m["above"] is not None and v <= m["above"])
                ):
                    raise self.error(name)
            object.__setattr__(self, name, value)
        self.check()

    def check(self) -> None:
        """Conditions that involve more than one field; raises `self.error(name, allowed)`."""

    def error(self, name, allowed_values=None) -> ValueError:
        """The ValueError for field `name`, naming its value and what is allowed."""
        return ValueError(
            f"{name} = {getattr(self, name)!r} is not allowed: {name} must be "
            f"{allowed_values or allowed(fields(type(self))[name])}"
        )

    def diverged(self, rate, step) -> ValueError:
        """The ValueError for a run that diverged at iteration `step`, naming the field `rate` of its step size."""
        field = fields(type(self))[rate]
        return self.error(
            rate, f"smaller here ({allowed(field)}): the run diverged at iteration {step}"
        )

    def replace(self, **changes) -> Settings:
        """A copy with some fields changed (and checked again)."""
        return dataclasses.replace(self, **changes)

    @property
    def program(self) -> tuple:
        """What runs of one tensor program have in common: all settings but those marked `each`."""
        shape = (name for name, field in fields(type(self)).items() if not field.metadata["each"])
        return type(self), *(getattr(self, name) for name in shape)

    @property
    def files(self) -> tuple:
        """Paths of the data files that a run with these settings reads, and whatever else its data depend on."""
        return ()

    def described(self) -> str:
        """'Config(eps=0.3, seed=1)': the settings that differ from their defaults."""
        values = {name: getattr(self, name) for name in fields(type(self))}
        changed = (
            f"{name}={v!r}" for name, v in values.items() if v != fields(type(self))[name].default
        )
        return f"{type(self).__name__}({', '.join(changed)})"


def expect(name: str, config) -> None:
    """ValueError where the argument `name`, of which settings are expected, is none: a class, a dict, a number."""
    if not isinstance(config, Settings):
        raise ValueError(
            f"{name} = {config!r} is not allowed: it must be settings such as Config(), of a frozen "
            "dataclass that derives from clbook.settings.Settings"
        )


@dataclasses.dataclass
class Outcome:
    """Base of every `Result`.

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
        cls.__repr__ = Outcome.__repr__  # a dataclass's own would print every number

    def __repr__(self):
        """The settings and how long it took, then each array's shape, each number's value."""
        lines = [
            f"{type(self).__name__} of {self.config.described()}, {self.seconds:.1f} s on {self.device}"
        ]
        for field in dataclasses.fields(self)[4:]:
            value = getattr(self, field.name)
            words = (
                ", ".join(map(str, value))
                if isinstance(value, (dict, list))
                else getattr(value, "shape", value)
            )
            lines.append(f"  {field.name}: {words}")
        return "\n".join(lines)
