"""The one loop: R runs of one program side by side. Whatever differs between them has R as its leading axis.

An experiment is a `Program`: it says how its runs begin, what one step is, and what is measured. `run(config)` is the
case R = 1, by the same code. On the CPU a run has the same bits alone and beside others; on a GPU it is equal up to
rounding.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace

import numpy as np
import torch

from clbook.optim import Adam, Descent
from clbook.settings import Outcome, Settings, expect

PROGRESS_EVERY = 0.1  # seconds between two calls of `progress`: often enough for Stop to act within half a second
BLOCK = 32  # steps whose random numbers are drawn, and copied to the device, at once
SHAKE = 97  # purpose of the stream that `CLBOOK_SHAKE` draws from


def default_device(device=None) -> torch.device:
    """`device`, or the CUDA device when there is one, else the CPU."""
    return torch.device(
        device if device is not None else "cuda" if torch.cuda.is_available() else "cpu"
    )


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread: small tensors are faster so, and sums have one order, hence the same bits every time."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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


# Random numbers: one stream on the CPU for each seed and purpose, so that a run's draws depend neither on the device
# nor on what runs beside it.


def stream(seed: int, purpose: int) -> torch.Generator:
    """The CPU generator of a seed and a purpose (0 .. 99; each experiment names its own); no two share numbers."""
    return torch.Generator().manual_seed(100 * seed + purpose)


def streams(configs: Sequence[Settings], purpose: int) -> list[torch.Generator]:
    """`stream(config.seed, purpose)` of each run; runs of one seed share one object, and so its draws."""
    made = {seed: stream(seed, purpose) for seed in {c.seed for c in configs}}
    return [made[c.seed] for c in configs]


class Draws:
    """What R runs draw at each step: from the CPU in blocks of steps, copied to the device once a block.

    Args:
        generators: R of them, as from `streams`; an object that stands there twice is drawn from once, for both.
        draw: `draw(generator) -> tensor`, one run's numbers for one step, on the CPU.
        block: steps in a block; it does not change the numbers.
    """

    def __init__(self, generators: Sequence[torch.Generator], draw: Callable, block: int = BLOCK):
        self.generators = list(dict.fromkeys(generators))
        self.own = torch.tensor([self.generators.index(g) for g in generators])
        self.draw, self.block, self.used = draw, block, block

    def next(self) -> torch.Tensor:
        """(R, ...) the next step's numbers."""
        if self.used == self.block:
            block = [
                torch.stack([self.draw(g) for g in self.generators]) for _ in range(self.block)
            ]
            self.values, self.used = torch.stack(block).to(self.own.device), 0
        self.used += 1
        drawn = self.values[self.used - 1]
        return drawn if len(self.generators) == len(self.own) == 1 else drawn[self.own]

    def to(self, device) -> Draws:
        self.own = self.own.to(device)
        return self

    def keep(self, stay: torch.Tensor) -> None:
        """Go on for the runs `stay` (R,) alone."""
        self.own = self.own[stay]


