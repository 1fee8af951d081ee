"""The one loop: R runs of one program side by side. Whatever differs between them has R as its leading axis.

An experiment is a `Training`: it says how its runs begin, what one step is, and what is measured. A step is a pure
function of the state of the runs, the random numbers drawn for it and the time. One run is the case R = 1, by the same
code; runs alone and side by side are equal up to rounding.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor
from torch.types import Device

from clbook import environment
from clbook.training.settings import Outcome, Settings, expect, on_request, quantities
from clbook.training.streams import Draws, stream

PROGRESS_EVERY = 0.1  # seconds between two calls of `progress`: often enough for Stop to act within half a second
SHAKE = 97  # purpose of the stream that `CLBOOK_SHAKE` draws from


def shared_times(runs: dict) -> np.ndarray:
    """(T,) the recorded times that all of several runs {name: Result} have reached: those of the shortest."""
    return min((result.steps for result in runs.values()), key=len)


def default_device(device: Device = None) -> torch.device:
    """`device`, or the CUDA device when there is one, else the CPU."""
    if device is not None:
        return torch.device(device)
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


# How many callers are inside of `one_thread`, and how many threads torch had before the first of them.
_threads = SimpleNamespace(lock=threading.Lock(), inside=0, outside=1)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread: small tensors are faster so, and sums have one order, hence the same bits every time.

    Python threads may overlap in here: the number of threads from before the first is what all of them put back.
    """
    with _threads.lock:
        if _threads.inside == 0:
            _threads.outside = torch.get_num_threads()
        _threads.inside += 1
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _threads.lock:
            _threads.inside -= 1
            torch.set_num_threads(_threads.outside)


def recorded_times(steps: int, every: int = 0, ratio: float = 1.12) -> list[int]:
    """Steps 0 .. `steps` at which a run is recorded: each `every`-th, or for 0 a geometric series of `ratio`.

    The geometric series needs no knowledge of when the interesting moment comes. The first and last are always in.
    """
    if every:
        return sorted({*range(0, steps + 1, every), steps})
    times, t = {0, steps}, 1.0
    while t < steps:
        times.add(round(t))
        t *= ratio
    return sorted(times)


def mapped(value, change: Callable, kind: type = Tensor):
    """`value` with `change` applied to each tensor in it, or other `kind`, through lists, tuples and dicts."""
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, (list, tuple)):
        items = [mapped(v, change, kind) for v in value]
        named = hasattr(value, "_fields")  # a NamedTuple takes its fields one by one
        return type(value)(*items) if named else type(value)(items)
    if isinstance(value, dict):
        return {k: mapped(v, change, kind) for k, v in value.items()}
    return value


class State(SimpleNamespace):
    """What differs between R runs: each attribute is a tensor (R, ...), or a list, tuple or dict of such tensors.

    `setup` fills it. After that a state is not changed: `replace` and `changed` give another one.
    """

    def replace(self, **changes) -> State:
        """This state with other values for some attributes, or with more of them."""
        return State(**(vars(self) | changes))

    def changed(self, by: str, changes: dict) -> State:
        """This state with the `changes` that the function `by` of a training returns, of attributes that it has."""
        for name in changes:
            if name not in vars(self):
                known = ", ".join(sorted(vars(self)))
                raise ValueError(
                    f"{by}: a change of {name!r} is not allowed: it must be in the state, which has {known}"
                )
        return self.replace(**changes)

    def mapped(self, change: Callable) -> State:
        """This state with `change` applied to each tensor."""
        return State(**mapped(vars(self), change))

    def keep(self, stay: Tensor) -> State:
        """The state of the runs `stay` (R,) alone."""
        return self.mapped(lambda value: value[stay])


