// A point that a reader pulls, and what the kernel makes of it. K and all moves come from the traced program of the package.
window.clbookPull ??= (() => {
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");
  const { fitted, seen, mark, ring, holding, begun, opened } = clbookPlane;
  const INK = "#1b1f24", MUTED = "#5b6470", NEAR = 16, FINGER = 24, LETTERS = "12px DejaVu Sans, Verdana, sans-serif";
  const TURNING = 60; // pictures in which pushes become moves
  const SHADES = [[37, 118, 182], [213, 94, 0]]; // of positive and negative entries
  const ARROWED = "These are arrows. Press All pushes at once again, and the points come back.";
  const said = (v) => (Math.abs(v) < 0.005 ? 0 : v).toFixed(2).replace("-", "\u2212");

  function pull(figure) {
    if (figure.dataset.ready) return;
    figure.dataset.ready = "yes";
    const block = begun(figure), { part, all, setup, ways, say } = block;
    const data = part(".clbook-data"), embedding = part(".clbook-embedding"), matrix = part(".clbook-matrix");
    const { labels, colours, n } = setup, who = labels.map((_, i) => i);
    const start = Object.fromEntries(setup.knobs.map((knob) => [knob.name, knob.value]));
    let settings = { ...start }, way = 0, chosen = 0, turned = 0, pushing = false, grip = null;
    let rest = null, pulls = new Float64Array(2 * n), x = null, place = null;
    const run = () => ways[way];
    const entry = (i, j) => run().recorded.kernel[i * n + j];

    // The program anew, with the points where they stand.
    function restart() {
      run().start(settings, setup.seed);
      x = run().one.inputs["state.x"];
      rest ??= run().one.inputs["state.rest"].slice();
      look();
    }
    function look() {
      run().put({ rest, pull: pulls });
      run().one.step(true);
      show();
    }
    function letGo() { // the points stay where the pull has brought them
      rest = run().recorded.z.slice();
      pulls.fill(0);
      look();
    }
    const length = (i) => Math.hypot(run().recorded.z[2 * i] - rest[2 * i], run().recorded.z[2 * i + 1] - rest[2 * i + 1]);
    const mean = (values) => values.reduce((sum, v) => sum + v, 0) / values.length;
    const mates = (i) => who.filter((j) => j !== i && labels[j] === labels[i]);
    const others = (i) => who.filter((j) => labels[j] !== labels[i]);
    const name = (i) => `Point ${i + 1} of ${n}, ${setup.classes[labels[i]]}`;
    const row = (i) => `K is ${said(entry(i, i))} with itself, ${said(mean(mates(i).map((j) => entry(i, j))))} on average with its own cluster, ${said(mean(others(i).map((j) => entry(i, j))))} with the other`;
    const blocks = () => {
      const pairs = who.flatMap((i) => who.filter((j) => j !== i).map((j) => [labels[i] === labels[j], entry(i, j)]));
      const [own, cross] = [true, false].map((same) => said(mean(pairs.filter(([s]) => s === same).map(([, v]) => v))));
      return `${own} inside a cluster and ${cross} between clusters`;
    };
    const moved = (i) => `${name(i)}, moved by ${said(length(i))}, its cluster by ${said(mean(mates(i).map(length)))} on average, the other by ${said(mean(others(i).map(length)))}.`;

    // --- pictures ---
    const weight = (i) => Math.abs(entry(i, chosen)) / Math.max(...who.map((j) => Math.abs(entry(j, chosen))), 1e-9);
    function ofData() {
      const picture = fitted(data), { g } = picture;
      const far = Math.max(...Array.from(x, Math.abs), 0.5), at = seen(picture, 2.3 * far, [0, 0]);
      g.strokeStyle = "#dde1e6"; g.lineWidth = 1; g.beginPath();
      g.moveTo(0, at.toY(0)); g.lineTo(picture.w, at.toY(0)); g.moveTo(at.toX(0), 0); g.lineTo(at.toX(0), picture.h); g.stroke();
      for (const i of who) { // as large as they are coupled to the chosen one; hollow where the sign is negative
        const [px, py] = [at.toX(x[2 * i]), at.toY(x[2 * i + 1])], size = 0.5 + weight(i);
        mark(g, px, py, labels[i], colours[labels[i]], 0.25 + 0.7 * weight(i), size);
        if (entry(i, chosen) < -0.05 * entry(chosen, chosen)) mark(g, px, py, labels[i], "#fff", 1, 0.5 * size);
      }
      ring(g, at.toX(x[2 * chosen]), at.toY(x[2 * chosen + 1]));
      data.view = at;
    }
    function arrow(g, x0, y0, dx, dy, colour, alpha) {
      const far = Math.hypot(dx, dy), tip = Math.min(6, far / 2);
      g.strokeStyle = colour; g.globalAlpha = alpha; g.lineWidth = 1.6;
      g.beginPath(); g.moveTo(x0, y0); g.lineTo(x0 + dx, y0 + dy);
      if (far > 1) for (const turn of [2.6, -2.6]) {
        const angle = Math.atan2(dy, dx) + turn;
        g.moveTo(x0 + dx, y0 + dy); g.lineTo(x0 + dx + tip * Math.cos(angle), y0 + dy + tip * Math.sin(angle));
      }
      g.stroke();
      g.globalAlpha = 1;
    }
    function ofPushes(picture) { // from one origin for each cluster; they turn from pushes into moves
      const { g, w, h } = picture, { pushes, moves } = run().recorded, part = turned / TURNING;
      const unit = Math.min(w, h) / 2.4;
      for (const i of who) {
        const origin = [w * (labels[i] ? 0.72 : 0.28), h / 2];
        const [dx, dy] = [0, 1].map((k) => (1 - part) * pushes[2 * i + k] + part * moves[2 * i + k]);
        arrow(g, ...origin, unit * dx, -unit * dy, colours[labels[i]], 0.7);
      }
      g.fillStyle = INK; g.font = LETTERS; g.textAlign = "center"; g.textBaseline = "top";
      g.fillText(part < 0.5 ? "what the loss asks for" : "what the kernel makes of it", w / 2, 6);
    }
    function ofEmbedding() {
      const picture = fitted(embedding), { g } = picture, { z } = run().recorded;
      let far = setup.least;
      for (const v of rest) far = Math.max(far, Math.abs(v));
      if (!grip) place = seen(picture, 2.5 * far, [0, 0]);
      if (pushing) return ofPushes(picture);
      for (const i of who) {
        const [px, py] = [place.toX(z[2 * i]), place.toY(z[2 * i + 1])];
        g.strokeStyle = colours[labels[i]]; g.lineWidth = 1.2; g.globalAlpha = 0.5; g.beginPath();
        g.moveTo(place.toX(rest[2 * i]), place.toY(rest[2 * i + 1])); g.lineTo(px, py); g.stroke();
        mark(g, px, py, labels[i], colours[labels[i]], 0.85);
      }
      const [px, py] = [place.toX(z[2 * chosen]), place.toY(z[2 * chosen + 1])];
      ring(g, px, py);
      const [ux, uy] = [pulls[2 * chosen], pulls[2 * chosen + 1]];
      if (ux || uy) { // the rubber band
        g.setLineDash([3, 3]); g.strokeStyle = MUTED; g.beginPath(); g.moveTo(px, py);
        g.lineTo(place.toX(rest[2 * chosen] + ux), place.toY(rest[2 * chosen + 1] + uy)); g.stroke(); g.setLineDash([]);
      }
    }
    function ofMatrix() {
      const { g, w, h } = fitted(matrix), side = Math.min(w, h) / n;
      const largest = Math.max(...run().recorded.kernel.map(Math.abs), 1e-9);
      for (const i of who) for (const j of who) {
        const v = entry(i, j) / largest, shade = SHADES[v < 0 ? 1 : 0].map((c) => Math.round(255 + (c - 255) * Math.abs(v)));
        g.fillStyle = `rgb(${shade})`;
        g.fillRect(j * side, i * side, side + 0.5, side + 0.5);
      }
      g.strokeStyle = INK; g.lineWidth = 2;
      g.strokeRect(1, chosen * side, n * side - 2, side);
      g.lineWidth = 1; g.strokeRect(chosen * side, 1, side, n * side - 2);
    }
    function show() {
      ofData(); ofEmbedding(); ofMatrix();
      data.setAttribute("aria-label", `The data: ${setup.classes.join("s and ")}s. The darker a point, the more ${name(chosen)}, moves it.`);
      matrix.setAttribute("aria-label", `The kernel, ${n} rows and columns: the mean entry is ${blocks()}. Row of ${name(chosen)}: ${row(chosen)}.`);
    }

    // --- what a reader does ---
    function choose(i) { if (i !== chosen) { chosen = i; show(); } }
    function nearest(view, values, [px, py], least = NEAR) {
      let found = -1;
      for (const i of who) {
        const d = Math.hypot(view.toX(values[2 * i]) - px, view.toY(values[2 * i + 1]) - py);
        if (d < least) { least = d; found = i; }
      }
      return found;
    }
    const at = (canvas, event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    embedding.addEventListener("pointerdown", (event) => {
      const spot = at(embedding, event);
      if (pushing) return say(ARROWED);
      const i = nearest(place, run().recorded.z, spot, event.pointerType === "touch" ? FINGER : NEAR);
      if (i < 0) return;
      embedding.setPointerCapture(event.pointerId);
      choose(i);
      grip = spot;
    });
    embedding.addEventListener("pointermove", (event) => {
      const [px, py] = at(embedding, event);
      if (!grip) {
        const i = pushing ? -1 : nearest(place, run().recorded.z, [px, py]);
        if (i >= 0) choose(i);
        return;
      }
      pulls[2 * chosen] = place.ofX(px) - place.ofX(grip[0]);
      pulls[2 * chosen + 1] = place.ofY(py) - place.ofY(grip[1]);
      look();
    });
    for (const kind of ["pointerup", "pointercancel"]) embedding.addEventListener(kind, () => {
      if (!grip) return;
      grip = null;
      say(moved(chosen));
      letGo();
    });
    holding(embedding, () => grip);
    matrix.addEventListener("pointermove", (event) => {
      const i = Math.floor(at(matrix, event)[1] * n / Math.min(matrix.clientWidth, matrix.clientHeight));
      if (i >= 0 && i < n) choose(i);
    });
    matrix.addEventListener("pointerdown", () => say(`${name(chosen)}: ${row(chosen)}.`));
    data.addEventListener("pointermove", (event) => {
      const i = nearest(data.view, x, at(data, event));
      if (i >= 0) choose(i);
    });
    const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    embedding.addEventListener("keydown", (event) => {
      const { key } = event;
      if (ARROWS[key] && pushing) say(ARROWED);
      else if (ARROWS[key]) {
        ARROWS[key].forEach((v, k) => { pulls[2 * chosen + k] = v * setup.step; });
        look();
        say(moved(chosen));
        letGo();
      } else if (key === "PageDown" || key === "PageUp") {
        choose((chosen + (key === "PageDown" ? 1 : n - 1)) % n);
        say(`${name(chosen)}: ${row(chosen)}.`);
      } else if (key === "Home") {
        rest = null;
        restart();
        say("All points are back at the start.");
      } else return;
      event.preventDefault();
    });
    figure.addEventListener("keydown", (event) => event.stopPropagation()); // JupyterLab would take the arrow keys

    function slider(knob) {
      const label = document.createElement("label");
      label.title = knob.about;
      label.innerHTML = `<span></span><input type="range" autocomplete="off"><output></output>`;
      const [span, range, out] = label.children;
      span.textContent = knob.label;
      Object.assign(range, { min: knob.low, max: knob.high, step: (knob.high - knob.low) / 60 });
      const words = () => knob.words[settings[knob.name]] ?? String(Number(settings[knob.name].toFixed(2)));
      const set = () => { range.value = settings[knob.name]; out.textContent = words(); range.setAttribute("aria-valuetext", words()); };
      range.addEventListener("input", () => { 
        settings[knob.name] = Number(range.value);
        set();
        restart();
        say(pushing ? agreed() : `The mean entry of K is ${blocks()}.`);
      });
      part(".clbook-knobs").append(label);
      return set;
    }
    const sets = setup.knobs.map(slider);
    function press() {
      for (const button of all("[data-way]")) button.setAttribute("aria-pressed", String(Number(button.dataset.way) === way));
      part("[data-do=pushes]").setAttribute("aria-pressed", String(pushing));
      sets.forEach((set) => set());
    }
    // The length of the mean arrow over the mean length, in the mean of the clusters.
    function agreement(kind) {
      const arrows = run().recorded[kind];
      return mean([0, 1].map((label) => {
        const own = who.filter((i) => labels[i] === label);
        const [x, y] = [0, 1].map((k) => mean(own.map((i) => arrows[2 * i + k])));
        return Math.hypot(x, y) / mean(own.map((i) => Math.hypot(arrows[2 * i], arrows[2 * i + 1])));
      }));
    }
    const agreed = () => `How far the arrows of a cluster agree (1: all alike): pushes ${said(agreement("pushes"))}, moves ${said(agreement("moves"))}.`;
    function turn() {
      if (!pushing) return;
      turned = reduced.matches ? TURNING : Math.min(TURNING, turned + 1);
      ofEmbedding();
      if (turned < TURNING) requestAnimationFrame(turn);
      else say(agreed());
    }
    const actions = {
      pushes() {
        pushing = !pushing;
        turned = 0;
        press();
        show();
        say(pushing ? "The push on each point, from one origin for each cluster." : "Pull a point.");
        if (pushing) requestAnimationFrame(turn);
      },
      reset() {
        [settings, way, chosen, pushing, rest] = [{ ...start }, 0, 0, false, null];
        pulls.fill(0);
        press();
        restart();
        say("Pull a point.");
      },
    };
    const take = (number) => { way = number; press(); restart(); };

    // What programs may ask: where all stand, and what the last step has recorded.
    const offers = {
      state: () => ({ chosen, rest: Array.from(rest), pull: Array.from(pulls), x: Array.from(x),
        z: Array.from(run().recorded.z), kernel: Array.from(run().recorded.kernel) }),
    };
    opened(block, { actions, choose: take, show, offers });
  }
  return pull;
})();
