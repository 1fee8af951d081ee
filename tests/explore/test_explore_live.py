"""The live explorer in a real kernel, driven by the messages that a front end sends and read from those it receives."""

import base64
import html
import os
import re
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from queue import Empty

import pytest
import toy
from jupyter_client.manager import KernelManager

from clbook.experiments import separability
from clbook.explore import controls
from clbook.explore.overview import Overview
from clbook.explore.subject import Subject
from clbook.training import settings

HERE = Path(__file__).parents[1]
WAIT, READY = 20.0, 30.0  # s for anything that shall come, and for a kernel that shall be ready
SETUP = """
import threading, toy
from clbook.explore.live import panel
from clbook.explore.subject import Subject
runs = []
def run(config, **kwargs):
    runs.append(config)
    if config.n == 13:
        raise ValueError("the run diverged at <step> 7")
    if config.n == 14:
        raise ZeroDivisionError("a bug")
    return toy.run(config, **kwargs)
def draw(result, frame=-1):
    if result.config.n == 15:
        raise ValueError("Axis limits cannot be NaN or Inf")
    return toy.draw(result, frame)
def show(axes=None, time="steps", **settings):
    subject = Subject(run, draw, time=time)
    return panel(subject, toy.Config(**settings), axes=axes or {"a": [0.1, 1.0, 10.0]})
"""


VIEW = "application/vnd.jupyter.widget-view+json"


class FrontEnd:
    """A mirror of every widget's state, kept from the kernel's messages as JupyterLab keeps it."""

    def __init__(self):
        places = (HERE, HERE.parent, HERE.parent / "book", os.environ.get("PYTHONPATH", ""))
        path = os.pathsep.join(map(str, places))
        self.manager = KernelManager()
        self.store = tempfile.TemporaryDirectory()  # else it would know the runs of earlier tests
        own = {"PYTHONPATH": path, "CLBOOK_CACHE": self.store.name}
        self.manager.start_kernel(env={**os.environ, **own})
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=READY)
        self.state, self.times, self.closed, self.ended = {}, [], set(), set()
        self.displayed, self.kept, self.printed, self.logged = [], [], "", ""

    def pump(self, until, timeout=WAIT):
        """Take in messages until `until()` is true; AssertionError after `timeout` seconds."""
        end = time.monotonic() + timeout
        while not until():
            late = f"nothing of the kind within {timeout} s; the kernel printed: {self.printed}"
            assert time.monotonic() < end, late
            try:
                message = self.client.get_iopub_msg(timeout=0.02)
            except Empty:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind in ("comm_open", "comm_msg"):
                data = content["data"]
                paths = data.get("buffer_paths", [])
                for path, buffer in zip(paths, message["buffers"], strict=True):
                    data["state"][path[0]] = bytes(buffer)
                if "state" in data:
                    self.state.setdefault(content["comm_id"], {}).update(data["state"])
                    self.times.append((time.monotonic(), content["comm_id"], data["state"]))
            elif kind == "comm_close":
                self.closed.add(content["comm_id"])
            elif kind == "display_data" or kind == "execute_result":
                self.displayed.append(content["data"])
            elif kind == "update_display_data":
                self.kept.append(content)
            elif kind == "status" and content["execution_state"] == "idle":
                self.ended.add(message["parent_header"].get("msg_id"))
            elif kind == "stream":
                self.printed += content["text"]
                self.logged += content["text"] if content["name"] == "stderr" else ""
            elif kind == "error":
                self.printed += "\n".join(content["traceback"])

    def execute(self, code, cell="cell", timeout=WAIT):
        """Run a cell; what it printed and showed is in `printed` and `displayed`."""
        self.printed, self.displayed, self.kept = "", [], []
        asked = {"code": code, "silent": False, "store_history": True, "user_expressions": {}}
        asked |= {"allow_stdin": False, "stop_on_error": True}
        message = self.client.session.msg("execute_request", asked, metadata={"cellId": cell})
        self.client.shell_channel.send(message)
        self.pump(lambda: message["header"]["msg_id"] in self.ended, timeout)
        return self

    def send(self, model, data):
        message = self.client.session.msg("comm_msg", {"comm_id": model, "data": data})
        self.client.shell_channel.send(message)
        return time.monotonic()

    def set(self, model, **state):
        """What a slider or an entry sends when the reader changes it; the time of sending."""
        return self.send(model, {"method": "update", "state": state, "buffer_paths": []})

    def click(self, model):
        return self.send(model, {"method": "custom", "content": {"event": "click"}})