class Training:
    """R runs of equal shape, trained side by side: the base of every experiment's training.

    A subclass writes `setup`, which fills what follows, and the functions below it, which change nothing:

        state: what differs between the runs, a `State`. state.weights is the list of tensors (R, ...) that learn.
        shared: tensors that all runs share.
        draws: {name: Draws} of the numbers that every step takes.
        recorded_draws: {name: Draws} of numbers that are drawn for the sake of a recorded quantity alone.
        times: the set of recorded steps; by default a geometric series up to `config.steps`.

    After `setup` a training takes no new attributes, and holds tensors nowhere else: so none can be left behind when
    runs move to a GPU, or when some of them end before the others.

    Attributes:
        configs: the settings of the R runs. config: the first one's, to read what all share.
        record: names of the quantities on request that were asked for.
    """

    Result = Outcome
    rate = "lr"  # the setting that is to blame when a run diverges
    # Most runs side by side on a CPU, as bench_runs.py measures it; 1 where one after the other is faster.
    beside = 40
    compiles: Sequence[str] = ()  # methods that `compile` puts through torch.compile
    # Axes of the weights, after that of the runs, that number copies of one start: they stay copies when shaken.
    copy_axes = 0

    def __init__(self, configs: Sequence[Settings], record: Sequence[str] = ()):
        for config in configs:
            expect("config", config)
        self.configs, self.config = list(configs), configs[0]
        # Tensors of one shape can be stacked only where all settings that shape them agree.
        if any(c.program != self.config.program for c in self.configs):
            raise ValueError(
                "configs = runs of several shapes are not allowed: they must agree in `Settings.program`"
            )
        self.record = wanted(self.Result, record)
        # All starts are made on the CPU, so that they are the same numbers on every device.
        self.device, self.began = torch.device("cpu"), time.monotonic()
        self.state, self.shared = State(weights=[]), SimpleNamespace()
        self.draws: dict[str, Draws] = {}
        self.recorded_draws: dict[str, Draws] = {}
        self.steps = self.config.steps
        self.times = set(recorded_times(self.steps, getattr(self.config, "record_every", 0)))
        self.setup()
        self._check()
        # By the environment, so that the processes of a sweep, and pages as they are, can be shaken unchanged.
        amount = float(environment.shake() or 0)
        if amount:
            self.state = self._shaken(amount)
        # From here on `__setattr__` refuses.
        self.ready = True

    # What a subclass writes.

    @classmethod
    def prepare(cls, configs: Sequence[Settings], progress: Callable | None = None) -> None:
        """Read what takes long to read, before anything is set up; `progress(0.0, None)` is called meanwhile."""

    def setup(self) -> None:
        """Make data, start and weights of all runs, on the CPU."""

    def begin(self, s: State) -> State:
        """The state at the start, on its device, with what is best computed there."""
        return s

    def forward(self, s: State, drawn: SimpleNamespace, t: int):
        """What is seen at step t, z (R, ...), which must stay finite, and the losses (R,), or None, given s.weights."""
        raise NotImplementedError

    def step(self, s: State, drawn: SimpleNamespace, losses: Tensor, t: int) -> dict:
        """{name: new value} of what the step from t to t + 1 changes in the state."""
        raise NotImplementedError

    def watch(self, s: State, z: Tensor, t: int) -> dict:
        """{name: new value} of what is followed at every step, without a read from the device."""
        return {}

    def measure(self, s: State, z: Tensor, losses: Tensor, t: int) -> dict:
        """{name: (R, ...)} recorded at step t: what a Result always has, and of the rest what `record` names.

        Where "finite" (R,) is among them, a run that is False has diverged.
        """
        raise NotImplementedError

    def shown(self, s: State, recorded: dict) -> dict:
        """{name: (R, ...)} what a page that trains draws besides what is `recorded` there; of tensors alone."""
        return {}

    def finished(self, s: State, t: int) -> Tensor | None:
        """(R,) runs that end at the recorded time t because nothing more is to be seen; None: all go on."""

    def ending(self, s: State) -> dict:
        """{name: (R, ...)} recorded once, where a run ends."""
        return {}

    def result(self, i: int, columns: dict, head: dict) -> Outcome:
        """Run i's Result from its recorded `columns` {name: (T, ...)} and `head`, the fields of every Outcome."""
        return self.Result(**head, **columns)

    # What they may call.

    def column(self, name: str, dtype: torch.dtype = torch.float32, axes: int = 2) -> Tensor:
        """(R, 1, ...) the setting `name` of every run, with `axes` more axes."""
        one = torch.ones((), dtype=dtype)  # a product, so that a setting that is traced stays one
        values = [(getattr(config, name) * one).to(dtype) for config in self.configs]
        return torch.stack(values).reshape(-1, *(1,) * axes)

    def wants(self, *names: str) -> bool:
        """Whether one of these quantities was asked for."""
        return not self.record.isdisjoint(names)

    @staticmethod
    def gradients(losses: Tensor, weights: Sequence[Tensor]) -> list[Tensor]:
        """Gradient of each run's own loss, losses (R,), in its own weights: the runs share no weight."""
        # The sum's derivative in one run's weights is that of its own loss: the other losses do not depend on them.
        return list(torch.autograd.grad(losses.sum(), weights))

    # What is run.

    @classmethod
    def run(
        cls,
        config: Settings,
        *,
        progress: Callable | None = None,
        device: Device = None,
        record: Sequence[str] = (),
    ) -> Outcome:
        """Train one run.

        Args:
            config: the settings.
            progress: `progress(fraction, partial_result)`, about ten times a second; returning False stops the run,
                which then returns what it has, with `stopped` set. While data are read the partial result is None.
            device: a torch device; None takes CUDA when there is one.
            record: names of the quantities on request that the Result shall have; "all" for all.

        Returns:
            The Result.

        Raises:
            ValueError: settings or quantities that are not allowed; the run diverged, and the message names the setting
                that must be smaller.
        """
        expect("config", config)

        def report(fraction, partial):
            return progress(fraction, partial and partial()[0])

        told = None if progress is None else report
        # A run that diverged is an outcome to `train`, which goes on with the others; alone it is an error.
        (outcome,) = cls.train([config], progress=told, device=device, record=record)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    @classmethod
    def train(
        cls,
        configs: Sequence[Settings],
        *,
        progress: Callable | None = None,
        device: Device = None,
        record: Sequence[str] = (),
        done: Callable | None = None,
        compile: bool = False,
    ) -> list:
        """Train the runs of `configs`, which agree in `Settings.program`, as one tensor program.

        Args:
            configs, device, record: as for `run`.
            progress: `progress(fraction, partial)`, `partial()` being the Results so far; False stops all runs.
            done: `done(outcome)`, called with each run's outcome as soon as the run ends.
            compile: through torch.compile, which needs a C++ compiler (on a GPU, Triton).

        Returns:
            For each run its Result, or the ValueError of a run that diverged; a stopped run's Result has what it has.
        """
        cls.prepare(configs, progress)
        with one_thread():
            training = cls(configs, record).to(default_device(device))
            if compile:
                compiled(training)
            return follow(training, progress, done)

    # What the loop does with it.

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Training:
        """Move everything to `device`, and floating point numbers to `dtype` if it is given."""

        def moved(value):
            return value.to(device, dtype if value.is_floating_point() else None)

        # Past `__setattr__`: the loop may move what a step may not.
        vars(self)["device"] = torch.device(device)
        vars(self)["state"] = self.state.mapped(moved)
        for name, value in vars(self.shared).items():
            setattr(self.shared, name, mapped(value, moved))
        # The generators stay on the CPU: the numbers are drawn there and copied.
        for draws in self._all_draws():
            draws.to(device)
        return self

    def start(self) -> State:
        """The state before the first step, on the training's device."""
        return self.begin(learning(self.state))

    def draw(self) -> SimpleNamespace:
        """The random numbers of the next step, one attribute for each of `draws`."""
        return SimpleNamespace(**{name: draws.next() for name, draws in self.draws.items()})

    def keep(self, s: State, stay: Tensor) -> State:
        """The state of the runs `stay` (R,) alone, which are the runs of this training from now on."""
        # Settings and random numbers go with their runs: entry k of all three is one run, before and after.
        kept = [c for c, stays in zip(self.configs, stay.tolist(), strict=True) if stays]
        vars(self)["configs"] = kept
        for draws in self._all_draws():
            draws.keep(stay)
        return s.keep(stay)

    def _all_draws(self) -> list[Draws]:
        return [*self.draws.values(), *self.recorded_draws.values()]

    def _check(self) -> None:
        """Each tensor is part of the state, with R as its leading axis, or of what is shared."""
        count = len(self.configs)
        for name, value in vars(self.state).items():
            if tensors(value, np.ndarray):
                raise ValueError(
                    f"state.{name} = a NumPy array is not allowed: it must be a tensor, since only tensors are kept "
                    "in step with the runs when some of them end"
                )
            for tensor in tensors(value):
                if tensor.shape[:1] != (count,):
                    raise ValueError(
                        f"state.{name} = a tensor of shape {tuple(tensor.shape)} is not allowed: it must have the "
                        f"{count} runs as its leading axis; what all runs share belongs into `shared`"
                    )
        for name, value in vars(self).items():
            if name not in ("state", "shared") and tensors(value):
                raise ValueError(
                    f"{name} = a tensor is not allowed: it must be an attribute of `state`, with R as its leading "
                    "axis, or of `shared`, where all runs share it"
                )

    def __setattr__(self, name, value):
        if "ready" in vars(self):
            raise AttributeError(
                f"{name} cannot be set after setup: a step returns what it changes in the state"
            )
        super().__setattr__(name, value)

    @torch.no_grad()
    def _shaken(self, amount: float) -> State:
        """Perturb the start of every run by a relative `amount`: a verdict that flips under 1e-6 hangs by a thread."""
        generators = [stream(c.seed, SHAKE) for c in self.configs]
        weights = []
        for w in self.state.weights:
            shape = w.shape[1 + self.copy_axes :]
            noise = torch.stack(
                [torch.randn(shape, generator=g, dtype=w.dtype) for g in generators]
            )
            # All copies of one start are shaken alike.
            copies = noise.reshape(-1, *(1,) * self.copy_axes, *shape)
            weights.append(w * (1 + amount * copies))
        return self.state.replace(weights=weights)


