"""The explorer with a kernel: ipywidgets made from a Config's own fields, a background run, a picture that follows it.

Threads. A panel runs the experiment in one and draws in another; each does the newest job it was given, drops older
ones, and is a daemon, so that a kernel can end with a run in flight. What a run needs from its thread it must set
itself: grad mode and the current CUDA device are torch's thread-local state and start at their defaults here. Widget
updates may come from any thread: ipykernel sends them all from its own output thread.
"""

from __future__ import annotations

import atexit
import dataclasses
import gc
import html
import logging
import math
import pathlib
import re
import threading
import time
import types

import ipywidgets as widgets
import matplotlib as mpl
from IPython import get_ipython
from traitlets import Unicode, dlink, link

from clbook import __version__
from clbook.data import written
from clbook.explore import controls, data, pictured, times
from clbook.store import cached
from clbook.style import DRAWING, RC, Picture, uncollected

DEBOUNCE = 0.05  # s between a slider's last move and the run it starts
FIRST_PICTURE = 0.1  # s of running before a partial picture is worth drawing
PICTURE_EVERY = 0.5  # s between partial pictures, and twice what the last one took
PROGRESS_EVERY = 0.1  # s between moves of the progress bar
PATIENCE = (
    5.0  # s that a cell waits for its first picture, so that the page has its height from the start
)

_log = logging.getLogger(__name__)
_panels = set()  # those that are open


def panel(run, figure, base_config, *, scrub=None, name="explorer", title="", axes):
    """A `Panel`; arguments as for `explore`, which has checked them.

    `run` must call `progress` a few times a second: it is where a run is stopped. Panels that an earlier execution of
    this notebook cell made are closed: their output is gone, their runs are not.
    """
    kernel = getattr(get_ipython(), "kernel", None)
    request = kernel.get_parent() if kernel else {}
    cell, execution = (
        request.get("metadata", {}).get("cellId"),
        request.get("header", {}).get("msg_id"),
    )
    for old in list(_panels):
        if cell is not None and old.cell == cell and old.execution != execution:
            old.close()
    if not _panels:
        gc.freeze()  # what a chapter has loaded stays: looking through it for garbage takes as long as a picture
    shown = Panel(run, figure, base_config, scrub=scrub, name=name, title=title, axes=axes)
    shown.cell, shown.execution = cell, execution
    shown.drawn.wait(PATIENCE)
    return shown