class Panel:
    """The displayed panel's parts, found as a reader finds them: by what they are and the words on them."""

    def __init__(self, front):
        views = [shown[VIEW]["model_id"] for shown in front.displayed if VIEW in shown]
        self.front, self.model = front, views[-1]
        self.ids = self._below(self.model)
        self.run, self.stop = (self.find("ButtonModel", word) for word in ("Run", "Stop"))
        self.image, self.progress = self.find("ImageModel"), self.find("FloatProgressModel")
        texts = [m for m in self.ids if self.get(m, "_model_name") == "HTMLModel"]
        self.status, self.message, self.caption = texts[-3:]

    def _below(self, model):
        below = [model]
        for child in self.front.state[model].get("children", []):
            below += self._below(child.removeprefix("IPY_MODEL_"))
        return below

    @property
    def time(self):
        """The slider of the recorded times; the panel makes a new one where their number changes."""
        self.ids = self._below(self.model)
        return self.find("IntSliderModel")

    def find(self, kind, words=""):
        return next(
            m
            for m in self.ids
            if self.get(m, "_model_name") == kind
            and words in (self.get(m, "description") or self.get(m, "tooltip") or "")
        )

    def get(self, model, key):
        return self.front.state[model].get(key)

    def words(self, model):
        return html.unescape(re.sub("<[^>]*>", "", self.get(model, "value")))

    def idle(self):
        return self.get(self.stop, "disabled")

    def finish(self, timeout=WAIT):
        """Wait for the run to end and for its picture, which follows at once."""
        self.front.pump(self.idle, timeout)
        self.front.execute("try:\n    p.wait(15);\nexcept Exception:\n    pass")
        return self

    def rerun(self):
        """Wait for a run that was asked for to begin and to end."""
        self.front.pump(lambda: not self.idle())
        self.finish()

    def history(self, model, key, since):
        times = [(at, state) for at, comm, state in self.front.times if comm == model]
        return [(at, state[key]) for at, state in times if key in state and at >= since]


@contextmanager
def kernel():
    front = FrontEnd()
    try:
        yield front.execute(SETUP, timeout=READY)  # it imports torch
    finally:
        front.client.stop_channels()
        if front.manager.is_alive():
            front.manager.shutdown_kernel(now=True)
        front.store.cleanup()


@pytest.fixture(scope="module")
def front():
    with kernel() as front:
        yield front


def show(front, arguments=""):
    front.execute(f"p = show({arguments}); p")
    return Panel(front)


def test_panel_shows_a_picture_and_its_alt_text_without_a_click(front):
    p = show(front).finish()
    assert p.get(p.image, "value").startswith(b"\x89PNG")
    assert "turn a = 1:" in p.words(p.caption)
    assert p.get(p.image, "tooltip") == p.words(p.caption)
    assert "a = 1" in p.words(p.status) and " s on cpu" in p.words(p.status)
    assert p.get(p.progress, "value") == 1
    assert front.logged == ""


def test_every_field_has_a_control_with_its_unit_and_meaning(front):
    p = show(front, 'axes={"a": [0.1, 1.0], "turn": [False, True]}').finish()
    kinds = "SelectionSliderModel", "CheckboxModel", "ToggleButtonsModel", "TextModel"
    for kind, words in zip(kinds, ("a (rad)", "turn", "shape", "n (points)")):
        assert p.get(p.find(kind, words), "tooltip")
    slider = p.find("SelectionSliderModel", "a (rad)")
    assert "(a number > 0 and <= 100)" in p.get(slider, "tooltip")
    assert [*p.get(slider, "_options_labels")] == ["0.1", "0.18", "0.32", "0.56", "1"]


