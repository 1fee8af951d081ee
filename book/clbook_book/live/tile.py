"""A tile of a matrix product as WebAssembly: four rows by eight columns, four numbers at a time, in single precision.

The bytes are written here, instruction by instruction, so that nothing has to be compiled. runtime.js calls it for
tile after tile of a large product, and does without where a browser has no vectors.
"""

from __future__ import annotations

import base64

ROWS, LANES = 4, 2  # a tile has so many rows, and so many vectors of four columns
NAMES = (
    "c",
    "cr",
    "a",
    "ar",
    "ac",
    "b",
    "br",
    "k",
)  # addresses and strides in bytes; k is the inner size
ADDRESSES = ("a", "a1", "a2", "a3")  # of the entries of A that are read next, one in each row
I32, V128, EMPTY = 0x7F, 0x7B, 0x40
VECTORS = ["v0", "v1", "x"] + [f"s{r}{q}" for r in range(ROWS) for q in range(LANES)]
LOCALS = {name: k for k, name in enumerate((*NAMES, *ADDRESSES[1:], *VECTORS))}

# Operations that take what was put on the stack before.
ADD, SUB, END = b"\x6a", b"\x6b", b"\x0b"
MULTIPLY_VECTORS, ADD_VECTORS = b"\xfd\xe6\x01", b"\xfd\xe4\x01"
SPLAT = b"\xfd\x09\x02\x00"  # one number, four times


def get(name: str) -> bytes:
    """Put a local on the stack."""
    return bytes([0x20, LOCALS[name]])


def put(name: str) -> bytes:
    """Take a local from the stack."""
    return bytes([0x21, LOCALS[name]])


def load(q: int) -> bytes:
    """Four numbers in a row, `q` vectors behind the address."""
    return bytes([0xFD, 0x00, 2, 16 * q])


def store(q: int) -> bytes:
    """The same, to memory."""
    return bytes([0xFD, 0x0B, 2, 16 * q])


def product() -> bytes:
    """c[r, j] = sum over l < k of a[r, l] b[l, j] for r < 4 and j < 8."""
    code = b""
    for before, address in zip(ADDRESSES[:-1], ADDRESSES[1:], strict=True):
        code += get(before) + get("ar") + ADD + put(address)
    code += bytes([0x03, EMPTY])  # loop over l
    for q in range(LANES):
        code += get("b") + load(q) + put(f"v{q}")
    for r, address in enumerate(ADDRESSES):
        code += get(address) + SPLAT + put("x") + get(address) + get("ac") + ADD + put(address)
        for q in range(LANES):
            own = f"s{r}{q}"
            code += get(own) + get("x") + get(f"v{q}") + MULTIPLY_VECTORS + ADD_VECTORS + put(own)
    code += get("b") + get("br") + ADD + put("b")
    code += (
        get("k") + b"\x41\x01" + SUB + b"\x22" + bytes([LOCALS["k"]])
    )  # k - 1, kept and looked at
    code += b"\x0d\x00" + END  # again, unless it is 0
    for r in range(ROWS):
        for q in range(LANES):
            code += get("c") + get(f"s{r}{q}") + store(q)
        code += get("c") + get("cr") + ADD + put("c")
    return code + END


def length(n: int) -> bytes:
    """A length below 2**14, seven bits a byte."""
    return bytes([n]) if n < 128 else bytes([n & 127 | 128, n >> 7])


def listed(*items: bytes) -> bytes:
    """How many there are, and they."""
    return length(len(items)) + b"".join(items)


def module() -> bytes:
    """The module: it imports a memory, "m" of "m", and exports the function "tile" of `NAMES`."""
    signature = b"\x60" + listed(*[bytes([I32])] * len(NAMES)) + listed()
    kinds = listed(bytes([len(ADDRESSES) - 1, I32]), bytes([len(VECTORS), V128]))
    body = kinds + product()
    sections = {
        1: listed(signature),
        2: listed(b"\x01m\x01m\x02\x00\x01"),
        3: listed(b"\x00"),
        7: listed(b"\x04tile\x00\x00"),
        10: listed(length(len(body)) + body),
    }
    written = [bytes([number]) + length(len(held)) + held for number, held in sections.items()]
    return b"\0asm\1\0\0\0" + b"".join(written)


def script() -> str:
    """JavaScript: the bytes, for runtime.js."""
    return f'const TILE_BYTES="{base64.b64encode(module()).decode()}";'
