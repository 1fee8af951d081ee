"""The wall: 200 photographs in the page, and what lies beside each of them by pixels and over the epochs.

All is read from the records `photographs-wall` (a small network, two cores) and `photographs-wall-large` (a GPU). The
page counts for itself: its script has the lists of neighbours and the classes, and no number that is said in the text.
"""

from __future__ import annotations

import base64
import dataclasses
import importlib.resources
import io
import json
import math

import jinja2
import numpy as np
import xarray
from PIL import Image

from clbook.experiments.images import neighbours
from clbook.style import ACCENT, Picture, axes, colour, legend
from clbook_book.course.photographs import sprites
from clbook_book.live import photograph

PLURALS = {"deer": "deer"}  # all others take an s
STILL = ("cat", "truck", "dog", "ship", "horse", "plane")  # the picture has one photograph of each


def titles(record: xarray.Dataset) -> list[dict[str, str]]:
    """How each place is called: on the slider, above the neighbours and in a sentence."""
    found = [
        {"name": "pixels", "title": "By pixels", "said": "By pixels"},
        {"name": "untrained", "title": "Untrained network", "said": "By an untrained network"},
    ]
    for epoch in record.epoch.values[1:]:
        said = f"After {epoch} epoch{'s' if epoch > 1 else ''}"
        found.append({"name": f"{epoch}", "title": said, "said": said})
    found[2]["name"] += " epoch" if record.epoch.values[1] == 1 else " epochs"
    return found


def lit(record: xarray.Dataset) -> np.ndarray:
    """(P, m) whether most of the eight nearest of each photograph are of its class, at each place."""
    first = record.isel(run=0)
    classes = record.tile_class.values
    near = classes[first.nearest.values]
    return neighbours.among_its_own(near, classes[: near.shape[1]])


def shares(record: xarray.Dataset) -> list[str]:
    """A sentence for each place: how many photographs lie among their own class."""
    found = []
    for place, row in zip(titles(record), lit(record), strict=True):
        found.append(
            f"{place['said']}, {row.sum()} of {row.size} photographs ({percent(row.mean())}) have mostly "
            "their own class among their eight nearest."
        )
    return found


def part(record: xarray.Dataset, each: int) -> xarray.Dataset:
    """The record of the first `each` photographs of each class alone, with the images that are beside them."""
    classes = record.sizes["class"]
    per_class = record.sizes["photograph"] // classes
    rows = np.arange(classes * per_class).reshape(classes, per_class)[:, :each].ravel()
    nearest = record.nearest.values[:, :, rows]
    shown, places = np.unique(nearest, return_inverse=True)
    tiles = np.concatenate([rows, shown])
    images = sprites.cut(record.sprite.values, record.sizes["tile"])
    found = record.isel(photograph=rows).drop_vars(["tile_class", "sprite", "nearest"])
    found["nearest"] = record.nearest.dims, len(rows) + places.reshape(nearest.shape)
    found["tile_class"] = "tile", record.tile_class.values[tiles]
    found["sprite"] = "byte", sprites.sprite(images[tiles])
    return found


