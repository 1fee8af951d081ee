"""Many settings, many results: grouped into programs, run in parallel, kept in the store.

`sweep(run, configs)` gives a list. `sweep(run, Config(), eps=EPS, seed=range(3))` gives a labelled grid.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import itertools
import math
import os
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path

import joblib
from IPython.display import display
from joblib._parallel_backends import LokyBackend
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib.parallel import get_active_backend
from tqdm.auto import tqdm
from tqdm.notebook import tqdm_notebook

from clbook import environment
from clbook.results import records, store
from clbook.results.labelled import dataset
from clbook.training.loop import default_device, grouped, training_of
from clbook.training.settings import Outcome, Settings, expect

WATCHED = (
    1.0  # seconds between two looks of a process at whether the one that started it is still there
)
MOVED = 0.5  # seconds between two moves of the bar
LOOK = "{desc}{percentage:3.0f}%|{bar}| {n} of {total_fmt} runs, {elapsed}"
# Seconds that a sweep works in this process before it starts others: each of them imports torch first.
PATIENCE = 3.0


# Processes.


def parallel(function: Callable, arguments: list[tuple], n_jobs: int | None = None) -> Generator:
    """A generator of `function(*a) for a in arguments`, in order; by parallel processes where there is more than one.

    Args:
        function: what to call; it stands at the top of a module.
        arguments: a list of tuples. Arrays in them are copied to the processes, so that they can be written to there.
        n_jobs: processes; None takes what `joblib.parallel_config` says, else all cores. There are no more of them than
            `arguments`.

    Examples:
        >>> list(parallel(pow, [(2, 3), (3, 2)], n_jobs=1))
        [8, 9]
    """
    backend = get_active_backend()[0]
    if type(backend) is LokyBackend:  # not dask, nor threads
        backend = _Watched(inner_max_num_threads=backend.inner_max_num_threads)
    # max_nbytes=None: joblib would hand over large arrays as files that cannot be written to.
    pool = joblib.Parallel(
        _count(arguments, n_jobs), backend, return_as="generator", max_nbytes=None
    )
    # What a process cannot know that has worked before.
    told = (os.getpid(), environment.shake(), records.in_use())
    return pool(joblib.delayed(_called)(*told, function, a) for a in arguments)


def _count(arguments: list, n_jobs: int | None) -> int:
    """How many processes work on `arguments`."""
    # One task gains nothing from a process of its own.
    if len(arguments) < 2:
        return 1
    if n_jobs is None:
        n_jobs = _configured() or -1
    return min(joblib.effective_n_jobs(n_jobs), len(arguments))


def _configured() -> int | None:
    """How many processes `joblib.parallel_config` asks for; None where it says nothing, which joblib takes for one."""
    chosen = get_active_backend()[1]
    return None if chosen in (None, 1) else chosen


def _called(parent: int, shake: str, in_use: bool, function: Callable, arguments: tuple):
    _watch(parent)
    if environment.shake() != shake:
        environment.set_shake(shake)
    with records.unused(not in_use):
        return function(*arguments)


class _Watched(LokyBackend):
    """joblib's own processes, which watch from their start whether the one that has started them is still there."""

    def configure(self, *given, **how):
        return super().configure(*given, **how, initializer=_begin, initargs=(os.getpid(),))


def _begin(parent: int) -> None:
    """Begin to watch; a process whose parent has died while it started, ends."""
    if os.getppid() != parent:
        os._exit(1)
    _watch(parent)


@functools.cache  # once a process
def _watch(parent: int) -> None:
    """End this process soon after `parent`, where that has started it: one that is killed leaves no others behind."""

    # A process whose parent has died is handed to another one, so its parent's number changes.
    def watch():
        while os.getppid() == parent:
            time.sleep(WATCHED)
        os._exit(1)

    if os.getppid() == parent:
        threading.Thread(target=watch, daemon=True).start()


# Tasks: what one process does at a time.


@dataclasses.dataclass
class Ended:
    """What became of one run.

    Attributes:
        outcome: its Result, or the exception that it ended with.
        path: where its Result belongs by the code of the process that made it; None: it is not stored.
        unsaved: why it could not be stored; "" where it was.
    """

    config: Settings
    outcome: object
    path: Path | None = None
    unsaved: str = ""


