"""The palette: ten colours that every reader can tell apart."""

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from wrong import answers_or_names_it

from clbook import style

# How a colour is seen without one kind of cone, in linear light: Machado, Oliveira and Fernandes 2009, severity 1.
SEEN = {
    "all": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}  # fmt: skip
XYZ = np.array(
    [[0.412456, 0.357576, 0.180437], [0.212673, 0.715152, 0.072175], [0.019334, 0.119192, 0.950304]]
)


def lab(colours, seen):
    """CIE Lab (n, 3) of colours (n, 3), as they are `seen`."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    t = np.clip(linear @ np.asarray(seen).T, 0, 1) @ XYZ.T / XYZ.sum(1)
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], 1)


def test_lab_of_known_colours():
    known = lab(np.array([[1, 1, 1], [0, 0, 0], [1, 0, 0.0]]), SEEN["all"])
    np.testing.assert_allclose(known, [[100, 0, 0], [0, 0, 0], [53.24, 80.09, 67.20]], atol=0.02)


@pytest.mark.parametrize("seen", SEEN)
def test_any_two_of_the_ten_class_colours_are_apart(seen):
    points = lab(np.array([to_rgb(colour) for colour in style.CLASS_COLOURS]), SEEN[seen])
    apart = min(np.linalg.norm(a - b) for a, b in itertools.combinations(points, 2))
    print(f"{seen}: {apart:.1f}")
    assert len(points) == 10 and apart >= 12
    assert seen != "all" or points[:, 0].max() <= 82, "seen on white"


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_a_saved_picture_says_what_it_shows_and_where_it_is_from(tmp_path, kind):
    fig, ((ax,),) = style.axes(width=2, height=2)
    ax.plot([0, 1])
    picture = style.Picture(fig, "A line that rises.")
    picture.save(tmp_path / f"line.{kind}", source="a book, CC BY 4.0")
    found = (tmp_path / f"line.{kind}").read_bytes()
    assert b"A line that rises." in found and b"a book, CC BY 4.0" in found
    with pytest.raises(ValueError, match="one of .png, .svg, .pdf"):
        picture.save(tmp_path / "line.gif")


def test_a_wrong_argument_is_named():
    _, ((ax,),) = style.axes()
    ax.plot([1, 2], [1, 2])
    answers_or_names_it(style.plane, {"z": np.eye(3)})
    answers_or_names_it(lambda axis: style.log_axis(ax, axis=axis), {"axis": "x"})
