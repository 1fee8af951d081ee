// torch's CPU generator: mt19937, and what torch makes of its numbers (ATen/core/MT19937RNGEngine.h and
// ATen/core/DistributionsHelper.h), in the order in which torch takes them.
class Generator {
  constructor(seed) {
    const s = this.words = new Uint32Array(624);
    s[0] = seed >>> 0;
    for (let i = 1; i < 624; i++) {
      const x = s[i - 1] ^ s[i - 1] >>> 30;
      s[i] = Math.imul(x, 1812433253) + i;
    }
    this.at = 0;
    this.spare = null;
  }

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

  single() { // in [0, 1), 24 bits
    return (this.bits() & 0xffffff) / 16777216;
  }

  double() { // in [0, 1), 53 bits
    const high = this.bits(), low = this.bits();
    return ((high & 0x1fffff) * 4294967296 + low) / 9007199254740992;
  }

  // torch.rand and Tensor.uniform_
  rand(out, low = 0, high = 1) {
    const wide = out instanceof Float64Array, round = wide ? (x) => x : Math.fround;
    const width = round(round(high) - round(low));
    for (let i = 0; i < out.length; i++) out[i] = round((wide ? this.double() : this.single()) * width + round(low));
  }

  // torch.randn and Tensor.normal_: from 16 numbers on in blocks of sixteen, the last one anew where it is not full
  randn(out, mean = 0, std = 1) {
    const n = out.length, wide = out instanceof Float64Array, round = wide ? (x) => x : Math.fround;
    if (n < 16) {
      for (let i = 0; i < n; i++) out[i] = this.normal() * std + mean;
      return;
    }
    const uniform = (from) => {
      for (let i = from; i < n; i++) out[i] = wide ? this.double() : this.single();
    };
    const block = (from) => {
      for (let i = from; i < from + 8; i++) {
        const radius = round(Math.sqrt(round(-2 * round(Math.log(round(1 - out[i]))))));
        const angle = round(2 * Math.PI * out[i + 8]);
        out[i] = round(round(round(radius * round(Math.cos(angle))) * round(std)) + mean);
        out[i + 8] = round(round(round(radius * round(Math.sin(angle))) * round(std)) + mean);
      }
    };
    uniform(0);
    for (let i = 0; i < n - 15; i += 16) block(i);
    if (n % 16) {
      uniform(n - 16);
      block(n - 16);
    }
  }

  normal() { // one; the second of a pair is kept
    if (this.spare !== null) {
      const kept = this.spare;
      this.spare = null;
      return kept;
    }
    const u = this.double(), v = this.double();
    const radius = Math.sqrt(-2 * Math.log1p(-v)), angle = 2 * Math.PI * u;
    this.spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }

  randint(out, high) {
    for (let i = 0; i < out.length; i++) out[i] = this.bits() % high;
  }

  randperm(out) {
    const n = out.length;
    for (let i = 0; i < n; i++) out[i] = i;
    for (let i = 0; i < n - 1; i++) {
      const j = i + this.bits() % (n - i), kept = out[i];
      out[i] = out[j];
      out[j] = kept;
    }
  }
}