def tasks(run: Callable, configs: list[Settings], jobs: int) -> list[list[Settings]]:
    """Lists of configs, each the task of one process: of a Training the runs of one program, else single runs.

    On a GPU all runs of a program go together. On a CPU they are shared out over the processes, in programs of
    `Training.beside` runs at most.

    Examples:
        >>> from clbook.experiments.separability import Config, run
        >>> configs = [Config(seed=0), Config(seed=1), Config(seed=2), Config(d=2)]
        >>> [len(task) for task in tasks(run, configs, jobs=1)]  # runs of one shape together
        [3, 1]
        >>> [len(task) for task in tasks(print, configs, jobs=1)]  # any other function
        [1, 1, 1, 1]
    """
    training = training_of(run)
    if training is None:
        return [[config] for config in configs]
    groups = grouped(configs)
    if default_device().type == "cuda":
        return groups
    # An equal share for each process, and no more runs than gain from standing side by side.
    most = max(1, min(training.beside, math.ceil(len(configs) / jobs)))
    found = []
    for group in groups:
        pieces = math.ceil(len(group) / most)
        size = math.ceil(len(group) / pieces)  # of about equal size
        found += [group[k : k + size] for k in range(0, len(group), size)]
    return found


def shared(run: Callable, configs: list[Settings], record, *how) -> list:
    """`attempt` at the runs of one task, without those that another process makes at this moment.

    What another one has ended since the sweep looked comes from the store.

    Examples:
        >>> from clbook.experiments.separability import Config
        >>> (ended,) = shared(lambda config: 1 / 0, [Config()], (), False)
        >>> ended.outcome  # as `attempt` keeps it
        ZeroDivisionError('division by zero')
    """
    ended, mine = [], []
    with contextlib.ExitStack() as locks:
        for config in configs:
            path = store.path_of(run, config)
            if locks.enter_context(store.locked(path)):
                outcome, _ = store.load(run, config, path, record)
                if outcome is None:
                    mine.append(config)
                else:
                    ended.append(Ended(config, outcome, path))
        return ended + attempt(run, mine, record, *how) if mine else ended


def attempt(
    run: Callable,
    configs: list[Settings],
    record: Sequence[str],
    compile: bool,
    until: float = math.inf,
) -> list:
    """An `Ended` for each run of one task. Each is stored as soon as it ends.

    `until`: when the runs are stopped, in seconds of `time.monotonic`; those that have not ended by themselves are left
    out then.

    Where a whole program fails, by a setting of one run or for want of memory, its runs are halved and tried again:
    only what fails alone has failed.

    Examples:
        >>> from clbook.experiments.separability import Config
        >>> (ended,) = attempt(lambda config: 1 / 0, [Config()], record=(), compile=False)
        >>> ended.outcome  # kept, not raised: the other runs of a sweep go on
        ZeroDivisionError('division by zero')
    """
    training, ended = training_of(run), {}

    def done(outcome):
        if not isinstance(outcome, Exception):
            ended[outcome.config] = _stored(run, outcome.config, outcome)

    def progress(fraction, partial=None):
        return not late()

    def late():
        return time.monotonic() >= until

    try:
        if training is None:
            (config,) = configs
            more: dict = {"record": record} if record else {}
            if until < math.inf:
                more["progress"] = progress
            # A function that is no Training may take neither `record` nor `progress`: it gets what is needed alone.
            outcome = run(config, **more)
            if outcome is None:
                raise ValueError("run returned nothing: it must return an Outcome, as Result is")
            cut = late() and getattr(outcome, "stopped", False)
            return [] if cut else [_stored(run, config, outcome)]
        # Runs that finish are stored one by one, by `done`; those that diverged are taken in below.
        outcomes = training.train(
            configs, progress=progress, record=record, done=done, compile=compile
        )
        for config, outcome in zip(configs, outcomes, strict=True):
            # Stopped because time is up: the run begins anew elsewhere. Stopped for another reason, it is an outcome.
            if not (late() and getattr(outcome, "stopped", False)):
                ended.setdefault(config, Ended(config, outcome))
    except Exception as error:
        if late():  # to be stopped may be an error: where the run fails of itself, it fails again
            return list(ended.values())
        left = [config for config in configs if config not in ended]
        # After log2(n) halvings a run that breaks its program stands alone, and all others have run.
        if len(left) > 1:
            half = len(left) // 2
            first = attempt(run, left[:half], record, compile, until)
            second = attempt(run, left[half:], record, compile, until)
            return [*ended.values(), *first, *second]
        if not isinstance(error, ValueError):
            where = traceback.format_exc()  # of another process: else it would be lost
            if isinstance(error, AttributeError) and isinstance(error.obj, Settings):
                error = _lacking(error.obj, error.name)
            error.add_note(where)
        ended[left[0]] = Ended(left[0], error)
    return list(ended.values())