def jpeg(picture: Picture) -> str:
    """A picture of photographs as a base64 JPEG, which has all their colours in fewer bytes than a PNG of some."""
    whole = Image.open(io.BytesIO(picture.png(96)))
    file = io.BytesIO()
    whole.convert("RGB").save(file, "jpeg", quality=85, optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def best(record: xarray.Dataset, name: str) -> int:
    """Which photograph of a class has most of its class among its nearest after the last epoch."""
    label = record["class"].values.tolist().index(name)
    each = record.sizes["photograph"] // record.sizes["class"]
    own = slice(label * each, (label + 1) * each)
    near = record.tile_class.values[record.nearest.values[0, -1, own]]
    return own.start + int((near == label).sum(-1).argmax())


def still(record: xarray.Dataset) -> Picture:
    """The photographs of some classes that end best, with their eight nearest by pixels, and after the last epoch."""
    first = record.isel(run=0)
    images = sprites.cut(record.sprite.values, record.sizes["tile"]).transpose(0, 2, 3, 1)
    classes = record.tile_class.values
    names = record["class"].values.tolist()
    last = titles(record)[-1]["said"].lower()
    fig, ((ax,),) = axes(width=9.0, height=0.49 * len(STILL) + 0.25)
    # A place of each photograph, with a gap behind it.
    ax.set(xlim=(0, 18.86), ylim=(len(STILL) - 0.12, -0.35))
    ax.axis("off")
    said = []
    for row, name in enumerate(STILL):
        label = names.index(name)
        k = best(record, name)
        near = first.nearest.values[[0, -1], k]
        columns = (0, *range(2, 10), *range(11, 19))
        for column, tile in zip(columns, (k, *near.ravel()), strict=True):
            ax.imshow(images[tile], extent=(column, column + 0.86, row + 0.86, row))
            if column and classes[tile] == label:
                ax.add_patch(frame(column, row))
        alike = (classes[near] == label).sum(1)
        said.append(f"{name}: {alike[0]} of 8 by pixels, {alike[1]} of 8 {last}")
    for column, title in (
        (0, "photograph"),
        (2, "eight nearest by pixels"),
        (11, f"eight nearest {last}"),
    ):
        ax.text(column, -0.12, title, fontsize=9)
    text = (
        "Photographs, of each class the one that ends best, beside its eight nearest training images. "
        "Framed are those of its class. "
    )
    return Picture(fig, text + "; ".join(said) + ".")


def frame(x: float, y: float):
    """A frame around the image at a place."""
    from matplotlib.patches import Rectangle

    return Rectangle((x + 0.01, y + 0.01), 0.84, 0.84, fill=False, ec=ACCENT, lw=2)


@dataclasses.dataclass(eq=False)
class Wall:
    """The wall as HTML.

    Attributes:
        record: one of these records, or a `part` of it.
        title, caption: a short heading, and what stands below.
        whole: whether there are views, a map, and what is said of the classes that are confused.
    """

    record: xarray.Dataset
    title: str
    caption: str = ""
    whole: bool = True

    def _repr_html_(self) -> str:
        picture = still(self.record)
        setup = json.dumps(self.setup()).replace("<", "\\u003c")  # it stands inside HTML
        shown = {
            "wall": self,
            "still": picture,
            "jpeg": jpeg(picture),
            "shares": shares(self.record),
            "photographs": self.record.sizes["photograph"],
            "setup": setup,
            "sprite": base64.b64encode(self.record.sprite.values.tobytes()).decode(),
            "css": _file("wall.css"),
            "js": _file("wall.js"),
        }
        if self.whole:
            shown["drawing"] = photograph.script().replace("</", "<\\/")
        return jinja2.Template(_file("wall.html"), autoescape=True).render(shown)

    def setup(self) -> dict:
        """What the script reads."""
        first = self.record.isel(run=0)
        names = [str(name) for name in self.record["class"].values]
        tiles = self.record.tile_class.values
        found = {
            "classes": names,
            "plurals": [PLURALS.get(name, f"{name}s") for name in names],
            "places": titles(self.record),
            "tiles": tiles.tolist(),
            "nearest": first.nearest.values.tolist(),
        }
        found["most"] = neighbours.OF_CLASS
        found["across"] = sprites.ACROSS
        found["rows"] = -(-len(tiles) // sprites.ACROSS)
        found["first"] = best(self.record, "cat")
        if self.whole:
            found["plane"] = np.round(first.plane.values.astype(float), 3).tolist()
            found["confusion"] = first.confusion.values.tolist()
        return found


def _file(name) -> str:
    """The text of a file beside this one."""
    folder = importlib.resources.files("clbook_book.course.photographs")
    return folder.joinpath(name).read_text(encoding="utf-8")


# Figures of the same records.

TICKS = (0, 1, 3, 10, 30, 100)  # epochs


def curves(runs: dict[str, xarray.Dataset]) -> Picture:
    """Accuracy of ten neighbours and of the linear probe over the epochs of each named run, and of the pixels."""
    fig, (row,) = axes(len(runs), width=8.6, height=3.4, sharey=True)
    said = []
    for ax, (name, record) in zip(row, runs.items(), strict=True):
        told = drawn_over_epochs(ax, record.isel(run=0))
        ax.set(title=name, xlabel="epoch")
        said.append(f"{name}: {told}")
    row[0].set_ylabel("test images right")
    legend(row[-1], loc="upper left")
    return Picture(fig, "Share of the test images that are read right. " + " ".join(said))


def drawn_over_epochs(ax, first: xarray.Dataset) -> str:
    """Draw both accuracies of one run, the epochs on a scale that is logarithmic from 1 on, and say what is drawn."""
    said = []
    for k, (name, words) in enumerate((("knn", "ten neighbours"), ("probe", "linear probe"))):
        pixels, *features = first[name].values
        ax.plot(first.epoch, features, ".-", color=colour(k), label=words, gid=name)
        ax.axhline(pixels, color=colour(k), ls="--", lw=1, label=f"{words}, pixels")
        said.append(
            f"{words}: pixels {pixels:.2f}, untrained {features[0]:.2f}, at the end {features[-1]:.2f}"
        )
    ticks = [tick for tick in TICKS if tick < first.epoch[-1]]
    ax.set_xscale("symlog", linthresh=1)
    ax.set_xlim(-0.2, 1.4 * float(first.epoch[-1]))
    ax.set_xticks(ticks, ticks)
    ax.minorticks_off()
    return "; ".join(said) + "."


def confused(record: xarray.Dataset) -> Picture:
    """Which classes are mistaken for which, by pixels and after the last epoch."""
    first = record.isel(run=0)
    names = record["class"].values
    fig, (row,) = axes(2, width=8.6, height=4.2, sharey=True)
    said = []
    for ax, k in zip(row, (0, -1), strict=True):
        title = titles(record)[k]["title"]
        table = first.confusion.values[k] / first.confusion.values[k].sum(1, keepdims=True)
        ax.imshow(table, cmap="Greys", vmin=0, vmax=1)
        ax.grid(False)
        ax.set(
            title=title,
            xlabel="what the neighbours say",
            xticks=range(len(names)),
            yticks=range(len(names)),
        )
        ax.set_xticklabels(names, rotation=90)
        ax.set_yticklabels(names)
        others = table - np.diag(np.diag(table))
        truth, guess = np.unravel_index(others.argmax(), others.shape)
        share = others.max()
        said.append(
            f"{title}: most often {names[truth]} is mistaken for {names[guess]}, {share:.0%} of them"
        )
    row[0].set_ylabel("class")
    return Picture(fig, "Two tables of ten classes, darker where more. " + "; ".join(said) + ".")


def percent(share) -> str:
    """'45%' of 0.445: halves are rounded up, as the page's script rounds them."""
    # A record in single precision has 44.49999928 where 44.5 is meant.
    number = round(100 * float(share), 3)
    return f"{math.floor(number + 0.5)}%"