def tensors(value: object, kind: type = Tensor) -> list:
    """The tensors in `value`, or what is of another `kind`, through lists, tuples and dicts."""
    found: list = []
    mapped(value, found.append, kind)
    return found


def learning(s: State) -> State:
    """`s` with weights that autograd follows from here."""
    return s.replace(weights=[w.detach().requires_grad_() for w in s.weights])


def held(s: State) -> State:
    """`s` with weights that autograd does not follow."""
    return s.replace(weights=[w.detach() for w in s.weights])


def wanted(kind: type, record: Sequence[str]) -> frozenset[str]:
    """The quantities on request of a Result of this kind that `record` names; ValueError for a name that it lacks."""
    offered = on_request(kind)
    if record == "all":
        return offered
    names = [record] if isinstance(record, str) else record
    for name in names:
        if name not in quantities(kind):
            raise ValueError(
                f"record = {name!r} is not allowed: record must hold names of quantities, here "
                f"{', '.join(sorted(offered)) or 'none'}"
            )
    return offered.intersection(names)


def training_of(run: Callable) -> type[Training] | None:
    """The Training whose `run` this is, so that its runs can go side by side; None for another function."""
    owner = getattr(run, "__self__", None)
    if isinstance(owner, type) and issubclass(owner, Training):
        return owner
    return None


