// One run: it begins from a seed and settings, then goes step by step. Each purpose has a stream of random numbers.
class Program {
  constructor(setup, step, spec) {
    this.setup = setup;
    this.one = step;
    this.spec = spec; // {settings, seed, setup: draws, step: draws}
  }

  stream(purpose) {
    return this.streams[purpose] ??= new Generator(100 * this.seed + purpose);
  }

  draw(draws, inputs) {
    for (const { into, kind, bounds, purpose, size, wide } of draws) {
      // Numbers that nobody reads are drawn too: those after them are the same as in Python then.
      const out = inputs[into] ?? (wide ? new Float64Array(size) : new Float32Array(size));
      const generator = this.stream(purpose);
      if (kind === "rand" || kind === "uniform") generator.rand(out, ...bounds);
      else if (kind === "randn" || kind === "normal") generator.randn(out, ...bounds);
      else if (kind === "randint") generator.randint(out, ...bounds);
      else generator.randperm(out);
    }
  }

  start(settings, seed) {
    this.seed = seed;
    this.streams = {};
    this.t = 0;
    const all = { ...this.spec.settings, ...settings }, { setup, one } = this;
    for (const [name, value] of Object.entries(all)) {
      const input = setup.inputs["setting." + name];
      if (input) input[0] = value;
    }
    this.draw(this.spec.setup, setup.inputs);
    setup.prepare();
    setup.step();
    for (const [name, array] of Object.entries(one.inputs)) {
      const begun = setup.outputs[name] ?? setup.inputs[name];
      if (begun) array.set(begun);
    }
    one.prepare();
  }

  // From t to t + 1; `recorded` is then what is seen at t.
  step() {
    this.draw(this.spec.step, this.one.inputs);
    if (this.one.inputs.time) this.one.inputs.time[0] = this.t;
    this.one.step();
    this.t++;
  }

  get recorded() {
    return this.one.outputs;
  }
}