def _mapped(value, change):
    """`value` with `change` applied to each tensor in it, through lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_mapped(v, change) for v in value)
    return {k: _mapped(v, change) for k, v in value.items()} if isinstance(value, dict) else value


class Program:
    """R runs of equal shape, trained side by side: the base of every experiment's training.

    Attributes:
        configs: the settings of each run; `config` is the first's, to read what all share.
        trained: list of tensors (R, ...), what an optimiser moves. state: namespace of what else differs between runs:
            tensors (R, ...), or lists or dicts of them. Tensors that are plain attributes are shared by all runs.
        steps, times: how many steps, and the set of those that are recorded.

    An experiment writes `setup` (on the CPU: data, start, weights), `begin` (on the device: the optimiser), `now(t)`
    (what is seen at step t), `advance(t)` (the step from t to t + 1) and `measure(z, t)`. Between recorded times none
    of them may read a value from the device.
    """

    rate = "lr"  # the setting that is to blame when a run diverges
    compiles = ()  # methods that `compile` puts through torch.compile
    alike = 0  # axes of `trained`, after the runs', that number copies of one start: they stay copies when shaken
    Result = Outcome

    def __init__(self, configs: Sequence[Settings]):
        for config in configs:
            expect("config", config)
        self.configs, self.config, self.device = list(configs), configs[0], torch.device("cpu")
        if any(c.program != self.config.program for c in self.configs):
            raise ValueError(
                "configs = runs of several shapes are not allowed: they must agree in `Settings.program`"
            )
        self.state, self.trained, self.optimiser, self.began = (
            SimpleNamespace(),
            [],
            None,
            time.monotonic(),
        )
        self.steps, every = self.config.steps, getattr(self.config, "record_every", 0)
        self.times = set(recorded_times(self.steps, every))
        self.setup()
        if amount := float(os.environ.get("CLBOOK_SHAKE") or 0):
            self._shake(amount)

    def setup(self) -> None:
        """Make data, start and weights of all runs, on the CPU."""

    def begin(self) -> None:
        """Make what stands on `trained`, now on its device: the optimiser."""

    def now(self, t: int) -> torch.Tensor:
        """(R, ...) what is seen at step t: it must stay finite."""
        raise NotImplementedError

    def advance(self, t: int) -> None:
        """The step from t to t + 1."""
        raise NotImplementedError

    def watch(self, z: torch.Tensor, t: int) -> None:
        """Look at every step, without a read from the device."""

    def measure(self, z: torch.Tensor, t: int) -> dict:
        """{name: (R, ...)} at a recorded time. Where "finite" (R,) is among them, a run that is False has diverged."""
        raise NotImplementedError

    def over(self, t: int) -> torch.Tensor | None:
        """(R,) runs that end at the recorded time t because nothing more is to be seen; None: all go on."""

    def result(self, i: int, columns: dict, head: dict) -> Outcome:
        """Run i's Result from its recorded `columns` {name: (T, ...)} and `head`, the fields of every Outcome."""
        return self.Result(**head, **columns)

    def each(self, name: str, dtype=torch.float32, axes: int = 2) -> torch.Tensor:
        """(R, 1, ...) the setting `name` of every run, with `axes` more axes."""
        values = torch.tensor([getattr(c, name) for c in self.configs], dtype=dtype)
        return values.reshape(-1, *(1,) * axes)

    def descend(self, losses: torch.Tensor, *args) -> None:
        """One step of the optimiser down the gradient of losses (R,), each with respect to its own run's weights."""
        self.optimiser.step(torch.autograd.grad(losses.sum(), self.trained), *args)

    def to(self, device, dtype=None) -> Program:
        """Move everything to `device`, floating point numbers to `dtype` if it is given, and begin there."""

        def moved(value):
            return value.to(device, dtype if value.is_floating_point() else None)

        self.device = torch.device(device)
        for owner in (self, self.state):
            for name, value in list(vars(owner).items()):
                setattr(
                    owner,
                    name,
                    value.to(device) if isinstance(value, Draws) else _mapped(value, moved),
                )
        self.trained = [w.detach().clone().requires_grad_() for w in self.trained]
        self.begin()
        return self

    def keep(self, stay: torch.Tensor) -> None:
        """Go on with the runs `stay` (R,) alone: the others leave the program."""
        self.configs = [c for c, stays in zip(self.configs, stay.tolist(), strict=True) if stays]
        self.trained[:] = [
            w.detach()[stay].requires_grad_() for w in self.trained
        ]  # the list that the optimiser holds
        for name, value in vars(self.state).items():
            setattr(self.state, name, _mapped(value, lambda v: v[stay]))
        for part in vars(self).values():
            if isinstance(part, (Draws, Descent, Adam)):
                part.keep(stay)

    @torch.no_grad()
    def _shake(self, amount):
        """Perturb the start of every run by a relative `amount`: a verdict that flips under 1e-6 hangs by a thread."""
        draws = [stream(c.seed, SHAKE) for c in self.configs]
        for w in self.trained:
            noise = torch.stack(
                [torch.randn(w.shape[1 + self.alike :], generator=g, dtype=w.dtype) for g in draws]
            )
            w *= 1 + amount * noise.reshape(-1, *(1,) * self.alike, *noise.shape[1:])