class _Rows:
    """What the runs of a program have recorded, and their Results."""

    def __init__(self, training: Training):
        self.training, self.configs = training, training.configs
        self.rows: list[list] = [[] for _ in self.configs]

    def add(self, runs, t: int, table: dict) -> None:
        """Add a row of `table` {name: (len(runs), ...)} to each of `runs`."""
        for k, i in enumerate(runs):
            self.rows[i].append({"steps": t} | row(table, k))

    def result(self, i: int, ending: dict, stopped: bool) -> Outcome:
        """Run i's Result; `ending`, what is recorded once, {name: (...)}."""
        rows = self.rows[i]
        columns = {name: np.stack([seen[name] for seen in rows]) for name in rows[0]}
        head = {
            "config": self.configs[i],
            "seconds": (time.monotonic() - self.training.began) / len(self.configs),
            "device": str(self.training.device),
            "stopped": stopped,
        }
        return self.training.result(i, columns | ending, head)


def follow(
    training: Training, progress: Callable | None = None, done: Callable | None = None
) -> list:
    """Train the runs of `training` to their ends; arguments and result as for `Training.train`.

    i is the number of a run, as long as the training lasts; k is its place among those that go on, which are the rows
    of all tensors: alive[k] = i.
    """
    s, recorded = training.start(), _Rows(training)
    outcomes = [None] * len(training.configs)
    alive = np.arange(len(outcomes))  # numbers of the runs that go on
    finite_steps = torch.zeros(len(outcomes), dtype=torch.long, device=training.device)
    last = time.monotonic()

    def hand_in(i, outcome):
        outcomes[i] = outcome
        if done is not None:
            done(outcome)

    def partial():
        results, ending = list(outcomes), arrays(training.ending(s))
        for k, i in enumerate(alive):
            results[i] = recorded.result(i, row(ending, k), stopped=True)
        return results

    # One more than there are steps: what is seen at the last step is recorded too, and the loop ends there.
    for t in range(training.steps + 1):
        s = learning(s)
        # Drawn before anything is asked: how often a run is recorded changes none of its random numbers.
        drawn = training.draw()
        z, losses = training.forward(s, drawn, t)
        if losses is not None:
            per_run("forward", "the losses", losses, (len(alive),))
        s = s.changed("watch", training.watch(s, z, t))
        # How many steps each run was finite at. The count stays on the device: a plain step does not wait for it.
        finite_steps += z.detach().flatten(1).isfinite().all(1)

        stay = None
        if t in training.times:
            table = arrays(training.measure(s, z, losses, t))
            for name, value in table.items():
                per_run("measure", name, value, (len(alive), *value.shape[1:]))
            # Finite at steps 0 .. t is t + 1 times; a run that was not, at one of them, has diverged there.
            diverged = (array(finite_steps) <= t) | ~table.pop("finite", np.ones(len(alive), bool))
            ended = ends(training, s, t) & ~diverged
            fine = {name: value[~diverged] for name, value in table.items()}
            recorded.add(alive[~diverged], t, fine)
            for k in np.flatnonzero(diverged):
                steps = min(int(finite_steps[k]), t)
                hand_in(alive[k], training.configs[k].diverged(training.rate, steps))
            if ended.any():
                ending = arrays(training.ending(s))
            for k in np.flatnonzero(ended):
                hand_in(alive[k], recorded.result(alive[k], row(ending, k), stopped=False))
            stay = ~(ended | diverged)
            if not stay.any():
                break

        # Runs that have ended take this step too and go after it: losses and numbers drawn still have a row for each.
        s = s.changed("step", training.step(s, drawn, losses, t))
        if stay is not None and not stay.all():
            alive, chosen = alive[stay], torch.as_tensor(stay, device=training.device)
            s, finite_steps = training.keep(s, chosen), finite_steps[chosen]
        if progress is not None and time.monotonic() - last > PROGRESS_EVERY:
            if progress(t / training.steps, partial) is False:
                return partial()
            last = time.monotonic()
    return outcomes