def test_a_slider_move_reruns_and_writes_the_entry(front):
    p = show(front).finish()
    before = p.get(p.image, "value")
    slider = p.find("SelectionSliderModel")
    last = len(p.get(slider, "_options_labels")) - 1
    front.set(slider, index=last)
    p.rerun()
    assert p.get(p.find("TextModel", "how fast"), "value") == "10"
    assert "turn a = 10:" in p.words(p.caption) and p.get(p.image, "value") != before


def test_an_entry_off_the_grid_runs_and_moves_the_slider_to_the_nearest_stop(front):
    p = show(front).finish()
    front.set(p.find("TextModel", "how fast"), value="6.2e-1")
    p.rerun()
    slider = p.find("SelectionSliderModel")
    assert "turn a = 0.62:" in p.words(p.caption)
    assert p.get(p.find("TextModel", "how fast"), "value") == "6.2e-1"
    assert p.get(slider, "_options_labels")[p.get(slider, "index")] == "0.56"


def test_a_setting_without_slider_waits_for_run(front):
    p = show(front).finish()
    front.set(p.find("TextModel", "n (points)"), value="7")
    front.pump(lambda: "press Run" in p.words(p.message))
    assert p.idle()
    front.click(p.run)
    p.rerun()
    assert p.words(p.caption).startswith("7 points") and p.words(p.message) == ""
    assert "n = 7" in p.words(p.status)


@pytest.mark.parametrize(
    "typed, reason",
    [
        ("-1", "a = -1 is not allowed: a must be a number > 0 and <= 100"),
        ("nan", "a = nan is not allowed"),
        ("fast <b>", "a = 'fast <b>' is not allowed"),
    ],
)
def test_an_invalid_value_is_answered_in_words_and_the_picture_stays(front, typed, reason):
    p = show(front).finish()
    picture, slider = p.get(p.image, "value"), p.find("SelectionSliderModel")
    index, entry = p.get(slider, "index"), p.find("TextModel", "how fast")
    front.set(entry, value=typed)
    front.pump(lambda: "not allowed" in p.words(p.message))
    p.finish()
    assert reason in p.words(p.message) and p.get(slider, "index") == index
    assert p.get(p.image, "value") == picture and front.logged == ""
    front.set(slider, index=index + 1)
    front.pump(lambda: p.get(entry, "value") == p.get(slider, "_options_labels")[index + 1])
    front.set(entry, value="2")
    front.pump(lambda: "turn a = 2:" in p.words(p.caption))
    assert p.finish().words(p.message) == ""


def test_a_refusing_run_is_shown_in_words_and_a_failing_one_in_the_log_too(front):
    p = show(front).finish()
    picture = p.get(p.image, "value")
    n = p.find("TextModel", "n (points)")
    refused, failed = "the run diverged at &lt;step&gt; 7", "ZeroDivisionError: a bug"
    for value, words, logged in (("13", refused, False), ("14", failed, True)):
        front.logged = ""
        front.set(n, value=value)
        front.click(p.run)
        front.pump(lambda words=words: words in p.get(p.message, "value"))
        p.finish()
        assert ("Traceback" in front.logged) == logged
        assert p.get(p.image, "value") == picture
        assert f"Not run: a = 1 rad, n = {value}" in p.words(p.status)
        assert "picture is of a = 1 rad." in p.words(p.status)
    front.execute("try: p.wait(5)\nexcept ZeroDivisionError as error: print('waited:', error)")
    assert "waited: a bug" in front.printed


