"""A training as two graphs of tensor operations: how a run begins, and one step of it, autograd included.

What differs between the runs that a page trains are inputs: settings, random numbers, the time. A step is traced on
stand-ins without values (torch's fake tensors), so that code that looks at a value fails, and bakes nothing in.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Collection, Sequence
from types import SimpleNamespace

import torch
from torch.func import functionalize
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode

from clbook import models
from clbook.training.loop import State, Training, learning
from clbook.training.settings import Settings
from clbook.training.settings import on_request as quantities_on_request
from clbook_book.live.decompositions import table

aten = torch.ops.aten


# Of a setting eps = 0.1 that is traced, `eps > 0` is True as for any float, and `eps * x` multiplies by the input
# "setting.eps": the page may change eps, but not the way that Python has taken.
class Followed:
    """A number to Python, which may compare it, and a tensor of the trace to torch."""

    def __new__(cls, value, tensor: torch.Tensor):
        made = super().__new__(cls, value)
        made.tensor = tensor
        return made

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        named = {name: tensor_of(value) for name, value in (kwargs or {}).items()}
        return func(*tensor_of(args), **named)


def tensor_of(value):
    """The tensor of a setting or the time, also in a list; what is none of them as it is."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(tensor_of, value))
    return value.tensor if isinstance(value, Followed) else value


class Number(Followed, float):
    """A setting."""

    def sqrt(self) -> Number:
        """The square root; `math.sqrt` would give a plain float."""
        return Number(math.sqrt(self), self.tensor.sqrt())


class Time(Followed, int):
    """The number of a step: Python may ask whether it is the first."""


# 2 * eps is a Number again, whose float is 2 * float(eps) and whose tensor is 2 * eps.tensor: what is computed from a
# setting follows the setting too. A float alone would stand in the trace as a constant.
def _arithmetic(name: str):
    """The method `name` of float, which computes with the tensor too."""
    of_float, of_tensor = getattr(float, name), getattr(torch.Tensor, name)

    def method(self, *others):
        value = of_float(self, *others)
        if value is NotImplemented:
            return value
        tensors = [other.tensor if isinstance(other, Number) else other for other in others]
        return Number(value, of_tensor(self.tensor, *tensors))

    return method


SIGNS = ("add", "sub", "mul", "truediv", "pow", "radd", "rsub", "rmul", "rtruediv", "rpow", "neg")
for _name in SIGNS:
    setattr(Number, f"__{_name}__", _arithmetic(f"__{_name}__"))


@dataclasses.dataclass(frozen=True)
class Draw:
    """One call of the random number generator.

    Attributes:
        kind: "rand", "randn", "uniform", "normal", "randint" or "randperm".
        bounds: low and high, mean and standard deviation, or the highest number.
        purpose: of the stream.
        source: which of several generators of that purpose, each of which begins anew; 0 is the one of the steps.
        shape, dtype: of the tensor.
    """

    kind: str
    bounds: tuple
    purpose: int
    source: int
    shape: tuple[int, ...]
    dtype: torch.dtype


