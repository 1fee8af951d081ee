// Reads files of numbers and computes the lines about two views. Nothing in a file is executed.
class Refused extends Error {}
const refuse = (sentence) => { throw new Refused(sentence); };
const PICKLED = "holds no plain numbers but objects, which could run code. Only plain numbers are read.";

// A table: n rows of d numbers; the number in row i and column j is data[start + i * down + across[j]].
class Table {
  constructor(label, data, n, start, down, across) {
    Object.assign(this, { label, data, n, start, down, across, d: across.length });
  }

  check() {
    const { data, n, start, down, across, d, label } = this;
    if (!n || !d) refuse(`${label} is empty.`);
    let odd = 0, zero = 0;
    for (let i = 0; i < n; i++) {
      let some = false;
      for (let j = 0; j < d; j++) {
        const x = Number(data[start + i * down + across[j]]);
        if (!Number.isFinite(x)) odd++;
        if (x) some = true;
      }
      if (!some) zero++;
    }
    if (odd) refuse(`${label} has ${odd} of ${n * d} entries that are NaN or infinite. All must be finite.`);
    if (zero) refuse(`${label} has ${zero} rows of zeros. They have no direction, as where a network's last layer has died.`);
  }

  rows(chosen, out) {
    let k = 0;
    for (const i of chosen) for (const j of this.across) out[k++] = Number(this.data[this.start + i * this.down + j]);
  }
}

// Numbers of 16 bits.
function half(bits) {
  const sign = bits >> 15 ? -1 : 1, power = bits >> 10 & 31, part = bits & 1023;
  if (power === 31) return part ? NaN : sign * Infinity;
  return sign * (power ? 2 ** (power - 15) * (1 + part / 1024) : 2 ** -14 * part / 1024);
}
const KINDS = { f4: Float32Array, f8: Float64Array, f2: Uint16Array, b1: Uint8Array, u1: Uint8Array, u2: Uint16Array,
  u4: Uint32Array, u8: BigUint64Array, i1: Int8Array, i2: Int16Array, i4: Int32Array, i8: BigInt64Array };

// An array as numpy.save writes it: {shape, strides, data}.
function npy(bytes, label) {
  const broken = () => refuse(`${label} is damaged, or no array as numpy.save writes it.`);
  if (bytes.length < 12 || bytes[0] !== 0x93 || String.fromCharCode(...bytes.subarray(1, 6)) !== "NUMPY") broken();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), first = bytes[6] > 1 ? 12 : 10;
  const start = first + (first === 12 ? view.getUint32(8, true) : view.getUint16(8, true));
  if (start > bytes.length) broken();
  const head = new TextDecoder("latin1").decode(bytes.subarray(first, start));
  const kind = /'descr':\s*'([<>|=]?)(\w\d+)'/.exec(head), inner = /'fortran_order':\s*(True|False)/.exec(head);
  const sides = /'shape':\s*\(([\d,\s]*)\)/.exec(head);
  if (!inner || !sides) broken();
  const Kind = KINDS[kind?.[2]];
  if (!Kind) refuse(`${label} ${/'descr':\s*'\|?O/.test(head) ? PICKLED : "is not an array of real numbers."}`);
  const shape = sides[1].split(",").filter((side) => side.trim()).map(Number);
  const size = shape.reduce((a, b) => a * b, 1), width = Kind.BYTES_PER_ELEMENT;
  if (start + size * width > bytes.length) refuse(`${label} ends before its numbers do.`);
  let part = bytes.subarray(start, start + size * width);
  if (kind[1] === ">" && width > 1) {
    part = part.slice();
    for (let k = 0; k < part.length; k += width) part.subarray(k, k + width).reverse();
  } else if (part.byteOffset % width) part = part.slice();
  let data = new Kind(part.buffer, part.byteOffset, size);
  if (kind[2] === "f2") data = Float32Array.from(data, half);
  // The stride of an axis: the product of the sizes before it in Fortran's order, after it in C's.
  const strides = shape.map((_, k) => (inner[1] === "True" ? shape.slice(0, k) : shape.slice(k + 1)).reduce((a, b) => a * b, 1));
  return { label, shape, strides, data };
}