def test_progress_rises_and_partial_pictures_come_before_the_end(front):
    p = show(front).finish()
    for field, value in (("steps", "100"), ("delay", "0.02")):
        front.set(p.find("TextModel", field), value=value)
    sent = front.set(p.find("SelectionSliderModel"), index=0)
    p.rerun()
    bar = [value for _, value in p.history(p.progress, "value", sent)]
    assert bar == sorted(bar) and bar[-1] == 1
    assert len(set(bar)) >= 8
    pictures = p.history(p.image, "value", sent)
    front.execute("print(p.result.seconds)")
    # At most two pictures a second, and the last one.
    assert 2 <= len(pictures) <= 2 * float(front.printed) + 2
    whole = next(at for at, value in p.history(p.progress, "value", sent) if value == 1)
    assert pictures[0][0] < whole, "the first picture comes before the end of the run"


def test_stop_takes_effect_at_once_and_keeps_what_there_is(front):
    p = show(front, "steps=1000, delay=0.02")
    front.pump(lambda: p.get(p.progress, "value") > 0.03)
    front.click(p.stop)
    front.pump(p.idle)
    p.finish()
    front.execute("print(p.result.stopped, 10 < len(p.result.steps) < 200)")  # 0.02 s a step
    assert front.printed.split() == ["True", "True"]
    assert "stopped at" in p.words(p.status) and p.get(p.progress, "value") < 0.5


def test_a_new_run_replaces_the_one_that_is_going(front):
    p = show(front, "steps=1000, delay=0.02")
    front.pump(lambda: p.get(p.progress, "value") > 0.02)
    slider = p.find("SelectionSliderModel")
    front.set(p.find("TextModel", "steps"), value="5")
    for index in (0, 1, 2):
        front.set(slider, index=index)
    front.pump(lambda: p.words(p.status).startswith("Running") and "replaced" in p.words(p.status))
    p.finish()
    assert "replaced" not in p.words(p.status) and "steps = 5 iterations: " in p.words(p.status)
    front.execute("print(runs[-2].steps, runs[-1].steps, runs[-1].a)")
    assert front.printed.split() == ["1000", "5", p.get(slider, "_options_labels")[2]]


def test_another_time_is_drawn_without_running(front):
    p = show(front).finish()
    assert p.get(p.time, "max") == 30 and p.get(p.time, "value") == 30
    front.execute("print(len(runs))")
    ran, picture = front.printed, p.get(p.image, "value")
    front.set(p.time, value=12)
    front.pump(lambda: "at step 12 " in p.words(p.caption))
    assert p.get(p.image, "value") != picture and p.get(p.time, "description") == "time = 12"
    front.set(p.find("SelectionSliderModel"), index=0)
    p.rerun()
    # A reader who chose a time sees the next run at that time.
    assert "at step 12 " in p.words(p.caption)
    front.execute("print(len(runs))")
    assert int(front.printed) == int(ran) + 1


def test_without_time_there_is_no_time_slider(front):
    p = show(front, "time=None")
    p.finish()
    box = next(m for m in p.ids if f"IPY_MODEL_{p.time}" in (p.get(m, "children") or ()))
    assert p.get(p.get(box, "layout").removeprefix("IPY_MODEL_"), "display") == "none"
    assert "at step 30 " in p.words(p.caption)


def test_the_cell_returns_at_once_and_rerunning_it_closes_the_panel_it_made(front):
    p = show(front, "steps=1000, delay=0.02")
    assert p.get(p.progress, "value") < 1, "the cell waited for the run"
    assert p.get(p.image, "value").startswith(b"\x89PNG"), "no broken picture before the first one"
    q = show(front, "steps=3")
    q.finish()
    assert {p.model, p.image, p.run} <= front.closed
    front.execute("import time; time.sleep(0.3)")
    front.execute("print([t.name for t in threading.enumerate() if 'explorer' in t.name])")
    assert front.printed.strip() == "[]"


def test_rerunning_a_cell_leaves_nothing_of_the_panels_before_it(front):
    front.execute("import gc, weakref; seen = []")
    for number in range(3):
        front.execute(f"p = show(steps={3 + number}); p.wait();")
        front.execute("seen += map(weakref.ref, (p, p.result))")
    front.execute("gc.collect(); print([each() is not None for each in seen])")
    assert front.printed.strip() == str([False] * 4 + [True] * 2)