class _Rows:
    """What the runs of a program have recorded, and their Results."""

    def __init__(self, program):
        self.program, self.configs, self.rows = (
            program,
            program.configs,
            [[] for _ in program.configs],
        )

    def add(self, alive, t, table):
        for k, i in enumerate(alive):
            self.rows[i].append(
                {"steps": t} | {name: np.array(value[k]) for name, value in table.items()}
            )

    def result(self, i, stopped):
        columns = {name: np.stack([row[name] for row in self.rows[i]]) for name in self.rows[i][0]}
        seconds = (time.monotonic() - self.program.began) / len(self.configs)
        head = {
            "config": self.configs[i],
            "seconds": seconds,
            "device": str(self.program.device),
            "stopped": stopped,
        }
        return self.program.result(i, columns, head)


def follow(program: Program, progress=None, done=None) -> list:
    """Train the runs of `program` to their ends.

    Args:
        progress: `progress(fraction, partial)`, about ten times a second, `partial()` being the Results so far;
            returning False stops all runs.
        done: `done(outcome)`, called with each run's outcome as soon as the run ends.

    Returns:
        For each run its Result, or the ValueError of a run that diverged; a stopped run's Result has what it has.
    """
    kept, configs = _Rows(program), program.configs
    outcomes, alive, last = [None] * len(configs), np.arange(len(configs)), time.monotonic()
    fine = torch.zeros(
        len(configs), dtype=torch.long, device=program.device
    )  # steps at which a run was finite

    def hand_in(i, outcome):
        outcomes[i] = outcome
        if done is not None:
            done(outcome)

    def partial():
        return [
            kept.result(i, True) if outcomes[i] is None else outcomes[i]
            for i in range(len(configs))
        ]

    for t in range(program.steps + 1):
        z = program.now(t)
        fine += (
            z.detach().flatten(1).isfinite().all(1)
        )  # stays on the device: no wait for it in a plain step
        program.watch(z, t)
        stay = None
        if t in program.times:
            table = {name: _array(value) for name, value in program.measure(z, t).items()}
            diverged = (_array(fine) <= t) | ~table.pop("finite", np.ones(len(alive), bool))
            over = program.over(t)
            ended = (np.zeros(len(alive), bool) if over is None else _array(over)) | (
                t == program.steps
            )
            kept.add(alive[~diverged], t, {name: value[~diverged] for name, value in table.items()})
            for k in np.flatnonzero(diverged):
                hand_in(alive[k], configs[alive[k]].diverged(program.rate, min(int(fine[k]), t)))
            for k in np.flatnonzero(ended & ~diverged):
                hand_in(alive[k], kept.result(alive[k], False))
            stay = ~(ended | diverged)
            alive = alive[stay]
            if not len(alive):
                break
        program.advance(t)
        if stay is not None and not stay.all():
            stay = torch.as_tensor(stay, device=program.device)
            program.keep(stay)
            fine = fine[stay]
        if progress is not None and time.monotonic() - last > PROGRESS_EVERY:
            if progress(t / program.steps, partial) is False:
                return partial()
            last = time.monotonic()
    return outcomes


def _array(value) -> np.ndarray:
    return value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)


def together(
    program, configs: Sequence[Settings], *, progress=None, device=None, done=None, compile=False
) -> list:
    """The runs of `configs`, which agree in `Settings.program`, as one tensor program; arguments as for `follow`.

    compile: through torch.compile, which needs a C++ compiler (on a GPU, Triton).
    """
    with one_thread():
        made = program(list(configs)).to(default_device(device))
        if compile:
            compiled(made)
        return follow(made, progress, done)


