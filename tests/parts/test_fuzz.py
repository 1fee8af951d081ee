"""Wrong values against every function that a reader calls: what it answers, and whether it names the argument.

`pytest --all` tries a sample that changes with the date, `python tests/parts/test_fuzz.py` all of it, before a release.
"""

import collections
import contextlib
import datetime
import inspect
import itertools
import random
import re
import signal
import sys
import time
import warnings

import numpy as np
import pytest
import torch

if __name__ == "__main__":
    sys.path.append("tests")
import test_data
import test_kernels
import test_latents
import test_metrics
import test_models
import test_theory
import test_transformer
from wrong import NAMED, WRONG

from clbook import diagnose, losses

SAMPLE = 3000  # calls
LONGEST = 10.0  # seconds of the processor that one call may take
MOST = 0.005  # of the answers may lack the argument's name

# More than `WRONG` has: ends of ranges, other kinds of the same thing, numbers that no model gives. Whole numbers of a
# few gigabytes are not among them: whether they are too large is for the machine to say.
MORE = {
    "True": True, "False": False, "minus zero": -0.0, "minus infinity": -float("inf"),
    "one": 1, "one as a float": 1.0, "2**63": 2**63, "1e30": 1e30, "1e308": 1e308,
    "minus a million": -(10**6), "float32": np.float32(0.5), "int8": np.int8(3),
    "a NumPy truth value": np.bool_(True), "a NumPy NaN": np.float32("nan"),
    "an empty string": "", "a long string": "a" * 999, "bytes": b"abc", "a set": {1, 2},
    "a tuple": (1.0, 2.0), "a range": range(6), "a generator": (k for k in range(3)),
    "a class": int, "a type of numbers": torch.float32, "a device": torch.device("cpu"),
    "a generator of numbers": torch.Generator().manual_seed(0), "labels": [0, 1, 0, 1, 0, 1],
    "one label": [0] * 6, "labels with NaN": [0.0, 1.0, 0.0, 1.0, 0.0, float("nan")],
    "an array of objects": np.array([None, 1, "a"]), "an array of dates": np.array(["2026-01-01"], "M8"),
    "a complex array": np.ones((6, 3), complex), "an array of int64": np.ones((6, 3), np.int64),
    "a masked array": np.ma.masked_greater(np.arange(18.0).reshape(6, 3), 9),
    "a scalar array": np.array(1.0), "one row": torch.ones(1, 3), "one column": torch.ones(6, 1),
    "zeros": torch.zeros(6, 3), "large": torch.full((6, 3), 1e30), "infinite": torch.full((6, 3), torch.inf),
    "a tensor of NaN": torch.full((6, 3), torch.nan), "bfloat16": torch.ones(6, 3).bfloat16(),
    "truth values": torch.ones(6, dtype=torch.bool), "transposed": torch.rand(3, 6).mT,
    "that needs a gradient": torch.rand(6, 3, requires_grad=True),
}  # fmt: skip
KINDS = WRONG | MORE
NANS = [kind for kind in KINDS if "NaN" in kind]

Z = torch.rand(6, 3, generator=torch.Generator().manual_seed(0)) + 0.1
PAIR = {"z1": Z, "z2": Z.flip(1)}
IDS = torch.tensor([0, 1, 0, 1, 0, 1])
ARGUMENTS = {
    **{loss: PAIR | {"tau": 0.5} for loss in (losses.nt_xent, losses.cl, losses.dcl)},
    losses.nt_xent_mean: PAIR | {"tau": 0.5},
    **{loss: PAIR | {"labels": IDS, "tau": 0.5} for loss in (losses.nscl, losses.supcon)},
    losses.generalized: PAIR | {"log_eta": lambda t: -t, "psi": losses.softplus},
    losses.simplified: {"z": Z, "views": Z.flip(1)[None], "tau": 0.5},
    losses.infonce: {"anchor": Z, "positive": Z.flip(1), "negatives": Z, "tau": 0.5, "p": 2.0}
    | {"normalize": False},
    losses.symbol_context: {"symbols": Z, "contexts": Z.flip(1), "ids": IDS},
    losses.vicreg: PAIR | {"weights": (25, 25, 1)},
    losses.byol: {"prediction": Z, "target": Z.flip(1)},
    diagnose.conventions: {"n": 256, "tau": 0.1},
    diagnose.which_chance: {"loss": 8.9, "n": 256, "tau": 0.1},
    diagnose.report: PAIR
    | {"labels": [0, 1, 0, 1, 0, 1], "tau": 0.5, "loss": "cl", "scale": "mean"},
}
for module in (
    test_data, test_kernels, test_latents, test_metrics, test_models, test_theory, test_transformer
):  # fmt: skip
    ARGUMENTS |= module.ARGUMENTS