def per_run(by: str, name: str, value: Tensor | np.ndarray, shape: tuple[int, ...]) -> None:
    """ValueError where `value`, which the function `by` of a training gives, has another shape."""
    if tuple(value.shape) != shape:
        raise ValueError(
            f"{by}: {name} of shape {tuple(value.shape)} is not allowed: it must be {shape}, the runs first"
        )


def ends(training: Training, s: State, t: int) -> np.ndarray:
    """(R,) which runs end at the recorded time t."""
    finished = training.finished(s, t)
    if t == training.steps or finished is None:
        return np.full(len(training.configs), t == training.steps)
    return array(finished)


def array(value) -> np.ndarray:
    """A tensor, or what NumPy takes for an array, as an array on the CPU."""
    return value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)


def arrays(table: dict) -> dict:
    """`array` of each value."""
    return {name: array(value) for name, value in table.items()}


def row(table: dict, k: int | np.integer) -> dict:
    """Entry k of each array, copied: on a CPU an array shares its memory with a tensor of the training."""
    return {name: np.array(value[k]) for name, value in table.items()}


def compiled(training: Training) -> None:
    """Put the methods that `training.compiles` names through torch.compile, which says where no compiler is."""
    fast = "cpp.use_decompose_tanh"  # from torch 2.8 on: tanh made of exp, a quarter of the time and right to 2e-7
    options: dict = {fast: True} if fast in torch._inductor.list_options() else {}
    for name in training.compiles:
        vars(training)[name] = torch.compile(getattr(training, name), options=options)


def grouped(configs: Sequence[Settings]) -> list[list[Settings]]:
    """Lists of different configs that make one program: they agree in all settings but those marked `each`."""
    # The config is kept once where it is asked for twice; a dict keeps the order.
    found: dict[tuple, list[Settings]] = {}
    for config in dict.fromkeys(configs):
        found.setdefault(config.program, []).append(config)
    return list(found.values())