def test_the_kernel_ends_cleanly_with_a_run_in_flight():
    with kernel() as front:
        p = show(front, "steps=1000, delay=0.02")
        front.pump(lambda: p.get(p.progress, "value") > 0.01)
        front.client.shutdown()
        began = time.monotonic()
        while front.manager.is_alive() and time.monotonic() - began < 10:
            time.sleep(0.02)
        assert not front.manager.is_alive()
        assert front.manager.provisioner.process.returncode == 0


def test_the_time_slider_is_made_with_its_range_so_that_its_end_key_reaches_the_end(front):
    """In the browser the End key of a slider knows only the range it was made with."""
    p = show(front).finish()
    opened = [state for _, comm, state in front.times if comm == p.time]
    assert opened[0]["max"] == 30 and opened[0]["value"] == 30
    front.set(p.find("TextModel", "steps"), value="12")
    front.click(p.run)
    p.rerun()
    front.pump(lambda: p.get(p.time, "max") == 12)
    assert [state for _, comm, state in front.times if comm == p.time][0]["value"] == 12


STORED = """
from clbook.results.store import cached
stored = toy.Config(steps=60, delay=0.02, n=31)
cached(toy.run, stored)
p = panel(Subject(toy.run, draw, time="steps"), stored, axes={"a": [0.1, 1.0]}); p
"""


def test_a_run_in_the_store_is_shown_without_running(front):
    front.execute(STORED, timeout=30)
    p = Panel(front).finish()
    assert "from the store; it took 1." in p.words(p.status)
    assert len(p.history(p.image, "value", 0)) == 2, "blank, and the whole run at once"


@pytest.mark.parametrize(
    "code, time, words",
    [
        ("raise SystemExit('enough')", "steps", "SystemExit: enough"),
        ("return 7", "steps", "run returned a int: it must return an Outcome"),
        ("r = toy.run(config); del r.steps; return r", "steps", "steps"),
        ("return toy.run(config)", "z", "time = 'z' is not allowed: it must name an array"),
    ],
)
def test_a_status_always_ends(front, code, time, words):
    front.execute(
        f"def bad(config, **how): {code}\n"
        f"p = panel(Subject(bad, draw, time={time!r}), toy.Config(), axes={{'a': [0.1, 1.0]}}); p"
    )
    p = Panel(front)
    front.pump(p.idle)
    assert words in p.words(p.message) and "Not run: a = 1" in p.words(p.status)
    assert p.get(p.progress, "bar_style") == "danger"
    front.logged = ""


def test_reset_goes_back_to_the_start_and_to_the_last_time(front):
    p = show(front).finish()
    front.set(p.time, value=3)
    front.set(p.find("TextModel", "n (points)"), value="7")
    front.set(p.find("SelectionSliderModel"), index=0)
    p.rerun()
    assert p.words(p.caption).startswith("7 points") and "at step 3 " in p.words(p.caption)
    front.click(p.find("ButtonModel", "Reset"))
    p.rerun()
    assert p.words(p.caption).startswith("40 points")
    assert "turn a = 1: at step 30 " in p.words(p.caption)
    assert p.get(p.find("TextModel", "how fast"), "value") == "1" and p.words(p.message) == ""


def test_play_moves_the_time_slider_and_takes_five_seconds(front):
    p = show(front).finish()
    slider = p.time
    play = p.find("PlayModel")
    assert p.get(play, "max") == 30 and 4000 <= p.get(play, "interval") * 30 <= 6000
    press = p.find("ButtonModel", "Play")
    front.click(press)
    front.pump(lambda: p.get(play, "playing") and p.get(press, "description") == "Pause")
    front.click(press)
    front.pump(lambda: not p.get(play, "playing") and p.get(press, "description") == "Play")
    front.set(play, value=4)
    front.pump(lambda: "at step 4 " in p.words(p.caption))
    assert p.get(slider, "value") == 4
    front.set(slider, value=9)
    front.pump(lambda: p.get(play, "value") == 9)
    p.finish()


