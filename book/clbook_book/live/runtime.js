// What generated code calls.

// Constants: the numbers whose bytes are given as base64, and those of which two stand in a byte.
const bytes = (Kind, text) => new Kind(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
const halves = (Kind, text) => Kind.from([...bytes(Uint8Array, text)].flatMap((two) => [two >> 4, two & 15]));

// tanh in single precision, off by less than 2.6e-7 of it: the rational function of Eigen's ptanh. Math.tanh takes five
// times as long.
function tanh(v) {
  const x = v < -7.905311 ? -7.905311 : v > 7.905311 ? 7.905311 : v, s = x * x;
  const p = (((((-2.76076847742355e-16 * s + 2.00018790482477e-13) * s - 8.60467152213735e-11) * s
    + 5.12229709037114e-08) * s + 1.48572235717979e-05) * s + 6.37261928875436e-04) * s + 4.89352455891786e-03;
  const q = ((1.19825839466702e-06 * s + 1.18534705686654e-04) * s + 2.26843463243900e-03) * s + 4.89352518554385e-03;
  return x * p / q;
}

// exp, off by less than 2e-15 of it: 2 ** (n / 256) exp(r), r small. Math.exp takes twice as long.
const ROOTS = Float64Array.from({ length: 256 }, (_, i) => 2 ** (i / 256));
const POWERS = Float64Array.from({ length: 2100 }, (_, i) => 2 ** (i - 1075));
function exp(x) {
  if (!(x > -708 && x < 709)) return Math.exp(x);
  const n = x * 369.3299304675746 | 0, r = x - n * 0.002707606166950427 - n * 7.111859369156821e-12;
  return ROOTS[n & 255] * POWERS[(n >> 8) + 1075] * (1 + r * (1 + r * (0.5 + r * (1 / 6 + r / 24))));
}

// A ratio of polynomials in x: [above, below] of each power, the highest first.
function rational(x, coefficients) {
  let above = 0, below = 0;
  for (const [a, b] of coefficients) {
    above = above * x + a;
    below = below * x + b;
  }
  return above / below;
}

// The error function, to 1e-15 of it: W. J. Cody's ratios, near zero and further out.
const ERF_NEAR = [[0.18577770618460315, 1], [3.1611237438705655, 23.601290952344122], [113.86415415105016, 244.02463793444417],
  [377.485237685302, 1282.6165260773723], [3209.3775891384694, 2844.236833439171]];
const ERF_FAR = [[2.1531153547440383e-8, 1], [0.5641884969886701, 15.744926110709835], [8.883149794388377, 117.6939508913125],
  [66.11919063714163, 537.1811018620099], [298.6351381974001, 1621.3895745666903], [881.952221241769, 3290.7992357334597],
  [1712.0476126340707, 4362.619090143247], [2051.0783778260716, 3439.3676741437216], [1230.3393547979972, 1230.3393548037495]];
function erf(x) {
  const size = Math.abs(x);
  if (size < 0.46875) return x * rational(x * x, ERF_NEAR);
  if (size > 6) return Math.sign(x); // to all digits
  return Math.sign(x) * (1 - Math.exp(-size * size) * rational(size, ERF_FAR));
}

// The inverse of the normal distribution function, to 1.2e-9 of it: P. J. Acklam's ratios, in the middle and in the tails.
const NORMAL_MIDDLE = [[-39.69683028665376, -54.47609879822406], [220.9460984245205, 161.5858368580409],
  [-275.9285104469687, -155.6989798598866], [138.357751867269, 66.80131188771972], [-30.66479806614716, -13.28068155288572],
  [2.506628277459239, 1]];
const NORMAL_TAILS = [[-0.007784894002430293, 0], [-0.3223964580411365, 0.007784695709041462], [-2.400758277161838, 0.3224671290700398],
  [-2.549732539343734, 2.445134137142996], [4.374664141464968, 3.754408661907416], [2.938163982698783, 1]];
function ndtri(p) {
  const q = p - 0.5;
  if (Math.abs(q) <= 0.47575) return q * rational(q * q, NORMAL_MIDDLE);
  return -Math.sign(q) * rational(Math.sqrt(-2 * Math.log(q < 0 ? p : 1 - p)), NORMAL_TAILS);
}

// Large products of single precision go through a tile of WebAssembly (tile.wat), 4 rows by 8 columns; `tile` is null
// where a browser has none. Its memory holds a copy of B, with its columns beside each other, and some rows of A and C.
const LEAST = 1 << 17, ROWS = 2048; // additions from which it pays; rows of A in memory at once
const memory = typeof WebAssembly === "object" ? new WebAssembly.Memory({ initial: 1 }) : null;
const tile = (() => {
  try {
    return new WebAssembly.Instance(new WebAssembly.Module(bytes(Uint8Array, TILE_BYTES)), { m: { m: memory } }).exports.tile;
  } catch { return null; }
})();
function tiled(C, c0, cr, cc, A, a0, ar, ac, B, b0, br, bc, n, k, m) {
  const wide = m + 7 & ~7, rows = ar >= k * ac ? Math.min(n, ROWS) : n; // a transposed A is not cut
  const span = (count) => (count - 1) * ar + (k - 1) * ac + 1, high = rows + 3 & ~3, end = Math.min(A.length, a0 + span(n));
  const atB = span(high), atC = atB + k * wide, need = 4 * (atC + high * wide);
  if (memory.buffer.byteLength < need) memory.grow(Math.ceil((need - memory.buffer.byteLength) / 65536));
  const M = new Float32Array(memory.buffer);
  if (bc === 1 && br === m && wide === m) M.set(B.subarray(b0, b0 + k * m), atB);
  else for (let l = 0; l < k; l++) for (let j = 0; j < m; j++) M[atB + l * wide + j] = B[b0 + l * br + j * bc];
  for (let i = 0; i < n; i += rows) {
    const here = Math.min(rows, n - i);
    M.set(A.subarray(a0 + i * ar, Math.min(end, a0 + i * ar + span(here))));
    for (let r = 0; r < here; r += 4) for (let j = 0; j < wide; j += 8)
      tile(4 * (atC + r * wide + j), 4 * wide, 4 * r * ar, 4 * ar, 4 * ac, 4 * (atB + j), 4 * wide, k);
    if (cc === 1 && cr === m && wide === m) C.set(M.subarray(atC, atC + here * m), c0 + i * cr);
    else for (let r = 0; r < here; r++) for (let j = 0; j < m; j++) C[c0 + (i + r) * cr + j * cc] = M[atC + r * wide + j];
  }
}

// C (n, m) = A (n, k) B (k, m), each with an offset and two strides; two rows and four columns at a time.
function mm(C, c0, cr, cc, A, a0, ar, ac, B, b0, br, bc, n, k, m) {
  if (tile && n * k * m >= LEAST && [A, B, C].every((array) => array instanceof Float32Array))
    return tiled(C, c0, cr, cc, A, a0, ar, ac, B, b0, br, bc, n, k, m);
  const rows = n - n % 2, columns = m - m % 4;
  for (let i = 0; i < rows; i += 2) for (let j = 0; j < columns; j += 4) {
    let s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0;
    for (let l = 0, p = a0 + i * ar, q = p + ar, b = b0 + j * bc; l < k; l++, p += ac, q += ac, b += br) {
      const x = A[p], y = A[q], u = B[b], v = B[b + bc], w = B[b + 2 * bc], z = B[b + 3 * bc];
      s0 += x * u; s1 += x * v; s2 += x * w; s3 += x * z;
      t0 += y * u; t1 += y * v; t2 += y * w; t3 += y * z;
    }
    const o = c0 + i * cr + j * cc, r = o + cr;
    C[o] = s0; C[o + cc] = s1; C[o + 2 * cc] = s2; C[o + 3 * cc] = s3;
    C[r] = t0; C[r + cc] = t1; C[r + 2 * cc] = t2; C[r + 3 * cc] = t3;
  }
  for (let i = 0; i < n; i++) for (let j = i < rows ? columns : 0; j < m; j++)
    C[c0 + i * cr + j * cc] = dot(A, a0 + i * ar, ac, B, b0 + j * bc, br, k);
}

function dot(A, a, da, B, b, db, k) {
  let s = 0;
  for (let l = 0; l < k; l++, a += da, b += db) s += A[a] * B[b];
  return s;
}

// Eigenvalues L, ascending, and eigenvectors, the columns of V, of the symmetric matrices A, one after the other: by Jacobi.
function eigh(L, V, A, n) {
  for (let run = 0; run < L.length / n; run++) eighOf(L, V, A, n, run);
}
function eighOf(L, V, A, n, run) {
  const at = run * n * n, a = Float64Array.from(A.subarray(at, at + n * n));
  const v = a.map((_, i) => Number(i % (n + 1) === 0)), least = 1e-18 * Math.sqrt(dot(a, 0, 1, a, 0, 1, n * n));
  for (let k = 0; k < 12; k++) for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) {
    const x = a[p * n + q];
    if (Math.abs(x) <= least) continue;
    const h = (a[q * n + q] - a[p * n + p]) / 2 / x, t = (h < 0 ? -1 : 1) / (Math.abs(h) + Math.sqrt(h * h + 1));
    const c = 1 / Math.sqrt(t * t + 1), s = t * c;
    rotate(a, p, q, n, n, c, s);
    for (const m of [a, v]) rotate(m, p * n, q * n, 1, n, c, s); // eigenvectors are rows of v
  }
  const order = Array.from({ length: n }, (_, i) => i).sort((i, j) => a[i * n + i] - a[j * n + j]);
  order.forEach((i, j) => {
    L[run * n + j] = a[i * n + i];
    for (let k = 0; k < n; k++) V[at + k * n + j] = v[i * n + k];
  });
}
function rotate(a, i, j, by, n, c, s) {
  for (let k = 0; k < n; k++, i += by, j += by) {
    const x = a[i], y = a[j];
    a[i] = c * x - s * y;
    a[j] = s * x + c * y;
  }
}