def alone(program, config: Settings, progress=None, device=None) -> Outcome:
    """One run: `together` of one. `progress(fraction, partial_result)`, ValueError where it diverged."""
    report = progress and (lambda fraction, partial: progress(fraction, partial()[0]))
    return _sound(together(program, [config], progress=report, device=device))[0]


def _sound(outcomes):
    """`outcomes`, or the error of the first run that diverged."""
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    return outcomes


def compiled(program: Program) -> None:
    """Put the methods that `program.compiles` names through torch.compile; RuntimeError where no compiler is there."""
    if program.device.type == "cpu":
        from torch._inductor.cpp_builder import get_cpp_compiler

        try:
            get_cpp_compiler()
        except Exception as error:
            raise RuntimeError(
                "compile = True needs a C++ compiler, and none was found: install g++ or clang, or "
                "leave compile = False"
            ) from error
    fast = "cpp.use_decompose_tanh"  # from torch 2.8 on: tanh made of exp, a quarter of the time and right to 2e-7
    options = {fast: True} if fast in torch._inductor.list_options() else {}
    for name in program.compiles:
        setattr(program, name, torch.compile(getattr(program, name), options=options))


def grouped(configs: Sequence[Settings]) -> list[list[Settings]]:
    """Lists of different configs that make one program: they agree in all settings but those marked `each`."""
    found = {}
    for config in dict.fromkeys(configs):
        found.setdefault(config.program, []).append(config)
    return list(found.values())


@dataclasses.dataclass
class Several(Outcome):
    """Runs of otherwise equal settings, by name: `several["network"]`."""

    runs: dict

    def __getitem__(self, name):
        return self.runs[name]

    @property
    def steps(self) -> np.ndarray:
        """(T,) the recorded times that all runs have reached."""
        return min((r.steps for r in self.runs.values()), key=len)


def gathered(config: Settings, runs: dict) -> Several:
    """The Several of finished or partial `runs` {name: Result}."""
    distinct = {id(r): r for r in runs.values()}.values()
    return Several(
        config=config,
        seconds=sum(r.seconds for r in distinct),
        device=next(iter(distinct)).device,
        stopped=any(r.stopped for r in distinct),
        runs=runs,
    )


def several(run, config: Settings, variants: dict, *, progress=None, device=None) -> Several:
    """`run` of config.replace(**change) for each {name: change} of `variants`; those of one program train side by side.

    progress: `progress(fraction, partial)`, a Several in which a run at work stands in for those that have not begun.
    """
    configs = {name: config.replace(**change) for name, change in variants.items()}
    done = {}

    def named(current):
        at_work = next(iter(current.values()))
        return gathered(
            config, {name: done.get(c) or current.get(c) or at_work for name, c in configs.items()}
        )

    side_by_side = hasattr(run, "program")
    for group in (
        grouped(configs.values())
        if side_by_side
        else [[c] for c in dict.fromkeys(configs.values())]
    ):

        def report(fraction, partial, group=group):
            current = _sound(partial() if callable(partial) else [partial])
            shown = named(dict(zip(group, current, strict=True)))
            return progress((len(done) + fraction * len(group)) / len(configs), shown)

        told = progress and report
        if side_by_side:
            found = _sound(together(run.program, group, progress=told, device=device))
        else:
            found = [run(group[0], progress=told, device=device)]
        done.update(zip(group, found, strict=True))
        if any(r.stopped for r in found):
            break
    return named(done)


# The interface that sweeps are written against, on top of `Program`.


def _train(program, configs, *, progress=None, device=None, record=(), done=None, compile=False):
    return together(program, configs, progress=progress, device=device, done=done, compile=compile)


Program.train = classmethod(_train)
Program.beside = 40


def training_of(run):
    """The program whose runs can go side by side; None for another function."""
    return getattr(run, "program", None)
