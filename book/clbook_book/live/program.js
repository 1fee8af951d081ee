// One run: it begins from a seed and settings, then goes step by step. Each purpose has a stream of random numbers, or
// several that are alike, one for each `source`.
class Program {
  constructor(setup, step, spec) {
    this.setup = setup;
    this.one = step;
    this.spec = spec; // {settings, seed, setup: draws, step: draws}
  }

  stream(purpose, source) {
    return this.streams[`${purpose} ${source}`] ??= new Generator(100 * this.seed + purpose);
  }

  draw(draws, inputs) {
    for (const { into, kind, bounds, purpose, source, size, wide } of draws) {
      // Numbers that nobody reads are drawn too: those after them are the same as in Python then.
      const out = inputs[into] ?? (wide ? new Float64Array(size) : new Float32Array(size));
      const generator = this.stream(purpose, source);
      if (kind === "rand" || kind === "uniform") generator.rand(out, ...bounds);
      else if (kind === "randn" || kind === "normal") generator.randn(out, ...bounds);
      else if (kind === "randint") generator.randint(out, ...bounds);
      else generator.randperm(out);
    }
  }

  start(settings, seed) {
    const drawn = this.seed === seed && this.setup.apart; // what the draws decide of the start is there from the last run
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
    if (!drawn) setup.step(true);
    for (const [name, array] of Object.entries(one.inputs)) {
      if (setup.outputs[name]) array.set(setup.outputs[name]);
    }
    one.prepare();
  }

  // From t to t + 1; `recorded` is then what is seen at t, where that is due.
  step(due = true) {
    this.draw(this.spec.step, this.one.inputs);
    if (this.one.inputs.time) this.one.inputs.time[0] = this.t;
    this.one.step(due);
    this.t++;
  }

  // Parts of the state that a reader has changed, {name: numbers}.
  put(changes) {
    for (const [name, numbers] of Object.entries(changes)) this.one.inputs["state." + name]?.set(numbers);
    this.one.prepare();
  }

  get recorded() {
    return this.one.outputs;
  }
}
