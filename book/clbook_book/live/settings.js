// Which values of the settings a block of the page takes: those of the Config, as `ranges.py` has found them.
window.clbookSettings ??= {
  fits({ least, most, whole }, value) {
    return typeof value === "number" && value >= least && value <= most && (!whole || Number.isInteger(value));
  },
  // How a slider goes over its range: by ratios; by cube roots where it begins at 0 and small values are those that
  // matter, so that its first tenth is a thousandth of the range; or evenly.
  scale({ log, whole, low, high, value }) {
    if (log) return { f: Math.log, inverse: Math.exp };
    if (!whole && low === 0 && value <= high / 20) return { f: Math.cbrt, inverse: (v) => v ** 3 };
    return { f: (v) => v, inverse: (v) => v, even: true };
  },
  short({ label }) { return label.split(/[,(]/)[0].trim(); }, // "ε, width of the start" -> "ε"
  refusal(knob, value) { return `${window.clbookSettings.short(knob)} = ${value} is not allowed: ${knob.about}`; },
  // RangeError for a setting that there is not, or a value that is not taken; `besides`: names that may be asked for, too.
  check(knobs, name, value, besides = []) {
    const knob = knobs.find((one) => one.name === name), { fits, refusal } = window.clbookSettings;
    if (!knob) throw new RangeError(`${name} is not allowed: it must be one of ${[...knobs.map((one) => one.name), ...besides].join(", ")}`);
    if (!fits(knob, value)) throw new RangeError(refusal(knob, value));
  },
};
