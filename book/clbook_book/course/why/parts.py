"""A picture whose parts are links, in a notebook and in the built book, with a page of the picture alone to print."""

from __future__ import annotations

import base64
import dataclasses
import importlib.resources
import io
from collections.abc import Sequence

import jinja2
import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.transforms import Bbox

from clbook import environment
from clbook.style import DRAWING, RC, Picture


@dataclasses.dataclass
class Part:
    """A part of a picture, and where it leads.

    Attributes:
        words: the text of the link.
        page: the chapter, as "kernel"; "" is the page that shows the picture.
        place: the name of the section.
        heading: its title, by which a notebook finds it.
        panels: the axes that it covers, from the names above them.
        reach: how far up in these axes it begins, and where it ends: 1 holds their titles too.
    """

    words: str
    page: str
    place: str
    heading: str
    panels: Sequence[Axes]
    reach: tuple[float, float] = (0.0, 1.0)

    def address(self, built: bool) -> str:
        """The link, from a page of the built book or from a notebook."""
        ending, place = (".html", self.place)
        if not built:
            ending, place = (".ipynb", self.heading.replace(" ", "-"))
        file = self.page + ending if self.page else ""
        return f"{file}#{place}"

    def box(self) -> list[float]:
        """Where the link stands on the picture once this is drawn: left, top, width and height, in percent."""
        fig = self.panels[0].figure
        inside = Bbox.union([ax.get_window_extent() for ax in self.panels])
        whole = Bbox.union([ax.get_tightbbox() for ax in self.panels])
        low, high = (inside.y0 + share * inside.height for share in self.reach)
        if self.reach[1] == 1:
            high = whole.y1
        box = Bbox.from_extents(inside.x0, low, inside.x1, high)
        box = box.transformed(fig.transFigure.inverted())
        return [100 * share for share in (box.x0, 1 - box.y1, box.width, box.height)]


@dataclasses.dataclass
class Linked(Picture):
    """A picture whose parts are links.

    Attributes:
        name: what the links are together.
        parts: the links, in the order in which the keyboard reaches them.
        phone: the same for a narrow screen, with the same links.
    """

    name: str
    parts: list[Part]
    phone: Linked | None = None

    def pdf(self) -> bytes:
        """The picture alone as a page."""
        file = io.BytesIO()
        about = {"Title": self.name, "Subject": self.alt, "CreationDate": None}
        with DRAWING, mpl.rc_context(RC):
            self.fig.savefig(file, format="pdf", metadata=about)
        return file.getvalue()

    def _repr_mimebundle_(self, include=None, exclude=None):
        built = environment.static()
        png = self.small(colours=256)
        slim = self.phone or self
        small = slim.small(colours=256)
        links = []
        for part, below in zip(self.parts, slim.parts, strict=True):
            place = f"{_places('', part)};{_places('phone-', below)}"
            links.append((part.address(built), place, part.words))
        pdf = base64.b64encode(self.pdf()).decode()
        page = jinja2.Template(_file("parts.html"), autoescape=True).render(
            css=_file("parts.css"),
            picture=self,
            width=round(self.fig.get_figwidth() * 96),  # CSS has 96 pixels an inch
            slim=round(slim.fig.get_figwidth() * 96),
            png=png,
            small=small,
            links=links,
            pdf=pdf,
        )
        return {"text/html": page, "image/png": png, "text/plain": self.alt}


def _places(kind: str, part: Part) -> str:
    """The place of a link as CSS variables, of the picture of this kind."""
    left, top, width, height = part.box()
    corner = f"--{kind}left:{left:.2f}%;--{kind}top:{top:.2f}%"
    return f"{corner};--{kind}width:{width:.2f}%;--{kind}height:{height:.2f}%"


def _file(name) -> str:
    """The text of a file beside this one."""
    return importlib.resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
