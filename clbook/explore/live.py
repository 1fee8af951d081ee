"""The explorer with a kernel: ipywidgets made from a Config's own fields, a background run, a picture that follows it.

Threads. A panel owns two: one runs the experiment, one draws. Each lives only while it has work, takes the newest job it
was given and drops the older ones, and is a daemon, so that a kernel can end with a run in flight. What a run needs from
its thread it must set itself: grad mode and the current CUDA device are torch's thread-local state and start at their
defaults here. Widget updates may come from any thread: ipykernel sends them all from its own output thread. What the
reader does reaches the panel between cells: while a long cell executes, sliders and Stop wait for its end.
"""

from __future__ import annotations

import atexit
import dataclasses
import html
import logging
import math
import threading
import time
import weakref

import ipywidgets as widgets
from IPython import get_ipython
from traitlets import Unicode

from clbook.explore import controls
from clbook.figures.style import DRAWING

DEBOUNCE = 0.15  # s between a slider's last move and the run it starts
FIRST_PICTURE = 0.1  # s of running before a partial picture is worth drawing
PICTURE_EVERY = 0.5  # s between partial pictures, and four times what the last one took
PROGRESS_EVERY = 0.1  # s between moves of the progress bar

_log = logging.getLogger(__name__)
_panels = weakref.WeakSet()
_cells = {}  # notebook cell -> (the execution that made them, its panels)


def panel(run, figure, base_config, *, scrub=None, name=None, title="", axes):
    """A panel that runs `run` on the settings it shows and draws the results with `figure`.

    Args:
        run: `run(config, *, progress)` -> Result; `progress(fraction, partial)` must be called a few times a second:
            it is where a run is stopped.
        figure: `figure(result)` -> Picture, or `figure(result, frame=i)` where `scrub` is given.
        base_config: the settings that are run and shown at once.
        scrub: name of the Result's array of recorded times, which get a slider that redraws without running.
        name: what the explorer is called in the log. title: heading over the controls.
        axes: field name -> grid values; these fields get a slider, and a change of one reruns by itself.
    """
    shown = Panel(run, figure, base_config, scrub=scrub, name=name, title=title, axes=axes)
    _close_earlier(shown)
    return shown


