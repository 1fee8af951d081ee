// In a worker: one run at a time, in slices, so that a new start and Stop are heard between them.
const SLICE = 12; // milliseconds
const made = []; // the programs, made once: their arrays serve all runs
let asked = 0; // the number of the run that goes on
const channel = new MessageChannel();

// `times`: when the run is recorded, the last one being its end ([0]: its start alone); then all that it records is sent,
// before that what is `drawn`, of which the first must keep a finite number (a mean over nothing is none). With the start
// goes what is `held` of its state, of which a reader may have `put` other numbers.
function begin(run, { number, settings, seed, times, drawn, held, put }) {
  const due = new Set(times), steps = times.at(-1), began = performance.now();
  asked = number;
  run.start(settings, seed);
  run.put(put);
  channel.port1.onmessage = ({ data }) => {
    if (data !== asked) return;
    const from = performance.now(), rows = [];
    let finite = true;
    do {
      const t = run.t;
      run.step(due.has(t));
      if (due.has(t)) {
        const row = {};
        const names = t === steps ? Object.keys(run.recorded) : drawn;
        for (const name of names) row[name] = run.recorded[name].slice();
        if (t === 0) for (const name of held) row[name] = (put[name] ?? run.setup.outputs["state." + name]).slice();
        finite = row[drawn[0]].some(Number.isFinite);
        rows.push({ t, row });
      }
    } while (run.t <= steps && finite && performance.now() - from < SLICE);
    const over = run.t > steps || !finite;
    postMessage({ number, rows, t: run.t - 1, over, finite, wall: performance.now() - began });
    if (!over) channel.port2.postMessage(number);
  };
  channel.port2.postMessage(number);
}

const program = (shape) => made[shape] ??= programs[shape]();

function warm(run) { // the browser compiles what is called
  run.start({}, 0);
  run.step();
}

onmessage = ({ data }) => {
  if (data.stop) asked = 0;
  else if (data.warm !== undefined) warm(program(data.warm));
  else begin(program(data.shape), data);
};
