"""The tile of WebAssembly: products of any shape and strides are those of double precision, with it and without."""

import base64
import itertools
import json
import re
from importlib import resources

import pytest
from browser import NoBrowser, browser
from firefox import firefox

from clbook_book.live.page import shared_code

SHAPES = [(2049, 25, 16), (25, 4096, 16), (131, 77, 53), (2500, 20, 12)]
PRODUCTS = """(shapes) => shapes.map(([n, k, m]) => [false, true].map((turned) => {
  const filled = (length) => Float32Array.from({length}, (_, i) => Math.sin(1 + i * i % 1009));
  const A = filled(n * k + 3), B = filled(k * m + 5), C = new Float32Array(n * m + 7), again = C.slice();
  const [a, b, c] = turned ? [[1, n], [1, k], [1, n]] : [[k, 1], [m, 1], [m, 1]];
  for (const out of [C, again]) mm(out, 7, ...c, A, 3, ...a, B, 5, ...b, n, k, m);
  let off = 0, largest = 0;
  for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) {
    const truth = dot(A, 3 + i * a[0], a[1], B, 5 + j * b[1], b[0], k);
    off = Math.max(off, Math.abs(C[7 + i * c[0] + j * c[1]] - truth));
    largest = Math.max(largest, Math.abs(truth));
  }
  const same = C.every((x, i) => x === again[i]), before = C.slice(0, 7).every((x) => x === 0);
  return {tile: tile !== null, off: off / largest, same, before};
})).flat()"""


CODES = {  # of the instructions of tile.wat, with what stands in all of them behind: 2, four bytes side by side
    "local.get": "20",
    "local.set": "21",
    "local.tee": "22",
    "loop": "03 40",
    "end": "0b",
    "br_if": "0d",
    "i32.const": "41",
    "i32.add": "6a",
    "i32.sub": "6b",
    "v128.load": "fd 00 02",
    "v128.load32_splat": "fd 09 02",
    "v128.store": "fd 0b 02",
    "f32x4.add": "fd e4 01",
    "f32x4.mul": "fd e6 01",
}
KINDS = {"i32": 0x7F, "v128": 0x7B}


def section(number, *items):
    """A section of a module: its number, its length, how many there are, and they."""
    held = bytes([len(items)]) + b"".join(items)
    size = len(held)
    return bytes([number, *([size] if size < 128 else [size & 127 | 128, size >> 7])]) + held


def assembled(text):
    """The bytes of tile.wat."""
    text = re.sub(";;.*", "", text)
    declared = re.findall(r"\((param|local) \$(\w+) (\w+)\)", text)
    places = {name: k for k, (_, name, _) in enumerate(declared)}
    inputs = [KINDS[kind] for role, _, kind in declared if role == "param"]
    own = itertools.groupby(KINDS[kind] for role, _, kind in declared if role == "local")
    body = section(0, *(bytes([len([*same]), kind]) for kind, same in own))[2:]
    for word in text.rpartition(" v128)")[2].replace(")", "").split():
        if word in CODES:
            body += bytes.fromhex(CODES[word])
        elif not word.startswith("align"):
            name = word.removeprefix("$").removeprefix("offset=")
            body += bytes([places.get(name) if name in places else int(name)])
    body += b"\x0b"
    sections = [
        section(1, bytes([0x60, len(inputs), *inputs, 0])),
        section(2, b"\x01m\x01m\x02\x00\x01"),
        section(3, b"\0"),
        section(7, b"\x04tile\0\0"),
        section(10, bytes([len(body) & 127 | 128, len(body) >> 7]) + body),
    ]
    return b"\0asm\1\0\0\0" + b"".join(sections)


def test_the_bytes_of_the_tile_are_those_of_its_text():
    folder = resources.files("clbook_book.live")
    held = "".join(re.findall('"(.*)"', (folder / "tile.js").read_text()))
    assert base64.b64decode(held) == assembled((folder / "tile.wat").read_text())


def products(page, before=""):
    """What the page says of all shapes, each with plain and with turned arrays."""
    code = f"{before}{shared_code()}\nreturn ({PRODUCTS})({json.dumps(SHAPES)});"
    return page.evaluate(f"() => {{{code}}}")


@pytest.mark.parametrize("name", ["chromium", "firefox"])
def test_a_product_is_that_of_double_precision(name, tmp_path):
    empty = tmp_path / "empty.html"  # Firefox's first page allows no WebAssembly
    empty.write_text("<!doctype html><title>Empty</title>")
    try:
        with firefox() if name == "firefox" else browser() as opened:
            page = opened if name == "firefox" else opened().page
            page.goto(empty.as_uri())
            found = products(page)
            without = products(page, "const WebAssembly = undefined;")
    except NoBrowser as missing:
        pytest.skip(str(missing))
    for each in found:
        assert each["tile"] and each["same"] and each["before"], each
        assert each["off"] < 1e-5
    for each in without:
        assert not each["tile"] and each["before"], each
        assert each["off"] < 1e-6