// Rows of an array, whose further axes are flattened; `start` is where it begins.
function table({ label, shape, strides, data }, start = 0) {
  let across = [0];
  for (let k = 1; k < shape.length; k++) across = across.flatMap((at) => Array.from({ length: shape[k] }, (_, i) => at + i * strides[k]));
  return new Table(label, data, shape[0] ?? 0, start, strides[0] ?? 0, across);
}

// The members of a .npz, which is a zip: {name: bytes}, of those whose name `wanted` has.
async function npz(bytes, label, largest, wanted) {
  const broken = () => refuse(`${label} is damaged, or no .npz file as numpy.savez writes it.`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // From behind: the list of members, at whose end there may be a comment of any length.
  let end = bytes.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end--;
  if (end < 0) broken();
  const found = {}, names = [];
  let at = view.getUint32(end + 16, true), total = 0;
  try {
    for (let left = view.getUint16(end + 10, true); left > 0; left--) {
      if (view.getUint32(at, true) !== 0x02014b50) broken();
      const method = view.getUint16(at + 10, true), packed = view.getUint32(at + 20, true), size = view.getUint32(at + 24, true);
      const letters = view.getUint16(at + 28, true), more = view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
      const local = view.getUint32(at + 42, true);
      const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + letters)).replace(/\.npy$/, "");
      at += 46 + letters + more;
      names.push(name);
      if (!wanted.includes(name)) continue;
      total += size;
      if (total > largest) refuse(`${label} holds arrays of more than ${largest / 1e9} GB: take fewer rows.`);
      // Before its bytes a member has a head of its own, whose two lengths can differ from those in the list.
      const begin = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
      const part = bytes.subarray(begin, begin + packed);
      if (part.length < packed || (method !== 0 && method !== 8)) broken();
      found[name] = method ? await inflated(part, size) : part;
      if (found[name].length !== size) broken();
    }
  } catch (error) {
    if (error instanceof Refused) throw error;
    broken();
  }
  return { found, names };
}

// Deflated bytes, of which there must be `size`.
async function inflated(part, size) {
  const out = new Uint8Array(size), reader = new Blob([part]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  let at = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return at === size ? out : new Uint8Array(at);
    if (at + value.length > size) throw new Error("longer than it says");
    out.set(value, at);
    at += value.length;
  }
}

// A CSV of numbers: {names, rows}.
function csv(text, label) {
  const number = (cell) => /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(cell) ? Number(cell) :
    /^[+-]?(nan|inf|infinity)$/i.test(cell) ? NaN : null;
  const cells = (line) => line.split(",").map((cell) => cell.trim().replace(/^"(.*)"$/, "$1").trim());
  const lines = text.replace(/^\ufeff/, "").split(/\r\n|\n|\r/).filter((line) => line !== "");
  const names = lines.length && number(cells(lines[0])[0]) === null ? cells(lines.shift()) : [];
  const rows = lines.map((line, i) => cells(line).map((cell) => number(cell) ??
    refuse(`${label} has the entry "${cell.slice(0, 30)}" in row ${i + 1}. All must be numbers, but for a line of names above them.`)));
  if (!rows.length) refuse(`${label} has no rows of numbers.`);
  if (rows.some((row) => row.length !== rows[0].length)) refuse(`${label} has rows of several lengths. All must have one.`);
  return { names, rows };
}