def test_a_picture_and_its_numbers_are_saved_beside_the_notebook(front, tmp_path):
    front.execute(f"import os; os.chdir({str(tmp_path)!r})")
    p = show(front).finish()
    front.set(p.time, value=12)
    front.pump(lambda: "at step 12 " in p.words(p.caption))
    p.finish()
    for kind in ("SVG", "CSV"):
        front.click(p.find("ButtonModel", kind))
        front.pump(lambda kind=kind: f".{kind.lower()}" in p.words(p.message))
    assert "<svg" in (tmp_path / "explorer_a=1_time=12.svg").read_text()
    said, head, *rows = (tmp_path / "explorer_a=1_time=12.csv").read_text().splitlines()
    assert said.startswith("# clbook ") and "a=1.0" in said and said.endswith("time = 12")
    assert head == "panel,series,z_1,z_2,iteration + 1,mean ‖z_i‖,column,row,value"
    front.execute("print([f'{v:.8g}' for v in p.result.z[12, 0]])")
    of_class = [row.split(",")[2:4] for row in rows if row.split(",")[1] == "class 0"]
    assert of_class[0] == eval(front.printed)
    assert len(rows) == 40 + 2 * 13 + 40 * 40
    front.execute("import os; os.chdir('/')")


def test_a_value_that_run_overtakes_is_run_too(front):
    """The browser holds a value back while an earlier one is under way, but never a press of a button."""
    p = show(front).finish()
    front.click(p.run)
    front.set(p.find("TextModel", "n (points)"), value="9")
    front.pump(lambda: "n = 9" in p.words(p.status))
    p.finish()
    assert p.words(p.caption).startswith("9 points") and p.words(p.message) == ""


def test_an_error_of_the_picture_is_told_from_one_of_the_run(front):
    p = show(front).finish()
    front.set(p.find("TextModel", "n (points)"), value="15")
    front.click(p.run)
    front.pump(lambda: "NaN" in p.words(p.message))
    p.finish()
    said = "The picture of a = 1 rad, n = 15 points could not be drawn: Axis limits cannot be NaN or Inf"
    assert p.words(p.message) == said
    assert " s on cpu" in p.words(p.status) and p.get(p.progress, "bar_style") == "success"
    front.logged = ""


def test_a_time_slider_that_is_renewed_leaves_no_widget_behind(front):
    front.execute(
        "from ipywidgets.widgets.widget import _instances\np = show(steps=3)\np.wait(15)\nalive = set()\n"
        "for last in range(5, 25):\n    p._renew(last, 1)\n    alive.add(len(_instances))\n"
        "print(len(alive))\nbefore = len(_instances)\nq = show(steps=3)\nq.close()\n"
        "print(len(_instances) - before)"
    )
    assert front.printed.split() == ["1", "0"]


def test_a_saved_notebook_holds_the_picture_and_its_alt_text(front):
    """Where no kernel is, the widget's view is empty; a reader sees the output below it: the latest picture."""
    p = show(front)
    style, view, saved = front.displayed
    assert "display: none" in style["text/html"] and VIEW in view and "image/png" not in view
    assert base64.b64decode(saved["image/png"]).startswith(b"\x89PNG")
    assert "turn a = 1: at step" in saved["text/plain"]
    assert len(saved["image/png"]) < 20_000
    p.finish()
    for a in ("0.1", "10"):
        front.set(p.find("TextModel"), value=a)
        front.pump(lambda a=a: p.idle() and f"turn a = {a}:" in p.words(p.caption))
    latest = "turn a = 10: at step 30"
    front.pump(lambda: front.kept and latest in front.kept[-1]["data"]["text/plain"])
    assert front.kept[-1]["metadata"]["image/png"]["alt"] == p.get(p.image, "tooltip")


