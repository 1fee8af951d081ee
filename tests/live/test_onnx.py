"""The traced graphs in an executor that shares nothing with ours: ONNX Runtime.

A page's JavaScript is written from two graphs, of the start and of a step. Here the same graphs are exported to ONNX
and run there, with settings off any grid and the random numbers of Python's own run, which they must end beside.
"""

import io

import onnxruntime
import pytest
import torch
from test_trace import EXPERIMENTS, off_the_grid, seen
from torch.func import functionalize
from torch.fx.experimental.proxy_tensor import make_fx

from clbook.experiments import separability
from clbook_book.live import graph

STEPS = 30
aten, prims = torch.ops.aten, torch.ops.prims


def with_diagonal(x, diagonal, offset=0, dim1=0, dim2=1):
    """x (..., n, m) with another diagonal, as long as one of its sides, said by operations that ONNX has."""
    assert (dim1 % x.ndim, dim2 % x.ndim) == (x.ndim - 2, x.ndim - 1)
    if not diagonal.shape[-1]:
        return x  # outside of the matrix
    rows, columns = (torch.arange(size) for size in x.shape[-2:])
    on_it = columns - rows[:, None] == offset
    along = -1 if offset >= 0 else -2  # which of the sides it is as long as
    return torch.where(on_it, diagonal.unsqueeze(along), x)


class Executor:
    """A traced graph in ONNX Runtime: `executor(inputs)` gives {name: result}, both of them tensors."""

    def __init__(self, traced):
        self.inputs, self.outputs = traced.inputs, traced.outputs
        like = [node.meta["val"] for node in traced.held.values()]
        examples = tuple(torch.zeros(tuple(each.shape), dtype=each.dtype) for each in like)
        for node in traced.module.graph.nodes:
            if node.target is prims.copy_to.default:
                node.target = aten.copy_.default  # which `functionalize` knows
        traced.module.recompile()
        pure = make_fx(functionalize(traced.module))(*examples)
        known = {
            aten.diagonal_scatter.default: with_diagonal,
            prims.reciprocal.default: aten.reciprocal.default,
        }
        pure = make_fx(pure, decomposition_table=known)(*examples).eval()
        written = io.BytesIO()
        torch.onnx.export(pure, examples, dynamo=True, verbose=False, optimize=False).save(written)
        self.session = onnxruntime.InferenceSession(written.getvalue())
        self.names = [given.name for given in self.session.get_inputs()]
        assert len(self.names) == len(self.inputs)

    def __call__(self, given):
        values = [given[name].detach().numpy() for name in self.inputs]
        found = self.session.run(None, dict(zip(self.names, values, strict=True)))
        return dict(zip(self.outputs, map(torch.from_numpy, found), strict=True))


class Drawn(graph.Random):
    """Keeps the numbers as well: `given` is {input of a graph: what was drawn}."""

    def __init__(self, seed):
        super().__init__(seed)
        self.given = {}

    def __torch_function__(self, func, types, args=(), kwargs=None):
        place = f"random.{len(self.draws)}"
        found = super().__torch_function__(func, types, args, kwargs)
        if f"random.{len(self.draws)}" != place:
            self.given.setdefault(place, found.detach().clone())
        return found


def trained(kind, config, settings, other):
    """What is recorded at the last step of `other`, by the graphs of `config`."""
    setup = graph.trace_setup(kind, config, settings)
    step = graph.trace_step(kind, config)
    setup.keep(step.inputs)
    start, one = Executor(setup), Executor(step)
    with Drawn(other.seed) as random:
        training = kind([other])
    given = dict(random.given)
    for name in settings:
        value = float(getattr(other, name))
        given[f"setting.{name}"] = torch.tensor(value, dtype=torch.float64)
    # What the graph of a start gives is what depends on settings and seed; the rest is as it was traced.
    state = graph.of_state(kind([config]).start()) | start(given)
    for t in range(training.steps + 1):
        with Drawn(other.seed) as random:
            graph.draw_once(training)
        found = one(state | random.given | {"time": torch.tensor(t)})
        state |= {name: value for name, value in found.items() if name.startswith("state.")}
    return found


def near(found, truth):
    """Whether two tensors agree to 1e-4 of the largest entry."""
    truth = torch.as_tensor(truth)
    return (found.reshape(truth.shape) - truth).abs().max() <= 1e-4 * truth.abs().max()


@pytest.mark.parametrize("name", ["network", "donut", "partial gradient"])
def test_separability_there_is_that_of_python(name):
    config = EXPERIMENTS[name].config.replace(n=20, steps=STEPS)
    other = config.replace(eps=0.17, tau=0.23, noise=0.04, seed=3)
    kind = separability.run.__self__
    found = trained(kind, config, ["eps", "tau", "noise"], other)
    truth = separability.run(other)
    assert near(found["z"], truth.z[-1])
    at = int(found["separable_at"].item())
    assert (None if at < 0 else at) == truth.separable_at


@pytest.mark.parametrize("name", ["radius", "overlap", "circle", "free points"])
def test_an_experiment_there_is_that_of_python(name):
    # Many of the others take eigenvalues, which ONNX does not have.
    one = EXPERIMENTS[name]
    config = one.config.replace(steps=STEPS)
    ((changes, seed),) = off_the_grid(one, 1)
    other = config.replace(seed=seed, **changes)
    found = trained(one.kind, config, list(one.ranges), other)
    (truth,) = seen(one.kind, [other])
    first = one.shown[0]
    assert near(found[first], truth.seen[first][-1])
