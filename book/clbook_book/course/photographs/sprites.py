"""Many small images as one picture: a sprite."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

ACROSS = 40  # images in a row of a sprite
QUALITY = 75  # of its JPEG; 16 x 16 pixels are coded alone, so images of 32 x 32 do not run into each other


def sprite(images: np.ndarray) -> np.ndarray:
    """Images (n, 3, side, side), uint8, as the bytes of one JPEG file, in rows of `ACROSS`."""
    n, _, side, _ = images.shape
    rows = -(-n // ACROSS)
    sheet = np.zeros((rows * ACROSS, 3, side, side), np.uint8)
    sheet[:n] = images
    tiles = sheet.reshape(rows, ACROSS, 3, side, side).transpose(0, 3, 1, 4, 2)
    whole = Image.fromarray(tiles.reshape(rows * side, ACROSS * side, 3))
    file = io.BytesIO()
    whole.save(file, "jpeg", quality=QUALITY, optimize=True)
    return np.frombuffer(file.getvalue(), np.uint8)


def cut(sheet: np.ndarray, n: int) -> np.ndarray:
    """The images (n, 3, side, side), uint8, of a sprite."""
    with Image.open(io.BytesIO(sheet.tobytes())) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    side = pixels.shape[1] // ACROSS
    tiles = pixels.reshape(-1, side, ACROSS, side, 3).transpose(0, 2, 4, 1, 3)
    return tiles.reshape(-1, 3, side, side)[:n]