# Two passes over one training. The first, without `values`, draws as always and notes what was drawn:
#
#     torch.randn(3, generator=stream(seed, 1))  ->  draws[0] = Draw("randn", (), purpose=1, shape=(3,), ...)
#
# The second is traced, with the graph's inputs "random.0", "random.1" ... as `values`: call k gets input k. So no
# number that was drawn stands in the graph, and a page can draw its own.
class Random(TorchFunctionMode):
    """Notes each call with a generator in `draws`, or answers it by `values`."""

    def __init__(self, seed: int, values=None):
        super().__init__()
        self.seed, self.draws = seed, []
        self.generators = []  # of each draw
        self.values = None if values is None else iter(values)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        generator = kwargs.get("generator")
        # No draw: all functions of torch come through here, and go on to it.
        if generator is None:
            target = kwargs.get("tensor", args[0] if args else None)
            shapes_alone = isinstance(target, torch.Tensor) and target.is_meta
            if shapes_alone and func.__name__.endswith(("uniform_", "normal_")):
                return target  # a layer of shapes alone needs no numbers
            return func(*args, **kwargs)
        if func is torch.multinomial:
            return self.multinomial(*args, **kwargs)
        if self.values is not None:
            return next(self.values)
        found = func(*args, **kwargs)
        self.draws.append(self.described(func.__name__.rstrip("_"), args, generator, found))
        self.generators.append(generator)
        return found

    def again(self, given: dict[str, torch.Tensor]) -> Random:
        """The same calls once more, each answered by its input of a graph."""
        return Random(self.seed, [given[f"random.{k}"] for k in range(len(self.draws))])

    def multinomial(self, chances, count: int, *, replacement=False, generator) -> torch.Tensor:
        """torch.multinomial as torch does it on a CPU, from uniform numbers, which are what is drawn."""
        if not replacement or chances.dtype != torch.float64:
            raise NotImplementedError(
                "multinomial without replacement, or of single precision, is none that a page can draw"
            )
        size = chances.shape if count == 1 else (*chances.shape[:-1], count)
        with self:
            drawn = torch.rand(size, generator=generator, dtype=torch.float64)
        return chosen_once(chances, drawn) if count == 1 else chosen(chances, drawn)

    def described(self, kind: str, args, generator, found: torch.Tensor) -> Draw:
        """The call as a `Draw`."""
        if kind not in ("rand", "randn", "uniform", "normal", "randint", "randperm"):
            raise NotImplementedError(f"random numbers by {kind} are none that a page can draw")
        bounds = ()
        if kind in ("uniform", "normal"):
            bounds = tuple(map(float, args[1:]))
        elif kind == "randint":
            bounds = (int(args[0]),)
        # `streams.stream` seeds a generator with 100 seed + purpose.
        purpose = generator.initial_seed() - 100 * self.seed
        return Draw(kind, bounds, purpose, 0, tuple(found.shape), found.dtype)

    def told_apart(self, training: Training) -> list[Draw]:
        """The draws, with a source of its own for each generator that the steps of `training` do not draw from."""
        of_steps = [each for draws in training.draws.values() for each in draws.generators]
        own = [each for each in dict.fromkeys(self.generators) if each not in of_steps]
        found = []
        for draw, generator in zip(self.draws, self.generators, strict=True):
            source = 1 + own.index(generator) if generator in own else 0
            found.append(dataclasses.replace(draw, source=source))
        return found


