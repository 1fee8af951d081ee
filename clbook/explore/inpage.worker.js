// In a worker: one run at a time, in slices, so that a new start and Stop are heard between them.
const SLICE = 12; // milliseconds
let token = 0; // which start the slices in flight belong to
const channel = new MessageChannel();

function timesOf(steps) { // as training.loop.recorded_times: a geometric series, the first and the last
  const found = new Set([0, steps]);
  for (let t = 1; t < steps; t *= 1.12) found.add(roundEven(t));
  return found;
}

function roundEven(x) { // Python's round
  const low = Math.floor(x), part = x - low;
  return part > 0.5 || (part === 0.5 && low % 2) ? low + 1 : low;
}

function begin(run, { settings, seed, steps }) {
  const mine = ++token, due = timesOf(steps), began = performance.now();
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
        for (const [name, array] of Object.entries(run.recorded)) row[name] = array.slice();
        finite = row.z.every(Number.isFinite);
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
  else begin(programs[data.shape](), data);
};