class Panel(widgets.VBox):
    """Controls, a progress bar and a picture; made by `panel`.

    Attributes:
        result: the latest Result of a run that ended or was stopped; None before the first.
        controls: field name -> the widget that holds its value. sliders: explored number -> its slider.
        run_button, stop_button, progress, status, message, image, caption, scrub_slider: the other parts.
    """

    def __init__(self, run, figure, base_config, *, scrub, name, title, axes):
        self._lock = threading.RLock()
        self._job = self._partial = self._error = self.result = None
        self._quiet, self._last = False, 0
        super().__init__()
        self._simulate, self._figure, self._base, self._scrub = run, figure, base_config, scrub
        self._axes, self._name = tuple(axes), name or getattr(run, "__module__", "explorer")
        self._fields = {field.name: field for field in dataclasses.fields(base_config)}
        self._next_picture = math.inf
        self._runner, self._painter = _Newest(self._work, "run"), _Newest(self._paint, "draw")
        self._build(title, axes)
        _panels.add(self)
        self._request(delay=0)

    # The controls

    def _build(self, title, axes):
        self.controls = {name: controls.control(field, getattr(self._base, name), explored=name in axes)
                         for name, field in self._fields.items()}
        labels = [controls.label(self._fields[name]) for name in axes] + [f"{self._scrub} = 00000"]
        self.sliders, rows, width = {}, [], f"{max(map(len, labels)) * 0.55:.1f}em"
        for name, grid in axes.items():
            self.controls[name].observe(lambda change, name=name: self._explored(name), "value")
            self.controls[name].style.description_width = width
            rows.append(self.controls[name])
            if isinstance(self.controls[name], widgets.Text):
                self.sliders[name] = controls.slider(self._fields[name], grid)
                self.sliders[name].style.description_width = width
                self.sliders[name].observe(lambda change, name=name: self._slid(name), "index")
                self._follow(name)
                rows[-1] = widgets.HBox([self.sliders[name], self.controls[name]], layout={"flex_flow": "row wrap"})
        rest = [self.controls[name] for name in self._fields if name not in axes]
        for control in rest:
            control.observe(self._set, "value")
        # ipywidgets' Accordion opens only by mouse; a toggle button is reached by keyboard too
        more = widgets.ToggleButton(description="All settings", icon="caret-right", layout={"width": "auto"},
                                    tooltip="Show the settings that have no slider; they take effect with Run")
        folded = widgets.GridBox(rest, layout={"display": "none", "padding": "6px 0", "grid_gap": "2px 16px",
                                               "grid_template_columns": "repeat(auto-fill, minmax(300px, 1fr))"})

        def fold(change):
            folded.layout.display = "grid" if more.value else "none"
            more.icon = "caret-down" if more.value else "caret-right"

        more.observe(fold, "value")
        self.run_button = widgets.Button(description="Run", icon="play", button_style="primary", layout={"width": "6em"},
                                         tooltip="Run with the settings shown")
        self.stop_button = widgets.Button(description="Stop", icon="stop", disabled=True, layout={"width": "6em"},
                                          tooltip="Stop the run and keep what it has")
        self.run_button.on_click(lambda _: self._request(delay=0))
        self.stop_button.on_click(lambda _: self.stop())
        self.progress = widgets.FloatProgress(0, min=0, max=1, tooltip="How much of the run is done",
                                              layout={"flex": "1 1 8em", "min_width": "6em", "width": "auto", "height": "12px",
                                                      "align_self": "center"})
        buttons = widgets.HBox([self.run_button, self.stop_button, more, self.progress], layout={"flex_flow": "row wrap"})
        self.status, self.message, self.caption = widgets.HTML(), widgets.HTML(), widgets.HTML()
        self.image = _Image(format="png", layout={"width": "100%", "height": "auto", "object_fit": "contain"})
        self.scrub_slider = widgets.IntSlider(0, min=0, max=1, readout=False, description=str(self._scrub),
                                              tooltip="Recorded time of the picture", style={"description_width": width},
                                              layout={"width": "calc(100% - 12px)", "display": "" if self._scrub else "none"})
        self.scrub_slider.observe(self._scrubbed, "value")
        heading = [widgets.HTML(f"<b>{html.escape(title)}</b>")] if title else []
        self.children = [*heading, *rows, buttons, folded, self.status, self.message, self.image, self.scrub_slider,
                         self.caption]
        self.layout = widgets.Layout(width="100%", max_width="720px", grid_gap="2px")

    def _explored(self, name):
        if name in self.sliders:
            self._follow(name)
        self._request()

    def _slid(self, name):
        with self._lock:
            if not self._quiet:
                self.controls[name].value = self.sliders[name].label

    def _follow(self, name):
        """Move a slider to the stop nearest to its entry, which holds the truth."""
        field, slider = self._fields[name], self.sliders[name]
        with self._lock:
            self._quiet = True
            slider.index = controls.nearest(slider, controls.read(self.controls[name].value, field), field)
            self._quiet = False

    def _set(self, change):
        if self._config() is not None:
            self.message.value = controls.words("Settings changed: press Run to see them.")

    def _scrubbed(self, change):
        with self._lock:
            if not self._quiet and self._partial is not None:
                self._painter.put(self._partial)

    def _config(self):
        """The settings shown; None where they are not allowed, which the panel then says."""
        try:
            return self._base.replace(**{name: controls.read(control.value, self._fields[name])
                                         for name, control in self.controls.items()})
        except ValueError as error:
            self.message.value = controls.alarm(error)
            return None

    # The run

    def _request(self, delay=DEBOUNCE):
        """Run the settings shown, `delay` seconds from now, in place of the run that is going."""
        config = self._config()
        if config is None:
            return
        with self._lock:
            job, before = _Job(config, delay), self._job
            if before is not None:
                before.stop.set()
                began = before.fraction is not None
                job.note = f" The run before it was replaced at {before.fraction:.0%}." if began else before.note
            self._job, self._error = job, None
            self.message.value = ""
            self.progress.value, self.progress.bar_style = 0, ""
            self.status.value = controls.words(f"Running {self._describe(config)} ...{job.note}")
            self.stop_button.disabled = False
            self._runner.put(job)

    def _work(self, job):
        if job.stop.wait(job.delay):
            return self._finish(job)
        started, job.fraction, bar = time.monotonic(), 0.0, 0.0
        self._next_picture = started + FIRST_PICTURE

        def progress(fraction, partial=None):
            nonlocal bar
            now, job.fraction = time.monotonic(), min(max(float(fraction), 0.0), 1.0)
            if job.stop.is_set():
                return False
            if now >= bar:
                bar = now + PROGRESS_EVERY
                self.progress.value = job.fraction
                self.status.value = controls.words(f"Running {self._describe(job.config)} ... {job.fraction:.0%}, "
                                                   f"{now - started:.1f} s.{job.note}")
            if partial is not None and now >= self._next_picture:
                self._next_picture = math.inf
                self._show(partial)
            return True

        try:
            self._finish(job, result=self._simulate(job.config, progress=progress))
        except Exception as error:  # noqa: BLE001 - any error belongs in the panel
            if not isinstance(error, ValueError):
                _log.exception("%s: the run of %s failed", self._name, job.config)
            self._finish(job, error=error)

    def _finish(self, job, result=None, error=None):
        with self._lock:
            if self._job is not job:
                return
            self._job = None
            if error is not None:
                self._error, self.progress.bar_style = error, "danger"
                self.message.value = controls.alarm(error)
            if result is not None:
                self.result = result
                self.progress.value = job.fraction if result.stopped else 1
                self.progress.bar_style = "warning" if result.stopped else "success"
                how = f"stopped at {job.fraction:.0%}, " if result.stopped else ""
                self.status.value = controls.words(f"{self._describe(job.config)}: {how}{result.seconds:.2f} s on "
                                                   f"{result.device}.{job.note}")
            elif self.result is not None:
                self.status.value = controls.words(f"Not run: {self._describe(job.config)}. The picture is of "
                                                   f"{self._describe(self.result.config)}.")
            else:
                self.status.value = controls.words(f"Not run: {self._describe(job.config)}.")
            if self.result is not None:
                self._show(self.result)
            self.stop_button.disabled = True

    def stop(self):
        """Ask the run to stop; it returns what it has the next time it reports progress."""
        with self._lock:
            if self._job is not None:
                self._job.stop.set()
                self.status.value = controls.words("Stopping ...")

    def wait(self, timeout=None):
        """The latest Result once nothing is running or being drawn; for tests and notebooks without a browser.

        Raises:
            TimeoutError: it took longer than `timeout` seconds. Otherwise the error of the latest run, if it had one.
        """
        end = None if timeout is None else time.monotonic() + timeout
        for worker in (self._runner, self._painter):
            if not worker.idle(None if end is None else max(0.0, end - time.monotonic())):
                raise TimeoutError(f"the run took longer than timeout = {timeout} s")
        if self._error is not None:
            raise self._error
        return self.result

    def close(self):
        """Stop the run and remove the panel and its controls from the page."""
        self._halt()
        for part in _family(self):
            super(Panel, part).close() if part is self else part.close()

    def _halt(self):
        """End the run without a word."""
        with self._lock:
            if self._job is not None:
                self._job.stop.set()
            self._job = None

    # The picture

    def _show(self, result):
        """Draw `result`; the scrub slider stays at the end of the recorded times until the reader moves it from there."""
        with self._lock:
            self._partial = result
            if self._scrub:
                last, slider = len(getattr(result, self._scrub)) - 1, self.scrub_slider
                frame = last if slider.value == self._last else min(slider.value, last)
                self._quiet, self._last = True, last
                slider.max = max(last, 1)
                slider.value = frame
                self._quiet = False
            self._painter.put(result)

    def _paint(self, result):
        started = time.monotonic()
        try:
            times = getattr(result, self._scrub) if self._scrub else []
            frame = min(self.scrub_slider.value, len(times) - 1)
            with DRAWING:
                picture = self._figure(result, frame=frame) if self._scrub else self._figure(result)
                png = picture.png()
        except Exception as error:  # noqa: BLE001 - any error belongs in the panel
            _log.exception("%s: the figure of %s failed", self._name, result.config)
            self._error, self.message.value = error, controls.alarm(error)
            return
        width = round(picture.fig.get_figwidth() * 96)
        self.image.layout.max_width, self.layout.max_width = f"{width}px", f"{max(width, 640)}px"
        self.image.value = png
        self.image.tooltip = picture.alt
        if self._scrub:
            self.scrub_slider.description = f"{self._scrub} = {times[frame]:g}"
        self.caption.value = controls.words(picture.alt)
        ended = time.monotonic()
        self._next_picture = ended + max(PICTURE_EVERY, 4 * (ended - started))

    def _describe(self, config):
        """The explored settings, and those that differ from the start: 'eps = 0.1, tau = 0.01'."""
        return ", ".join(f"{name} = {controls.text(getattr(config, name))}" for name in self._fields
                         if name in self._axes or getattr(config, name) != getattr(self._base, name))


