"""The tile of WebAssembly: products of any shape and strides are those of double precision, with it and without."""

import json

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