// The two views of one file or two: {views: [z1, z2], left: names of other arrays}.
async function read(files, { largest }) {
  if (!files.length || files.length > 2) refuse("Choose one file that has both views, or two files, one a view.");
  const parts = [], left = [];
  for (const file of [...files].sort((a, b) => a.name < b.name ? -1 : 1)) {
    const ending = /\.(npz|npy|csv)$/i.exec(file.name)?.[1].toLowerCase();
    if (!ending) refuse(`${file.name} is none of .npz, .npy and .csv. Other files are not opened, since some of them can run code.`);
    if (file.size > largest) refuse(`${file.name} has ${(file.size / 1e9).toFixed(1)} GB, and at most ${largest / 1e9} are read: take fewer rows.`);
    const label = file.name;
    if (ending === "csv") {
      const { names, rows } = csv(await file.text(), label), d = rows[0].length, data = Float64Array.from(rows.flat());
      const views = names.map((name) => name.slice(0, 2)), both = views.length === d && new Set(views).size === 2 && views.includes("z1") && views.includes("z2");
      for (const view of both ? ["z1", "z2"] : [null]) {
        const across = [...Array(d).keys()].filter((j) => view === null || views[j] === view);
        parts.push(new Table(view ? `${view} of ${label}` : label, data, rows.length, 0, d, across));
      }
      continue;
    }
    const bytes = new Uint8Array(await file.arrayBuffer());
    if (ending === "npz") {
      const { found, names } = await npz(bytes, label, largest, ["z1", "z2"]);
      for (const view of ["z1", "z2"]) {
        if (!found[view]) refuse(`${label} has the arrays ${names.join(", ") || "none"}. It must have z1 and z2: one view has no partner.`);
        parts.push(table(npy(found[view], `${view} of ${label}`)));
      }
      left.push(...names.filter((name) => name !== "z1" && name !== "z2"));
      continue;
    }
    const array = npy(bytes, label), [views, ...shape] = array.shape, [step, ...strides] = array.strides;
    if (files.length === 1 && array.shape.length === 3 && views === 2)
      for (const k of [0, 1]) parts.push(table({ label: `view ${k + 1} of ${label}`, shape, strides, data: array.data }, k * step));
    else parts.push(table(array));
  }
  if (parts.length < 2) refuse(`${parts[0].label} has one view, which has no partner. Choose two files, or one that has both: an .npz with z1 and z2, an .npy of shape (2, n, d), a CSV with columns that are called z1... and z2...`);
  if (parts.length > 2) refuse("There are more than two views. Choose one file that has both, or two files, one a view.");
  return { views: parts, left };
}

function measured([z1, z2], { seed, most, tau, factor, batch }) {
  if (z1.n !== z2.n) refuse(`${z1.label} has ${z1.n} rows and ${z2.label} has ${z2.n}. Row by row they must be views of one point.`);
  if (z1.d !== z2.d) refuse(`${z1.label} has ${z1.d} columns and ${z2.label} has ${z2.d}: both must be outputs of one network.`);
  if (z1.n < 4) refuse(`${z1.label} has ${z1.n} rows, and 4 are the fewest.`);
  const looked = Math.min(z1.n, most), d = z1.d;
  if (looked * d > 2e7) refuse(`${z1.label} has ${d} columns, which is more than a page can do. In Python there is no such bound.`);
  z1.check();
  z2.check();
  const all = new Int32Array(z1.n);
  new Generator(seed).randperm(all);
  const rows = all.slice(0, looked).sort();
  const { inputs, outputs, prepare, step } = (d < looked ? tall : wide)(looked, d);
  z1.rows(rows, inputs.z1);
  z2.rows(rows, inputs.z2);
  new Generator(seed).randperm(inputs.order);
  new Generator(seed).randn(inputs.gaussian);
  const size = Math.min(batch ?? looked, looked);
  inputs.tau[0] = tau;
  inputs.factor.set(factor);
  inputs.size[0] = size;
  prepare();
  step(true);
  const numbers = { zero: 0, one: 1, n: looked, size };
  for (const [name, array] of Object.entries(outputs)) numbers[name] = array[0];
  return { numbers, n: z1.n, looked, d, inBatch: size < looked };
}

onmessage = async ({ data: { files, settings } }) => {
  try {
    const { views, left } = await read(files, settings);
    postMessage({ left, ...measured(views, settings) });
  } catch (error) {
    postMessage({ refused: error instanceof Refused ? error.message : `This file could not be read (${error.message}).` });
  }
};
