"""The explorer with a kernel: ipywidgets made from a Config's own fields, a background run, a picture that follows it.

Threads. A panel runs the experiment in one and draws in another; each does the newest job it was given, drops older
ones, and is a daemon, so that a kernel can end with a run in flight. What a run needs from its thread it must set
itself: grad mode and the current CUDA device are torch's thread-local state and start at their defaults here. Widget
updates may come from any thread: ipykernel sends them all from its own output thread.
"""

from __future__ import annotations

import atexit
import dataclasses
import html
import logging
import math
import pathlib
import re
import signal
import threading
import time
from typing import Any
from urllib.parse import parse_qsl

import ipywidgets as widgets
import matplotlib as mpl
from IPython import get_ipython
from IPython.display import display
from traitlets import Unicode, dlink, link

from clbook import __version__
from clbook.data import written
from clbook.explore import controls, data
from clbook.explore.overview import Overview
from clbook.explore.subject import runs_of
from clbook.style import DRAWING, RC, Picture, uncollected
from clbook.training.settings import fields

DEBOUNCE = 0.05  # s between a slider's last move and the run it starts
OVERTAKEN = 0.5  # s by which a press of Run may come before the value that was typed first
FIRST_PICTURE = 0.1  # s of running before a partial picture is worth drawing
PICTURE_EVERY = 0.5  # s between partial pictures, and twice what the last one took
PROGRESS_EVERY = 0.1  # s between moves of the progress bar
PLAY = 5000  # ms from the first recorded time to the last
LONGEST_PLAY = 15_000  # ms that it takes at most where pictures are heavy; some times are then left out, evenly
ROOM = 1.25  # between two pictures of Play, over what one takes to draw
SETTLED = 0.5  # s for which a picture has to stand before the notebook keeps it
# Where a panel is alive, the picture that the notebook keeps below it is out of sight; a link that sets the explorer is
# told to it by an entry that is out of sight, too. Without the kernel what JupyterLab says in a widget's place is.
STYLE = """<style>
.jp-OutputArea-child:has(.clbook-panel) + .jp-OutputArea-child, .clbook-address,
.jp-OutputArea-output.jupyter-widgets:not(:has(*)) { display: none }
</style>"""
LINKS = pathlib.Path(__file__).with_name("lab.js")
# s that a cell waits for its first picture, so that the page has its height from the start
PATIENCE = 5.0

_log = logging.getLogger(__name__)
_panels = set()  # those that are open


def panel(
    subject, base_config, *, axes, name="explorer", title="", caption="", cells=None
) -> Panel:
    """A `Panel`; arguments as `explore` has checked them.

    `run` must call `progress` a few times a second: it is where a run is stopped. Panels that an earlier execution of
    this notebook cell made are closed: their output is gone, their runs are not.
    """
    cell, execution = _place()
    for old in list(_panels):
        if cell is not None and old.cell == cell and old.execution != execution:
            old.close()
    _heed_interrupts()
    shown = Panel(subject, base_config, axes, name, title, caption, cells)
    shown.cell, shown.execution = cell, execution
    shown.drawn.wait(PATIENCE)
    return shown


def _place() -> tuple:
    """The notebook cell that is being executed, and this execution; None outside of notebooks."""
    kernel = getattr(get_ipython(), "kernel", None)
    if kernel is None:
        return None, None
    request = kernel.get_parent()
    return request["metadata"].get("cellId"), request["header"].get("msg_id")


def _heed_interrupts() -> None:
    """Have "Interrupt kernel" stop the runs of panels, too: where no cell is at work, the kernel would ignore it."""
    kernel = getattr(get_ipython(), "kernel", None)
    if getattr(kernel, "saved_sigint_handler", None) is signal.SIG_IGN:  # what it goes back to
        kernel.saved_sigint_handler = _stop_runs


def _stop_runs(number, frame) -> None:
    """Press Stop of each panel, in another thread: a signal comes while any lock may be held."""
    for shown in list(_panels):
        threading.Thread(target=shown.stop, daemon=True).start()


@dataclasses.dataclass(eq=False)
class Job:
    """A run that a reader has asked for.

    Attributes:
        config: its settings. delay: seconds to wait before it begins: a slider may move on.
        stop: an event, set when the run has to end.
        fraction: how much of it is done.
        note: what became of the run before it, in words.
        made: whether the run has told how far it is; one from the store tells nothing.
    """

    config: Any
    delay: float
    stop: threading.Event = dataclasses.field(default_factory=threading.Event)
    fraction: float = 0.0
    note: str = ""
    made: bool = False


