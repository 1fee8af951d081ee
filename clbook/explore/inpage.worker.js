// In a worker: one run at a time, in slices, so that a new start and Stop are heard between them.
const SLICE = 12; // milliseconds
const made = []; // the programs, made once: their arrays serve all runs
let token = 0; // which start the slices in flight belong to
const channel = new MessageChannel();

// `times`: when the run is recorded, the last one being its end; then all that it records is sent, before that what is
// `drawn`, of which the first must stay finite.
function begin(run, { settings, seed, times, drawn }) {
  const mine = ++token, due = new Set(times), steps = times.at(-1), began = performance.now();
  run.start(settings, seed);
  let at = 0; // milliseconds of training
  channel.port1.onmessage = ({ data }) => {
    if (data !== token) return;
    const from = performance.now(), rows = [];
    let finite = true;
    do {
      const t = run.t;
      run.step(due.has(t));
      if (due.has(t)) {
        const row = {};
        const names = t === steps ? Object.keys(run.recorded) : drawn;
        for (const name of names) row[name] = run.recorded[name].slice();
        finite = row[drawn[0]].every(Number.isFinite);
        rows.push({ t, row });
      }
    } while (run.t <= steps && finite && performance.now() - from < SLICE);
    at += performance.now() - from;
    const over = run.t > steps || !finite;
    postMessage({ rows, t: run.t - 1, over, finite, rate: run.t / at * 1000, wall: performance.now() - began });
    if (!over) channel.port2.postMessage(mine);
  };
  channel.port2.postMessage(mine);
}

onmessage = ({ data }) => {
  if (data.stop) token++;
  else begin(made[data.shape] ??= programs[data.shape](), data);
};