def test_a_link_of_the_text_sets_the_explorer(front):
    """The page types the settings that a link names into an entry out of sight."""
    p = show(front, '{"a": [0.1, 1.0, 10.0], "shape": ["spiral", "circle"]}').finish()
    classes = "clbook-address-explorer"
    (entry,) = [m for m in p.ids if classes in (p.get(m, "_dom_classes") or ())]
    for a, shape in (("10", "circle"), ("0.1", "spiral")):
        words = f"a = {a} rad, shape = {shape}: "
        front.set(entry, value=f"a={a}&shape={shape}")
        front.pump(lambda words=words: p.words(p.status).startswith(words))
        front.pump(lambda: p.get(entry, "value") == "")  # so that the same link works again
    front.set(entry, value="a=0.1&shape=square&nothing=1")
    front.pump(lambda: p.get(entry, "value") == "")
    assert p.finish().words(p.status).startswith("a = 0.1 rad, shape = spiral: ")
    front.set(entry, value="a=-1")
    front.pump(lambda: "a = -1 is not allowed" in p.words(p.message))


CELLS = """
def came_to(result):
    return result.radius[-1], f"{result.config.a:g}{result.config.shape[0]}", f"radius {result.radius[-1]:.2f}"
from clbook.results.store import cached
cached(toy.run, toy.Config(a=0.1, shape="circle"))
p = panel(Subject(toy.run, draw, time="steps"), toy.Config(), cells=came_to,
          axes={"a": [0.1, 1.0], "shape": ["spiral", "circle"]}); p
"""


def test_cells_say_what_each_run_comes_to_and_ask_for_it(front):
    """Those in the store at once, others when they are made; of other settings none are known."""
    front.execute(CELLS)
    p = Panel(front).finish()
    cells = [m for m in p.ids if p.get(m, "_model_name") == "ButtonModel"][-4:]
    signs = lambda: [p.get(m, "description") for m in cells]  # noqa: E731
    front.pump(lambda: signs() == ["·", "0.1c", "1s", "·"])
    assert p.get(cells[1], "tooltip") == "a = 0.1, shape = circle: radius 0.37"
    assert [p.get(m, "button_style") for m in cells] == ["", "", "info", ""]
    front.click(cells[3])
    front.pump(lambda: signs() == ["·", "0.1c", "1s", "1c"])
    p.finish()
    assert p.words(p.caption).startswith("40 points") and p.get(cells[3], "button_style") == "info"
    front.set(p.find("TextModel", "n (points)"), value="9")
    front.click(p.run)
    front.pump(lambda: signs() == ["·", "·", "·", "1c"])
    p.finish()


def test_the_overview_shows_texts_as_texts_in_rows_of_their_own():
    """Markup in a setting is no markup; a sign that JupyterLab puts into a box shifts no other row."""
    wild = '<img src=x onerror="alert(1)">'
    known = settings.fields(toy.Config)
    cells = Overview(None, {"a": [wild, "calm"], "b": [2, 6]}, known, None, go=None)
    head, grid = cells.children
    top, *rows = grid.children
    assert [type(box).__name__ for box in grid.children] == ["HBox"] * 3
    assert [name.value for name in top.children] == ["", "2", "6"]
    assert rows[0].children[0].value == html.escape(wild)
    assert len({cell.layout.width for box in grid.children for cell in box.children}) == 1
    assert "Rows: a" in head.value


def test_a_first_picture_that_takes_long_is_kept_too(front):
    front.execute("from clbook.explore import live\nlive.PATIENCE = 0.0\np = show(delay=0.02); p")
    p = Panel(front)
    assert "is being made" in front.displayed[-1]["text/plain"]
    p.finish()
    front.pump(lambda: front.kept and "image/png" in front.kept[-1]["data"])


def test_a_run_that_tells_nothing_is_from_the_store(front):
    """A run that a record has put there took no seconds here."""
    front.execute(STORED, timeout=30)
    front.execute(
        "import dataclasses\nfrom clbook.results import store\nkept = dataclasses.replace(p.wait(15), seconds=0.0)\n"
        "store.save(store.path_of(toy.run, stored), stored, kept)\np._press(); p.wait(15)\n"
        "print(p.status.value)"
    )
    assert ": from the store." in front.printed