def _lacking(config: Settings, setting: str | None) -> ValueError:
    """What to say of a config that lacks a setting for which the run asked."""
    return ValueError(
        f"configs = {config.described()} of {type(config).__module__} is not allowed: run asks for a setting "
        f"{setting!r}, which it lacks; it may be another experiment's Config, or the name may be misspelt in run"
    )


def _stored(run: Callable, config: Settings, outcome) -> Ended:
    """What has ended, once it is stored; what was stopped before its end is not, nor what is no Outcome."""
    if not isinstance(outcome, Outcome) or outcome.stopped:
        return Ended(config, outcome)
    path = store.path_of(run, config)
    return Ended(config, outcome, path, store.save(path, config, outcome))


def bar(items: Iterable, unit: str = "step") -> Iterable:
    """`items`, with a bar while a notebook goes through them; while a page is built, which would keep it, without.

    Examples:
        >>> list(bar(range(3)))
        [0, 1, 2]
    """
    return Bar(items, unit=unit, disable=environment.static())


class Bar(tqdm):
    """A bar that is gone once it is closed, also from the file of a notebook, which would keep its beginning."""

    def __init__(self, *items, **how):
        self.place = None
        if not issubclass(tqdm, tqdm_notebook):
            super().__init__(*items, leave=False, **how)
            return
        super().__init__(*items, leave=False, display=False, **how)
        if not self.disable:
            self.place = display(self.container, display_id=True)

    def close(self):
        super().close()
        if self.place is not None:
            self.place.update({"text/plain": ""}, raw=True)


@contextlib.contextmanager
def often(act: Callable) -> Iterator[None]:
    """Calls `act()` every `MOVED` seconds, from another thread, as long as it is open.

    Examples:
        >>> with often(lambda: None):
        ...     "clbook bar" in [thread.name for thread in threading.enumerate()]
        True
    """
    over = threading.Event()

    def work():
        while not over.wait(MOVED):
            act()

    thread = threading.Thread(target=work, daemon=True, name="clbook bar")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


# The sweep.


def sweep(
    run: Callable,
    configs: Iterable[Settings] | Settings,
    progress: Callable | None = None,
    n_jobs: int | None = None,
    compile: bool = False,
    record: Sequence[str] = (),
    **axes: Iterable,
):
    """`[run(config) for config in configs]`: from the store where possible, the rest in programs and in parallel.

    A run is stored as soon as it ends, unless it says that it was stopped: an interrupted or failed sweep keeps what it
    has. Which runs are stored, `store` says; those that are not are trained in this process. Runs that come with the
    book, as records, are found without being told. A bar shows how far the sweep is.

    Runs begin in this process: what has not ended after `PATIENCE` seconds begins anew in parallel processes. These are
    used at once where `n_jobs` or joblib asks for them, for `compile`, and for a function that takes no `progress`,
    since nothing could stop it.

    Args:
        run: `run(config) -> Result`. Of a `loop.Training`, `run = Separability.run`, runs of one shape are one tensor
            program. A file that the run reads must be among `Settings.files` of its config.
        configs: a list of settings, or of comparisons {name: settings}, such as `Config().compared(PAIR)`. Or one
            Config, the base of a grid, with `axes`.
        progress: `progress(fraction, results_so_far)`; returning False ends the sweep, which then has None for each run
            that has not finished.
        n_jobs: processes, as in `parallel`; 1 keeps all runs in this process. A reader with a cluster writes
            `with joblib.parallel_config(backend="dask"):` around the call; a group of runs is then a task.
        compile: put each program through torch.compile.
        record: names of quantities that are recorded only when asked for.
        axes: setting=values; the grid holds a run for each combination.

    Returns:
        The Results in the order of `configs`; of a comparison a dict from name to Result. Of a grid, an
        `xarray.Dataset` with a dimension for each setting, in the order given, then the quantities' own; see
        `labelled.dataset`.

    Raises:
        ValueError: run or configs that are none.
        Exception: that of the first run that failed, naming its config, when all others have finished; its attribute
            `results` holds them, with None for a run that failed.

    Examples:
        >>> from clbook.experiments.separability import Config, run
        >>> base = Config(n=4, steps=2, network=False)
        >>> found = sweep(run, base, eps=(0.1, 1.0), seed=range(3), n_jobs=1)
        >>> found.z.dims  # six runs: the axes of the grid, then those of the embeddings
        ('eps', 'seed', 'step', 'point', 'dim')
    """
    if not callable(run):
        raise ValueError(
            f"run = {run!r} is not allowed: run must be a function, run(config) -> Result"
        )
    if record and training_of(run) is None and "record" not in inspect.signature(run).parameters:
        raise ValueError(
            f"record = {record!r} is not allowed: it must be () for this run, which takes no argument record"
        )
    grid = _grid(configs, axes) if axes else []
    runs = _Sweep(run, grid or _listed(configs), store.asked(run, record))
    results = runs.results(progress, n_jobs, compile)
    return dataset(results, grid, tuple(axes)) if axes else results


