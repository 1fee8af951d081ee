"""Arguments of the wrong kind, and what a function owes a caller: an answer, or a ValueError that names it."""

import itertools
import math
import re
import warnings

import numpy as np
import torch

WRONG = {
    "None": None, "a string": "abc", "a digit": "3", "a dict": {}, "an object": object(),
    "an empty list": [], "a list": [1.0, 2.0, 3.0], "a short list": [1.0, 2.0],
    "a list of strings": ["a", "b", "a", "b", "c", "c"], "a ragged list": [[1.0], [1.0, 2.0]],
    "a list of None": [None, None], "NaN": math.nan, "infinity": math.inf, "negative": -1,
    "zero": 0, "a whole number": 2, "a fraction": 2.5, "tiny": 1e-320, "huge": 10**400,
    "a complex number": 1j, "an empty array": np.zeros((0, 3)),
    "an array of NaN": np.full((6, 3), math.nan), "an array of strings": np.array(["a", "b"]),
    "an array": np.ones(3), "an array of truth values": np.ones(6, dtype=bool),
    "an empty tensor": torch.ones(0, 3), "a scalar tensor": torch.tensor(0.5),
    "a vector": torch.ones(6), "a small table": torch.ones(2, 2), "a table": torch.ones(6, 7),
    "three axes": torch.ones(2, 6, 3), "float16": torch.ones(6, 3, dtype=torch.float16),
    "float64": torch.ones(6, 3, dtype=torch.float64),
    "whole numbers": torch.ones(6, 3, dtype=torch.long),
    "complex": torch.ones(6, 3, dtype=torch.complex64), "meta": torch.ones(6, 3, device="meta"),
    "a meta scalar": torch.ones((), device="meta"), "sparse": torch.eye(6, 3).to_sparse(),
    "a function": lambda t: t, "a module": torch.nn.Linear(3, 2),
    "a module of another size": torch.nn.Linear(5, 2),
    "a meta module": torch.nn.Linear(3, 2, device="meta"),
}  # fmt: skip
NAMED = r"(\w+)(\[\d+\])? = .* is not allowed: \1(\[\d+\])? must be .+"


def answers_or_names_it(function, arguments: dict, kinds=WRONG, named: str = NAMED) -> None:
    """Each argument in turn is replaced by each wrong kind; the function answers, or says what is wrong with it.

    That is a ValueError whose message is `named` (a pattern whose first group is the name of an argument: the replaced
    one, or another that it does not match). All faults are shown together.
    """
    faults = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, kind in itertools.product(arguments, kinds):
            try:
                function(**arguments | {name: kinds[kind]})
            except ValueError as error:
                found = re.fullmatch(named, str(error), flags=re.DOTALL)
                if not found or found[1] not in arguments:
                    faults.append(f"{name} = {kind}: {error}"[:300])
            except Exception as error:
                faults.append(f"{name} = {kind}: {type(error).__name__}: {error}"[:300])
    assert not faults, "\n".join(faults)