CALLS = [(f, *which) for f, given in ARGUMENTS.items() for which in itertools.product(given, KINDS)]


class Hang(BaseException):
    """A call that takes too long."""


@contextlib.contextmanager
def limited(seconds):
    """Raises `Hang` after so many seconds of the processor's time, where the system counts them."""

    def ring(number, frame):
        raise Hang

    if not hasattr(signal, "SIGPROF"):
        yield
        return
    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def finite(value) -> bool:
    """Whether there are numbers in an answer, and all of them are finite."""
    if isinstance(value, (tuple, list)):
        return any(map(finite, value)) and all(map(finite, value))
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy() if not value.is_meta else "meta"
    is_number = isinstance(value, (float, np.number)) or (
        isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size > 0
    )
    return is_number and bool(np.isfinite(value).all())


def answer(function, name, kind) -> str:
    """What a call comes to: "value", "named", "silent" for finite numbers made of NaN, else what went wrong."""
    arguments = ARGUMENTS[function] | {name: KINDS[kind]}
    names = "|".join(arguments)
    stated = rf"({names})(, ({names}))* give a loss of .*"  # of a loss whose values are looked at
    began = time.monotonic()
    try:
        with limited(LONGEST):
            value = function(**arguments)
    except Hang:
        return f"hang: {time.monotonic() - began:.0f} s"
    except ValueError as error:
        found = re.fullmatch(NAMED, str(error), flags=re.DOTALL)
        named = found and found[1] in arguments or re.fullmatch(stated, str(error), re.DOTALL)
        return "named" if named else f"vague: {error}"
    except Exception as error:
        return f"other: {type(error).__name__}: {error}"
    return "silent" if kind in NANS and finite(value) else "value"


def tried(calls):
    """({what: how many calls}, [what went wrong with which call])."""
    counts, wrong = collections.Counter(), []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for function, name, kind in calls:
            what = answer(function, name, kind)
            head = what.partition(":")[0]
            counts[head] += 1
            if head not in ("value", "named"):
                place = f"{function.__module__}.{function.__name__}"
                wrong.append(f"{place}({name} = {kind}): {what}"[:200])
    return counts, wrong


def test_every_wrong_value_is_answered_by_name():
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    counts, wrong = tried(random.Random(today).sample(CALLS, SAMPLE))
    print(f"{today}: {dict(counts)} of {len(CALLS)} calls")
    assert not counts["hang"] and not counts["silent"], "\n".join(wrong)
    assert counts["vague"] + counts["other"] <= MOST * SAMPLE, "\n".join(wrong)


def test_the_fuzz_sees_each_kind_of_answer(monkeypatch):
    def odd(x):
        if x is None:
            raise ValueError("no")
        if isinstance(x, str):
            raise ValueError(f"x = {x!r} is not allowed: x must be a number")
        while x == 2:
            pass
        return 1.0 / x.real and 1.0

    monkeypatch.setitem(ARGUMENTS, odd, {"x": 1.0})
    monkeypatch.setattr(sys.modules[__name__], "LONGEST", 0.2)
    kinds = ("None", "a string", "a whole number", "zero", "NaN", "one")
    found = [answer(odd, "x", kind).partition(":")[0] for kind in kinds]
    assert found == ["vague", "named", "hang", "other", "silent", "value"]


@pytest.mark.parametrize("module", [losses, diagnose], ids=["losses", "diagnose"])
def test_no_function_with_checks_is_left_out(module):
    """The rest are the losses' helpers, which run at every step and check nothing; `collect` and `trace_kernel`."""
    public = {
        f for f in vars(module).values() if inspect.isfunction(f) and "Raises:" in (f.__doc__ or "")
    }
    left = {f.__name__ for f in public if f.__module__.startswith("clbook") and f not in ARGUMENTS}
    assert left <= {"collect", "trace_kernel"}


if __name__ == "__main__":
    began = time.monotonic()
    counts, wrong = tried(CALLS)
    print("\n".join(wrong))
    print(
        f"{len(CALLS)} calls of {len(ARGUMENTS)} functions, {time.monotonic() - began:.0f} s:",
        dict(counts),
    )