def test_a_cell_is_filled_where_the_first_one_would_be_refused():
    axes = {"a": [1.0, 2.0], "b": [6, 2]}
    few = toy.Config(n=4)  # points enough for 2 arms, not for 6
    subject = Subject(toy.run, toy.draw, time="steps")
    known = settings.fields(toy.Config)
    cells = Overview(subject, axes, known, lambda result: (1.0, "ends", "so"), go=None)
    cells.take(few, toy.run(few))
    assert [cells.shown[1.0, b].description for b in (6, 2)] == ["·", "ends"]


def test_play_of_heavy_pictures_goes_at_even_intervals_to_the_end(front):
    p = show(front).finish()
    front.execute("p._pace(2.0); print(p._play.interval, p._play.step, p._play.max)")
    assert front.printed.split() == ["2500", "5", "30"]
    play = p.find("PlayModel")
    front.set(play, playing=True)
    front.set(play, value=28)
    front.set(play, playing=False)
    front.pump(lambda: "at step 30 " in p.words(p.caption))
    p.finish()


def test_an_interrupt_of_the_kernel_stops_the_run_of_a_panel(front):
    p = show(front, "steps=2000, delay=0.01")
    front.pump(lambda: "%" in p.words(p.status))
    front.manager.interrupt_kernel()
    front.pump(lambda: "stopped at" in p.words(p.status))
    p.finish()


COMPARED = """
subject = Subject(run, lambda pair, frame: draw(pair["slow"] if frame % 2 else pair["fast"], frame), time="steps",
                  compare={"slow": {"delay": 0.02}, "fast": {"steps": 11}})
p = panel(subject, toy.Config(), axes={"a": [0.1, 1.0]}); p
"""


def test_several_runs_share_a_picture_and_the_times_of_the_shortest(front):
    front.execute(COMPARED)
    p = Panel(front).finish()
    assert p.get(p.time, "max") == 11 and "at step 11 " in p.words(p.caption)
    assert "a = 1 rad: " in p.words(p.status) and " s on cpu" in p.words(p.status)
    front.execute("print(*p.result, [len(r.steps) for r in p.result.values()])")
    assert front.printed.strip() == "slow fast [31, 12]"


def test_all_settings_are_told_in_words_with_a_slider_over_their_range():
    """What stands below "All settings", made without a kernel."""
    known = settings.fields(separability.Config)
    base = separability.Config()
    stops = {name: controls.span(field, getattr(base, name)) for name, field in known.items()}
    assert stops["classes"] == list(range(2, 11))
    assert stops["tau"][0] == 1e-4 and stops["tau"][-1] == 10.0 and 0.1 in stops["tau"]
    assert stops["seed"] == stops["data"] == stops["hidden"] == []
    control = controls.control(known["classes"], 2, base, explored=False)
    entry, slider, words = controls.row(known["classes"], control, base).children
    assert "number of classes (a whole number &gt;= 2 and &lt;= 10)" in words.value
    slider.index = 3
    assert entry.value == "5"
    entry.value = "9"
    assert slider.index == 7
    assert controls.meaning(known["lr_over_tau"]).endswith("(a number > 0 and <= 10)")
    assert controls.meaning(known["data"]).endswith("or a file ending in .npz)")


def test_choices_whose_files_are_missing_are_not_offered(monkeypatch, tmp_path):
    monkeypatch.setenv("CLBOOK_DATA", str(tmp_path))
    field = settings.fields(separability.Config)["data"]
    offered = controls.control(field, "digits", separability.Config(), explored=False)
    assert [name for name, _ in offered.options] == ["clusters", "donut", "digits"]


@pytest.mark.parametrize("typed", ["0,2", "1/3"])
def test_a_number_written_otherwise_is_refused_with_a_hint(typed):
    field = settings.fields(separability.Config)["eps"]
    with pytest.raises(ValueError, match="written as 0.2, with a point"):
        controls.read(typed, field)
    assert controls.read("\u0663", field) == "\u0663", "left for the Config to refuse"
