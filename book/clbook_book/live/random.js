// torch's CPU generator: mt19937, and what torch makes of its numbers (ATen/core/MT19937RNGEngine.h and
// ATen/core/DistributionsHelper.h), in the order in which torch takes them.
class Generator {
  // new Generator(5) and torch.Generator().manual_seed(5) give the same words of 32 bits one by one, and so the same
  // numbers of each kind below, as long as both are asked for the same ones in the same order.
  constructor(seed) {
    const s = this.words = new Uint32Array(624);
    s[0] = seed;
    for (let i = 1; i < 624; i++) s[i] = Math.imul(s[i - 1] ^ s[i - 1] >>> 30, 1812433253) + i;
    this.at = 0;
    this.normals = []; // that have been made and not yet taken
  }

  // One new word of the state for each call, where torch makes 624 at once: in the end the same words.
  bits() { // 32 of them
    const s = this.words, i = this.at, next = (i + 1) % 624;
    let y = s[i] & 0x80000000 | s[next] & 0x7fffffff;
    y = s[i] = s[(i + 397) % 624] ^ y >>> 1 ^ (y & 1 ? 0x9908b0df : 0);
    this.at = next;
    y ^= y >>> 11;
    y ^= y << 7 & 0x9d2c5680;
    y ^= y << 15 & 0xefc60000;
    return (y ^ y >>> 18) >>> 0;
  }

  uniform(wide) { // in [0, 1): 53 bits of two words, or 24 of one
    const first = this.bits();
    if (!wide) return (first & 0xffffff) / 16777216;
    return ((first & 0x1fffff) * 4294967296 + this.bits()) / 9007199254740992;
  }

  // torch.rand and Tensor.uniform_
  rand(out, low = 0, high = 1) {
    const wide = out instanceof Float64Array, round = wide ? (x) => x : Math.fround;
    const from = round(low), width = round(round(high) - from);
    for (let i = 0; i < out.length; i++) out[i] = this.uniform(wide) * width + from;
  }

  // torch.randn and Tensor.normal_: from 16 numbers on in blocks of sixteen, the last one anew where it is not full
  randn(out, mean = 0, std = 1) {
    const n = out.length, wide = out instanceof Float64Array, round = wide ? (x) => x : Math.fround;
    if (n < 16) {
      for (let i = 0; i < n; i++) out[i] = this.normal() * std + mean;
      return;
    }
    const block = (from) => {
      for (let i = from; i < from + 16; i++) out[i] = this.uniform(wide);
      // Entries i and i + 8 of a block are the two numbers of one pair.
      for (let i = from; i < from + 8; i++) {
        const [x, y] = pair(out[i + 8], out[i], round);
        out[i] = round(x * round(std)) + mean;
        out[i + 8] = round(y * round(std)) + mean;
      }
    };
    let i = 0;
    for (; i + 16 <= n; i += 16) block(i);
    if (i === n) return;
    for (; i < n; i++) this.uniform(wide); // which the last block replaces
    block(n - 16);
  }

  normal() {
    if (!this.normals.length) this.normals = pair(this.uniform(true), this.uniform(true), (x) => x);
    return this.normals.shift();
  }

  randint(out, high) {
    for (let i = 0; i < out.length; i++) out[i] = this.bits() % high;
  }

  randperm(out) {
    for (let i = 0; i < out.length; i++) out[i] = i;
    for (let i = 0; i < out.length - 1; i++) {
      const j = i + this.bits() % (out.length - i);
      [out[i], out[j]] = [out[j], out[i]];
    }
  }
}

// Two normal numbers of two uniform ones, rounded on the way (Box and Muller).
function pair(u, v, round) {
  const angle = round(2 * Math.PI * u), radius = round(Math.sqrt(round(-2 * round(Math.log(round(1 - v))))));
  return [round(radius * round(Math.cos(angle))), round(radius * round(Math.sin(angle)))];
}
