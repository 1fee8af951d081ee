// A panel of pictures at their places: on a map that keeps neighbours together (t-SNE, one step a frame, warm) or on the
// two axes of most variance. Below it: presets, views as the settings make them, and the neighbours of one picture.
(window.clbookPanels ??= {}).pictures ??= (panel, { figure, now, set, paint }) => {
  const [OF, IMAGES] = panel.of, { side, presets, classes } = panel.more;
  const COLOURS = ["#2576B6", "#D55E00", "#009E73", "#CC79A7", "#B8860B", "#7A5195", "#5B6470", "#1B9AAA", "#A23B3B", "#5A8F29"];
  const NEAR = 12, VOTES = 5, EXAGGERATED = 1.5, RATE = 0.9, MOMENTUM = 0.8, WIDTH = 14; // of the map: as large as numbers of t-SNE are
  const FEW = 300, TILE = 26, REST = 150; // pictures on a phone; pixels of one on the map; frames after which the map rests
  const PAUSE = 17; // milliseconds after a step of the map: every other frame of a screen is left to the training
  const { make, draws, Generator } = new Function(panel.more.code)(), { reduced, made, pressed } = window.clbookBlock;
  const canvas = figure.querySelector("canvas"), states = new WeakMap();
  let flat = false, chosen = 7, shown = null; // shown: what is in the picture last, {run, state, box}
  let pause = 0, w = new Float32Array(0); // how near two points of the map are: one array for all steps

  // --- what is near what ---
  function unit(v, d) { // each row of length 1
    const u = new Float32Array(v.length);
    for (let i = 0; i < v.length; i += d) {
      let s = 1e-12;
      for (let k = i; k < i + d; k++) s += v[k] * v[k];
      for (let k = i; k < i + d; k++) u[k] = v[k] / Math.sqrt(s);
    }
    return u;
  }
  function nearest(u, d, n, i, count) { // the `count` rows of the first n with the largest cosine to row i
    const best = [];
    for (let j = 0; j < n; j++) {
      if (j === i) continue;
      let s = 0;
      for (let a = i * d, b = j * d, end = a + d; a < end; a++, b++) s += u[a] * u[b];
      if (best.length === count && s <= best[count - 1].s) continue;
      if (best.length === count) best.pop();
      best.push({ s, j });
      for (let k = best.length - 1; k > 0 && best[k].s > best[k - 1].s; k--) [best[k], best[k - 1]] = [best[k - 1], best[k]];
    }
    return best.map(({ j }) => j);
  }
  function graph(u, d, n) { // (n, n) how strongly two points are tied, 1 in all
    const ties = new Float32Array(n * n), each = 1 / (2 * n * NEAR);
    for (let i = 0; i < n; i++) for (const j of nearest(u, d, n, i, NEAR)) { ties[i * n + j] += each; ties[j * n + i] += each; }
    return ties;
  }

  // --- where they stand ---
  function projected(v, d, n, axes) { // (n, 2) places on the two axes of most variance, which `axes` keeps from time to time
    const mean = new Float64Array(d), C = new Float64Array(d * d);
    for (let i = 0; i < n; i++) for (let k = 0; k < d; k++) mean[k] += v[i * d + k] / n;
    for (let i = 0; i < n; i++) for (let a = 0; a < d; a++) for (let b = 0; b < d; b++) C[a * d + b] += (v[i * d + a] - mean[a]) * (v[i * d + b] - mean[b]) / n;
    for (let turn = 0; turn < 30; turn++) axes.forEach((axis, q) => {
      let next = axis.map((_, a) => axis.reduce((s, x, b) => s + C[a * d + b] * x, 0));
      if (q) { const along = next.reduce((s, x, k) => s + x * axes[0][k], 0); next = next.map((x, k) => x - along * axes[0][k]); }
      const size = Math.hypot(...next) || 1;
      axes[q] = next.map((x) => x / size);
    });
    const places = new Float64Array(2 * n);
    let spread = 1e-12;
    for (let i = 0; i < 2 * n; i++) {
      for (let k = 0; k < d; k++) places[i] += (v[(i >> 1) * d + k] - mean[k]) * axes[i & 1][k];
      spread += places[i] ** 2 / n;
    }
    return places.map((x) => x * 0.52 / Math.sqrt(spread));
  }
  function step({ n, at, speed, ties }) { // of t-SNE: neighbours pull, all push
    const force = new Float64Array(2 * n);
    let total = 0;
    if (w.length < n * n) w = new Float32Array(n * n);
    for (let i = 0; i < n; i++) for (let j = 0, X = at[2 * i], Y = at[2 * i + 1]; j < i; j++) {
      const x = WIDTH * (X - at[2 * j]), y = WIDTH * (Y - at[2 * j + 1]);
      total += 2 * (w[i * n + j] = 1 / (1 + x * x + y * y));
    }
    const share = 1 / total;
    for (let i = 0; i < n; i++) {
      const X = at[2 * i], Y = at[2 * i + 1];
      let right = 0, down = 0; // of the force on i
      for (let j = 0; j < i; j++) {
        const q = w[i * n + j], f = (EXAGGERATED * ties[i * n + j] - q * share) * q * WIDTH;
        const x = f * (X - at[2 * j]), y = f * (Y - at[2 * j + 1]);
        right -= x; down -= y; force[2 * j] += x; force[2 * j + 1] += y;
      }
      force[2 * i] += right; force[2 * i + 1] += down;
    }
    let reach = 1.05;
    for (let k = 0; k < 2 * n; k++) {
      speed[k] = MOMENTUM * speed[k] + RATE * n * force[k];
      at[k] += Math.max(-0.3, Math.min(0.3, speed[k])) / WIDTH;
      reach = Math.max(reach, Math.abs(at[k]));
    }
    for (let k = 0; k < 2 * n; k++) at[k] *= 1.05 / reach;
  }

  // --- one run ---
  function sheet(images, labels) { // all pictures side by side, each in the colour of its class
    const own = document.createElement("canvas"), n = labels.length;
    own.width = side * n; own.height = side;
    const g = own.getContext("2d"), data = g.createImageData(side * n, side);
    for (let i = 0; i < n; i++) for (let p = 0; p < side * side; p++) {
      const to = 4 * ((p / side | 0) * side * n + i * side + p % side), colour = parseInt(COLOURS[labels[i] % 10].slice(1), 16);
      data.data.set([colour >> 16, colour >> 8 & 255, colour & 255, 255 * Math.min(1, 1.3 * images[i * side * side + p])], to);
    }
    g.putImageData(data, 0, 0);
    return own;
  }
  function stateOf(run, n) {
    let state = states.get(run);
    if (state?.n !== n) {
      const [wide, d] = run.recorded[OF].slice(-2), images = run.rows[0].row[IMAGES];
      state = { n, wide, d, images, pixels: unit(images, side * side), speed: new Float64Array(2 * n), frames: 0,
        sheet: sheet(images, run.labels), axes: [0, 1].map((q) => Array.from({ length: d }, (_, k) => Math.sin(1 + k * (q + 1.3)))) };
      states.set(run, state);
    }
    const { row } = run.rows.at(-1);
    if (state.row !== row) { // something new has come
      state.u = unit(row[OF], state.d);
      Object.assign(state, { row, flat: null, ties: null, frames: REST });
      state.at ??= flattened(state).slice();
    }
    return state;
  }
  const flattened = (state) => state.flat ??= projected(state.u, state.d, state.n, state.axes);
  function advance(state) { // by one frame; whether there is more to come
    if (flat) {
      for (let k = 0; k < 2 * state.n; k++) state.at[k] += (flattened(state)[k] - state.at[k]) / 4;
    } else {
      state.ties ??= graph(state.u, state.d, state.n);
      for (let k = 0; k < 3; k++) step(state);
    }
    return --state.frames > 0;
  }

  function draw(g, box, run) {
    const state = stateOf(run, Math.min(run.labels.length, canvas.clientWidth < 480 ? FEW : Infinity)), { n, at } = state;
    if (state.frames > 0) {
      if (reduced.matches) while (advance(state));
      else if (advance(state)) pause ||= setTimeout(() => { pause = 0; paint(); }, PAUSE);
    }
    const near = nearest(state.u, state.d, n, chosen, VOTES), half = TILE / 2;
    const reach = at.reduce((most, x) => Math.max(most, Math.abs(x)), 0.5) / 0.46; // the map fills its box
    const X = (i) => box.x + box.w * (0.5 + at[2 * i] / reach), Y = (i) => box.y + box.h * (0.5 + at[2 * i + 1] / reach);
    for (let i = 0; i < n; i++) g.drawImage(state.sheet, side * i, 0, side, side, X(i) - half, Y(i) - half, TILE, TILE);
    g.strokeStyle = getComputedStyle(figure).color; g.lineWidth = 1.5;
    g.strokeRect(X(chosen) - half, Y(chosen) - half, TILE, TILE);
    g.globalAlpha = 0.5;
    for (const j of near) { g.beginPath(); g.moveTo(X(chosen), Y(chosen)); g.lineTo(X(j), Y(j)); g.stroke(); }
    g.globalAlpha = 1;
    const first = shown?.state !== state, news = first || shown.row !== state.row;
    shown = { run, state, row: state.row, box, X, Y };
    if (news) { told(near); if (first) views(); }
  }

  // --- below the picture ---
  const host = made("div", { className: "clbook-pictures" });
  host.innerHTML = `<p class="clbook-readout"></p>
    <div class="clbook-row"><span>map</span><div class="clbook-choices" role="group" aria-label="map"></div></div>
    <div class="clbook-row"><span>count as the same</span><div class="clbook-choices" role="group" aria-label="what counts as the same picture"></div></div>
    <div class="clbook-strips"></div>`;
  figure.querySelector(".clbook-canvas").after(host);
  const [maps, same] = host.querySelectorAll(".clbook-choices");
  function button(row, text, onclick) {
    const own = made("button", { type: "button", textContent: text, onclick });
    row.append(own);
    return own;
  }
  const kinds = ["neighbours", "flat projection"].map((text, k) => button(maps, text, () => {
    flat = k === 1;
    if (shown) shown.state.frames = REST;
    changed();
    paint();
  }));
  const offers = Object.entries(presets).map(([text, values]) => button(same, text, () => set(values)));
  const strips = Object.fromEntries([["views", "a picture, and four views of it"], ["pixels", "nearest by pixels"], ["network", "nearest by the network"]].map(([name, text]) => {
    const strip = made("p"), own = made("canvas", { role: "img", ariaLabel: text });
    strip.append(made("span", { textContent: text }), own);
    host.querySelector(".clbook-strips").append(strip);
    return [name, own];
  }));
  button(host.querySelector(".clbook-strips"), "Another picture", () => choose((chosen + 1) % (shown?.state.n ?? 1)));

  function strip(own, count, put) { // room for so many pictures, which `put(g, k)` draws
    own.width = (side + 2) * count; own.height = side;
    const g = own.getContext("2d");
    for (let k = 0; k < count; k++) put(g, k);
  }
  function told(near) {
    const { run, state, row } = shown, name = (i) => `${classes} ${run.labels[i]}`;
    const lists = { pixels: nearest(state.pixels, side * side, state.n, chosen, VOTES), network: near };
    for (const [which, list] of Object.entries(lists)) {
      const all = [chosen, ...list];
      strip(strips[which], all.length, (g, k) => g.drawImage(state.sheet, side * all[k], 0, side, side, (side + 2) * k, 0, side, side));
      strips[which].setAttribute("aria-label", `Beside ${name(chosen)}: ${list.map(name).join(", ")}`);
    }
    const percent = (p) => `${Math.round(100 * p)} %`, p = row[panel.more.right][0];
    const error = Math.sqrt(p * (1 - p) / state.wide), untrained = run.rows[0].row[panel.more.right][0];
    host.querySelector(".clbook-readout").textContent = `${panel.more.words}: by the network ${percent(p)} \u00b1 ${Math.round(100 * error)}, `
      + `untrained ${percent(untrained)}, by pixels ${percent(row[panel.more.reference][0])}, by chance ${percent(panel.more.chance)}.`;
  }
  // Views as the training draws them, always by the same random numbers, so that they follow a slider.
  const viewed = make(), generator = new Generator(1);
  for (const { into, kind, bounds } of draws) generator[kind](viewed.inputs[into], ...bounds);
  function views() {
    if (!shown) return;
    const { images, sheet: own } = shown.state, size = side * side, settings = now();
    viewed.inputs["given.picture"].set(images.subarray(chosen * size, (chosen + 1) * size));
    for (const [name, value] of Object.entries(settings)) if (viewed.inputs[`given.${name}`]) viewed.inputs[`given.${name}`][0] = value;
    viewed.prepare();
    viewed.step(true);
    const found = sheet(viewed.outputs.views, Array(viewed.outputs.views.length / size).fill(shown.run.labels[chosen]));
    strip(strips.views, 1 + found.width / side, (g, k) =>
      g.drawImage(k ? found : own, side * (k ? k - 1 : chosen), 0, side, side, (side + 2) * k, 0, side, side));
    strips.views.setAttribute("aria-label", `${classes} ${shown.run.labels[chosen]}, and views of it at these settings`);
  }
  function changed() { // settings, or what is drawn of them
    const settings = now();
    pressed(kinds, (_, k) => flat === (k === 1));
    pressed(offers, (_, k) => Object.entries(Object.values(presets)[k]).every(([name, value]) => settings[name] === value));
    views();
  }
  function choose(i) {
    chosen = i;
    told(nearest(shown.state.u, shown.state.d, shown.state.n, i, VOTES));
    views();
    paint();
  }
  canvas.addEventListener("click", ({ offsetX, offsetY }) => {
    if (!shown) return;
    const { X, Y, state } = shown, far = (i) => Math.hypot(X(i) - offsetX, Y(i) - offsetY);
    let best = 0;
    for (let i = 1; i < state.n; i++) if (far(i) < far(best)) best = i;
    if (far(best) < TILE) choose(best);
  });
  // What a run is said to have found, besides what it records at its end.
  const found = (rows) => ({ untrained: rows[0]?.row[panel.more.right] });
  return { draw, changed, found };
};