def _grid(base, axes: dict) -> list[Settings]:
    """The settings of a grid over `base`, the last axis fastest."""
    expect("configs", base)
    return combined(base, **{name: values_of(name, values) for name, values in axes.items()})


def values_of(name: str, values: Iterable) -> list:
    """The values of the axis `name` of a grid as a list; ValueError where there is none, or one twice.

    Examples:
        >>> values_of("seed", range(3))
        [0, 1, 2]
    """
    wrong = "an axis of the grid"
    if isinstance(values, Iterable) and not isinstance(values, (str, bytes)):
        values = list(values)  # an axis may be a generator, and is gone through twice
        twice = [value for k, value in enumerate(values) if value in values[:k]]
        if values and not twice:
            return values
        wrong = f"each once, and {twice[0]!r} is there twice" if twice else "at least one"
    raise ValueError(
        f"{name} = {values!r} is not allowed: {name} must be a list of values, {wrong}"
    )


def combined(base: Settings, /, **axes: Iterable) -> list[Settings]:
    """The settings at each point of a grid over `base`, the last axis fastest.

    Examples:
        >>> from clbook.experiments.separability import Config
        >>> [(config.eps, config.seed) for config in combined(Config(), eps=(0.1, 1.0), seed=(0, 1))]
        [(0.1, 0), (0.1, 1), (1.0, 0), (1.0, 1)]
    """
    points = itertools.product(*axes.values())
    return [base.replace(**dict(zip(axes, point, strict=True))) for point in points]


def _listed(configs: Iterable | Settings) -> list[Settings | dict]:
    """`configs` as a list; ValueError where it holds anything but settings and comparisons."""
    if not isinstance(configs, Iterable):
        given = configs.described() if isinstance(configs, Settings) else repr(configs)
        raise ValueError(
            f"configs = {given} is not allowed: it must be a list of settings, such as [Config()]; "
            "or one Config with the axes of a grid, such as seed=range(3)"
        )
    configs = list(configs)
    for item in configs:
        for config in _runs_of(item):
            expect("configs", config)
    return configs


def _runs_of(item: Settings | dict) -> list[Settings]:
    """The settings of one run, or those of a comparison {name: settings}."""
    return list(item.values()) if isinstance(item, dict) else [item]


def _stoppable(run: Callable) -> bool:
    """Whether a run can be stopped once it has begun: it takes `progress`."""
    return training_of(run) is not None or "progress" in inspect.signature(run).parameters