// Eigenvalues L alone, ascending, of the symmetric matrices A, which are used up: Householder reflections make each
// tridiagonal, and QL steps with a shift take that apart, on the squares beside the diagonal (C. Reinsch).
function eigenvalues(L, A, n) {
  for (let run = 0; run < L.length / n; run++) eigenvaluesOf(L, A, n, run);
}
function eigenvaluesOf(L, A, n, run) {
  const a = A.subarray(run * n * n, (run + 1) * n * n), p = new Float64Array(n), squares = new Float64Array(n + 1);
  const least = 1e-34 * dot(a, 0, 1, a, 0, 1, n * n); // below, a square is rounding
  for (let i = n - 1; i > 0; i--) {
    const v = a.subarray(i * n, i * n + i);
    squares[i] = dot(v, 0, 1, v, 0, 1, i);
    const end = v[i - 1] < 0 ? -Math.sqrt(squares[i]) : Math.sqrt(squares[i]), h = squares[i] + end * v[i - 1];
    if (h === 0) continue;
    v[i - 1] += end;
    for (let j = 0; j < i; j++) { // p is the product with the part above, of which the lower triangle is kept
      const x = v[j];
      let s = a[j * n + j] * x;
      for (let k = 0; k < j; k++) {
        s += a[j * n + k] * v[k];
        p[k] += a[j * n + k] * x;
      }
      p[j] = s;
    }
    const f = dot(p, 0, 1, v, 0, 1, i) / (2 * h);
    for (let j = 0; j < i; j++) p[j] = (p[j] - f * v[j]) / h;
    for (let j = 0; j < i; j++) {
      const x = v[j], y = p[j];
      for (let k = 0; k <= j; k++) a[j * n + k] -= x * p[k] + y * v[k];
    }
  }
  const d = p.map((_, i) => a[i * n + i]);
  for (let l = 0; l < n; l++) for (let turn = 0; turn < 60; turn++) {
    let m = l;
    while (squares[m + 1] > least) m++;
    if (m === l) break;
    const root = Math.sqrt(squares[l + 1]), half = (d[l + 1] - d[l]) / (2 * root);
    const shift = d[l] - root / (half + (half < 0 ? -1 : 1) * Math.hypot(half, 1));
    let g = d[m] - shift, q = g * g, c = 1, s = 0;
    for (let i = m - 1; i >= l; i--) {
      const square = squares[i + 1], r = q + square, after = g, kept = c;
      squares[i + 2] = s * r;
      c = q / r;
      s = square / r;
      g = c * (d[i] - shift) - s * after;
      d[i + 1] = after + d[i] - g;
      q = c === 0 ? kept * square : g * g / c;
    }
    squares[l + 1] = s * q;
    d[l] = shift + g;
  }
  L.set(d.sort(), run * n);
}
