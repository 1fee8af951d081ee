"""What the runs of a grid come to, in a live explorer: a cell each, filled in as runs are made, or from the store."""

from __future__ import annotations

import html
import itertools
import logging
import threading

import ipywidgets as widgets

from clbook.explore import controls
from clbook.explore.subject import Cell

_log = logging.getLogger(__name__)

NOT_YET = "·"  # in the cell of a run that nobody has made
CELL = 6  # letters of what a run comes to, at most
EMPTY = Cell(0.0, NOT_YET, "not run yet")
# Small cells beside each other, whose words stay dark where JupyterLab is dark; the one in the picture has a frame.
STYLE = """<style>
.clbook-cells .widget-button { height: 26px; margin: 1px; padding: 0 6px; font-size: 12px;
  line-height: 24px; color: #111; border: 1px solid #8884 }
.clbook-cells .jupyter-widgets.widget-button.mod-info { color: #111; border: 2px solid #111; line-height: 22px;
  outline: 1px solid #fff }
.clbook-cells .widget-html { margin: 0 4px; height: 26px; font-size: 12px }
.clbook-cells .widget-html-content { line-height: 26px; white-space: nowrap }
</style>"""


class Overview(widgets.VBox):
    """A button for each run of a grid over two settings, the first one's values as rows.

    It says what the run comes to and how, in its tooltip; a press asks for that run. When another setting changes, all
    are empty again.

    Attributes:
        axes: {setting: values}. cells: `cells(result)` -> `Cell`.
        shown: {(row value, column value): its button}.
    """

    def __init__(self, subject, axes, known, cells, go):
        self.subject, self.axes, self.cells, self._known = subject, axes, cells, known
        self._others = None  # {setting: value} of the runs, but for those of the grid
        self._lock = threading.Lock()
        first, second = (controls.label(known[name]) for name in axes)
        about = html.escape(f"Rows: {first}. Columns: {second}. Empty: not run yet.")
        head = f"{STYLE}<small>{about}</small>"
        self.shown = {}
        for point in itertools.product(*axes.values()):
            self.shown[point] = controls.button("", "", "", lambda at=point: go(self._typed(at)))
            self._write(point, EMPTY)
        rows, columns = axes.values()
        grid = widgets.VBox(self._in_rows(rows, columns), layout={"overflow": "auto"})
        grid.add_class("clbook-cells")
        super().__init__([widgets.HTML(head), grid])

    def _in_rows(self, rows, columns) -> list:
        """The rows of the grid: the names of the columns, then for each row its name and its cells.

        A row is a box of its own. Without a kernel JupyterLab puts a sign into each box, which in one grid of all cells
        would stand for a cell, and shift the others.
        """
        names = [widgets.HTML(html.escape(controls.text(value))) for value in columns]
        found = [widgets.HBox([widgets.HTML(), *names])]
        for row in rows:
            name = widgets.HTML(html.escape(controls.text(row)))
            found.append(widgets.HBox([name, *(self.shown[row, column] for column in columns)]))
        wide = max(len(controls.text(value)) for value in (*rows, *columns))
        for cell in itertools.chain.from_iterable(box.children for box in found):
            cell.layout.width = f"{max(wide, CELL) + 2}ch"
            cell.layout.flex = "0 0 auto"
        return found

    def _typed(self, point) -> list[tuple[str, str]]:
        """The settings of a cell as a reader would type them."""
        return list(zip(self.axes, map(controls.text, point), strict=True))

    def take(self, config, result) -> None:
        """Fill in a run that has ended; the cells of other settings are emptied, and looked for in the store."""
        others = {name: getattr(config, name) for name in self._known if name not in self.axes}
        here = tuple(getattr(config, name) for name in self.axes)
        with self._lock:
            fresh = others != self._others
            if fresh:
                self._others = others
                for point in self.shown:
                    self._write(point, EMPTY)
            for point, cell in self.shown.items():
                cell.button_style = "info" if point == here else ""
            if here in self.shown:
                self._write(here, self._end(config, result))
            if fresh:
                threading.Thread(target=self._look, args=(config, others), daemon=True).start()

    def _write(self, point, end) -> None:
        shade, sign, words = end
        cell = self.shown[point]
        red, green, blue = (round(255 - part * shade) for part in (169, 75, 22))
        cell.description = str(sign)
        named = [
            f"{controls.short(self._known[name])} = {typed}" for name, typed in self._typed(point)
        ]
        cell.tooltip = f"{', '.join(named)}: {words}"
        cell.style.button_color = f"rgb({red},{green},{blue})"

    def _look(self, config, others) -> None:
        """Fill in what the store has of a config's other settings, in a thread of its own."""
        for point, cell in self.shown.items():
            # Others have been asked for, or the panel is closed.
            if others is not self._others or cell.comm is None:
                return
            if cell.description != NOT_YET:
                continue
            try:
                config = config.replace(**dict(zip(self.axes, point, strict=True)))
                result = self.subject.stored(config)
            except ValueError:  # settings that go ill together: the run itself says so
                continue
            with self._lock:
                if result is not None and others is self._others:
                    self._write(point, self._end(config, result))

    def _end(self, config, result) -> Cell:
        """What a run comes to."""
        try:
            return self.cells(result)
        except Exception as error:  # noqa: BLE001 - the picture is worth more than its cell
            _log.exception("the cell of %s", config)
            return Cell(0.0, "?", f"{type(error).__name__}: {error}")