class Panel(widgets.VBox):
    """Controls, a progress bar and a picture; made by `panel`.

    Attributes:
        cell, execution: the notebook cell that made it and that cell's execution; None outside of notebooks.
        result: the latest result of a run that ended or was stopped, a Result or {name: Result}; None before the first.
        controls: field name -> the widget that holds its value.
        drawn: an event, set once there is a picture or an error in its place.
        stop_button, progress, status, message, image, caption, time_slider: other parts.
    """

    def __init__(self, subject, base_config, axes, name, title, caption, cells):
        super().__init__(layout={"width": "100%", "max_width": "720px", "grid_gap": "2px"})
        self._subject, self._base, self._name, self._axes = subject, base_config, name, axes
        self._fields = fields(type(base_config))
        self._clock = subject.time_name if isinstance(subject.time, dict) else "time"
        # What both threads and the reader's clicks change, they change under this lock.
        self._lock = threading.RLock()
        self._job = None  # the run that is going
        self._pressed = -math.inf  # when Run was pressed last
        self._next_picture = math.inf  # when a partial picture may be drawn
        self._shown = None  # (settings, result) that the picture shows
        self._drawn = None  # (picture, its settings, its recorded time in words)
        self._error = None  # of the latest run or picture
        self._layouts = {}  # where axes stood
        self._kept = None  # handle of the picture that the notebook keeps
        self.result = self._config_of_result = None
        self.drawn = threading.Event()
        self._runner = _Newest(self._work)
        self._painter = _Newest(self._paint)
        self._keeper = _Newest(self._keep)
        self._overview = None  # the cells of a grid
        self._build(title, caption, cells)
        _panels.add(self)
        self._request(delay=0)

    # The controls

    def _build(self, title, caption, cells):
        """Make all parts, in the order in which they stand."""
        self.controls, self._start = {}, {}
        for name, field in self._fields.items():
            value = getattr(self._base, name)
            control = controls.control(field, value, self._base, explored=name in self._axes)
            self.controls[name], self._start[name] = control, control.value
        # The labels of the explored settings and of the time slider are equally wide.
        labels = [controls.label(self._fields[name]) for name in self._axes]
        longest = max(len(label) for label in (*labels, f"{self._clock} = 00000"))
        self._style = {"description_width": f"{longest * 0.62:.1f}em"}
        above = []
        if title or caption:
            above.append(widgets.HTML(f"<b>{html.escape(title)}</b> {html.escape(caption)}"))
        explored = [self._explored(name) for name in self._axes]
        buttons = self._buttons()
        # Of fixed heights, so that the page does not jump.
        self.status = widgets.HTML()
        self.message = widgets.HTML()
        self.caption = widgets.HTML(layout={"height": "76px", "overflow": "auto"})
        blank = Picture(mpl.figure.Figure((9, 4)), "").png(8)
        space = {"width": "100%", "height": "auto", "object_fit": "contain"}
        self.image = widgets.Image(value=blank, layout=space)
        # Without a description the browser does not read the tooltip, which is the picture's alt text.
        self.image.add_traits(description=Unicode("").tag(sync=True))
        self._time = widgets.HBox()
        self._time.layout.display = "none" if self._subject.time is None else ""
        self._renew(1, 1)
        words = widgets.VBox([self.status, self.message], layout={"height": "46px"})
        words.layout.overflow = "auto"
        below = [self.image, self._time, self.caption, self._linked()]
        if cells:
            self._overview = Overview(self._subject, self._axes, self._fields, cells, self._go)
            below.insert(2, self._overview)
        self.children = [*above, *explored, buttons, self._folded(), words, *below]
        self.add_class("clbook-panel")

    def _explored(self, name):
        """The row of an explored setting: an entry beside a slider, or a choice; a change runs at once."""
        entry = self.controls[name]
        entry.style.description_width = self._style["description_width"]
        entry.observe(lambda change: self._request(), "value")
        if not isinstance(entry, widgets.Text):
            return entry
        field = self._fields[name]
        stops = controls.stops_of(field, self._axes[name])
        slider = controls.slider(
            field, stops, entry, self._base, description=controls.label(field), style=self._style
        )
        return widgets.HBox([slider, entry], layout={"flex_flow": "row wrap"})

    def _folded(self):
        """The other settings, out of sight until "All settings" is pressed; they take effect with Run."""
        rows = []
        for name, control in self.controls.items():
            if name not in self._axes:
                control.observe(self._set, "value")
                rows.append(controls.row(self._fields[name], control, self._base))
        box = widgets.GridBox(rows, layout={"padding": "6px 0", "grid_gap": "10px 24px"})
        box.layout.grid_template_columns = "repeat(auto-fill, minmax(300px, 1fr))"
        more = self._more
        dlink((more, "value"), (box.layout, "display"), lambda on: "grid" if on else "none")
        dlink((more, "value"), (more, "icon"), lambda on: "caret-down" if on else "caret-right")
        return box

    def _buttons(self):
        """The row of buttons, with the progress bar at its end."""
        button = controls.button
        run = button("Run", "play", "Run with the settings shown", self._press)
        run.button_style = "primary"
        self.stop_button = button("Stop", "stop", "Stop the run and keep what it has", self.stop)
        reset = button("Reset", "undo", "Back to the settings at the start", self.reset)
        # ipywidgets' Accordion opens only by mouse; a toggle button is reached by keyboard too.
        self._more = widgets.ToggleButton(
            description="All settings",
            tooltip="Show the settings that have no slider; they take effect with Run",
            layout={"width": "auto"},
        )
        svg = button("SVG", "download", "Save this picture", lambda: self._save("svg"))
        csv = button("CSV", "download", "Save the numbers in it", lambda: self._save("csv"))
        # The bar takes what the buttons leave of the row.
        space = {"flex": "1 1 8em", "min_width": "6em", "width": "auto", "height": "12px"}
        self.progress = widgets.FloatProgress(0, min=0, max=1, layout=space)
        self.progress.layout.align_self = "center"
        self.progress.tooltip = "How much of the run is done"
        parts = [run, self.stop_button, reset, self._more, svg, csv, self.progress]
        return widgets.HBox(parts, layout={"flex_flow": "row wrap"})

    def _linked(self):
        """What a link in the text needs to set this explorer: "#name:eps=1&tau=0.01"; nothing of it is seen."""
        address = widgets.Text(continuous_update=False)
        address.add_class("clbook-address")
        address.add_class(f"clbook-address-{self._name}")
        address.observe(self._follow, "value")
        script = {"text/html": f"<script>{LINKS.read_text(encoding='utf-8')}</script>"}
        output = {"output_type": "display_data", "data": script, "metadata": {}}
        listener = widgets.Output(outputs=(output,), layout={"height": "0", "overflow": "hidden"})
        return widgets.VBox([address, listener], layout={"height": "0"})

    def _follow(self, change):
        """Take the settings that a link names."""
        if change["new"]:
            self._go(parse_qsl(change["new"], keep_blank_values=True))
            change["owner"].value = ""  # so that the same link works again

    def _go(self, settings):
        """Run with these settings [(name, as one types it)], the others as they are."""
        with self._lock:
            for name, typed in settings:
                if name in self.controls:
                    self._take(self.controls[name], typed)
            self._request(delay=0)

    def _take(self, control, typed):
        """Put what is typed into a control: the text, the choice that is written so, on or off."""
        if isinstance(control, widgets.Checkbox):
            control.value = typed == "on"
        elif isinstance(control, widgets.Text):
            control.value = typed
        else:
            choices = {controls.text(value): value for _, value in control.options}
            control.value = choices.get(typed, control.value)

    def _renew(self, last, value):
        """A slider of the recorded times up to `last`: in the browser its End key knows the range it was made with."""
        self._range = last
        self.time_slider = widgets.IntSlider(
            value,
            min=0,
            max=last,
            readout=False,
            description=self._clock,
            style=self._style,
            tooltip="Recorded time of the picture",
            layout={"flex": "1 1 16em", "width": "auto"},
        )
        self.time_slider.observe(self._time_moved, "value")
        play = widgets.Play(value, min=0, max=last, interval=max(PLAY // last, 40))
        play.layout.display = "none"  # its own buttons have no names
        link((self.time_slider, "max"), (play, "max"))
        link((self.time_slider, "value"), (play, "value"))
        about = "Show the recorded times one after another"
        press = controls.button(
            "Play", "play", about, lambda: play.set_trait("playing", not play.playing)
        )
        dlink((play, "playing"), (press, "description"), lambda on: "Pause" if on else "Play")
        play.observe(self._played, "playing")
        self._play = play
        old = self._time.children
        self._time.children = [self.time_slider, press, play]
        for part in old:
            _close(part)

    def _pace(self, seconds):
        """Let Play go as fast as pictures that take so long can follow, at even intervals."""
        last = self._range
        interval = max(PLAY / last, 40, 1000 * ROOM * seconds)
        self._play.step = max(1, math.ceil(last * interval / LONGEST_PLAY))
        self._play.interval = round(interval)

    def _played(self, change):
        """Play has ended: where its steps do not lead to the last recorded time, go there."""
        play = change["owner"]
        if not change["new"] and play.value + play.step > play.max:
            play.value = play.max

    def _set(self, change):
        """A setting without slider has changed: it waits for Run."""
        if time.monotonic() - self._pressed < OVERTAKEN:
            # It was entered before Run was pressed: the browser holds a value back while an earlier one is under way.
            self._request(delay=0)
        elif self._config() is not None:
            self.message.value = controls.words("Settings changed: press Run to see them.")

    def _press(self):
        """Run was pressed."""
        self._pressed = time.monotonic()
        self._request(delay=0)

    def _time_moved(self, change):
        with self._lock:
            if self._shown is not None:
                self._painter.put(*self._shown)

    def _config(self):
        """The settings shown; None where they are not allowed, which the panel then says."""
        try:
            values = {
                name: controls.read(control.value, self._fields[name])
                for name, control in self.controls.items()
            }
            return self._base.replace(**values)
        except ValueError as error:
            self.message.value = controls.alarm(error)
            return None

    # The run

    def _request(self, delay=DEBOUNCE):
        """Run the settings shown, `delay` seconds from now, in place of the run that is going."""
        config = self._config()
        if config is None:
            return
        job = Job(config, delay)
        with self._lock:
            old, self._job = self._job, job
            if old is not None:
                old.stop.set()
                replaced = f" The run before it was replaced at {old.fraction:.0%}."
                job.note = replaced if old.fraction else old.note
            self._error = None
            self.message.value = ""
            self.progress.value = 0
            self.progress.bar_style = ""
            self.stop_button.disabled = False
            self._say(f"Running {self._describe(config)} ...{job.note}")
            self._runner.put(job)

    def _work(self, job):
        """Do a job, in the thread of runs."""
        if job.stop.wait(job.delay):
            return self._finish(job)
        started = time.monotonic()
        bar = 0.0  # when the progress bar moves next
        self._next_picture = started + FIRST_PICTURE

        def progress(fraction, partial=None):
            nonlocal bar
            now = time.monotonic()
            job.fraction = float(fraction)
            job.made = True
            if job.stop.is_set():
                return False
            if now >= bar:
                bar = now + PROGRESS_EVERY
                self.progress.value = job.fraction
                at = f"{job.fraction:.0%}, {now - started:.1f} s.{job.note}"
                self._say(f"Running {self._describe(job.config)} ... {at}")
            if partial is not None and now >= self._next_picture:
                self._next_picture = math.inf  # until this one is drawn
                self._show(job.config, partial)
            return True

        try:
            result = self._subject.result(job.config, progress)
            self._subject.times(result)  # an error in them is the run's
        except BaseException as error:  # noqa: BLE001 - any error belongs in the panel, an exit too
            if not isinstance(error, ValueError):
                _log.exception("%s: the run of %s failed", self._name, job.config)
            return self._finish(job, error=error)
        self._finish(job, result, time.monotonic() - started)

    def _finish(self, job, result=None, waited=0.0, error=None):
        """Say how a job has ended: with a `result` after `waited` seconds, by an error, or before it began."""
        with self._lock:
            if self._job is not job:
                return
            self._job = None
            self.stop_button.disabled = True
            if result is not None:
                self.result, self._config_of_result = result, job.config
                self._say_ended(job, waited)
                if self._overview is not None and not any(run.stopped for run in runs_of(result)):
                    self._overview.take(job.config, result)
            else:
                self._say_not_run(job, error)
            if self.result is None:
                self.drawn.set()
            else:
                self._show(self._config_of_result, self.result, whole=True)

    def _say_ended(self, job, waited):
        """How long the run took and where, or that it comes from the store, or was stopped."""
        runs = runs_of(self.result)
        seconds = sum(run.seconds for run in runs)
        stopped = any(run.stopped for run in runs)
        how = f"{seconds:.2f} s on {runs[0].device}"
        if seconds > waited or not job.made:
            how = f"from the store; it took {how}" if seconds else "from the store"
        elif stopped:
            how = f"stopped at {job.fraction:.0%}, {how}"
        self._say(f"{self._describe(job.config)}: {how}.")
        self.progress.value = job.fraction if stopped else 1
        self.progress.bar_style = "warning" if stopped else "success"

    def _say_not_run(self, job, error):
        """That there is no result, why, and what the picture still shows."""
        sentence = f"Not run: {self._describe(job.config)}."
        if self.result is not None:
            sentence += f" The picture is of {self._describe(self._config_of_result)}."
        self._say(sentence)
        if error is not None:
            self._error = error
            self.message.value = controls.alarm(error)
            self.progress.bar_style = "danger"

    def stop(self):
        """Ask the run to stop; it returns what it has the next time it reports progress."""
        with self._lock:
            if self._job is not None:
                self._job.stop.set()
                self._say("Stopping ...")

    def reset(self):
        """Back to the settings at the start and the last recorded time."""
        self.time_slider.value = self.time_slider.max
        for name, control in self.controls.items():
            control.value = self._start[name]
        self._request(delay=0)

    def wait(self, timeout=None):
        """The latest result once nothing is running or being drawn: for tests, and notebooks without a browser.

        Raises:
            The error of the latest run or picture.
            TimeoutError: after `timeout` seconds.
        """
        if not (self._runner.idle(timeout) and self._painter.idle(timeout)):
            raise TimeoutError(f"the run took longer than timeout = {timeout} s")
        if self._error is not None:
            raise self._error
        return self.result

    def close(self):
        """Stop the run and remove the panel and its controls from the page."""
        self._halt()
        _panels.discard(self)
        _close(self)

    def _halt(self):
        """End the run without a word."""
        with self._lock:
            if self._job is not None:
                self._job.stop.set()
            self._job = None

    # The picture

    def _show(self, config, result, whole=False):
        """Draw `result`; the time slider stays at the end of the recorded times until the reader moves it away.

        whole: no part of a run that goes on: the slider is renewed.
        """
        with self._lock:
            self._shown = None  # so that moving the slider draws nothing
            if self._subject.time is not None:
                last = max(len(self._subject.times(result)) - 1, 1)
                slider = self.time_slider
                at_the_end = slider.value == slider.max
                slider.max = last
                if at_the_end:
                    slider.value = last
                if whole and last != self._range:
                    self._renew(last, slider.value)
            self._shown = config, result
            self._painter.put(config, result)

    @uncollected()
    def _paint(self, config, result):
        """Draw a result and put the picture in its place, in the thread of pictures."""
        started = time.monotonic()
        try:
            recorded = self._subject.times(result)
            frame = min(self.time_slider.value, len(recorded) - 1)
            with DRAWING:
                picture = self._subject.picture(result, frame)
                png = picture.png(place=lambda fig: data.arrange(fig, self._layouts))
        except Exception as error:  # noqa: BLE001 - any error belongs in the panel
            _log.exception("%s: the figure of %s failed", self._name, config)
            self._error = error
            about = f"The picture of {self._describe(config)} could not be drawn: "
            self.message.value = controls.alarm(error, about)
            self.drawn.set()
            return
        at = ""
        if self._subject.time is not None:
            self.time_slider.description = f"{self._clock} = {recorded[frame]:g}"
            at = f", {self.time_slider.description}"
        # It is shown as wide as it was drawn, with its alt text below.
        width = round(picture.fig.get_figwidth() * 96)  # CSS pixels
        self.image.layout.max_width = f"{width}px"
        self.layout.max_width = f"{max(width, 640)}px"
        with self.image.hold_sync():
            self.image.value = png
            self.image.tooltip = picture.alt
        self.caption.value = controls.words(picture.alt)
        self._drawn = picture, config, at
        self.drawn.set()
        if self._kept is not None:
            self._keeper.put(picture)
        now = time.monotonic()
        self._next_picture = now + max(PICTURE_EVERY, 2 * (now - started))
        if self._play.playing:
            self._pace(now - started)

    def _save(self, ending):
        """Write the picture, or the numbers in it, beside the notebook."""
        if self._drawn is None:
            return
        picture, config, at = self._drawn
        told = [f"{name}={controls.text(getattr(config, name))}" for name in self._told(config)]
        said = ", ".join([self._name, *told]) + at.replace(" = ", "=")
        file = re.sub(r"[^\w.=-]+", "_", said, flags=re.ASCII) + f".{ending}"
        try:
            with DRAWING, mpl.rc_context(RC), written(pathlib.Path(file)) as out:
                if ending == "svg":
                    picture.fig.savefig(out, format="svg")
                else:
                    comment = f"# clbook {__version__}, {self._name}: {config!r}{at}\n"
                    out.write((comment + data.table(picture.fig)).encode())
            self.message.value = controls.words(f"Saved beside the notebook: {file}")
        except OSError as error:
            self.message.value = controls.alarm(error)

    def _ipython_display_(self):
        """A style, the panel, and below it its latest picture, which is seen where no kernel is."""
        display({"text/html": STYLE, "text/plain": ""}, raw=True)
        view = self._repr_mimebundle_()
        display(view | {"text/plain": "An explorer: run this cell to move it."}, raw=True)
        drawn = self._drawn
        soon = {"text/plain": "Its first picture is being made."}, {}
        bundle, metadata = soon if drawn is None else still(drawn[0])
        self._kept = display(bundle, metadata=metadata, raw=True, display_id=True)
        if self._drawn is not drawn:  # it came meanwhile
            self._keeper.put(self._drawn[0])

    def _keep(self, picture):
        """Have the notebook keep a picture that has stood for a while, in a thread of its own."""
        time.sleep(SETTLED)
        if self._drawn[0] is picture:
            bundle, metadata = still(picture)
            self._kept.update(bundle, metadata=metadata, raw=True)

    def _say(self, sentence):
        self.status.value = controls.words(sentence)

    def _describe(self, config):
        """The explored settings, and those that differ from the start: 'ε = 0.1, temperature τ = 0.01'."""
        told = []
        for name in self._told(config):
            field = self._fields[name]
            value = controls.text(getattr(config, name)) or "none"
            told.append(f"{controls.short(field)} = {value} {field.metadata['unit']}".strip())
        return ", ".join(told).replace("_", " ") or "the start"

    def _told(self, config) -> list[str]:
        """The names of the explored settings and of those that differ from the start."""
        told = [
            name
            for name in self._fields
            if name in self._axes or getattr(config, name) != getattr(self._base, name)
        ]
        return told


def still(picture) -> tuple[dict, dict]:
    """A picture as the output of a cell, small, and its alt text as the metadata of that."""
    bundle = {"image/png": picture.small(96, 64), "text/plain": picture.alt}
    return bundle, {"image/png": {"alt": picture.alt}}


class _Newest:
    """Does the newest job it was given, one at a time, in a daemon thread; drops those that have not begun by then."""

    def __init__(self, work):
        self._work = work
        self._turn = threading.Lock()  # held by the thread that is at work
        self._newest = self._thread = None

    def put(self, *job):
        self._newest = job
        thread = threading.Thread(target=self._do, args=(job,), daemon=True, name="clbook explorer")
        thread.start()
        self._thread = thread  # after its start, since others may join it at any time

    def _do(self, job):
        with self._turn:
            if job is self._newest:
                self._work(*job)

    def idle(self, timeout=None) -> bool:
        """Whether nothing was left to do within `timeout` seconds."""
        if self._thread is None:
            return True
        self._thread.join(timeout)
        return not self._thread.is_alive()


def _close(widget):
    """Close a widget with all in it, and its layout and its style, which are widgets too and would stay."""
    for child in getattr(widget, "children", ()):
        _close(child)
    for part in (widget.layout, getattr(widget, "style", None), widget):
        if part is not None:
            widgets.Widget.close(part)


@atexit.register
def _stop_all():
    """End the runs before the interpreter does: a daemon thread inside torch at that point can crash it."""
    for shown in _panels:
        shown._halt()
    for shown in _panels:
        shown._runner.idle(1.0)
        shown._painter.idle(1.0)