def chosen_once(chances: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
    """(..., 1) one category of each row of `chances`: the first of exponential races, `uniform` of the same shape."""
    # The argmax of chances / exponential number is category k with probability chances[k] / their sum.
    times = -torch.log1p(-uniform)
    return (chances / times).argmax(-1, keepdim=True)


def chosen(chances: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
    """(..., count) categories of each row of `chances`: where each of `uniform` (..., count) falls in their sums."""
    size = chances.shape[-1]
    places = torch.arange(size)
    # Running sums as a matrix product, since a page has products, and no cumsum.
    up_to = (places[:, None] <= places).to(chances.dtype)
    sums = chances @ up_to
    shares = sums / sums[..., -1:]
    # The last share is 1 up to rounding; made exact, so that no number falls beyond the last category.
    shares = torch.where(places == size - 1, 1.0, shares)
    return (shares[..., None, :] < uniform[..., None]).sum(-1)


@dataclasses.dataclass
class Graph:
    """A traced function.

    Attributes:
        module: its operations; each result is a function of the inputs before it.
        inputs, outputs: names in the order of the graph's placeholders and results.
        draws: the random numbers that are inputs, named "random.0", "random.1" ...
    """

    module: torch.fx.GraphModule
    inputs: list[str]
    outputs: list[str]
    draws: Sequence[Draw]

    @property
    def held(self) -> dict[str, torch.fx.Node]:
        """{input: its node}."""
        nodes = [node for node in self.module.graph.nodes if node.op == "placeholder"]
        return dict(zip(self.inputs, nodes, strict=True))

    @property
    def results(self) -> dict[str, torch.fx.Node]:
        """{output: its node}."""
        return dict(zip(self.outputs, self.end.args[0], strict=True))

    @property
    def end(self) -> torch.fx.Node:
        """The node that gathers the results."""
        return next(node for node in self.module.graph.nodes if node.op == "output")

    def keep(self, names: Collection[str]) -> None:
        """Leave out outputs that are not among `names`, and operations and inputs that nobody reads then."""
        kept = {name: result for name, result in self.results.items() if name in names}
        self.end.args = (list(kept.values()),)
        self.outputs = list(kept)
        self.module.graph.eliminate_dead_code()
        held = self.held
        self.inputs = [name for name, node in held.items() if node.users]
        for node in held.values():
            if not node.users:
                self.module.graph.erase_node(node)


# flat("state", {"weights": [w, b], "lr": lr})  ->  {"state.weights.0": w, "state.weights.1": b, "state.lr": lr}
def flat(prefix: str, value) -> dict[str, torch.Tensor]:
    """{path: tensor} of the tensors in `value`."""
    if isinstance(value, torch.Tensor):
        return {prefix: value}
    parts = enumerate(value) if isinstance(value, (list, tuple)) else ()
    parts = value.items() if isinstance(value, dict) else parts
    found = {}
    for name, part in parts:
        found |= flat(f"{prefix}.{name}", part)
    return found


def of_state(s: State) -> dict[str, torch.Tensor]:
    """{"state.NAME": tensor} of a state."""
    return flat("state", vars(s))


def with_numbers(config: Settings, numbers: dict[str, torch.Tensor]) -> Settings:
    """`config` whose settings `numbers` are tensors to torch."""
    made = config.replace()
    for name, tensor in numbers.items():
        # Past the frozen Settings, and past their check of what a reader gives.
        object.__setattr__(made, name, Number(getattr(config, name), tensor))
    return made


@contextlib.contextmanager
def followed():
    """While a start is traced, networks are stacked from the numbers that their parameters were drawn as."""

    def drawn(network):
        return [parameter.drawn.to(parameter.dtype) for parameter in network.parameters()]

    own = models.numbers
    models.numbers = drawn
    try:
        yield
    finally:
        models.numbers = own


def trace_setup(kind: type[Training], config: Settings, settings: list[str]) -> Graph:
    """The graph of (settings, random numbers) -> "state.NAME", what a run of `config` begins with.

    Of a training whose weights are three normal numbers, and which has a setting lr:

        inputs   "setting.lr", "random.0"
        outputs  "state.weights.0" (1, 3), which is random.0; "state.lr" (1, 1), which is setting.lr in float32
        draws    [Draw("randn", (), purpose=1, source=1, shape=(3,), dtype=torch.float32)]
    """
    # A plain start, which shows what is drawn and in which order.
    with Random(config.seed) as random:
        training = kind([config])
        training.start()
    inputs = {}
    for name in settings:
        inputs[f"setting.{name}"] = torch.tensor(float(getattr(config, name)), dtype=torch.float64)
    inputs |= placeholders(random.draws)

    def begun(given):
        numbers = {name: given[f"setting.{name}"] for name in settings}
        with random.again(given), followed():
            return of_state(kind([with_numbers(config, numbers)]).start())

    return traced(begun, inputs, random.told_apart(training), "real")


def draw_once(training: Training) -> SimpleNamespace:
    """The random numbers of one step, drawn one by one, and not a block of steps at once."""
    found = {}
    for name, draws in training.draws.items():
        found[name] = torch.stack([draws.draw(generator) for generator in draws.generators])
    return SimpleNamespace(**found)


def stepped(training: Training, s: State, drawn: SimpleNamespace, t: int) -> dict:
    """What is recorded at step t, "NAME", without what is on request, and "state.NAME" after the step."""
    s = learning(s)
    z, losses = training.forward(s, drawn, t)
    s = s.changed("watch", training.watch(s, z, t))
    on_request = quantities_on_request(training.Result)
    measured = training.measure(s, z, losses, t)
    recorded = {name: value for name, value in measured.items() if name not in on_request}
    recorded = recorded | training.shown(s, recorded)
    after = s.changed("step", training.step(s, drawn, losses, t))
    return recorded | {"losses": losses} | of_state(after)


def trace_step(kind: type[Training], config: Settings) -> Graph:
    """The graph of (state, random numbers, "time") -> what `stepped` gives.

    Of weights w (1, 3) with noise, z = w + random.0, the loss sum(z**2) and plain gradient descent:

        inputs   "state.weights.0", "state.lr", "random.0"   ("time" is gone: no operation reads it)
        outputs  "z", "losses", "state.weights.0"            (not "state.lr", which a step leaves as it is)

    and the new weights are w - lr * 2 z: autograd's own operations are in the graph, as any others.
    """
    training = kind([config])
    s = training.start()
    inputs = {name: value.detach() for name, value in of_state(s).items()}

    def one(given):
        # The state again, each tensor replaced by its input: `flat` and `mapped` go through it in one order.
        tensors = iter([given[name] for name in of_state(s)])
        now = s.mapped(lambda _: next(tensors))
        return stepped(training, now, draw_once(training), Time(1, given["time"]))

    return trace_drawing(one, inputs | {"time": torch.tensor(1)}, config.seed)


def trace_drawing(function, given: dict[str, torch.Tensor], seed: int = 0) -> Graph:
    """The graph of (inputs as `given`, random numbers) -> {name: result} that `function` of the inputs gives."""
    with Random(seed) as random:
        function(given)

    def one(inputs):
        with random.again(inputs):
            return function(inputs)

    return traced(one, given | placeholders(random.draws), random.draws)


def placeholders(draws: list[Draw]) -> dict[str, torch.Tensor]:
    """Tensors in the place of random numbers."""
    found = {}
    for k, draw in enumerate(draws):
        found[f"random.{k}"] = torch.zeros(draw.shape, dtype=draw.dtype)
    return found


def traced(
    function, inputs: dict[str, torch.Tensor], draws: Sequence[Draw] = (), mode: str = "fake"
) -> Graph:
    """The graph of `function`, which takes and gives {name: tensor}, without what nobody reads.

    mode: "fake": a look at a value fails. "real": it sees that of the example, as a setup may where no input is in it.

    For {"x": x} -> {"y": x.softmax(1)} of a (2, 3) tensor, the operations after the first pass, and after the second:

        y = _softmax(x, 1, False)    ->    top = amax(x, [1], True)
                                           e = exp(sub(x, top))
                                           y = div(e, sum(e, [1], True))
    """
    outputs = []

    def listed(*values):
        given = dict(zip(inputs, values, strict=True))
        found = {name: value for name, value in function(given).items() if value is not None}
        # make_fx knows positions alone: names are kept on the side, while it runs this function.
        outputs[:] = list(found)
        return [value.detach() for value in found.values()]

    arguments = list(inputs.values())
    fake = {"tracing_mode": mode, "_allow_non_fake_inputs": True}
    # The first pass leaves operations whole, so that autograd takes the derivative that torch has for each of them.
    # Attention goes by its formula: the fast kernels behind it are single operations that no table takes apart.
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        whole = make_fx(listed, **fake)(*arguments)
    # A second pass takes it apart into few kinds of operations, none of which changes a tensor in place.
    module = make_fx(functionalize(whole), table(), **fake)(*arguments)
    graph = Graph(module, list(inputs), outputs, draws)
    # x, k -> softmax(x), k, with both outputs named as the inputs, becomes x -> softmax(x): the input of its own name,
    # through copies, needs no operation, since the page's array holds it already. Nothing reads k then.
    held = graph.held
    graph.keep([name for name, node in graph.results.items() if source(node) is not held.get(name)])
    return graph


def source(node):
    """Where a value comes from, through copies."""
    copies = (aten.clone.default, aten.alias.default, aten.detach.default)
    while node.op == "call_function" and node.target in copies:
        node = node.args[0]
    return node
