"""What the writer of JavaScript makes of single precision, and the programs of the built pages, against Python."""

import json
import re

import numpy as np
import pytest
import torch
from blocks import BOOK, blocks
from clbook_goals import SETUP
from test_trace import in_page

from clbook.experiments import separability
from clbook_book.live import graph, page


@pytest.fixture(scope="module")
def javascript(tabs):
    """`javascript(code, result)`: the value of the expression `result` after `code`, in a page with nothing on it."""
    opened = tabs().page
    yield lambda code, result: opened.evaluate(f"() => {{{code}\nreturn {result};}}")
    opened.context.close()


# Sums that are equal in single precision, and differ in double.
X = torch.tensor([[1.0, 1.0, 0.3], [0.5, -2.0, 0.1], [3.0, 3.0, 3.0]])
B = torch.tensor([0.0, 2.0**-25, 0.0])
FAR = torch.tensor([-200.0, -300.0, 0.0])


def slope_of_the_largest(x, b):
    """The gradient of amax of a sum, which is shared by all that are largest."""
    x = x.detach().requires_grad_()
    largest = torch.relu(x + b).amax(1)
    (slope,) = torch.autograd.grad((largest * largest).sum(), [x])
    return slope


JUMPS = {
    "the slope of the largest": slope_of_the_largest,
    "equal to one that is stored": lambda x, b: ((x + b) == (x + b).amax(1, keepdim=True)) * 1.0,
    "different from the least": lambda x, b: ((x * 1.1) != (x * 1.1).amin(0)) * 1.0,
    "at least the mean": lambda x, b: ((x + b) >= x[:, :1]) * 1.0 + ((x + b) > x[:, :1]) * 2.0,
    "at most the mean": lambda x, b: ((x - b) <= x[:, :1]) * 1.0 + ((x - b) < x[:, :1]) * 2.0,
    "a number that is no single one": lambda x, b: (x == 0.3) * 1.0 + (x > 0.1) * 2.0,
    "in double": lambda x, b: ((x + b) == 1.0) * 1.0 + (x.double() == 0.3) * 2.0,
    "too small to be kept": lambda x, b: ((x + FAR).exp() > 0) * 1.0,
    "the first of the largest": lambda x, b: (x + b.flip(0)).argmax(1) * 1.0,
    "whole parts": lambda x, b: (x - b).floor() + (x - b).long() + torch.floor_divide(x - b, 1.0),
    "remainders": lambda x, b: (x - b) % 1.5,  # of -2, too
    "in order": lambda x, b: (x + b.flip(0)).sort(1).indices * 1.0,
}


@pytest.mark.parametrize("name", JUMPS)
def test_what_jumps_sees_single_precision_as_torch_does(javascript, name):
    truth = JUMPS[name](X, B)
    assert in_page(javascript, JUMPS[name], X, B) == pytest.approx(truth.flatten().numpy())


# The programs of the pages.

HTML = BOOK.parent / "_build" / "html"
CODE = r'\s*<script type="text/plain" class="clbook-here-code">(.*?)</script>'
PROGRAMS = re.compile(SETUP.pattern + CODE, re.DOTALL)
SCRIPTS = re.compile(r'<script type="text/plain" class="([\w-]+)">(.*?)</script>', re.DOTALL)
STEPS = 4


def built() -> dict:
    """{(page, name): (what its script reads, code)} of the blocks of the built pages that train."""
    found = {}
    for path in sorted(HTML.rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        for block in PROGRAMS.finditer(text):
            setup, code = json.loads(block[1]), block[2]
            # One whose points are moved has it.
            shared = page.shared_code() if "shapes" in setup else ""
            found[path.stem, setup["name"]] = setup, shared + code
        kinds = {kind for kind, code in SCRIPTS.findall(text) if "function prepare(due)" in code}
        assert kinds <= {"clbook-here-code", "clbook-own-code", "clbook-worker"}, (
            f"{path.stem} trains by {kinds}, of which no test knows"
        )
    return found


def in_python(kind, config, steps=STEPS) -> list[dict]:
    """What some steps of a run give: {name: values} at each."""
    training = kind([config])
    s, rows = training.start(), []
    for t in range(steps):
        rows.append(graph.stepped(training, s, graph.draw_once(training), t))
        after = iter([rows[-1][name].detach() for name in graph.of_state(s)])
        s = s.mapped(lambda _, after=after: next(after))
    return rows


def first_steps(javascript, code, program, changes, seed) -> list[dict]:
    """What some steps of the program that the expression `program` makes give: {name: values} at each."""
    begin = f"const run = {program}, rows = []; run.start({json.dumps(changes)}, {seed});"
    copy = "Object.entries(run.recorded).map(([name, values]) => [name, Array.from(values)])"
    step = f"run.step(true); rows.push(Object.fromEntries({copy}));"
    return javascript(f"{code}\n{begin} for (let t = 0; t < {STEPS}; t++) {{ {step} }}", "rows")


def far_off(values, truth) -> bool:
    """Whether numbers differ from a tensor by more than rounding, or one of them alone is none."""
    truth = truth.detach().double().flatten().numpy()
    largest = np.nan_to_num(abs(truth)).max(initial=1e-6)
    close = {"rtol": 0, "atol": 1e-4 * largest, "equal_nan": True}
    return not np.allclose(np.array(values, float), truth, **close)


def test_every_program_of_the_pages_does_what_python_does(javascript):
    """The first steps, at settings and a seed that differ a little from those of the start."""
    pages = built()
    if not pages:
        pytest.skip("there is no built book")
    known = {(each.page, each.name): each for each in blocks()}
    assert pages.keys() == known.keys()
    off = set()
    for where, (setup, code) in pages.items():
        for k, (made, config) in enumerate(
            zip(setup["programs"], known[where].configs, strict=True)
        ):
            spec = made["spec"]
            other = page.moved(config, list(spec["settings"]))
            changes = {name: getattr(other, name) for name in spec["settings"]}
            program = f"new Program(shape{k}_setup(), shape{k}_step(), {json.dumps(spec)})"
            rows = first_steps(javascript, code, program, changes, other.seed)
            for t, (row, truth) in enumerate(zip(rows, in_python(known[where].kind, other))):
                off |= {(where, k, t, name) for name in row if far_off(row[name], truth[name])}
    assert not off


def test_a_step_that_is_traced_sees_what_python_records_of_it():
    """That classes have come apart is seen at the step at which they have, and not one later."""
    config = separability.Config(n=20, steps=200)
    at = separability.run(config).separable_at
    rows = in_python(separability.Separability, config, at + 1)
    assert [row["separable_at"].item() for row in rows[-2:]] == [-1, at]


def test_a_step_hands_on_what_it_exchanges_and_not_what_stays():
    given = {name: torch.ones(2) for name in "abc"}
    made = graph.traced(lambda x: {"a": x["b"], "b": x["a"], "c": x["c"]}, given)
    assert made.outputs == ["a", "b"]