class _Image(widgets.Image):
    """An image whose tooltip is its accessible name; ipywidgets 8.1 has no alt, and its tooltip needs a description."""

    description = Unicode("").tag(sync=True)


class _Job:
    """One run: its settings, the pause before it, its stop flag, how far it came, what to say about the one before."""

    def __init__(self, config, delay):
        self.config, self.delay, self.stop = config, delay, threading.Event()
        self.fraction, self.note = None, ""


class _Newest:
    """A daemon thread that does the newest job it was given, drops older ones, and ends when there is none."""

    def __init__(self, work, name):
        self._work, self._name, self._job, self._thread = work, name, None, None
        self._changed = threading.Condition()

    def put(self, job):
        with self._changed:
            self._job = job
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name=f"clbook explorer: {self._name}", daemon=True)
                self._thread.start()

    def idle(self, timeout=None) -> bool:
        """Whether the thread had nothing to do within `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._thread is None, timeout)

    def _loop(self):
        while True:
            with self._changed:
                job, self._job = self._job, None
                if job is None:
                    self._thread = None
                    self._changed.notify_all()
                    return
            self._work(job)


def _family(widget):
    """A box and everything in it, innermost first."""
    return [part for child in getattr(widget, "children", ()) for part in _family(child)] + [widget]


def _close_earlier(shown):
    """Close the panels that an earlier execution of this notebook cell made: their output is gone, their runs are not."""
    kernel = getattr(get_ipython(), "kernel", None)
    if kernel is None:
        return
    request = kernel.get_parent()
    cell, execution = request.get("metadata", {}).get("cellId"), request.get("header", {}).get("msg_id")
    if cell is None:
        return
    made_by, panels = _cells.get(cell, (execution, []))
    if made_by != execution:
        for old in panels:
            old.close()
        panels = []
    _cells[cell] = execution, [*panels, shown]


@atexit.register
def _stop_all():
    """End the runs before the interpreter does: a daemon thread inside torch at that point can crash it."""
    panels = list(_panels)
    for shown in panels:
        shown._halt()
    for shown in panels:
        shown._runner.idle(1.0)
        shown._painter.idle(1.0)