class Panel(widgets.VBox):
    """Controls, a progress bar and a picture; made by `panel`.

    Attributes:
        cell, execution: the notebook cell that made it and that cell's execution; None outside of notebooks.
        result: the latest Result of a run that ended or was stopped; None before the first.
        controls: field name -> the widget that holds its value.
        drawn: an event, set once there is a picture or an error in its place.
        run_button, stop_button, reset_button, svg_button, csv_button, progress, status, message, image, caption,
        scrub_slider: the other parts.
    """

    def __init__(self, run, figure, base_config, *, scrub, name, title, axes):
        super().__init__(layout={"width": "100%", "max_width": "720px", "grid_gap": "2px"})
        self._simulate, self._figure, self._base, self._scrub = run, figure, base_config, scrub
        self._axes, self._name, self._clock = (
            tuple(axes),
            name,
            "seen from" if scrub == "angles" else "time",
        )
        self._fields = {field.name: field for field in dataclasses.fields(base_config)}
        self._lock, self._next_picture, self.drawn = threading.RLock(), math.inf, threading.Event()
        self._job = self._shown = self._error = self.result = (
            None  # the run that is going, the Result in the picture
        )
        self._picture, self._layouts = (
            None,
            {},
        )  # with its settings and its time in words; where axes stood
        self._runner, self._painter = _Newest(self._work, "run"), _Newest(self._paint, "draw")
        self._build(title, axes)
        _panels.add(self)
        self._request(delay=0)

    # The controls

    def _build(self, title, axes):
        self.controls = {
            name: controls.control(field, getattr(self._base, name), explored=name in axes)
            for name, field in self._fields.items()
        }
        labels = [controls.label(self._fields[name]) for name in axes] + [f"{self._clock} = 00000"]
        rows = (
            [widgets.HTML("<b>{}{}</b>{}".format(*map(html.escape, title.partition(". "))))]
            if title
            else []
        )
        aligned = {"description_width": f"{max(map(len, labels)) * 0.55:.1f}em"}
        for name, grid in axes.items():
            entry = self.controls[name]
            entry.style.description_width = aligned["description_width"]
            rows.append(entry)
            if isinstance(entry, widgets.Text):
                slider = controls.slider(
                    self._fields[name], grid, entry, base=self._base, style=aligned
                )
                rows[-1] = widgets.HBox([slider, entry], layout={"flex_flow": "row wrap"})
            entry.observe(lambda change: self._request(), "value")
        rest = [self.controls[name] for name in self._fields if name not in axes]
        for control in rest:
            control.observe(self._set, "value")
        # ipywidgets' Accordion opens only by mouse; a toggle button is reached by keyboard too
        more = widgets.ToggleButton(
            description="All settings",
            layout={"width": "auto"},
            tooltip="Show the settings that have no slider; they take effect with Run",
        )
        folded = widgets.GridBox(
            rest,
            layout={
                "padding": "6px 0",
                "grid_gap": "2px 16px",
                "grid_template_columns": "repeat(auto-fill, minmax(300px, 1fr))",
            },
        )
        dlink((more, "value"), (folded.layout, "display"), lambda on: "grid" if on else "none")
        dlink((more, "value"), (more, "icon"), lambda on: "caret-down" if on else "caret-right")
        self.run_button = controls.button(
            "Run", "play", "Run with the settings shown", lambda: self._request(delay=0)
        )
        self.stop_button = controls.button(
            "Stop", "stop", "Stop the run and keep what it has", self.stop
        )
        self.reset_button = controls.button(
            "Reset", "undo", "Back to the settings at the start", self.reset
        )
        self.svg_button = controls.button(
            "SVG", "download", "Save this picture", lambda: self._save("svg")
        )
        self.csv_button = controls.button(
            "CSV", "download", "Save the numbers in it", lambda: self._save("csv")
        )
        self.run_button.button_style, self.stop_button.disabled = "primary", True
        self.progress = widgets.FloatProgress(
            0,
            min=0,
            max=1,
            tooltip="How much of the run is done",
            layout={
                "flex": "1 1 8em",
                "min_width": "6em",
                "width": "auto",
                "height": "12px",
                "align_self": "center",
            },
        )
        buttons = widgets.HBox(
            [
                self.run_button,
                self.stop_button,
                self.reset_button,
                more,
                self.svg_button,
                self.csv_button,
                self.progress,
            ],
            layout={"flex_flow": "row wrap"},
        )
        (
            self.status,
            self.message,
            self.caption,
        ) = (  # of fixed heights, so that the page does not jump
            widgets.HTML(layout={"height": room, "overflow": "auto"})
            for room in ("42px", "42px", "76px")
        )
        self.image = widgets.Image(
            value=Picture(mpl.figure.Figure((9, 4)), "").png(8),  # until one comes
            layout={"width": "100%", "height": "auto", "object_fit": "contain"},
        )
        self.image.add_traits(
            description=Unicode("").tag(sync=True)
        )  # without it the tooltip, its name, is not read
        self._time, self._style = (
            widgets.HBox(layout={"display": "" if self._scrub else "none"}),
            aligned,
        )
        self._start = {name: control.value for name, control in self.controls.items()}
        self._renew(1, 1)
        self.children = [
            *rows,
            buttons,
            folded,
            self.status,
            self.message,
            self.image,
            self._time,
            self.caption,
        ]

    def _renew(self, last, value):
        """A slider of the recorded times up to `last`: in the browser its End key knows the range it was made with."""
        self.scrub_slider = widgets.IntSlider(
            value,
            min=0,
            max=last,
            readout=False,
            description=self._clock,
            style=self._style,
            tooltip="Recorded time of the picture",
            layout={"flex": "1 1 16em", "width": "auto"},
        )
        self.scrub_slider.observe(self._scrubbed, "value")
        play = widgets.Play(
            value, min=0, max=last, interval=max(5000 // last, 40), layout={"display": "none"}
        )
        for trait in ("max", "value"):
            link((self.scrub_slider, trait), (play, trait))
        press = controls.button(
            "Play",
            "play",
            "Show the recorded times one after another",  # Play's own has no name
            lambda: play.set_trait("playing", not play.playing),
        )
        dlink((play, "playing"), (press, "description"), lambda on: "Pause" if on else "Play")
        self._range, old, self._time.children = (
            last,
            self._time.children,
            [self.scrub_slider, press, play],
        )
        for part in old:
            part.close()

    def _set(self, change):
        if self._config() is not None:
            self.message.value = controls.words("Settings changed: press Run to see them.")

    def _scrubbed(self, change):
        with self._lock:
            if self._shown is not None:
                self._painter.put(self._shown)

    def _config(self):
        """The settings shown; None where they are not allowed, which the panel then says."""
        try:
            return self._base.replace(
                **{
                    name: controls.read(control.value, self._fields[name])
                    for name, control in self.controls.items()
                }
            )
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
            job = types.SimpleNamespace(
                config=config, delay=delay, stop=threading.Event(), fraction=0.0, note=""
            )
            old, self._job = self._job, job
            if old is not None:
                old.stop.set()
                job.note = (
                    f" The run before it was replaced at {old.fraction:.0%}."
                    if old.fraction
                    else old.note
                )
            self._error, self.message.value, self.progress.value, self.progress.bar_style = (
                None,
                "",
                0,
                "",
            )
            self._say(f"Running {self._describe(config)} ...{job.note}")
            self.stop_button.disabled = False
            self._runner.put(job)

    def _work(self, job):
        if job.stop.wait(job.delay):
            return self._finish(job)
        started, bar = time.monotonic(), 0.0
        self._next_picture = started + FIRST_PICTURE

        def progress(fraction, partial=None):
            nonlocal bar
            now, job.fraction = time.monotonic(), min(max(float(fraction), 0.0), 1.0)
            if job.stop.is_set():
                return False
            if now >= bar:
                bar = now + PROGRESS_EVERY
                self.progress.value = job.fraction
                at = f"{job.fraction:.0%}, {now - started:.1f} s.{job.note}"
                self._say(f"Running {self._describe(job.config)} ... {at}")
            if partial is not None and now >= self._next_picture:
                self._next_picture = math.inf
                self._show(partial)
            return True

        try:
            result = cached(self._simulate, job.config, progress=progress)
            how = f"{result.seconds:.2f} s on {result.device}"
            if result.seconds > time.monotonic() - started:
                how = f"from the store; it took {how}"
            elif result.stopped:
                how = f"stopped at {job.fraction:.0%}, {how}"
            times(result, self._scrub)
        except BaseException as error:  # noqa: BLE001 - any error belongs in the panel, an exit too
            if not isinstance(error, ValueError):
                _log.exception("%s: the run of %s failed", self._name, job.config)
            return self._finish(job, error=error)
        self._finish(job, result, how)

    def _finish(self, job, result=None, how="", error=None):
        with self._lock:
            if self._job is not job:
                return
            self._job = None
            if error is not None:
                self._error, self.message.value, self.progress.bar_style = (
                    error,
                    controls.alarm(error),
                    "danger",
                )
            if result is not None:
                self.result = result
                self.progress.value = job.fraction if result.stopped else 1
                self.progress.bar_style = "warning" if result.stopped else "success"
                self._say(f"{self._describe(job.config)}: {how}.")
            else:
                old = (
                    f" The picture is of {self._describe(self.result.config)}."
                    if self.result is not None
                    else ""
                )
                self._say(f"Not run: {self._describe(job.config)}.{old}")
            self.stop_button.disabled = True
            if self.result is not None:
                self._show(self.result, whole=True)
            else:
                self.drawn.set()

    def stop(self):
        """Ask the run to stop; it returns what it has the next time it reports progress."""
        with self._lock:
            if self._job is not None:
                self._job.stop.set()
                self._say("Stopping ...")

    def reset(self):
        """Back to the settings at the start and the last recorded time."""
        self.scrub_slider.value = self.scrub_slider.max
        for name, control in self.controls.items():
            control.value = self._start[name]
        self._request(delay=0)

    def wait(self, timeout=None):
        """The latest Result once nothing is running or being drawn: for tests, and notebooks without a browser. Raises
        the error of the latest run or picture, and a TimeoutError after `timeout` seconds."""
        if not (self._runner.idle(timeout) and self._painter.idle(timeout)):
            raise TimeoutError(f"the run took longer than timeout = {timeout} s")
        if self._error is not None:
            raise self._error
        return self.result

    def close(self):
        """Stop the run and remove the panel and its controls from the page."""
        self._halt()
        _panels.discard(self)
        for part in _family(self):
            widgets.Widget.close(part)

    def _halt(self):
        """End the run without a word."""
        with self._lock:
            if self._job is not None:
                self._job.stop.set()
            self._job = None

    # The picture

    def _show(self, result, whole=False):
        """Draw `result`; the scrub slider stays at the end of the recorded times until the reader moves it away.

        whole: no part of a run that goes on: the slider is renewed.
        """
        with self._lock:
            self._shown = None  # so that moving the slider draws nothing
            if self._scrub:
                slider, last = self.scrub_slider, max(len(times(result, self._scrub)) - 1, 1)
                slider.max, slider.value = (
                    last,
                    last if slider.value == slider.max else slider.value,
                )
                if whole and slider.max != self._range:
                    self._renew(slider.max, slider.value)
            self._shown = result
            self._painter.put(result)

    @uncollected()
    def _paint(self, result):
        started = time.monotonic()
        try:
            recorded = times(result, self._scrub)
            frame = min(self.scrub_slider.value, len(recorded) - 1)
            with DRAWING:
                picture = pictured(
                    self._figure, result, **({"frame": frame} if self._scrub else {})
                )
                png = picture.png(place=lambda fig: data.arrange(fig, self._layouts))
        except Exception as error:  # noqa: BLE001 - any error belongs in the panel
            _log.exception("%s: the figure of %s failed", self._name, result.config)
            self._error, self.message.value = error, controls.alarm(error)
            return self.drawn.set()
        width = round(picture.fig.get_figwidth() * 96)
        self.image.layout.max_width, self.layout.max_width = f"{width}px", f"{max(width, 640)}px"
        with self.image.hold_sync():
            self.image.value, self.image.tooltip = png, picture.alt
        if self._scrub:
            self.scrub_slider.description = f"{self._clock} = {recorded[frame]:g}"
        self.caption.value = controls.words(picture.alt)
        self._picture = (
            picture,
            result.config,
            f", {self.scrub_slider.description}" if self._scrub else "",
        )
        self.drawn.set()
        self._next_picture = time.monotonic() + max(PICTURE_EVERY, 2 * (time.monotonic() - started))

    def _save(self, ending):
        """Write the picture, or the numbers in it, beside the notebook."""
        if self._picture is None:
            return
        drawn, config, at = self._picture
        name = re.sub(
            r"[^\w.=-]+", "_", f"{self._name}, {self._describe(config)}{at}".replace(" = ", "=")
        )
        try:
            with DRAWING, mpl.rc_context(RC), written(pathlib.Path(f"{name}.{ending}")) as out:
                if ending == "svg":
                    drawn.fig.savefig(out, format="svg")
                else:
                    out.write(
                        f"# clbook {__version__}, {self._name}: {config!r}{at}\n{data.table(drawn.fig)}".encode()
                    )
            self.message.value = controls.words(f"Saved beside the notebook: {name}.{ending}")
        except OSError as error:
            self.message.value = controls.alarm(error)

    def _say(self, sentence):
        self.status.value = controls.words(sentence)

    def _describe(self, config):
        """The explored settings, and those that differ from the start: 'ε = 0.1, temperature τ = 0.01'."""
        told = [
            f"{controls.short(self._fields[name])} = {controls.text(getattr(config, name)) or 'none'}"
            for name in self._fields
            if name in self._axes or getattr(config, name) != getattr(self._base, name)
        ]
        return ", ".join(told).replace("_", " ") or "the start"


class _Newest:
    """Does the newest job it was given, one at a time, in a daemon thread; drops those that have not begun by then."""

    def __init__(self, work, name):
        self._work, self._name, self._turn, self._newest, self._thread = (
            work,
            name,
            threading.Lock(),
            None,
            None,
        )

    def put(self, job):
        self._newest = task = lambda: self._work(job)
        thread = threading.Thread(
            target=self._do, args=(task,), name=f"clbook explorer: {self._name}", daemon=True
        )
        thread.start()
        self._thread = thread  # after its start, since others may join it at any time

    def idle(self, timeout=None) -> bool:
        """Whether nothing was left to do within `timeout` seconds."""
        if self._thread is not None:
            self._thread.join(timeout)
        return self._thread is None or not self._thread.is_alive()

    def _do(self, task):
        with self._turn:
            if task is self._newest:
                task()


def _family(widget):
    """A box and everything in it, innermost first."""
    return [part for child in getattr(widget, "children", ()) for part in _family(child)] + [widget]


@atexit.register
def _stop_all():
    """End the runs before the interpreter does: a daemon thread inside torch at that point can crash it."""
    for shown in _panels:
        shown._halt()
    for shown in _panels:
        shown._runner.idle(1.0)
        shown._painter.idle(1.0)
