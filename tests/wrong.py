"""Arguments of the wrong kind, and what a function owes a caller: an answer, or a ValueError that names it."""

import math
import re
import warnings

import numpy as np
import torch

WRONG = {
    "None": None,
    "a string": "abc",
    "a digit": "3",
    "a dict": {},
    "an object": object(),
    "an empty list": [],
    "a list": [1.0, 2.0, 3.0],
    "a ragged list": [[1.0], [1.0, 2.0]],
    "a list of None": [None, None],
    "NaN": math.nan,
    "infinity": math.inf,
    "negative": -1,
    "zero": 0,
    "a fraction": 2.5,
    "tiny": 1e-320,
    "huge": 10**400,
    "a complex number": 1j,
    "an empty array": np.zeros((0, 3)),
    "an array of NaN": np.full((6, 3), math.nan),
    "an array of strings": np.array(["a", "b"]),
    "a scalar tensor": torch.tensor(0.5),
    "a vector": torch.ones(6),
    "a table": torch.ones(6, 7),
    "three axes": torch.ones(2, 6, 3),
    "float16": torch.ones(6, 3, dtype=torch.float16),
    "float64": torch.ones(6, 3, dtype=torch.float64),
    "whole numbers": torch.ones(6, 3, dtype=torch.long),
    "complex": torch.ones(6, 3, dtype=torch.complex64),
    "meta": torch.ones(6, 3, device="meta"),
    "a meta scalar": torch.ones((), device="meta"),
    "sparse": torch.eye(6, 3).to_sparse(),
    "a module": torch.nn.Linear(3, 2),
    "a module of another size": torch.nn.Linear(5, 2),
    "a meta module": torch.nn.Linear(3, 2, device="meta"),
}


def answers_or_names_it(function, arguments: dict, name: str, value) -> None:
    """Call `function` with one of its arguments replaced; anything but an answer or that ValueError is a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(**arguments | {name: value})
        except ValueError as error:
            message = str(error)
            sentence = r"(\w+) = .* is not allowed: (\w+) must be .+"
            found = re.fullmatch(sentence, message, flags=re.DOTALL)
            assert found, message
            assert found[1] == found[2]
            assert found[1] in arguments, message