class _Sweep:
    """One call of `sweep`: what is known of each of its runs.

    Attributes:
        found: {config: its Result, or None}. paths: {config: its file in the store, or None}.
        missing: the configs of which neither store nor records have the result. left: those of them that have not
            ended yet, as keys. failed: {config: its error}. unsaved: why results could not be stored.
        record: the quantities asked for, and those that a stored result of fewer has.
    """

    def __init__(self, run: Callable, items: Sequence[Settings | dict], record: frozenset[str]):
        self.run, self.items, self.record = run, items, record
        self.failed: dict = {}
        self.unsaved: list[str] = []
        self.found: dict = {}
        self.paths = {}
        for config in itertools.chain.from_iterable(map(_runs_of, items)):
            if config not in self.found:
                path = store.path_of(run, config)
                self.paths[config] = path
                # A stored result that lacks a quantity is made again with all that it had, so `record` may grow.
                self.found[config], self.record = store.load(run, config, path, self.record)
        self.missing = [config for config, result in self.found.items() if result is None]
        self.left = dict.fromkeys(self.missing)

    def listed(self) -> list:
        """The results as they were asked for."""
        found: list = []
        for item in self.items:
            if isinstance(item, dict):
                found.append({name: self.found[config] for name, config in item.items()})
            else:
                found.append(self.found[item])
        return found

    def results(self, progress, n_jobs, compile) -> list:
        """Make what is missing; arguments and result as for `sweep`."""
        # What this process has and another could not import, or would import as it stands now, runs here.
        here = None in self.paths.values() or default_device().type == "cuda"
        jobs = 1 if here else _count(self.missing, n_jobs)
        # Who names a number of processes gets them at once; else a short sweep is over before they would have started.
        asked = n_jobs is not None or _configured() is not None or compile
        try:
            going = True
            if jobs > 1 and not asked and _stoppable(self.run):
                going = self.work(1, progress, compile, until=time.monotonic() + PATIENCE)
            # What the first seconds have finished is no longer in `left`, so the processes get the rest alone. A run
            # is left once more where another sweep that had it has ended without it.
            while going and self.left:
                going = self.work(jobs, progress, compile)
            if not going:
                return self.listed()
        finally:
            self.warn()
        self.report()
        return self.listed()

    def work(self, jobs: int, progress, compile, until: float = math.inf) -> bool:
        """Make what is left, in `jobs` processes, or until then; False where `progress` has ended the sweep."""
        parts = tasks(self.run, list(self.left), jobs)
        pool = parallel(
            shared, [(self.run, part, self.record, compile, until) for part in parts], jobs
        )
        total = len(self.missing)
        # A page keeps what is written while it is built.
        done = total - len(self.left)
        quiet = total < 2 or environment.static()
        shown = Bar(total=total, initial=done, bar_format=LOOK, disable=quiet)
        try:
            with shown, often(shown.refresh):  # its clock goes on while the runs are at work
                for part in itertools.chain(pool, self.others()):
                    for ended in part:
                        self.take(ended)
                    shown.n = total - len(self.left)
                    # An empty part: its runs were cut off, and there is nothing new to tell.
                    told = part and progress is not None
                    if told and progress(self.share(), self.listed()) is False:
                        return False
                    if time.monotonic() >= until:
                        break
        except TerminatedWorkerError as error:
            error.add_note(self.at_work(parts, jobs))
            raise
        finally:
            # A sweep that ends early stops what its processes have not begun.
            pool.close()
        return True

    def others(self) -> Iterator[list]:
        """What other processes make of the runs that are left, one after another, when they have ended."""
        for config in list(self.left):
            path = self.paths[config]
            with store.locked(path, wait=True):
                outcome, _ = store.load(self.run, config, path, self.record)
            yield [] if outcome is None else [Ended(config, outcome, path)]

    def take(self, ended: Ended) -> None:
        """Take in what became of a run."""
        config, outcome, path = ended.config, ended.outcome, self.paths[ended.config]
        del self.left[config]
        if isinstance(outcome, Exception):
            self.failed[config] = outcome
            return
        self.found[config] = outcome
        unsaved = ended.unsaved
        # A machine with a store of its own may have made it: by the same code, if the files have one name.
        same = path and ended.path and path.name == ended.path.name
        if same and not (unsaved or self.kept(config)):
            unsaved = store.save(path, config, outcome)
        if unsaved:
            self.unsaved.append(unsaved)

    def kept(self, config: Settings) -> bool:
        """Whether the store has a run."""
        path = self.paths[config]
        return path is not None and path.exists()

    def share(self) -> float:
        """Which part of the runs that were missing has ended."""
        left = sum(self.found[config] is None for config in self.missing)
        return 1 - left / len(self.missing)

    def warn(self) -> None:
        """Say which results could not be stored."""
        if self.unsaved:
            warnings.warn(
                f"{len(self.unsaved)} of {len(self.found)} results are not stored: {self.unsaved[0]}",
                stacklevel=4,
            )

    def report(self) -> None:
        """Raise the first error, and say of which run it is and what there is of the others."""
        if not self.failed:
            return
        first, *others = self.failed
        finished = [config for config, result in self.found.items() if result is not None]
        # The note says what a second call need not make again.
        kept = sum(map(self.kept, finished))
        note = (
            f"in {first.described()}; of the {len(self.found) - 1} other runs {len(finished)} have finished "
            f"({kept} are stored; this error's `results` has them all)"
        )
        if others:
            note += ", and failed as well: " + ", ".join(c.described() for c in others)
        error = self.failed[first]
        error.add_note(note)
        error.results = self.listed()
        raise error

    def at_work(self, parts, jobs) -> str:
        """What the processes were doing when one of them died, as far as this process knows."""
        left = []
        for part in parts:
            waiting = [c for c in part if self.found[c] is None and not self.kept(c)]
            left += waiting[:1]
        first = ", ".join(config.described() for config in left[: 2 * jobs])
        return f"a process died, for want of memory perhaps, at one of these runs: {first}; what had finished is stored"
